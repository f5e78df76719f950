// What it costs a thread of this machine to be interrupted for a sample, besides what the handler
// does: the interrupt, the signal's delivery, the return, the timer that is set anew. On a plain
// machine that is a few microseconds, in a virtual machine inside another one fifty.
#pragma once

#include "sampler/control/source.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

namespace sample::source {

struct SignalCost {
    std::uint64_t ns = 0;      ///< The median of the tries.
    std::uint64_t low_ns = 0;  ///< Of 100 such medians 95 lie between these.
    std::uint64_t high_ns = 0;
};

/// Interrupts the calling thread sixteen times as `source` does, with a handler that does
/// nothing, and times the gaps in what the thread does. Signals come `frequency_hz` times a second,
/// which is not 0, and 4,000 times at least: in virtual machines one of many costs less. Meanwhile
/// the process's handler of the source's signal is ours, and the thread does not block that; one
/// that another process sends comes when it is over. Some 2 to 5 ms; at most 5 ms of CPU time, or
/// twenty signals where one takes longer than that allows, and 200 ms where others have the
/// processors; soon over once `is_over` is set. Nothing: the source does not work here, or too few
/// signals came singly, though none takes longer than a period. One call at a time. Not
/// async-signal-safe.
[[nodiscard]] std::optional<SignalCost> measure_signal_cost(control::Source source,
                                                            std::uint32_t frequency_hz,
                                                            const std::atomic<bool>& is_over);

/// Of gaps that were seen, in any order and unit; nothing of less than eight.
[[nodiscard]] std::optional<SignalCost> signal_cost_of(std::span<std::uint64_t> gaps);

}  // namespace sample::source
