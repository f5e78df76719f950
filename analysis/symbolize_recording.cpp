#include "analysis/symbolize_recording.h"

#include "analysis/kept_code.h"
#include "analysis/load_profile.h"
#include "core/option_values.h"
#include "core/text.h"
#include "trace/packed.h"
#include "trace/records.h"
#include "trace/symbol_codec.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

namespace sample::analysis {
namespace {

/// Some names of a module, and where in the recording's table each address belongs.
struct Part {
    Symbols symbols;
    std::vector<std::size_t> places;
};

/// How modules are named; a cache may be used or not (nullptr).
struct Naming {
    symbolize::Options options;
    symbolize::SymbolCache* cache = nullptr;
};

/// One module's share of the work. Workers touch distinct jobs.
struct Job {
    ModuleId id;
    symbolize::ModuleIdentity module;
    std::shared_ptr<const FileRights> reader;  ///< Of its files; nullptr: ourselves.
    std::vector<std::uint64_t> addresses;      ///< Without a name as yet.
    bool is_foreign = false;                   ///< They count from the module's first byte.
    std::vector<std::size_t> places;           ///< Of those.
    std::vector<const trace::Attachment*> blocks;
    std::vector<Part> parts;
    std::string problem;
    bool is_lost = false;    ///< What ran is nowhere any more: nothing can name it later.
    bool is_unread = false;  ///< Its file may be put back.
    bool has_bad_block = false;
};

std::vector<Job> make_jobs(const callgraph::Recording& recording, const NamingOptions& options) {
    std::vector<Job> jobs(recording.modules().size());
    const auto addresses = recording.addresses();
    for (std::size_t place = 0; place < addresses.size(); ++place) {
        const trace::Module* module = recording.module_of(addresses[place]);
        if (module == nullptr || module->kind == trace::ModuleKind::pseudo) {
            continue;
        }
        Job& job = jobs[static_cast<std::size_t>(module - recording.modules().data())];
        if (job.addresses.empty()) {
            job.id = module->id;
            job.is_foreign = recording.read_outcome().is_foreign;
            job.module = module_identity(*module, options.files);
            const auto file = options.files.find(module->id);
            job.is_lost = file != options.files.end() && file->second.empty();
            job.reader = options.reader_of(module->id);
        }
        job.addresses.push_back(addresses[place].address);
        job.places.push_back(place);
    }
    for (const trace::Attachment& attachment : recording.attachments()) {
        if (options.from_recording && attachment.kind == trace::AttachmentKind::symbols &&
            !attachment.module.is_none() && attachment.module.value <= jobs.size()) {
            jobs[attachment.module.value - 1].blocks.push_back(&attachment);
        }
    }
    std::erase_if(jobs, [](const Job& job) { return job.addresses.empty(); });
    std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
        return a.addresses.size() > b.addresses.size();
    });
    return jobs;
}

/// Takes what `block` names out of the job's addresses.
void take_names(Job& job, trace::SymbolBlock block) {
    Part part;
    std::vector<FrameRun> runs;
    std::size_t left = 0;
    for (std::size_t i = 0; i < job.addresses.size(); ++i) {
        const std::uint64_t address = job.addresses[i];
        const auto found =
            std::lower_bound(block.addresses.begin(), block.addresses.end(), address);
        if (found != block.addresses.end() && *found == address) {
            runs.push_back(
                block.symbols.runs[static_cast<std::size_t>(found - block.addresses.begin())]);
            part.places.push_back(job.places[i]);
        } else {
            job.addresses[left] = address;
            job.places[left] = job.places[i];
            ++left;
        }
    }
    job.addresses.resize(left);
    job.places.resize(left);
    part.symbols = std::move(block.symbols);
    part.symbols.runs = std::move(runs);
    job.parts.push_back(std::move(part));
}

