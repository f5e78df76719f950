#include "sampler/source/sampling_loop.h"

#include "core/kernel_clock.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/transfers.h"
#include "sampler/source/own_descriptors.h"

#include <linux/futex.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <limits>

namespace sample::source {
namespace {

using capture::as_argument;
using capture::raw_syscall;

/// Listing the threads takes at most this part of the time.
constexpr std::uint64_t kListingShare = 20;
/// With more threads than these, each has a stride of its own.
constexpr std::size_t kManyThreads = 32;
constexpr std::uint64_t kSecondNs = 1'000'000'000;
/// How often one that stands by looks whether it is wanted.
constexpr std::uint64_t kStandByNs = 20'000'000;
/// A call that moves data for longer is interrupted: it may have been left by a jump.
constexpr std::uint64_t kMostOwedNs = 100'000'000;
/// A processor that gives this thread so long no turn is not visited again for some looks.
constexpr std::uint64_t kKeptNs = 20'000'000;
constexpr std::uint64_t kLooksWithoutVisit = 64;
/// Of more threads that never sleep than these none is visited: there is one visit a look.
constexpr std::size_t kMostCallers = 4;
/// A thread that ran for this part of the time since the last look might run at this one.
constexpr std::uint64_t kRunnersPart = 4;
/// Who found that one could not, at so many looks in a row, is in its way; of twice as many each
/// time, where it does not help to go.
constexpr unsigned kInTheWay = 8;
constexpr unsigned kMostInTheWay = 1024;
/// A look that comes later than this says nothing of where threads waited before it.
constexpr std::uint64_t kAwayNs = 50'000'000;
constexpr int kExpectedAtLeast = 2;  // this thread, and one of the program's

constexpr std::uint64_t kRestSignals = std::uint64_t{1} << (kRestSignal - 1);

std::uint64_t monotonic_ns() noexcept {
    return read_kernel_clock_ns(CLOCK_MONOTONIC);
}

/// False: it could not be queued, or the thread is gone.
bool queue_signal(int process, int tid, int signal, std::uint64_t cookie) noexcept {
    siginfo_t info{};
    info.si_signo = signal;
    info.si_code = SI_QUEUE;
    info.si_errno = capture::kFromSamplingThread;
    info.si_pid = process;
    info.si_value.sival_ptr = reinterpret_cast<void*>(cookie);
    return raw_syscall(SYS_rt_tgsigqueueinfo, process, tid, signal, as_argument(&info)) == 0;
}

/// Zeros of one that is not known.
AskedSamples samples_of(const WatchedThread& thread) noexcept {
    const capture::ThreadState* const state = thread.state;
    if (state == nullptr || state->slot->tid.load() != static_cast<std::uint32_t>(thread.tid)) {
        return {};
    }
    return {state->asked_samples.load(std::memory_order_relaxed),
            state->call_samples.load(std::memory_order_relaxed)};
}

/// struct sched_attr as of its first version. Source: sched_setattr(2).
struct SchedulerRequest {
    std::uint32_t size = 48;
    std::uint32_t policy = 0;  // SCHED_OTHER
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime_ns = 0;
    std::uint64_t deadline_ns = 0;
    std::uint64_t period_ns = 0;
};
static_assert(sizeof(SchedulerRequest) == 48);

/// A thread that only gets a processor when another one gives it up sees that thread where it does
/// so, not where it spends its time. A short slice (Linux 6.12; without effect before) and, where
/// allowed, priority let it run when its time has come.
void ask_for_prompt_scheduling() noexcept {
    constexpr std::uint64_t kShortestSliceNs = 100'000;
    constexpr std::int32_t kMostUrgent = -20;
    SchedulerRequest request;
    request.runtime_ns = kShortestSliceNs;
    request.nice = kMostUrgent;
    if (raw_syscall(SYS_sched_setattr, 0, as_argument(&request), 0) != 0) {
        request.nice = static_cast<std::int32_t>(20 - raw_syscall(SYS_getpriority, 0, 0));
        raw_syscall(SYS_sched_setattr, 0, as_argument(&request), 0);
    }
}

}  // namespace

std::uint32_t SamplingLoop::random() noexcept {
    random_ = random_ * 1664525U + 1013904223U;
    return random_;  // its high bits are the random ones
}

bool SamplingLoop::has_many_threads() noexcept {
    return table_.threads().size() > kManyThreads;
}

bool SamplingLoop::is_over() const noexcept {
    return job.area->header.stopped.load(std::memory_order_relaxed) != 0 ||
           process_has_ended(job.collector_pid);
}

void SamplingLoop::sleep_until_next_tick(std::uint64_t period) noexcept {
    const std::uint64_t now = monotonic_ns();
    next_ns_ += period;
    if (next_ns_ + period < now) {
        next_ns_ = now;  // the whole period is over: ticks are left out, time is not
    }
    sleep_until(next_ns_ + (period * places_.next(random()) >> 32U));
    // Who did not get a processor in time is given one at the scheduler's ticks, with which a
    // program may keep step, and has missed periods that this look is to stand for.
    if (const std::uint64_t late = monotonic_ns(); late > next_ns_ + 2 * period) {
        if (late > next_ns_ + period + kKeptNs) {
            visits_from_ = tick_ + kLooksWithoutVisit;
        }
        callers_visits_from_ = tick_ + kLooksWithoutVisit;
        next_ns_ = late;
        visit_.call_off(processor_);
        sleep_until(next_ns_ + (period * random() >> 32U));
    }
}

void SamplingLoop::sleep_until(std::uint64_t moment_ns) noexcept {
    const timespec until = to_timespec(moment_ns);
    raw_syscall(SYS_futex, as_argument(&orders), FUTEX_WAIT_BITSET_PRIVATE, look_on,
                as_argument(&until), 0, static_cast<long>(FUTEX_BITSET_MATCH_ANY));
}

bool SamplingLoop::can_rest() noexcept {
    if (!may_rest.load(std::memory_order_relaxed)) {
        return false;
    }
    if (timer_ == kNoTimerYet) {
        timer_ = create_thread_timer(self_, kRestSignal, 0, CLOCK_PROCESS_CPUTIME_ID);
    }
    return timer_ >= 0;
}

void SamplingLoop::rest(std::uint64_t most_ns) noexcept {
    rests.store(true);  // before the orders are looked at: pairs with wake()
    if (orders.load() == look_on && may_rest.load()) {
        start_timer(timer_, job.period_ns / 2, 0);
        const timespec most = to_timespec(most_ns);
        raw_syscall(SYS_rt_sigtimedwait, as_argument(&kRestSignals), 0, as_argument(&most),
                    sizeof kRestSignals);
    }
    rests.store(false);
    next_ns_ = monotonic_ns();
    tick_ += LookStride::kMostTicks;  // all threads are looked at
}

void SamplingLoop::wait() noexcept {
    look_period_ns_ = is_at_work() ? pace_.wait_ns(job.period_ns) : kStandByNs;
    planned_ns_ = next_ns_ + std::max(2 * look_period_ns_, pace_.rest_ns());
    const bool is_rest = pace_.rest_ns() > look_period_ns_ && can_rest();
    const bool is_long = is_rest && pace_.rest_ns() >= Pace::kTickNs;
    if (is_rest && !is_long) {
        look_period_ns_ = pace_.rest_ns();
    }
    mark_due();
    if (is_long) {
        visit_.call_off(processor_);
        rest(pace_.rest_ns());
        return;
    }
    choose_visit();
    sleep_until_next_tick(look_period_ns_);
}

void SamplingLoop::note_look(std::uint64_t ran_ns) noexcept {
    const std::uint64_t own_ns = capture::thread_cpu_ns();
    job.area->header.observer_cpu_ns.store(spent_before_ns_ + own_ns, std::memory_order_relaxed);
    if (job.reports_waits) {
        pace_.looked_for_waits({next_ns_, own_ns, 0, ran_ns});
        return;
    }
    // Of threads that run on other processors the process's clock is as old as the last tick there.
    // Who stands by has time for that.
    const std::uint64_t program_ns = read_kernel_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - own_ns;
    pace_.looked(
        {next_ns_, own_ns, program_ns,
         is_at_work() ? ran_ns : program_ns - std::min(program_ns, pace_.last().program_ns)},
        job.period_ns);
}

bool SamplingLoop::list_threads() noexcept {
    const std::uint64_t start = monotonic_ns();
    int count = 0;
    const auto make = [](int tid) {
        WatchedThread thread;
        thread.tid = tid;
        return thread;
    };
    const auto gone = [this](const WatchedThread& thread) { waits_.lose(thread); };
    table_.begin_listing();
    for_each_number(folder_, [&](int tid) {
        // The first thread stays listed when it has left, as long as there are others.
        if (is_apart(tid) || (tid == process_ && state_letter(folder_, tid) == 'Z')) {
            return true;
        }
        ++count;
        return tid == self_ || table_.list(tid, make, gone);
    });
    table_.end_listing(gone);
    const std::uint64_t now = monotonic_ns();
    next_listing_ns_ = now + (now - start) * kListingShare;
    return count >= kExpectedAtLeast;
}

bool SamplingLoop::is_awake(const WatchedThread& thread) const noexcept {
    const TaskState state = task_state(folder_, thread.tid);
    return state.kind == TaskState::Kind::awake ||
           (state.kind == TaskState::Kind::unknown && state_letter(folder_, thread.tid) == 'R');
}

std::uint64_t SamplingLoop::time_for_one(const WatchedThread& thread) noexcept {
    return look_period_ns_ * (has_many_threads() ? thread.stride.average_ticks() : 1);
}

void SamplingLoop::mark_due() noexcept {
    const bool is_wanted = interrupts && is_at_work();
    const auto is_caller = [](const WatchedThread& thread) {
        return thread.choice.keeps_running() && thread.choice.calls_often();
    };
    const auto threads = table_.threads();
    const bool are_callers_visited =
        may_visit() && tick_ >= callers_visits_from_ &&
        static_cast<std::size_t>(std::count_if(threads.begin(), threads.end(), is_caller)) <=
            kMostCallers;
    for (WatchedThread& thread : threads) {
        thread.is_visited =
            !thread.choice.keeps_running() || (is_caller(thread) && are_callers_visited);
        thread.is_due = is_wanted && thread.is_visited && thread.next_look <= tick_ &&
                        thread.choice.wants_visit(time_for_one(thread), random());
    }
}

void SamplingLoop::choose_visit() noexcept {
    int chosen = 0;
    std::uint64_t weights = 0;
    for (const WatchedThread& thread : table_.threads()) {
        if (thread.is_due && may_visit()) {
            weights += thread.stride.weight();
            chosen = (weights * random() >> 32U) < thread.stride.weight() ? thread.tid : chosen;
        }
    }
    if (chosen == 0) {
        visit_.call_off(processor_);
    } else if (!visit_.pay(chosen, processor_)) {
        callers_visits_from_ = tick_ + kLooksWithoutVisit;
    }
}

void SamplingLoop::keep_out_of_the_way_of(const WatchedThread* kept) noexcept {
    if (kept == nullptr) {
        in_the_way_ = 0;
        looks_in_the_way_ = kInTheWay;
    } else if (++in_the_way_ >= looks_in_the_way_) {
        in_the_way_ = 0;
        looks_in_the_way_ = std::min(2 * looks_in_the_way_, kMostInTheWay);
        if (is_awake(*kept)) {
            processor_.leave(processor_of(folder_, kept->tid));
        }
    }
}

SamplingLoop::Found SamplingLoop::find_for_visit(const WatchedThread& thread,
                                                 std::uint64_t cpu_ns) noexcept {
    constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
    const bool sleeps = !thread.choice.keeps_running();
    Met met;
    if (visit_.is_of(thread.tid)) {
        met = visit_.met();
    } else if (sleeps || thread.choice.was_left()) {
        met.ran_elsewhere = runs_elsewhere(thread.tid, random());
    }
    if (met.ran_elsewhere) {
        return {cpu_ns, thread.choice.late_ns(job.period_ns)};
    }
    // Also who sleeps by now: the call that it was in it still is in, and that is made again.
    if (met.stopped == Stopped::at_once && visit_.is_where_it_was()) {
        return {cpu_ns, kNever};
    }
    // Of one that never sleeps a late end is that of a system call.
    const bool was_met = met.stopped != Stopped::no && (met.stopped != Stopped::late || !sleeps);
    // Who went on for a while may have gone to sleep itself. One that has not been met for long has
    // most often just been woken, inside a system call, and waits for this processor.
    if ((was_met || thread.choice.was_missed(visit_.is_possible())) && is_awake(thread)) {
        return {cpu_ns, met.stopped == Stopped::gave_way ? kNever : 0};
    }
    return {};
}

SamplingLoop::Found SamplingLoop::find(const WatchedThread& thread) noexcept {
    const std::uint64_t cpu_ns = std::max(cpu_ns_of(thread.tid), thread.choice.cpu_ns());
    if (thread.is_visited) {
        return find_for_visit(thread, cpu_ns);
    }
    if (cpu_ns > thread.choice.cpu_ns()) {
        return {cpu_ns, thread.choice.late_ns(job.period_ns)};
    }
    return is_awake(thread) ? Found{cpu_ns, 0} : Found{};
}

bool SamplingLoop::moves_data(WatchedThread& thread) noexcept {
    if (thread.state == nullptr) {
        return false;
    }
    const capture::Interruption answer = capture::ask_to_interrupt(*thread.state);
    if (answer != capture::Interruption::was_owed) {
        thread.owes_since_ns = thread.choice.cpu_ns();
    }
    if (answer == capture::Interruption::was_owed &&
        thread.choice.cpu_ns() - thread.owes_since_ns > kMostOwedNs) {
        capture::interrupt_all_the_same(*thread.state);
        return false;
    }
    return answer != capture::Interruption::comes;
}

void SamplingLoop::interrupt_if_due(WatchedThread& thread) noexcept {
    if (thread.choice.wants_window(next_ns_)) {
        thread.choice.end_window(next_ns_, schedule_counts(folder_, thread.tid),
                                 samples_of(thread));
    }
    const bool is_due =
        thread.is_visited ? thread.is_due : thread.choice.wants_signal(time_for_one(thread));
    if (!is_due || job.area->header.traced.load(std::memory_order_relaxed) != 0) {
        return;
    }
    capture::begin_asking(static_cast<std::uint32_t>(thread.tid));
    // That signal would end a new image; who closes the gate has waited for the last one.
    if (signal != capture::kAsyncSignal && job.area->header.gate_closers.load() != 0) {
        capture::end_asking();
        return;
    }
    thread.state = capture::find_thread_state(thread.state, static_cast<std::uint32_t>(thread.tid));
    if (const Found found = find(thread); found.cpu_ns != 0) {
        thread.choice.interrupted();
        if (thread.state != nullptr) {
            thread.state->looked_ns.store(thread.choice.looked_ns(), std::memory_order_relaxed);
            thread.state->late_ns.store(found.late_ns, std::memory_order_relaxed);
            thread.state->sent_ns.store(found.cpu_ns, std::memory_order_relaxed);
        }
        if (!moves_data(thread) &&
            !queue_signal(process_, thread.tid, signal, capture::kSampleCookie) &&
            thread.state != nullptr) {
            capture::note_unsent(*thread.state);
        }
    }
    capture::end_asking();
}

std::uint64_t SamplingLoop::look_at(WatchedThread& thread) noexcept {
    // Before the clock is read: what the thread does in between is not taken for waiting.
    const std::uint64_t ticks = capture::read_ticks();
    const std::uint64_t cpu_ns = cpu_ns_of(thread.tid);
    const std::uint64_t now = monotonic_ns();
    if (cpu_ns == 0) {
        return 0;  // gone; the next listing knows
    }
    const std::uint64_t ran_ns = thread.choice.check(cpu_ns, now - std::min(now, next_ns_));
    if (ran_ns != 0) {
        if (!thread.choice.keeps_running()) {
            places_.met_sleeper();
        }
        if (interrupts) {
            interrupt_if_due(thread);
        }
    }
    if (job.reports_waits) {
        waits_.look_at(thread, ran_ns != 0, now > planned_ns_ + kAwayNs, ticks);
    }
    thread.stride.looked(next_ns_, cpu_ns);
    if (has_many_threads()) {
        thread.next_look = tick_ + thread.stride.next_ticks(random());
    }
    return ran_ns;
}

void SamplingLoop::follow_frequency() noexcept {
    if (const std::uint32_t hz = job.area->header.frequency_hz.load(std::memory_order_relaxed);
        hz != 0) {
        job.period_ns = kSecondNs / hz;
    }
}

void SamplingLoop::take_over_if_told() noexcept {
    if (interrupts || job.area->header.observer_takes_over.load(std::memory_order_relaxed) == 0) {
        return;
    }
    interrupts = true;
    capture::watch_transfers(true);
    next_ns_ = monotonic_ns();
    job.area->header.gap_ticks.store(0, std::memory_order_relaxed);
    job.area->header.kernel_excluded.store(0, std::memory_order_relaxed);
}

std::uint64_t SamplingLoop::look_at_all() noexcept {
    std::uint64_t ran_ns = 0;
    const WatchedThread* kept = nullptr;  // one that could not go on
    // Who is visited is to be found where it was stopped.
    for (const bool is_visited : {true, false}) {
        for (WatchedThread& thread : table_.threads()) {
            if (visit_.is_of(thread.tid) != is_visited || thread.next_look > tick_) {
                continue;
            }
            const std::uint64_t thread_ran_ns = look_at(thread);
            ran_ns += thread_ran_ns;
            if (!is_visited && thread_ran_ns * kRunnersPart >= look_period_ns_ &&
                cpu_ns_of(thread.tid) == thread.choice.cpu_ns()) {
                kept = &thread;
            }
        }
    }
    keep_out_of_the_way_of(kept);
    return ran_ns;
}

void SamplingLoop::begin() noexcept {
    folder_ = open_task_folder();
    self_ = static_cast<int>(raw_syscall(SYS_gettid));
    process_ = static_cast<int>(raw_syscall(SYS_getpid));
    tick_ = 0;
    next_ns_ = monotonic_ns();
    look_period_ns_ = job.period_ns;
    planned_ns_ = next_ns_;
    timer_ = kNoTimerYet;
    next_listing_ns_ = 0;
    random_ = static_cast<std::uint32_t>(capture::read_ticks());
    places_ = LookPlaces{};
    table_ = ThreadTable{};  // what a forked child finds there is not mapped
    processor_.begin();
    visit_.begin(folder_, self_);
    visits_from_ = 0;
    callers_visits_from_ = 0;
    in_the_way_ = 0;
    looks_in_the_way_ = kInTheWay;
    job.area->header.observer_tid.store(static_cast<std::uint32_t>(self_));
    spent_before_ns_ = job.area->header.observer_cpu_ns.load(std::memory_order_relaxed);
    rights_ = rights_of(folder_, self_);
    const std::uint64_t own_ns = capture::thread_cpu_ns();
    pace_ = Pace{{next_ns_, own_ns, read_kernel_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - own_ns, 0}};
    if (job.reports_waits) {
        waits_.begin(*job.area, folder_);
    }
}

void SamplingLoop::wake() const noexcept {
    raw_syscall(SYS_futex, as_argument(&orders), FUTEX_WAKE_PRIVATE, 1);
    if (rests.load()) {
        queue_signal(owner, id, kRestSignal, 0);
    }
}

void SamplingLoop::say_lost() const noexcept {
    job.area->header.confinement.store(static_cast<std::uint32_t>(capture::Confinement::unwatched),
                                       std::memory_order_relaxed);
}

bool SamplingLoop::may_go_on() const noexcept {
    if (is_over()) {
        return false;
    }
    const bool exceeds = rights_.exceed(rights_of(folder_, process_));
    if (exceeds) {
        say_lost();
    }
    return !exceeds;
}

void SamplingLoop::run() noexcept {
    raw_syscall(SYS_prctl, PR_SET_NAME, as_argument(capture::kSamplingThreadName));
    raw_syscall(SYS_prctl, PR_SET_TIMERSLACK, 1);
    ask_for_prompt_scheduling();  // as a right that is dropped next may allow
    const bool is_harmless = drop_rights();
    has_dropped_rights.store(1, std::memory_order_release);
    raw_syscall(SYS_futex, as_argument(&has_dropped_rights), FUTEX_WAKE_PRIVATE, 1);
    while (orders.load(std::memory_order_acquire) == wait_for_orders) {
        raw_syscall(SYS_futex, as_argument(&orders), FUTEX_WAIT_PRIVATE, wait_for_orders, 0);
    }
    if (orders.load(std::memory_order_acquire) == end_thread) {
        return;
    }
    begin();
    const bool is_able = folder_ >= 0 && is_harmless && table_.grow();
    if (!is_able) {
        say_lost();
    }
    std::uint64_t next_look_around_ns = next_ns_ + kSecondNs / 10;
    while (is_able && orders.load(std::memory_order_relaxed) == look_on) {
        if (next_ns_ >= next_listing_ns_ && !list_threads()) {
            break;
        }
        take_over_if_told();
        follow_frequency();
        note_look(is_at_work() ? look_at_all() : 0);
        if (next_ns_ >= next_look_around_ns) {
            if (!may_go_on()) {
                break;
            }
            next_look_around_ns = next_ns_ + kSecondNs / 10;
        }
        ++tick_;
        wait();
        visit_.meet(random());
    }
    if (timer_ >= 0) {
        delete_timer(timer_);
    }
    visit_.end(processor_);
    table_.release();
    raw_syscall(SYS_close, folder_);
}

}  // namespace sample::source
