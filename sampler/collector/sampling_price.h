// What a sample of the session costs on this machine, found out beside it.
//
// By a thread of the collector, once it is known how the session samples, and again every now and
// then: it changes from second to second, and the median counts. Some 2 ms each time, 20 in all at
// most. The session's end waits for nothing: of a session that is over before, the price is not
// known. Nor is it kept from one session to the next: on another host, or at another load, it would
// be wrong, and a file would have to be believed.
#pragma once

#include "sampler/control/source.h"
#include "sampler/source/signal_cost.h"
#include "trace/records.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace sample::collector {

/// What a sample costs where a signal costs `signal`: of a kernel's timer some are no sample.
[[nodiscard]] source::SignalCost cost_of_sample(const source::SignalCost& signal,
                                                control::Source source);

/// What it was mostly, and from the least to the most; `costs` are not empty.
[[nodiscard]] source::SignalCost usual_cost(std::vector<source::SignalCost> costs);

/// `hz`, unless samples that cost as much would take two thirds of the time or more: then so many
/// that they take a quarter. The least that one costs decides, as nobody else's doing makes it
/// more.
[[nodiscard]] std::uint32_t affordable_frequency(std::uint32_t hz, const source::SignalCost& cost);

class SamplingPrice {
public:
    SamplingPrice() = default;
    ~SamplingPrice();
    SamplingPrice(const SamplingPrice&) = delete;
    SamplingPrice& operator=(const SamplingPrice&) = delete;

    /// Begins to find it out. Once; later calls do nothing. A traced collector, which would stop
    /// at each signal, does not, nor one that gets no thread.
    void find_out(control::Source source, std::uint32_t frequency_hz);
    /// What a sample costs but for the handler, as far as it is known by now.
    [[nodiscard]] std::optional<source::SignalCost> so_far();
    /// Says it if it is known by now, and ends the search if it is not. Does not wait.
    /// `handler_ns`: what the handler usually takes; 0: there was no sample.
    void tell(trace::SessionEnd& end, std::uint64_t handler_ns);

private:
    void measure(control::Source source, std::uint32_t frequency_hz);
    /// False if the session is over before.
    [[nodiscard]] bool wait(std::chrono::milliseconds time);
    void end();

    std::mutex mutex_;
    std::condition_variable ended_;
    std::atomic<bool> is_over_{false};
    bool has_begun_ = false;
    std::thread thread_;
    std::vector<source::SignalCost> costs_;    ///< So far; guarded by mutex_.
    std::optional<source::SignalCost> other_;  ///< By the sampling thread; likewise.
};

}  // namespace sample::collector
