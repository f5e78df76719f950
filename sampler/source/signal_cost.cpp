#include "sampler/source/signal_cost.h"

#include "core/fd.h"
#include "core/kernel_clock.h"
#include "core/units.h"
#include "sampler/capture/clocks.h"
#include "sampler/source/perf_event.h"
#include "sampler/source/posix_timer.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <ctime>
#include <utility>

namespace sample::source {
namespace {

using control::Source;

constexpr std::uint64_t kLongestPeriodNs = 250'000;
constexpr std::uint64_t kMostCpuNs = 5'000'000;
/// Of that, for the turns from one look at the clock to the next: where it moved on further, a
/// hypervisor had the processor.
constexpr std::uint64_t kMostTurnsNs = 500'000;
constexpr std::uint64_t kMostWallNs = 200'000'000;  // where others have the processors
constexpr std::size_t kMostGaps = 16;
constexpr std::size_t kLeastGaps = 8;
constexpr std::uint64_t kPeriodTolerance = 20;  // a twentieth of it
/// Where a signal takes longer than the period, nothing but signals would ever go on.
constexpr std::size_t kMostSignals = 20;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a handler has nothing else
constinit std::atomic<std::uint32_t> g_signals{0};

/// When each of them came, in ticks.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the same
std::array<std::uint64_t, kMostSignals> g_came{};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the same
constinit std::atomic<TimerId> g_timer{-1};

/// The last one that another process sent meanwhile.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the same
siginfo_t g_meant_for_others{};

bool is_sent_by_another(const siginfo_t& info) {
    return info.si_code == SI_USER || info.si_code == SI_QUEUE ||
           (info.si_code == SI_TKILL && info.si_pid != ::getpid());
}

void count_signal(int /*signal*/, siginfo_t* info, void* /*context*/) {
    if (is_sent_by_another(*info)) {
        g_meant_for_others = *info;
        return;
    }
    std::uint32_t signals = g_signals.load(std::memory_order_relaxed);
    if (signals < g_came.size()) {
        g_came[signals] = capture::read_ticks();
    }
    g_signals.store(++signals, std::memory_order_relaxed);
    const TimerId timer = g_timer.load(std::memory_order_relaxed);
    if (timer >= 0 && signals >= kMostSignals) {
        start_timer(timer, 0, 0);  // stops it
    }
}

/// The process's handler of a signal is count_signal(), and the calling thread gets it. What others
/// send meanwhile comes behind that.
class OwnSignal {
public:
    explicit OwnSignal(int signal) : signal_{signal} {
        struct sigaction action {};
        action.sa_sigaction = count_signal;
        action.sa_flags = SA_RESTART | SA_SIGINFO;
        g_meant_for_others = {};
        ::sigaction(signal_, &action, &action_);
        sigset_t set;
        ::sigemptyset(&set);
        ::sigaddset(&set, signal_);
        ::pthread_sigmask(SIG_UNBLOCK, &set, &mask_);
    }
    ~OwnSignal() {
        ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
        ::sigaction(signal_, &action_, nullptr);
        if (g_meant_for_others.si_signo != 0) {
            // The kernel lets no thread say kill(2) for another one. The sender stays the same.
            g_meant_for_others.si_code = SI_QUEUE;
            ::syscall(SYS_rt_sigqueueinfo, ::getpid(), signal_, &g_meant_for_others);
        }
    }
    OwnSignal(const OwnSignal&) = delete;
    OwnSignal& operator=(const OwnSignal&) = delete;

private:
    int signal_;
    struct sigaction action_ {};
    sigset_t mask_{};
};

int this_thread() {
    return static_cast<int>(capture::raw_syscall(SYS_gettid));
}

/// A thread that interrupts another one, as the sampling thread does.
class Sender {
public:
    Sender(int tid, std::uint64_t period_ns)
        : tid_{tid},
          period_{0, static_cast<long>(period_ns)},
          is_running_{::pthread_create(&thread_, nullptr, run, this) == 0} {}
    ~Sender() {
        if (is_running_) {
            is_over_.store(true, std::memory_order_relaxed);
            ::pthread_join(thread_, nullptr);
        }
    }
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    [[nodiscard]] bool is_running() const { return is_running_; }

private:
    static void* run(void* pointer) {
        const auto& self = *static_cast<const Sender*>(pointer);
        ::prctl(PR_SET_TIMERSLACK, 1);
        const sched_param none{};  // on a busy machine, too: not in batches, as the collector does
        static_cast<void>(::pthread_setschedparam(::pthread_self(), SCHED_OTHER, &none));
        for (std::size_t i = 0; i < kMostSignals && !self.is_over_.load(std::memory_order_relaxed);
             ++i) {
            ::nanosleep(&self.period_, nullptr);
            capture::raw_syscall(SYS_tgkill, ::getpid(), self.tid_, SIGURG);
        }
        return nullptr;
    }

