#include "sampler/collector/recorder.h"

#include "core/boot_id.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace sample::collector {
namespace {

/// By Pseudo.
constexpr std::array<const char*, kPseudoCount> kPseudoModules{
    trace::kNotSampled,     trace::kBeforeStart,    trace::kKernelUnseen, trace::kStackIncomplete,
    trace::kStackTruncated, trace::kFramesElided,   trace::kUnknownCode,  trace::kWaitsForProcessor,
    trace::kWaitNotSeen,    trace::kTooManyThreads, trace::kRingWorker,
};

/// Of a module's file, which may be written to when it is looked for.
constexpr std::uint8_t kMostAsked = 4;

/// Of copies, which are memory of ours.
constexpr std::uint64_t kMostCopied = std::uint64_t{256} << 20U;

/// Adds the first `bytes` of `file`, or as many as it has; false if they could not be written.
bool append(const Fd& copy, const Fd& file, std::uint64_t bytes) {
    std::array<char, std::size_t{64} << 10U> buffer{};
    for (std::uint64_t offset = 0; offset < bytes;) {
        const ssize_t got = ::pread(file.get(), buffer.data(),
                                    std::min<std::uint64_t>(buffer.size(), bytes - offset),
                                    static_cast<off_t>(offset));
        if (got <= 0) {
            break;
        }
        if (::write(copy.get(), buffer.data(), static_cast<std::size_t>(got)) != got) {
            return false;
        }
        offset += static_cast<std::uint64_t>(got);
    }
    return true;
}

}  // namespace

void Recorder::begin(const std::string& source, const std::string& source_reason) {
    if (has_begun_) {
        return;
    }
    has_begun_ = true;
    session_.source = source;
    session_.source_reason = source_reason;
    sink_.record(session_);
    for (const char* pseudo : kPseudoModules) {
        trace::Module module;
        module.id = ModuleId{next_module_++};
        module.kind = trace::ModuleKind::pseudo;
        module.path = pseudo;
        sink_.record(module);
    }
}

std::uint64_t Recorder::most_of_thread(std::uint64_t time_ns) const {
    const bool is_bounded = sampling_since_ns_ != 0 && session_.unit.empty();
    if (time_ns < sampling_since_ns_) {
        return 0;
    }
    return is_bounded ? time_ns - sampling_since_ns_ : ~std::uint64_t{0};
}

ProcessId Recorder::add_process(trace::Process process) {
    process.id = ProcessId{next_process_++};
    process.start_ns = not_before_start(process.start_ns);
    sink_.record(process);
    return process.id;
}

ThreadId Recorder::add_thread(trace::Thread thread) {
    thread.id = ThreadId{next_thread_++};
    thread.start_ns = not_before_start(thread.start_ns);
    sink_.record(thread);
    return thread.id;
}

bool Recorder::has_room_for(const trace::Module& module) {
    const std::size_t bytes = module.path.size() + module.build_id.size();
    if (next_module_ > kMostModules || bytes > kMostModuleBytes - module_bytes_) {
        ++beyond_.modules;
        return false;
    }
    module_bytes_ += bytes;
    return true;
}

void Recorder::note_reader(ModuleId module) {
    std::shared_ptr<const FileRights> reader = ActingAs::current();
    if (reader == nullptr) {
        readers_[module] = nullptr;
        return;
    }
    // One object for equal rights.
    const auto known = std::find_if(rights_.begin(), rights_.end(),
                                    [&](const auto& one) { return *one == *reader; });
    if (known == rights_.end()) {
        rights_.push_back(reader);
    } else {
        reader = *known;
    }
    readers_.try_emplace(module, std::move(reader));
}

