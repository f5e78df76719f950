#include "sampler/source/signal_cost.h"

#include "core/fd.h"
#include "core/kernel_clock.h"
#include "sampler/capture/clocks.h"
#include "sampler/source/perf_event.h"
#include "sampler/source/posix_timer.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
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

constexpr std::uint64_t kPeriodNs = 250'000;
constexpr std::uint64_t kMostCpuNs = 9'000'000;
/// Of that, for the turns from one look at the clock to the next: where it moved on further, a
/// hypervisor had the processor.
constexpr std::uint64_t kMostTurnsNs = 500'000;
constexpr std::uint64_t kMostWallNs = 200'000'000;  // where others have the processors
constexpr std::size_t kMostGaps = 32;
constexpr std::size_t kLeastGaps = 8;
/// Where a signal takes longer than the period, nothing but signals would ever go on.
constexpr int kMostSignals = 40;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a handler has nothing else
constinit std::atomic<std::uint32_t> g_signals{0};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the same
constinit std::atomic<TimerId> g_timer{-1};

void count_signal(int /*signal*/) {
    const std::uint32_t signals = g_signals.load(std::memory_order_relaxed) + 1;
    g_signals.store(signals, std::memory_order_relaxed);
    const TimerId timer = g_timer.load(std::memory_order_relaxed);
    if (timer >= 0 && signals >= kMostSignals) {
        start_timer(timer, 0, 0);  // stops it
    }
}

/// The process's handler of a signal is count_signal(), and the calling thread gets it.
class OwnSignal {
public:
    explicit OwnSignal(int signal) : signal_{signal} {
        struct sigaction action {};
        action.sa_handler = count_signal;
        action.sa_flags = SA_RESTART;
        ::sigaction(signal_, &action, &action_);
        sigset_t set;
        ::sigemptyset(&set);
        ::sigaddset(&set, signal_);
        ::pthread_sigmask(SIG_UNBLOCK, &set, &mask_);
    }
    ~OwnSignal() {
        ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
        ::sigaction(signal_, &action_, nullptr);
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
    explicit Sender(int tid)
        : tid_{tid}, is_running_{::pthread_create(&thread_, nullptr, run, this) == 0} {}
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
        const timespec period{0, static_cast<long>(kPeriodNs)};
        for (int i = 0; i < kMostSignals && !self.is_over_.load(std::memory_order_relaxed); ++i) {
            ::nanosleep(&period, nullptr);
            capture::raw_syscall(SYS_tgkill, ::getpid(), self.tid_, SIGURG);
        }
        return nullptr;
    }

    int tid_;
    std::atomic<bool> is_over_{false};
    pthread_t thread_{};
    bool is_running_;  // the last: the thread uses the others
};

std::uint64_t switches() {
    return capture::thread_count(capture::KernelCount::switches);
}

/// Ticks that passed between two readings wherever a signal came in between, for each signal. Not
/// where the thread lost its processor since the signal before.
class Gaps {
public:
    explicit Gaps(const std::atomic<bool>& is_over) : is_over_{is_over} {}

    std::span<std::uint64_t> watch() {
        constexpr std::uint32_t kTurnsAClock = 1024;
        const std::uint64_t start_ns = read_kernel_clock_ns(CLOCK_MONOTONIC);
        std::uint64_t cpu_ns = capture::thread_cpu_ns();
        std::uint64_t used_ns = 0;
        const std::uint64_t start = capture::read_ticks();
        std::uint64_t passed_ns = 0;
        std::uint64_t switched = switches();
        std::uint32_t signals = g_signals.load(std::memory_order_relaxed);
        std::uint64_t before = start;
        for (std::uint32_t turn = 1; count_ < gaps_.size(); ++turn) {
            if (turn % kTurnsAClock == 0) {
                passed_ns = read_kernel_clock_ns(CLOCK_MONOTONIC) - start_ns;
                const std::uint64_t before_ns = std::exchange(cpu_ns, capture::thread_cpu_ns());
                used_ns += std::min(cpu_ns - before_ns, kMostTurnsNs);
                if (is_over_.load(std::memory_order_relaxed) || passed_ns > kMostWallNs ||
                    used_ns > kMostCpuNs) {
                    break;
                }
                switched = switches();
                signals = g_signals.load(std::memory_order_relaxed);
                before = capture::read_ticks();
            }
            const std::uint32_t seen = g_signals.load(std::memory_order_relaxed);
            // Behind that: wherever the signal came since `before`, the gap has it.
            const std::uint64_t now = capture::read_ticks();
            if (seen == signals) {
                before = now;
                continue;
            }
            take((now - before) / (seen - signals), seen - signals, switched);
            signals = g_signals.load(std::memory_order_relaxed);
            before = capture::read_ticks();
        }
        passed_ns = read_kernel_clock_ns(CLOCK_MONOTONIC) - start_ns;
        ns_a_tick_ =
            static_cast<double>(passed_ns) / static_cast<double>(capture::read_ticks() - start);
        return std::span{gaps_}.first(count_);
    }

    [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const {
        return static_cast<std::uint64_t>(static_cast<double>(ticks) * ns_a_tick_);
    }

private:
    /// Several signals where one takes longer than the period: each has its part.
    void take(std::uint64_t gap, std::uint32_t signals, std::uint64_t& switched) {
        const std::uint64_t earlier = std::exchange(switched, switches());
        for (; earlier == switched && signals != 0 && count_ < gaps_.size(); --signals) {
            gaps_[count_++] = gap;
        }
    }

    const std::atomic<bool>& is_over_;
    std::array<std::uint64_t, kMostGaps> gaps_{};
    std::size_t count_ = 0;
    double ns_a_tick_ = 0;
};

std::span<std::uint64_t> gaps_by_event(Source source, Gaps& gaps) {
    PerfRequest request;
    request.period = kPeriodNs;
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

std::span<std::uint64_t> gaps_by_timer(Gaps& gaps) {
    const TimerId timer = create_thread_timer(this_thread(), SIGURG, 0);
    if (timer < 0) {
        return {};
    }
    g_timer.store(timer, std::memory_order_relaxed);
    start_timer(timer, kPeriodNs, kPeriodNs);
    const std::span<std::uint64_t> seen = gaps.watch();
    g_timer.store(-1, std::memory_order_relaxed);
    delete_timer(timer);
    return seen;
}

std::span<std::uint64_t> gaps_by(Source source, Gaps& gaps) {
    switch (source) {
        case Source::sigtrap:
        case Source::perf:
            return gaps_by_event(source, gaps);
        case Source::thread: {
            const Sender sender{this_thread()};
            return sender.is_running() ? gaps.watch() : std::span<std::uint64_t>{};
        }
        case Source::timer:
            return gaps_by_timer(gaps);
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

std::optional<SignalCost> measure_signal_cost(Source source, const std::atomic<bool>& is_over) {
    g_signals.store(0, std::memory_order_relaxed);
    const OwnSignal signal{source == Source::sigtrap ? SIGTRAP : SIGURG};
    Gaps gaps{is_over};
    const std::optional<SignalCost> cost = signal_cost_of(gaps_by(source, gaps));
    if (!cost) {
        return std::nullopt;
    }
    return SignalCost{gaps.to_ns(cost->ns), gaps.to_ns(cost->low_ns), gaps.to_ns(cost->high_ns)};
}

}  // namespace sample::source
