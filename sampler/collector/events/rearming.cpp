#include "sampler/collector/events/rearming.h"

#include "sampler/collector/process/proc_files.h"
#include "sampler/source/tasks.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace sample::collector {
namespace {

constexpr int kMostTries = 8;

/// The highest id that a pid namespace has given out lately, by a /proc of whichever; 0: it is not
/// known, or there are too many to ask for each. Source: pid_namespaces(7), ns_last_pid.
pid_t last_id() {
    constexpr pid_t kMost = 100'000;
    const pid_t last = std::atoi(read_small_file("/proc/sys/kernel/ns_last_pid").c_str());
    return last > kMost ? 0 : last;
}

/// The threads of a process, in order.
class ThreadList {
public:
    ThreadList(pid_t pid, pid_t except) : pid_{pid}, except_{except} {}

    /// Nothing: it is gone, or they are not to be known.
    [[nodiscard]] std::optional<std::vector<pid_t>> read() const {
        std::optional<std::vector<pid_t>> threads = folder_.is_open() ? in_folder() : by_number();
        if (threads) {
            std::erase(*threads, except_);
        }
        return threads;
    }

private:
    [[nodiscard]] std::vector<pid_t> in_folder() const {
        std::vector<pid_t> threads;
        source::for_each_number(folder_.get(), [&](pid_t tid) {
            threads.push_back(tid);
            return true;
        });
        std::sort(threads.begin(), threads.end());
        return threads;
    }

    /// Without a /proc of its namespace each number that there may be is asked for.
    [[nodiscard]] std::optional<std::vector<pid_t>> by_number() const {
        for (int tries = 0; !has_own_proc() && tries < kMostTries; ++tries) {
            std::vector<pid_t> threads;
            for (pid_t tid = 1, last = last_id(); tid <= last; ++tid) {
                if (::syscall(SYS_tgkill, pid_, tid, 0) == 0 || errno == EPERM) {
                    threads.push_back(tid);
                }
            }
            // Else some have come meanwhile, or numbers have begun anew since the highest were
            // given out.
            if (!threads.empty() && threads.size() >= thread_count()) {
                return threads;
            }
        }
        return std::nullopt;
    }

    [[nodiscard]] std::size_t thread_count() const {
        const auto count = numbers_of_line(status_of(pid_), "Threads:");
        return count.empty() ? 0 : static_cast<std::size_t>(count[0]);
    }

    pid_t pid_;
    pid_t except_;
    Fd folder_ = open_task_folder(pid_);  ///< Not open where last_id() is asked for.
};

}  // namespace

std::optional<std::vector<Fd>> open_for_all_threads(pid_t pid, pid_t except,
                                                    const source::PerfRequest& request) {
    const ThreadList list{pid, except};
    std::optional<std::vector<pid_t>> threads = list.read();
    if (!threads) {
        return std::nullopt;
    }
    std::vector<Fd> events;
    for (int tries = 0; tries < kMostTries; ++tries) {
        events.clear();
        for (const pid_t tid : *threads) {
            const int event = source::open_event(request, tid);
            if (event >= 0) {
                events.emplace_back(event);
            } else if (event != -ESRCH) {
                return std::nullopt;
            }
        }
        std::optional<std::vector<pid_t>> after = list.read();
        if (!after) {
            return std::nullopt;
        }
        if (std::includes(threads->begin(), threads->end(), after->begin(), after->end())) {
            break;
        }
        threads = std::move(after);
    }
    return events;
}

}  // namespace sample::collector
