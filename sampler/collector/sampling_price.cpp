#include "sampler/collector/sampling_price.h"

#include "core/fd.h"
#include "core/units.h"
#include "sampler/collector/session_options.h"
#include "sampler/source/capabilities.h"

namespace sample::collector {
namespace {

using control::Source;

/// Of the CPU time: what takes less, nobody looks for another source.
constexpr std::uint64_t kDearShare = 20;

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
    stop();
}

void SamplingPrice::stop() {
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
    thread_ = std::thread{[this, source, frequency_hz] {
        const auto signal = source::measure_signal_cost(source, is_over_);
        if (!signal) {
            return;
        }
        cost_ = cost_of_sample(*signal, source);
        const bool is_dear = cost_->ns * frequency_hz > kNsPerSecond / kDearShare;
        if (is_dear && (source == Source::sigtrap || source == Source::perf)) {
            const auto other = source::measure_signal_cost(Source::thread, is_over_);
            constexpr std::uint64_t kFifths = 5;
            if (other && other->ns * kFifths < cost_->ns * (kFifths - 1)) {
                of_sampling_thread_ = other;
            }
        }
    }};
}

void SamplingPrice::tell(trace::SessionEnd& end) {
    stop();
    if (cost_) {
        end.signal_cost_ns = cost_->ns;
        end.signal_cost_low_ns = cost_->low_ns;
        end.signal_cost_high_ns = cost_->high_ns;
    }
    if (of_sampling_thread_) {
        end.other_source = control::describe(Source::thread).name;
        end.other_cost_ns = of_sampling_thread_->ns;
    }
}

}  // namespace sample::collector