void take_recorded_names(Job& job) {
    // Of several the last one counts.
    for (auto at = job.blocks.rbegin(); at != job.blocks.rend(); ++at) {
        const auto bytes = trace::unpack((*at)->packed);
        auto block = bytes ? trace::decode_symbols(*bytes) : std::nullopt;
        if (block) {
            take_names(job, std::move(*block));
        } else {
            job.has_bad_block = true;
        }
    }
}

void name(Job& job, const Naming& how) {
    take_recorded_names(job);
    if (job.addresses.empty()) {
        return;
    }
    const ActingAs reader{job.reader};
    if (job.is_foreign) {
        const std::uint64_t first = symbolize::first_address(job.module, how.options);
        for (std::uint64_t& address : job.addresses) {
            address += first;
        }
    }
    symbolize::ModuleSymbols named =
        symbolize::symbolize(how.cache, job.module, job.addresses, how.options);
    const auto& functions = named.symbols.functions;
    job.is_unread = !job.is_lost && !named.problem.empty() &&
                    std::all_of(functions.begin(), functions.end(), [](const FunctionSymbol& one) {
                        return one.origin == NameOrigin::none;
                    });
    job.problem = job.is_lost ? std::string{without_deleted(job.module.path)} +
                                    " may not be the file that ran, and without a build-id nothing "
                                    "tells: its functions have no names; link it with "
                                    "-Wl,--build-id"
                              : std::move(named.problem);
    job.parts.push_back({std::move(named.symbols), std::move(job.places)});
}

void run_jobs(std::span<Job> jobs, const Naming& how) {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        // Relaxed: the counter only deals out jobs; join() publishes their results.
        for (std::size_t index = 0;
             (index = next.fetch_add(1, std::memory_order_relaxed)) < jobs.size();) {
            name(jobs[index], how);
        }
    };
    // Where no thread is to be had, this one does all of it.
    const std::future<void> helper = jobs.size() > 1 ? std::async(work) : std::future<void>{};
    work();
}

}  // namespace

NamingOptions naming_from(const NameSources& sources, symbolize::SymbolCache* cache) {
    NamingOptions naming;
    naming.from_recording = !sources.resymbolize && !sources.asks_servers;
    naming.debug_folders = sources.debug_folders;
    naming.asks_servers = sources.asks_servers;
    naming.cache = cache;
    return naming;
}

symbolize::Options places_of(const NamingOptions& naming) {
    symbolize::Options options;
    options.debug_roots.insert(options.debug_roots.begin(), naming.debug_folders.begin(),
                               naming.debug_folders.end());
    options.asks_servers = naming.asks_servers;
    return options;
}

symbolize::ModuleIdentity module_identity(const trace::Module& module, const ModuleFiles& files) {
    symbolize::ModuleIdentity file{module.path, module.build_id};
    if (module.kind == trace::ModuleKind::vdso) {
        file.path = "[vdso]";
    } else if (module.kind == trace::ModuleKind::jit) {
        file.kind = symbolize::CodeKind::jit;
    } else if (module.kind == trace::ModuleKind::kernel) {
        file.kind = symbolize::CodeKind::kernel;
    }
    if (const auto other = files.find(module.id); other != files.end()) {
        if (other->second.empty()) {
            file.path = std::string{without_deleted(module.path)}.append(kDeleted);
        } else {
            file.other_paths.push_back(other->second);
        }
    }
    return file;
}

RecordingSymbols symbolize_recording(const callgraph::Recording& recording,
                                     const NamingOptions& options) {
    std::vector<Job> jobs = make_jobs(recording, options);
    run_jobs(jobs, {places_of(options), options.cache});
    RecordingSymbols result;
    result.symbols.runs.resize(recording.addresses().size());
    std::string lost = options.from_recording ? recording.read_outcome().attachments_problem : "";
    for (Job& job : jobs) {
        for (Part& part : job.parts) {
            merge(result.symbols, std::move(part.symbols), part.places);
        }
        if (!job.problem.empty()) {
            result.problems.push_back(std::move(job.problem));
        }
        if (job.is_unread) {
            result.unread.push_back(job.id);
        }
        if (job.has_bad_block) {
            lost = "some of them do not parse";
        }
    }
    if (!lost.empty()) {
        result.problems.push_back("the names that the recording carries are not all there (" +
                                  lost + "): the others are from this machine's files");
    }
    return result;
}