    int tid_;
    timespec period_;
    std::atomic<bool> is_over_{false};
    pthread_t thread_{};
    bool is_running_;  // the last: the thread uses the others
};

/// What signals cost the thread that this is made in.
class Gaps {
public:
    explicit Gaps(const std::atomic<bool>& is_over) : is_over_{is_over} {}

    /// Time that passed between two readings wherever a signal came in between, without what the
    /// thread had no processor for. Nanoseconds.
    std::span<std::uint64_t> watch() {
        constexpr std::uint32_t kTurnsAClock = 4096;
        const std::uint64_t start_ns = read_kernel_clock_ns(CLOCK_MONOTONIC);
        const Look start = look();
        looked_ = start;
        std::uint64_t used_ns = 0;
        std::uint64_t passed_ns = 0;
        std::uint64_t before = start.ticks;
        std::uint32_t signals = g_signals.load(std::memory_order_relaxed);
        for (std::uint32_t turn = 1; count_ < gaps_.size() && signals < kMostSignals; ++turn) {
            if (turn % kTurnsAClock == 0) {
                passed_ns = read_kernel_clock_ns(CLOCK_MONOTONIC) - start_ns;
                const std::uint64_t before_ns = std::exchange(looked_, look()).cpu_ns;
                used_ns += std::min(looked_.cpu_ns - before_ns, kMostTurnsNs);
                if (is_over_.load(std::memory_order_relaxed) || passed_ns > kMostWallNs ||
                    used_ns > kMostCpuNs) {
                    break;
                }
                before = capture::read_ticks();
                signals = g_signals.load(std::memory_order_relaxed);
            }
            const std::uint32_t seen = g_signals.load(std::memory_order_relaxed);
            // Behind that: wherever the signal came since `before`, the gap has it.
            const std::uint64_t now = capture::read_ticks();
            if (seen == signals) {
                before = now;
                continue;
            }
            take(now - before, seen - signals);
            before = capture::read_ticks();
            signals = g_signals.load(std::memory_order_relaxed);
        }
        passed_ns = read_kernel_clock_ns(CLOCK_MONOTONIC) - start_ns;
        ns_a_tick_ = static_cast<double>(passed_ns) /
                     static_cast<double>(capture::read_ticks() - start.ticks);
        return in_ns();
    }

    /// Behind watch(): what passed from one signal to the next, which of those that a timer of the
    /// kernel's makes is a period, or what a signal takes where that is longer: then nothing else
    /// goes on, and watch() sees no gaps. Nanoseconds.
    std::span<std::uint64_t> distances() {
        const std::size_t signals = std::min<std::size_t>(g_signals.load(), g_came.size());
        std::size_t known = 0;
        for (std::size_t i = 1; i < signals; ++i) {
            ns_[known++] = to_ns(g_came[i] - g_came[i - 1]);
        }
        return std::span{ns_}.first(known);
    }

private:
    struct Look {
        std::uint64_t ticks = 0;
        std::uint64_t cpu_ns = 0;  ///< Of this thread.
    };
    struct Gap {
        std::uint64_t ticks = 0;
        Look around;  ///< What passed between two looks, one before it and one behind.
    };

    static Look look() { return {capture::read_ticks(), capture::thread_cpu_ns()}; }

    void take(std::uint64_t ticks, std::uint32_t signals) {
        const Look before = std::exchange(looked_, look());
        if (signals == 1) {
            gaps_[count_++] = {ticks,
                               {looked_.ticks - before.ticks, looked_.cpu_ns - before.cpu_ns}};
        }
    }

