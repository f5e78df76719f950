#include "sampler/collector/sampling_price.h"

#include "core/fd.h"
#include "core/units.h"
#include "sampler/capture/clocks.h"
#include "sampler/collector/session_options.h"
#include "sampler/source/capabilities.h"

#include <system_error>

namespace sample::collector {
namespace {

using control::Source;

/// Of the CPU time: what takes less, nobody looks for another source.
constexpr std::uint64_t kDearShare = 20;
/// Of the thread's own CPU time: two measurements take 20 ms at most.
constexpr std::uint64_t kMostBeforeOtherNs = 10'000'000;

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

SamplingPrice::~SamplingPrice() {
    is_over_.store(true, std::memory_order_relaxed);
    if (thread_.joinable()) {
        thread_.join();
    }
}

void SamplingPrice::find_out(Source source, std::uint32_t frequency_hz) {
    if (has_begun_) {
        return;
    }
    has_begun_ = true;
    if (source == Source::none || is_traced()) {
        return;
    }
    try {
        thread_ = std::thread{[this, source, frequency_hz] { measure(source, frequency_hz); }};
    } catch (const std::system_error&) {  // no thread to be had: it stays unknown
    }
}

void SamplingPrice::measure(Source source, std::uint32_t frequency_hz) {
    const auto signal = source::measure_signal_cost(source, is_over_);
    if (!signal) {
        return;
    }
    cost_ = cost_of_sample(*signal, source);
    is_known_.store(true, std::memory_order_release);  // pairs with the acquire in tell()
    const bool is_dear = cost_.ns * frequency_hz > kNsPerSecond / kDearShare;
    if (is_dear && (source == Source::sigtrap || source == Source::perf) &&
        capture::thread_cpu_ns() < kMostBeforeOtherNs) {
        const auto other = source::measure_signal_cost(Source::thread, is_over_);
        constexpr std::uint64_t kFifths = 5;
        if (other && other->ns * kFifths < cost_.ns * (kFifths - 1)) {
            of_sampling_thread_ns_.store(other->ns, std::memory_order_relaxed);
        }
    }
}

void SamplingPrice::tell(trace::SessionEnd& end, std::uint64_t handler_ns) {
    is_over_.store(true, std::memory_order_relaxed);
    if (handler_ns == 0 || !is_known_.load(std::memory_order_acquire)) {
        return;
    }
    end.sample_cost_ns = cost_.ns + handler_ns;
    end.sample_cost_low_ns = cost_.low_ns + handler_ns;
    end.sample_cost_high_ns = cost_.high_ns + handler_ns;
    if (const std::uint64_t other_ns = of_sampling_thread_ns_.load(std::memory_order_relaxed)) {
        end.other_source = control::describe(Source::thread).name;
        end.other_cost_ns = other_ns + handler_ns;
    }
}

}  // namespace sample::collector