FileIdentity identity_at(const char* path, int folder) {
    // Not fstat(), which tells of other times at each call where clocks are faked.
    struct statx info = {};
    constexpr unsigned kWanted = STATX_INO | STATX_SIZE | STATX_MTIME;
    if (::statx(folder, path, AT_EMPTY_PATH, kWanted, &info) != 0) {
        return {};
    }
    return {std::uint64_t{info.stx_dev_major} << 32U | info.stx_dev_minor, info.stx_ino,
            info.stx_size, info.stx_mtime.tv_sec * 1'000'000'000 + info.stx_mtime.tv_nsec};
}

FileIdentity identity_of(const Fd& file) {
    return file.is_open() ? identity_at("", file.get()) : FileIdentity{};
}

Recorder::ModuleKey Recorder::key_of(const trace::Module& module, const FileIdentity& file) {
    return {module.path, module.build_id, module.build_id.empty() ? file : FileIdentity{}};
}

ModuleId Recorder::module(const trace::Module& module, const FileIdentity& file) {
    auto& known = modules_[module.plugin ? 1 : 0];
    auto at = known.find(key_of(module, file));
    if (at == known.end()) {
        if (!has_room_for(module)) {
            return pseudo(Pseudo::unknown_code);
        }
        trace::Module named = module;
        named.id = ModuleId{next_module_++};
        sink_.record(named);
        at = known.emplace(key_of(module, file), named.id).first;
        if (module.build_id.empty() && file != FileIdentity{}) {
            without_id_.emplace(named.id, FileWithoutId{module.path, file});
        }
    }
    note_reader(at->second);
    return at->second;
}

ModuleId Recorder::known_module(const trace::Module& module, const FileIdentity& file) const {
    const auto& known = modules_[module.plugin ? 1 : 0];
    const auto at = known.find(key_of(module, file));
    return at == known.end() ? ModuleId{} : at->second;
}

ModuleId Recorder::own_module(trace::Module module) {
    if (!has_room_for(module)) {
        return pseudo(Pseudo::unknown_code);
    }
    module.id = ModuleId{next_module_++};
    sink_.record(module);
    note_reader(module.id);
    return module.id;
}

NodeId Recorder::intern(NodeId parent, ModuleId module, std::uint64_t address) {
    const std::uint32_t known = nodes_.size();
    const NodeId node = nodes_.intern(parent, module, address);
    if (node.value > known) {
        sink_.node({node, parent, module, address});
    }
    return node;
}

NodeId Recorder::node(NodeId parent, ModuleId module, std::uint64_t address) {
    return nodes_.size() < kMostNodes ? intern(parent, module, address)
                                      : nodes_.find(parent, module, address);
}

bool Recorder::has_room_for_file() {
    // The events of threads are descriptors, too.
    const bool has_room =
        kept_files_.size() <
        std::min<std::size_t>(kMostFiles, static_cast<std::size_t>(::sysconf(_SC_OPEN_MAX)) / 4);
    beyond_.files += has_room ? 0 : 1;
    return has_room;
}

bool Recorder::wants_file(ModuleId module) {
    if (module == pseudo(Pseudo::unknown_code)) {
        return false;
    }
    asked_files_.resize(std::max<std::size_t>(asked_files_.size(), std::size_t{module.value} + 1));
    if (asked_files_[module.value] == kMostAsked || kept_files_.contains(module)) {
        return false;
    }
    ++asked_files_[module.value];
    return has_room_for_file();
}

void Recorder::keep_file(ModuleId module, Fd file) {
    if (!kept_files_.contains(module) && has_room_for_file()) {
        kept_files_.emplace(module, std::move(file));
    }
}

void Recorder::keep_copy(ModuleId module, std::span<const FilePart> parts, const Fd* last) {
    std::uint64_t last_bytes = 0;
    struct stat info = {};
    if (last != nullptr && ::fstat(last->get(), &info) == 0) {
        last_bytes = static_cast<std::uint64_t>(info.st_size);
    }
    std::uint64_t bytes = last_bytes;
    for (const FilePart& part : parts) {
        bytes += part.bytes;
    }
    if (bytes <= kMostCopied - copied_bytes_) {
        Fd copy{::memfd_create("names", MFD_CLOEXEC)};
        bool is_whole = copy.is_open();
        for (const FilePart& part : parts) {
            is_whole = is_whole && append(copy, *part.file, part.bytes);
        }
        if (is_whole && (last == nullptr || append(copy, *last, last_bytes))) {
            copied_bytes_ += bytes;
            copies_.insert(module);
            keep_file(module, std::move(copy));
            return;
        }
    }
    const Fd& file = last != nullptr ? *last : *parts.back().file;
    keep_file(module, Fd{::fcntl(file.get(), F_DUPFD_CLOEXEC, 0)});
}

std::map<ModuleId, std::string> Recorder::module_files() const {
    std::map<ModuleId, std::string> files;
    for (const auto& [module, file] : kept_files_) {
        files.emplace(module, "/proc/self/fd/" + std::to_string(file.get()));
    }
    for (const auto& [module, file] : without_id_) {
        // Nothing else would tell that it is not what ran.
        const auto kept = kept_files_.find(module);
        const FileIdentity now =
            kept != kept_files_.end() ? identity_of(kept->second) : identity_at(file.path.c_str());
        if (now != file.identity && !copies_.contains(module)) {
            files[module].clear();
        }
    }
    for (const ModuleId module : lost_files_) {
        files[module].clear();
    }
    return files;
}

void Recorder::add_note(const std::string& line) {
    if (std::find(notes_.begin(), notes_.end(), line) != notes_.end()) {
        return;
    }
    if (notes_.size() < kMostNotes) {
        notes_.push_back(line);
    } else {
        ++beyond_.notes;
    }
}

std::vector<std::string> Recorder::notes() const {
    std::vector<std::string> lines;
    const auto add = [&](std::uint64_t count, const std::string& what) {
        if (count != 0) {
            lines.push_back(std::to_string(count) + what);
        }
    };
    add(beyond_.stacks, " samples have no stack: the recording has " + std::to_string(kMostNodes) +
                            " different frames already, as many as it may; a smaller --max-stack "
                            "or a shorter session has fewer");
    add(beyond_.modules, " times a file of code was met for which there was no room, behind " +
                             std::to_string(kMostModules) + " others: its code is unknown");
    add(beyond_.threads,
        " threads are recorded together, behind " + std::to_string(kMostThreads) + " others");
    add(beyond_.slotless,
        " threads came while as many others were sampled as can be in a process, " +
            std::to_string(capture::kMaxThreads) +
            " or fewer where its addresses are limited: they are in [further threads]");
    add(beyond_.files, " files were not kept open, behind " + std::to_string(kept_files_.size()) +
                           " others: they are looked for by their names");
    add(beyond_.damaged,
        " pieces of what the program had recorded were damaged by it, and dropped");
    add(beyond_.zones,
        " zones are not recorded, as there was no room for them: `sample` could not "
        "read what the program said as fast as it came");
    add(beyond_.said,
        " counter values, messages and the like are not recorded, for the same reason");
    add(names_.beyond(), " names of zones, counters or messages were too many");
    lines.insert(lines.end(), notes_.begin(), notes_.end());
    add(beyond_.notes, " notes more");
    return lines;
}

ModuleId Recorder::pseudo(Pseudo which) const {
    return ModuleId{static_cast<std::uint32_t>(which) + 1};
}

ModuleId Recorder::kernel() {
    if (!kernel_) {
        trace::Module module;
        module.kind = trace::ModuleKind::kernel;
        module.path = "[kernel]";
        module.build_id = boot_id();
        kernel_ = own_module(std::move(module));
    }
    return *kernel_;
}

NodeId Recorder::pseudo_node(Pseudo which, NodeId parent, std::uint64_t address) {
    return intern(parent, pseudo(which), address);
}

void Recorder::book(ThreadId thread, std::uint64_t time_ns, Pseudo what, std::uint64_t weight) {
    if (weight != 0) {
        sink_.sample({thread, time_ns, pseudo_node(what, NodeId{}), weight, true});
    }
}

void Recorder::flush(trace::FlushMode mode) {
    if (has_begun_ && !failure_) {
        if (const auto result = sink_.flush(mode); !result) {
            failure_ = result.error();
        }
    }
}

Result<void> Recorder::finish(const trace::SessionEnd& end) {
    begin("none", "no process could be profiled");
    sink_.record(end);
    flush(trace::FlushMode::everything);
    nodes_ = {};  // no stack comes any more, and who makes something of the recording needs room
    if (failure_) {
        return unexpected(*failure_);
    }
    return {};
}

}  // namespace sample::collector
