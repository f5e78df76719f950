#include "sampler/collector/sampling_price.h"

#include "core/fd.h"
#include "core/kernel_clock.h"
#include "core/option_values.h"
#include "core/units.h"
#include "sampler/capture/clocks.h"
#include "sampler/collector/session_options.h"
#include "sampler/source/capabilities.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <system_error>

namespace sample::collector {
namespace {

using control::Source;

/// Of the CPU time: what takes less, nobody looks for another source.
constexpr std::uint64_t kDearShare = 20;
/// Before each measurement, as far as there is CPU time left for them.
constexpr std::array kPausesMs{0, 300, 300, 400, 500, 500, 1000, 1000, 2000, 4000, 10'000, 40'000};
/// Of the thread's own CPU time: later no measurement begins, so they take 20 ms at most.
constexpr std::uint64_t kMostCpuNs = 14'000'000;

bool has_time() {
    return capture::thread_cpu_ns() <= kMostCpuNs;
}

bool is_traced() {
    return source::parse_process_status(read_small_file("/proc/self/status")).tracer_pid != 0;
}

}  // namespace

source::SignalCost cost_of_sample(const source::SignalCost& signal, Source source) {
    if (source == Source::thread) {
        return signal;
    }
    constexpr std::uint64_t kMillion = 1'000'000;
    constexpr std::uint64_t kSamples = kMillion - SessionOptions::kSkippedOfMillion;
    return {signal.ns * kMillion / kSamples, signal.low_ns * kMillion / kSamples,
            signal.high_ns * kMillion / kSamples};
}

source::SignalCost usual_cost(std::vector<source::SignalCost> costs) {
    std::sort(costs.begin(), costs.end(),
              [](const auto& one, const auto& other) { return one.ns < other.ns; });
    const source::SignalCost& usual = costs[costs.size() / 2];
    return {usual.ns, std::min(usual.low_ns, costs.front().ns),
            std::max(usual.high_ns, costs.back().ns)};
}

std::uint32_t affordable_frequency(std::uint32_t hz, const source::SignalCost& cost) {
    if (3 * cost.low_ns * hz < 2 * kNsPerSecond) {
        return hz;
    }
    // A wait may take several signals a sample: half of the time would not let it get on.
    const std::uint64_t a_quarter = kNsPerSecond / (4 * std::max<std::uint64_t>(cost.ns, 1));
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(a_quarter, 1));
}

SamplingPrice::~SamplingPrice() {
    end();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void SamplingPrice::end() {
    {
        const std::lock_guard lock{mutex_};
        is_over_.store(true, std::memory_order_relaxed);
    }
    ended_.notify_one();
}

bool SamplingPrice::wait(std::chrono::milliseconds time) {
    std::unique_lock lock{mutex_};
    return !ended_.wait_until(lock, KernelClock::now() + time,
                              [this] { return is_over_.load(std::memory_order_relaxed); });
}

void SamplingPrice::find_out(Source source, std::uint32_t frequency_hz) {
    if (has_begun_) {
        return;
    }
    has_begun_ = true;
    if (source == Source::none) {
        return;
    }
    try {
        thread_ = std::thread{[this, source, frequency_hz] { measure(source, frequency_hz); }};
    } catch (const std::system_error&) {  // no thread to be had: it stays unknown
    }
}

void SamplingPrice::measure(Source source, std::uint32_t frequency_hz) {
    const sched_param none{};  // as programs are; who starts it may have yielded to them
    static_cast<void>(::pthread_setschedparam(::pthread_self(), SCHED_OTHER, &none));
    std::uint32_t signals_hz = frequency_hz;
    for (const int pause_ms : kPausesMs) {
        if (!has_time() || !wait(std::chrono::milliseconds{pause_ms}) || is_traced()) {
            return;
        }
        auto signal = source::measure_signal_cost(source, signals_hz, is_over_);
        if (!signal) {  // one may take about as long as its period
            signals_hz = kDefaultFrequencyHz;
            signal = source::measure_signal_cost(source, signals_hz, is_over_);
        }
        if (!signal) {
            continue;
        }
        const source::SignalCost cost = cost_of_sample(*signal, source);
        const bool is_dear = cost.ns * frequency_hz > kNsPerSecond / kDearShare;
        std::unique_lock lock{mutex_};
        costs_.push_back(cost);
        if (is_dear && !other_ && has_time() &&
            (source == Source::sigtrap || source == Source::perf)) {
            lock.unlock();
            const auto other = source::measure_signal_cost(Source::thread, signals_hz, is_over_);
            lock.lock();
            other_ = other;
        }
    }
}

std::optional<source::SignalCost> SamplingPrice::so_far() {
    const std::lock_guard lock{mutex_};
    return costs_.empty() ? std::nullopt : std::optional{usual_cost(costs_)};
}

void SamplingPrice::tell(trace::SessionEnd& end, std::uint64_t handler_ns) {
    this->end();
    const std::lock_guard lock{mutex_};
    if (handler_ns == 0 || costs_.empty()) {
        return;
    }
    const source::SignalCost cost = usual_cost(costs_);
    end.sample_cost_ns = cost.ns + handler_ns;
    end.sample_cost_low_ns = cost.low_ns + handler_ns;
    end.sample_cost_high_ns = cost.high_ns + handler_ns;
    constexpr std::uint64_t kFifths = 5;
    if (other_ && other_->ns * kFifths < cost.ns * (kFifths - 1)) {
        end.other_source = control::describe(Source::thread).name;
        end.other_cost_ns = other_->ns + handler_ns;
    }
}

}  // namespace sample::collector