    [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const {
        return static_cast<std::uint64_t>(static_cast<double>(ticks) * ns_a_tick_);
    }

    std::span<std::uint64_t> in_ns() {
        for (std::size_t i = 0; i < count_; ++i) {
            const Gap& gap = gaps_[i];
            const std::uint64_t gap_ns = to_ns(gap.ticks);
            const std::uint64_t around_ns = to_ns(gap.around.ticks);
            const std::uint64_t away_ns = around_ns - std::min(gap.around.cpu_ns, around_ns);
            ns_[i] = gap_ns - std::min(away_ns, gap_ns);
        }
        return std::span{ns_}.first(count_);
    }

    const std::atomic<bool>& is_over_;
    Look looked_;
    double ns_a_tick_ = 0;
    std::array<Gap, kMostGaps> gaps_{};
    std::array<std::uint64_t, kMostSignals> ns_{};
    std::size_t count_ = 0;
};

std::span<std::uint64_t> gaps_by_event(Source source, std::uint64_t period_ns, Gaps& gaps) {
    PerfRequest request;
    request.period = period_ns;
    request.sigtrap = source == Source::sigtrap;
    request.exclude_kernel = source == Source::perf;
    request.inherits = false;
    Fd event{open_event(request, 0)};
    if (event.get() < 0 && source == Source::sigtrap) {
        request.exclude_kernel = true;
        event = Fd{open_event(request, 0)};
    }
    if (event.get() < 0 ||
        (source == Source::perf && send_signal_to(event.get(), this_thread(), SIGURG) < 0)) {
        return {};
    }
    ::ioctl(event.get(), PERF_EVENT_IOC_REFRESH, kMostSignals);
    const std::span<std::uint64_t> seen = gaps.watch();
    ::ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0);
    return seen;
}

std::span<std::uint64_t> gaps_by_timer(std::uint64_t period_ns, Gaps& gaps) {
    const TimerId timer = create_thread_timer(this_thread(), SIGURG, 0);
    if (timer < 0) {
        return {};
    }
    g_timer.store(timer, std::memory_order_relaxed);
    start_timer(timer, period_ns, period_ns);
    const std::span<std::uint64_t> seen = gaps.watch();
    g_timer.store(-1, std::memory_order_relaxed);
    delete_timer(timer);
    return seen;
}

std::span<std::uint64_t> gaps_by(Source source, std::uint64_t period_ns, Gaps& gaps) {
    switch (source) {
        case Source::sigtrap:
        case Source::perf:
            return gaps_by_event(source, period_ns, gaps);
        case Source::thread: {
            const Sender sender{this_thread(), period_ns};
            return sender.is_running() ? gaps.watch() : std::span<std::uint64_t>{};
        }
        case Source::timer:
            return gaps_by_timer(period_ns, gaps);
        case Source::none:
            break;
    }
    return {};
}

}  // namespace

std::optional<SignalCost> signal_cost_of(std::span<std::uint64_t> gaps) {
    if (gaps.size() < kLeastGaps) {
        return std::nullopt;
    }
    std::sort(gaps.begin(), gaps.end());
    // The ranks between which the median lies, by the normal approximation of a coin's throws.
    constexpr double kSigmas = 1.96;
    const std::size_t middle = gaps.size() / 2;
    const auto aside = static_cast<std::size_t>(
        std::ceil(kSigmas * std::sqrt(static_cast<double>(gaps.size())) / 2));
    return SignalCost{gaps[middle], gaps[middle - std::min(aside, middle)],
                      gaps[std::min(middle + aside, gaps.size() - 1)]};
}

std::optional<SignalCost> measure_signal_cost(Source source, std::uint32_t frequency_hz,
                                              const std::atomic<bool>& is_over) {
    g_signals.store(0, std::memory_order_relaxed);
    const OwnSignal signal{source == Source::sigtrap ? SIGTRAP : SIGURG};
    Gaps gaps{is_over};
    const std::uint64_t period_ns = std::min(kNsPerSecond / frequency_hz, kLongestPeriodNs);
    const auto cost = signal_cost_of(gaps_by(source, period_ns, gaps));
    if (cost || source == Source::thread) {
        return cost;
    }
    const auto distance = signal_cost_of(gaps.distances());
    return distance && distance->ns > period_ns + period_ns / kPeriodTolerance ? distance
                                                                               : std::nullopt;
}

}  // namespace sample::source
