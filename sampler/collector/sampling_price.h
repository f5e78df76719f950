// What a sample of the session costs on this machine, found out beside it.
//
// By a thread of the collector, once it is known how the session samples: the program has started
// by then. Some 8 ms, 16 where a sample is dear. The session's end waits for nothing: of a session
// that is over before, the price is not known. Nor is it kept from one session to the next: on
// another host, or at another load, it would be wrong, and a file would have to be believed.
#pragma once

#include "sampler/control/source.h"
#include "sampler/source/signal_cost.h"
#include "trace/records.h"

#include <atomic>
#include <cstdint>
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
    /// at each signal, does not, nor one that gets no thread.
    void find_out(control::Source source, std::uint32_t frequency_hz);
    /// Says it if it is known by now, and ends the search if it is not. Does not wait.
    /// `handler_ns`: what the handler usually takes; 0: there was no sample.
    void tell(trace::SessionEnd& end, std::uint64_t handler_ns);

private:
    void measure(control::Source source, std::uint32_t frequency_hz);

    std::atomic<bool> is_over_{false};
    std::atomic<bool> is_known_{false};
    bool has_begun_ = false;
    std::thread thread_;
    source::SignalCost cost_;                              ///< The thread's until it is known.
    std::atomic<std::uint64_t> of_sampling_thread_ns_{0};  ///< Where that is cheaper, else 0.
};

}  // namespace sample::collector
