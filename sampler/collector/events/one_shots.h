// Samples processes whose threads switch often, by events that expire once.
//
// The event of a thread is a timer, which the kernel stops and starts whenever the thread leaves
// and enters a processor. Where that happens once a period or seldom, it is not noticed; a server
// that answers 50,000 requests a second pays for 50,000 timers. So the events of a process that
// switches often are closed. From outside, a thread of ours reads the clocks of its threads
// (schedstat) about once a millisecond; one that used up its interval gets an event of its own that
// expires once: the same signal as before, at the same places, that neither interrupts a system
// call nor is seen by it, and mostly no timer in between. The event expires after a random time,
// some bursts long (bursts.h), so that where a thread was met does not matter. A sample that comes
// late carries the time of its thread's clock (capture/weight.h): durations stay exact, on fewer
// samples.
//
// What the kernel does at a switch outside of where it stops and starts events is the thread's all
// the same, and no event ever expires there. How much that is, events that only count tell once.
//
// The interval follows from what arming such an event costs here, so that this takes a small part
// of the program's time and of ours. When the process switches seldom again it gets its events
// back. Where we may open no event for it, and where it has many threads, it keeps what it has.
// Source: perf_event_open(2), PERF_EVENT_IOC_REFRESH; Linux
// Documentation/scheduler/sched-stats.rst, /proc/<pid>/schedstat.
#pragma once

#include "core/fd.h"
#include "sampler/collector/events/bursts.h"
#include "sampler/source/perf_event.h"

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace sample::collector {

class AreaMapping;
class Gatekeeper;

/// Of one session. Thread-safe.
class OneShots {
public:
    /// `period_ns`: of the events of processes that do not switch often.
    OneShots(Gatekeeper& gatekeeper, std::uint64_t period_ns);
    ~OneShots();
    OneShots(const OneShots&) = delete;
    OneShots& operator=(const OneShots&) = delete;

    /// Looks after an image of a process that has inherited sigtrap events of its clock.
    /// `same_pid_namespace`: it numbers its threads as we do.
    void watch(pid_t pid, bool same_pid_namespace, std::shared_ptr<AreaMapping> image);
    /// It has ended, or is not to be sampled any more.
    void forget(const AreaMapping& image);
    /// While the result lives, no process gets other events, and these may be called.
    [[nodiscard]] std::unique_lock<std::mutex> hold_still() { return std::unique_lock{mutex_}; }
    [[nodiscard]] bool has_taken_over(const AreaMapping& image) const;
    void set_period(std::uint64_t period_ns) { period_ns_ = period_ns; }

    /// For people; empty if nobody switched often, or for a moment only.
    [[nodiscard]] std::string note();

private:
    struct Task {
        pid_t tid = 0;
        Fd schedstat;
        TaskClocks seen;  ///< At the last look around.
        std::uint64_t armed_for_ns = 0;
        TaskClocks visited;  ///< At the last visit.
        Bursts bursts;
        std::uint64_t sampled_ns = 0;  ///< The thread's clock where its last event expires.
        Fd counter;                    ///< Of what an event sees of it.
        bool armed = false;
    };
    struct Process {
        pid_t pid = 0;
        bool same_pid_namespace = true;
        std::shared_ptr<AreaMapping> image;
        std::uint32_t observer_own = 0;  ///< Its sampling thread, by its number and by ours.
        pid_t observer = 0;
        Fd folder;  ///< /proc/PID/task of this very process, whoever gets its number later.
        std::vector<Task> tasks;        ///< In the order of /proc's listing.
        std::uint64_t seen_ticks = 0;   ///< At the last look.
        std::uint64_t seen_cpu_ns = 0;  ///< The process's own clock then.
        std::uint32_t brief_looks = 0;  ///< Goes up with looks at brief threads, down with others.
        std::uint32_t calm_looks = 0;
        std::uint64_t since_swap_ns = 0;    ///< What its tasks have run with the events they have.
        std::size_t counters = 0;           ///< Of its tasks; none is open yet.
        std::uint64_t counted_from_ns = 0;  ///< The process's own clock when they were opened.
        bool by_one_shots = false;
        bool is_counted = false;
        bool is_compared = false;
    };
    /// Calls `visit` with processes, the one that was left out longest first, until their tasks are
    /// as many as are looked at in one go.
    template <class Visit>
    void visit_some(Visit visit);

    void run();
    void look_at(Process& process);
    void list_tasks(Process& process) const;
    [[nodiscard]] TaskClocks measure(Process& process) const;
    [[nodiscard]] static std::uint64_t own_work_ns(const Process& process);
    [[nodiscard]] static bool has_brief_tasks(Process& process, const TaskClocks& done);
    void compare_clocks(Process& process);
    void give_one_shots(Process& process);
    void give_periods(Process& process);
    void tick(const Process& process, Task& task);
    [[nodiscard]] bool has_sampled(const Process& process, const Task& task, std::uint64_t cpu_ns);
    void arm(const Process& process, Task& task, std::uint64_t cpu_ns);
    [[nodiscard]] bool switches_often(const TaskClocks& done) const;
    [[nodiscard]] std::uint64_t interval_ns() const;
    /// How much later than at once an event of the thread expires, at most.
    [[nodiscard]] static std::uint64_t spread_of(const Task& task);
    [[nodiscard]] std::uint64_t interval_of(const Task& task) const;
    [[nodiscard]] std::uint64_t random_below(std::uint64_t limit);

    Gatekeeper& gatekeeper_;
    std::uint64_t period_ns_;  // guarded by mutex_, once the thread runs
    std::uint64_t arming_cost_ns_;
    std::uint64_t ticks_ = 0;
    std::minstd_rand random_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::list<Process> processes_;          // guarded by mutex_
    std::uint64_t most_switches_ = 0;       // guarded by mutex_; a CPU second
    std::uint32_t switched_processes_ = 0;  // guarded by mutex_
    std::uint64_t cpu_ns_ = 0;              // guarded by mutex_; spent while they had no others
    std::uint64_t counted_ns_ = 0;          // guarded by mutex_; where events can expire,
    std::uint64_t compared_ns_ = 0;         // guarded by mutex_; of what the threads ran
    bool stopping_ = false;                 // guarded by mutex_
    std::thread thread_;
};

}  // namespace sample::collector
