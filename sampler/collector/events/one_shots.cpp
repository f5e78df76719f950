#include "sampler/collector/events/one_shots.h"

#include "core/kernel_clock.h"
#include "sampler/capture/capture.h"
#include "sampler/collector/events/gatekeeper.h"
#include "sampler/collector/process/area_mapping.h"
#include "sampler/collector/process/proc_files.h"
#include "sampler/source/tasks.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <utility>

namespace sample::collector {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kLookAround = 50ms;
/// With fewer switches a CPU second than these, and than half of the samples asked for, timers are
/// not what sampling costs.
constexpr std::uint64_t kManySwitches = 2'000;
/// In a look, or nothing is known yet.
constexpr std::uint64_t kLeastSwitches = 50;
constexpr std::uint64_t kLeastCpuNs = 1'000'000;
/// One after the other, before a process gets its events back.
constexpr std::uint32_t kCalmLooks = 5;
/// Other events begin their periods anew, so what has run since the last sample gets none: those
/// that a process has it keeps for so many periods.
constexpr std::uint64_t kPeriodsToKeep = 10;
/// A process with more threads keeps its events.
constexpr std::size_t kMostTasks = 64;
/// So does one of whose time more than this part is that of threads which come and go between
/// looks: from two such looks on, until some time after the last.
constexpr std::uint64_t kBriefShare = 4;
constexpr std::uint32_t kBriefLook = 5;
constexpr std::uint32_t kManyBriefLooks = 2 * kBriefLook - 1;
constexpr std::uint32_t kMostBriefLooks = 6 * kBriefLook;
/// Looked at in one go, of all processes: some 100 µs.
constexpr std::size_t kMostLooked = 64;
constexpr std::uint64_t kLeastIntervalNs = 1'000'000;
/// Arming takes at most this part of a thread's time.
constexpr std::uint64_t kArmingShare = 40;
constexpr std::uint64_t kFirstArmingCostNs = 50'000;
constexpr std::uint64_t kMostArmingCostNs = 250'000;
/// The kernel makes no shorter timer of an event.
constexpr std::uint64_t kShortestNs = 10'000;
/// Threads without events are visited so often on average.
constexpr std::uint64_t kVisitNs = 1'000'000;
/// A random part of so many bursts, so that where the thread was met does not matter: mostly it
/// sleeps then, and what comes is the beginning of one.
constexpr std::uint64_t kSpreadBursts = 6;
/// As long as an event is armed, the kernel stops its timer and starts it anew at each switch. Less
/// on a plain machine, up to twice as much in a virtual one.
constexpr std::uint64_t kSwitchNs = 5'000;
/// However dear that is, so many samples there are.
constexpr std::uint64_t kMostIntervalNs = 20'000'000;

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

/// "CPU_NS WAIT_NS SWITCHES"; zeros if it cannot be read.
TaskClocks read_clocks(const Fd& schedstat) {
    std::array<char, 96> text{};
    const ssize_t bytes = ::pread(schedstat.get(), text.data(), text.size(), 0);
    if (bytes <= 0) {
        return {};
    }
    std::array<std::uint64_t, 3> numbers{};
    const char* at = text.data();
    for (std::uint64_t& number : numbers) {
        at = std::from_chars(at, text.data() + bytes, number).ptr + 1;
    }
    return {numbers[0], numbers[2]};
}

std::uint64_t own_cpu_ns() {
    return read_kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/// Of a thread of another process: counts its time without an interrupt.
Fd open_counter(pid_t tid) {
    Fd counter{std::max(source::open_event({}, tid), -1)};
    ::ioctl(counter.get(), PERF_EVENT_IOC_ENABLE, 0);
    return counter;
}

/// Of a thread of another process.
Fd open_event(pid_t tid, std::uint64_t period_ns, bool inherits) {
    source::PerfRequest request;
    request.period = period_ns;
    request.cookie = capture::kSampleCookie;
    request.sigtrap = true;
    request.inherits = inherits;
    return Fd{std::max(source::open_event(request, tid), -1)};
}

}  // namespace

OneShots::OneShots(Gatekeeper& gatekeeper, std::uint64_t period_ns)
    : gatekeeper_{gatekeeper},
      period_ns_{period_ns},
      arming_cost_ns_{kFirstArmingCostNs},
      random_{static_cast<std::minstd_rand::result_type>(own_cpu_ns())},
      thread_{[this] { run(); }} {}

OneShots::~OneShots() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void OneShots::watch(pid_t pid, bool same_pid_namespace, std::shared_ptr<AreaMapping> image) {
    const std::lock_guard lock{mutex_};
    Process& process = processes_.emplace_back();
    process.pid = pid;
    process.same_pid_namespace = same_pid_namespace;
    process.image = std::move(image);
    process.folder = open_task_folder(pid);
    if (processes_.size() == 1) {
        changed_.notify_all();
    }
}

void OneShots::forget(const AreaMapping& image) {
    const std::lock_guard lock{mutex_};
    processes_.remove_if([&](const Process& each) { return each.image.get() == &image; });
}

bool OneShots::has_taken_over(const AreaMapping& image) const {
    return std::any_of(processes_.begin(), processes_.end(), [&](const Process& each) {
        return each.image.get() == &image && each.by_one_shots;
    });
}

std::uint64_t OneShots::interval_ns() const {
    // Never so short that a sample is taken for one of a period.
    return std::max({2 * period_ns_, kLeastIntervalNs, kArmingShare * arming_cost_ns_});
}

std::uint64_t OneShots::random_below(std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>{0, limit}(random_);
}

bool OneShots::switches_often(const TaskClocks& done) const {
    const std::uint64_t many = std::max(kManySwitches, kNsPerSecond / period_ns_ / 2);
    return done.switches >= kLeastSwitches && done.cpu_ns != 0 &&
           done.switches * kNsPerSecond > many * done.cpu_ns;
}

void OneShots::run() {
    auto next_look = KernelClock::now() + kLookAround;
    std::unique_lock lock{mutex_};
    while (!stopping_) {
        if (processes_.empty()) {
            changed_.wait(lock);
            continue;
        }
        auto wake = next_look;
        if (std::any_of(processes_.begin(), processes_.end(),
                        [](const Process& each) { return each.by_one_shots; })) {
            wake = std::min(wake, KernelClock::now() + std::chrono::nanoseconds{
                                                           kVisitNs / 2 + random_below(kVisitNs)});
        }
        changed_.wait_until(lock, wake);
        ++ticks_;
        visit_some([this](Process& process) {
            for (Task& task : process.tasks) {
                if (process.by_one_shots) {
                    tick(process, task);
                }
            }
        });
        if (KernelClock::now() >= next_look) {
            visit_some([this](Process& process) { look_at(process); });
            next_look = KernelClock::now() + kLookAround;
        }
    }
}

template <class Visit>
void OneShots::visit_some(Visit visit) {
    std::size_t tasks = 0;
    for (std::size_t left = processes_.size(); left != 0 && tasks < kMostLooked; --left) {
        Process& process = processes_.front();
        visit(process);
        tasks += process.tasks.size() + 1;
        processes_.splice(processes_.end(), processes_, processes_.begin());
    }
}

void OneShots::list_tasks(Process& process) const {
    if (const std::uint32_t own = process.image->area().header.observer_tid.load();
        own != process.observer_own) {
        process.observer_own = own;
        process.observer = ThreadNumbers{process.pid, process.same_pid_namespace}.here(own);
    }
    std::vector<Task> listed;
    source::for_each_number(process.folder.get(), [&](int tid) {
        const auto known = std::find_if(process.tasks.begin(), process.tasks.end(),
                                        [tid](const Task& task) { return task.tid == tid; });
        if (tid == process.observer) {
            return true;
        }
        if (known != process.tasks.end()) {
            listed.push_back(std::move(*known));
            return true;
        }
        Task& task = listed.emplace_back();
        task.tid = tid;
        task.schedstat =
            Fd{::openat(process.folder.get(), (std::to_string(tid) + "/schedstat").c_str(),
                        O_RDONLY | O_CLOEXEC)};
        task.seen = read_clocks(task.schedstat);
        task.visited = task.seen;
        task.sampled_ns = task.seen.cpu_ns;
        // All are wanted where each is to get an event back.
        return process.by_one_shots || listed.size() <= kMostTasks;
    });
    for (const Task& task : process.tasks) {
        if (task.armed && task.schedstat.is_open()) {  // else it is listed again
            gatekeeper_.remove_one_shot(*process.image, task.tid);
        }
    }
    process.tasks = std::move(listed);
}

TaskClocks OneShots::measure(Process& process) const {
    TaskClocks done;
    for (Task& task : process.tasks) {
        const TaskClocks now = read_clocks(task.schedstat);
        if (now.cpu_ns < task.seen.cpu_ns) {
            continue;  // it has ended
        }
        const TaskClocks more{now.cpu_ns - task.seen.cpu_ns, now.switches - task.seen.switches};
        task.bursts.forget_half();
        if (!process.by_one_shots && more.cpu_ns != 0) {
            task.bursts.add(more);
        }
        done.cpu_ns += more.cpu_ns;
        done.switches += more.switches;
        task.seen = now;
    }
    // Each tick of ours may have put it off the processor.
    done.switches -= std::min(done.switches, ticks_ - std::exchange(process.seen_ticks, ticks_));
    return done;
}

/// All of its threads' but our own's.
std::uint64_t OneShots::own_work_ns(const Process& process) {
    const std::uint64_t now = process_cpu_ns(process.pid).value_or(0);
    const std::uint64_t ours = process.image->area().header.observer_cpu_ns.load();
    return now - std::min(now, ours);
}

/// Whether threads that no look meets, or a single one, have done much of what the process has done
/// of late. Of these none would be sampled without an event that they inherit.
bool OneShots::has_brief_tasks(Process& process, const TaskClocks& done) {
    const std::uint64_t all = own_work_ns(process);
    const std::uint64_t before = std::exchange(process.seen_cpu_ns, all);
    const std::uint64_t used = before == 0 ? 0 : all - std::min(all, before);
    const bool is_brief =
        used >= kLeastCpuNs && used - std::min(used, done.cpu_ns) > used / kBriefShare;
    process.brief_looks = is_brief ? std::min(process.brief_looks + kBriefLook, kMostBriefLooks)
                                   : std::max(process.brief_looks, 1U) - 1;
    return process.brief_looks >= kManyBriefLooks;
}

void OneShots::look_at(Process& process) {
    const TaskClocks done = measure(process);
    const bool has_brief = has_brief_tasks(process, done);
    process.since_swap_ns += done.cpu_ns;
    cpu_ns_ += process.by_one_shots ? done.cpu_ns : 0;
    list_tasks(process);
    if (process.tasks.empty() || process.tasks.size() > kMostTasks || has_brief) {
        if (process.by_one_shots) {
            give_periods(process);
        }
        return;
    }
    const bool may_swap = process.since_swap_ns >= kPeriodsToKeep * period_ns_;
    if (switches_often(done)) {
        process.calm_looks = 0;
        most_switches_ = std::max(most_switches_, done.switches * kNsPerSecond / done.cpu_ns);
        if (!process.by_one_shots) {
            if (may_swap) {
                give_one_shots(process);
            }
        } else if (!process.is_compared) {
            compare_clocks(process);
        }
    } else if (process.by_one_shots && done.cpu_ns >= kLeastCpuNs &&
               ++process.calm_looks >= kCalmLooks && may_swap) {
        give_periods(process);
    }
}

/// Once, over so much CPU time that it does not matter that clocks of threads that run are as old
/// as the last tick.
void OneShots::compare_clocks(Process& process) {
    constexpr std::uint64_t kEnoughNs = 200'000'000;
    const auto counted = static_cast<std::size_t>(
        std::count_if(process.tasks.begin(), process.tasks.end(),
                      [](const Task& task) { return task.counter.is_open(); }));
    if (process.counters == 0) {
        for (Task& task : process.tasks) {
            task.counter = open_counter(task.tid);
        }
        process.counters = process.tasks.size();
        process.counted_from_ns = own_work_ns(process);
        return;
    }
    const std::uint64_t now = own_work_ns(process);
    const std::uint64_t ran_ns = now - std::min(now, process.counted_from_ns);
    // Else threads have come or gone, and what they ran is not counted.
    const bool are_all = counted == process.counters && counted == process.tasks.size();
    if (are_all && ran_ns < kEnoughNs) {
        return;
    }
    std::uint64_t counted_ns = 0;
    for (Task& task : process.tasks) {
        counted_ns += are_all ? read_event(task.counter.get()).counted : 0;
        task.counter = {};
    }
    counted_ns_ += std::min(counted_ns, ran_ns);
    compared_ns_ += are_all ? ran_ns : 0;
    process.is_compared = true;
}

void OneShots::give_one_shots(Process& process) {
    if (!open_event(process.tasks.front().tid, kShortestNs, false).is_open()) {
        return;
    }
    gatekeeper_.replace(*process.image, {});
    process.by_one_shots = true;
    process.since_swap_ns = 0;
    switched_processes_ += std::exchange(process.is_counted, true) ? 0 : 1;
    for (Task& task : process.tasks) {
        task.visited = task.seen;
        task.sampled_ns = task.seen.cpu_ns;
    }
}

void OneShots::give_periods(Process& process) {
    std::vector<Fd> events;
    for (Task& task : process.tasks) {
        gatekeeper_.remove_one_shot(*process.image, task.tid);
        task.armed = false;
        task.counter = {};
        if (Fd event = open_event(task.tid, period_ns_, true); event.is_open()) {
            events.push_back(std::move(event));
        }
    }
    gatekeeper_.replace(*process.image, std::move(events));
    process.by_one_shots = false;
    process.since_swap_ns = 0;
    process.counters = 0;
    process.calm_looks = 0;
}

std::uint64_t OneShots::spread_of(const Task& task) {
    // One that mostly goes on from one visit to the next is met where it runs.
    return task.bursts.mean_ns() >= kVisitNs ? kVisitNs
                                             : kSpreadBursts * task.bursts.around_a_moment_ns();
}

std::uint64_t OneShots::interval_of(const Task& task) const {
    const std::uint64_t mean_ns = std::max<std::uint64_t>(task.bursts.mean_ns(), 1);
    // It is armed for half of the spread.
    const std::uint64_t for_switches = kArmingShare * spread_of(task) / 2 * kSwitchNs / mean_ns;
    return std::max(interval_ns(), std::min(for_switches, kMostIntervalNs));
}

void OneShots::tick(const Process& process, Task& task) {
    const TaskClocks now = read_clocks(task.schedstat);
    const std::uint64_t cpu_ns = now.cpu_ns;
    if (cpu_ns > task.visited.cpu_ns) {
        task.bursts.add({cpu_ns - task.visited.cpu_ns, now.switches - task.visited.switches});
        task.visited = now;
    }
    if (task.armed && has_sampled(process, task, cpu_ns)) {
        gatekeeper_.remove_one_shot(*process.image, task.tid);
        task.armed = false;
    }
    if (!task.armed && cpu_ns >= task.sampled_ns + interval_of(task)) {
        arm(process, task, cpu_ns);
    }
}

/// Its event has expired, and the thread has most likely left the system call where that was: until
/// then the signal is the event's, and goes with it. The thread's clock does not tell, as it was
/// old when the event was armed while the thread ran.
bool OneShots::has_sampled(const Process& process, const Task& task, std::uint64_t cpu_ns) {
    constexpr std::uint64_t kBurstsBehind = 4;
    constexpr std::uint64_t kClocksDiffer = 16;  // by this part, where they are stopped often
    const std::uint64_t behind_ns = std::min(kBurstsBehind * task.bursts.mean_ns(), kVisitNs);
    return cpu_ns >= task.sampled_ns + behind_ns &&
           gatekeeper_.one_shot_count(*process.image, task.tid).value_or(task.armed_for_ns) >=
               task.armed_for_ns - task.armed_for_ns / kClocksDiffer;
}

void OneShots::arm(const Process& process, Task& task, std::uint64_t cpu_ns) {
    const std::uint64_t before = own_cpu_ns();
    // The sum of two random parts prefers no place in a burst, whatever its length.
    const std::uint64_t half = spread_of(task) / 2;
    const std::uint64_t after = kShortestNs + random_below(half) + random_below(half);
    task.armed =
        gatekeeper_.add_one_shot(*process.image, task.tid, open_event(task.tid, after, false));
    task.armed_for_ns = after;
    task.sampled_ns = cpu_ns + after;
    // It goes up and down slowly, since some are armed while another thread keeps us waiting.
    arming_cost_ns_ =
        std::min((7 * arming_cost_ns_ + 2 * (own_cpu_ns() - before)) / 8, kMostArmingCostNs);
}

std::string OneShots::note() {
    const std::lock_guard lock{mutex_};
    constexpr std::uint64_t kWorthTelling = 100'000'000;
    if (cpu_ns_ < kWorthTelling) {
        return {};
    }
    std::string text =
        std::to_string(switched_processes_) +
        (switched_processes_ == 1 ? " process" : " processes") +
        " left the processor often, up to " + std::to_string(most_switches_) +
        " times a second of CPU time: sampled less often while so, to cost nothing at a switch; "
        "durations still add up";
    constexpr std::uint64_t kFewPercent = 5;
    if (const std::uint64_t percent =
            compared_ns_ == 0 ? 0 : 100 - 100 * counted_ns_ / compared_ns_;
        percent >= kFewPercent) {
        text += ", but " + std::to_string(percent) +
                " % is the kernel's at switches, where no sample is taken: it is shown as what "
                "ran before and after";
    }
    return text;
}

}  // namespace sample::collector
