#include "sampler/collector/events/rearming.h"

#include "sampler/collector/process/proc_files.h"
#include "sampler/source/tasks.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sample::collector {
namespace {

constexpr int kMostTries = 8;

std::vector<pid_t> list_threads(const Fd& folder, pid_t except) {
    std::vector<pid_t> threads;
    source::for_each_number(folder.get(), [&](int tid) {
        if (tid != except) {
            threads.push_back(tid);
        }
        return true;
    });
    std::sort(threads.begin(), threads.end());
    return threads;
}

}  // namespace

std::optional<std::vector<Fd>> open_for_all_threads(pid_t pid, pid_t except,
                                                    const source::PerfRequest& request) {
    const Fd folder = open_task_folder(pid);
    if (!folder.is_open()) {
        return std::nullopt;
    }
    std::vector<Fd> events;
    std::vector<pid_t> threads = list_threads(folder, except);
    for (int tries = 0; tries < kMostTries; ++tries) {
        events.clear();
        for (const pid_t tid : threads) {
            const int event = source::open_event(request, tid);
            if (event >= 0) {
                events.emplace_back(event);
            } else if (event != -ESRCH) {
                return std::nullopt;
            }
        }
        std::vector<pid_t> after = list_threads(folder, except);
        if (std::includes(threads.begin(), threads.end(), after.begin(), after.end())) {
            break;
        }
        threads = std::move(after);
    }
    return events;
}

}  // namespace sample::collector
