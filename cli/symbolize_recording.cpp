#include "cli/symbolize_recording.h"

#include "core/symbols.h"
#include "symbolize/symbolizer.h"
#include "trace/records.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

namespace sample::cli {
namespace {

/// One module's share of the work. Workers touch distinct jobs.
struct Job {
    symbolize::ModuleFile module;
    std::vector<std::uint64_t> addresses;
    std::vector<std::size_t> places;  ///< Where in the symbol table each address belongs.
    symbolize::ModuleSymbols result;
};

std::vector<Job> make_jobs(const callgraph::Recording& recording, const ModuleFiles& files) {
    std::vector<Job> jobs(recording.modules().size());
    const auto addresses = recording.addresses();
    for (std::size_t place = 0; place < addresses.size(); ++place) {
        const trace::Module* module = recording.module_of(addresses[place]);
        if (module == nullptr || module->kind == trace::ModuleKind::pseudo) {
            continue;
        }
        Job& job = jobs[static_cast<std::size_t>(module - recording.modules().data())];
        if (job.addresses.empty()) {
            job.module = module_file(*module, files);
        }
        job.addresses.push_back(addresses[place].address);
        job.places.push_back(place);
    }
    std::erase_if(jobs, [](const Job& job) { return job.addresses.empty(); });
    std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
        return a.addresses.size() > b.addresses.size();
    });
    return jobs;
}

void work(std::span<Job> jobs, std::atomic<std::size_t>& next) {
    while (true) {
        // Relaxed: the counter only deals out jobs; join() publishes their results.
        const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
        if (index >= jobs.size()) {
            return;
        }
        jobs[index].result = symbolize::symbolize(jobs[index].module, jobs[index].addresses);
    }
}

void run_jobs(std::span<Job> jobs) {
    std::atomic<std::size_t> next{0};
    std::thread helper;
    if (jobs.size() > 1) {
        try {
            helper = std::thread{[&] { work(jobs, next); }};
        } catch (const std::system_error&) {
            // No thread to be had: this one does all of it.
        }
    }
    work(jobs, next);
    if (helper.joinable()) {
        helper.join();
    }
}

}  // namespace

symbolize::ModuleFile module_file(const trace::Module& module, const ModuleFiles& files) {
    symbolize::ModuleFile file{module.path, module.build_id};
    if (module.kind == trace::ModuleKind::vdso) {
        file.path = "[vdso]";
    } else if (module.kind == trace::ModuleKind::jit) {
        file.kind = symbolize::CodeKind::jit;
    } else if (module.kind == trace::ModuleKind::kernel) {
        file.kind = symbolize::CodeKind::kernel;
    }
    if (const auto other = files.find(module.id); other != files.end()) {
        file.other_paths.push_back(other->second);
    }
    return file;
}

RecordingSymbols symbolize_recording(const callgraph::Recording& recording,
                                     const ModuleFiles& files) {
    std::vector<Job> jobs = make_jobs(recording, files);
    run_jobs(jobs);
    RecordingSymbols result;
    result.symbols.runs.resize(recording.addresses().size());
    for (Job& job : jobs) {
        merge(result.symbols, std::move(job.result.symbols), job.places);
        if (!job.result.problem.empty()) {
            result.problems.push_back(std::move(job.result.problem));
        }
    }
    return result;
}

}  // namespace sample::cli