std::vector<trace::Attachment> attachments_of(const callgraph::Recording& recording,
                                              const RecordingSymbols& symbols) {
    struct Named {
        std::uint64_t address;
        FrameRun run;
    };
    std::vector<std::vector<Named>> modules(recording.modules().size());
    const auto places = recording.addresses();
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (recording.module_of(places[i]) != nullptr && symbols.symbols.runs[i].count != 0) {
            modules[places[i].module.value - 1].push_back(
                {places[i].address, symbols.symbols.runs[i]});
        }
    }
    for (const ModuleId unread : symbols.unread) {
        modules[unread.value - 1].clear();
    }
    std::vector<trace::Attachment> attachments;
    for (std::size_t i = 0; i < modules.size(); ++i) {
        std::vector<Named>& named = modules[i];
        std::sort(named.begin(), named.end(),
                  [](const Named& a, const Named& b) { return a.address < b.address; });
        std::vector<std::uint64_t> addresses;
        std::vector<FrameRun> runs;
        for (const Named& one : named) {
            addresses.push_back(one.address);
            runs.push_back(one.run);
        }
        if (!named.empty()) {
            attachments.push_back(
                {trace::AttachmentKind::symbols, ModuleId{static_cast<std::uint32_t>(i + 1)},
                 trace::pack(trace::encode_symbols(addresses, runs, symbols.symbols))});
        }
    }
    return attachments;
}

std::unique_ptr<symbolize::SymbolCache> user_cache(bool use_cache) {
    const char* variable = std::getenv("SAMPLE_CACHE");  // NOLINT(concurrency-mt-unsafe): no setenv
    if (variable != nullptr && *variable != '\0') {
        const auto wanted = parse_switch(variable);
        use_cache = use_cache && !(wanted.ok() && !wanted.value);
    }
    if (!use_cache) {
        return nullptr;
    }
    auto cache = std::make_unique<symbolize::SymbolCache>(symbolize::SymbolCache::default_folder());
    return cache->is_usable() ? std::move(cache) : nullptr;
}

std::unique_ptr<symbolize::SymbolCache> user_cache(const NameSources& sources) {
    return user_cache(sources.use_cache && !sources.asks_servers);
}

Result<NamedRecording> name_recording(const std::string& file, const NamingOptions& options,
                                      callgraph::Times times) {
    SAMPLE_TRY(recording, load_recording_file(file, times));
    return name_recording(std::move(recording), options);
}

NamedRecording name_recording(callgraph::Recording recording, const NamingOptions& options) {
    RecordingSymbols symbols = symbolize_recording(recording, options);
    return {std::move(recording), std::move(symbols)};
}

Result<void> keep_names(Result<Fd> recording, const std::string& name, const NamedRecording& named,
                        const NamingOptions* code_from) {
    if (!named.recording.end()) {
        return {};  // Cut off: it says so itself.
    }
    std::vector<trace::Attachment> kept_parts = attachments_of(named.recording, named.symbols);
    if (code_from != nullptr) {
        auto code = attachments_of(gather_code(named.recording, named.symbols.symbols, *code_from));
        std::move(code.begin(), code.end(), std::back_inserter(kept_parts));
    }
    Result<void> kept = recording ? trace::append_attachments(std::move(*recording), kept_parts)
                                  : Result<void>{unexpected(recording.error())};
    if (!kept) {
        return unexpected(ErrorCode::system,
                          "the names of functions are not kept in " + name + " (" +
                              kept.error().message() +
                              "): look at it on this machine, where the programs are");
    }
    return kept;
}

}  // namespace sample::analysis
