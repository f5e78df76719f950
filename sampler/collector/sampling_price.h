// What a sample of the session costs on this machine, found out beside it.
//
// By a thread of the collector, once it is known how the session samples, some 13 ms, 25 where a
// sample is dear. It says what it has found by the end: nothing of a session that was shorter.
#pragma once

#include "sampler/control/source.h"
#include "sampler/source/signal_cost.h"
#include "trace/records.h"

#include <atomic>
#include <optional>
#include <thread>

namespace sample::collector {

/// What a sample costs where a signal costs `signal`: of a kernel's timer some are no sample.
[[nodiscard]] source::SignalCost cost_of_sample(const source::SignalCost& signal,
                                                control::Source source);

class SamplingPrice {
public:
    SamplingPrice() = default;
    ~SamplingPrice();
    SamplingPrice(const SamplingPrice&) = delete;
    SamplingPrice& operator=(const SamplingPrice&) = delete;

    /// Begins to find it out. Once; later calls do nothing. A traced collector, which would stop
    /// at each signal, does not.
    void find_out(control::Source source, std::uint32_t frequency_hz);
    /// Says it, with what is known by now.
    void tell(trace::SessionEnd& end);

private:
    void stop();

    std::atomic<bool> is_over_{false};
    bool has_begun_ = false;
    std::thread thread_;
    std::optional<source::SignalCost> cost_;
    std::optional<source::SignalCost> of_sampling_thread_;  ///< Where that is cheaper.
};

}  // namespace sample::collector
