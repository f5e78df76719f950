// What goes into the recording: the host is a program that says something, by sample/trace.h.
#pragma once

#include "sample/trace.h"

#include <atomic>

namespace sample::unity {

namespace detail {
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): clang-tidy 14 does not see constinit.
extern constinit std::atomic<const sample_trace_functions*> g_recording;
}  // namespace detail

/// Once, before anything else here.
void begin_recording() noexcept;

/// Functions that tell no listener. Null: there is no agent.
[[nodiscard]] inline const sample_trace_functions* recording() noexcept {
    return detail::g_recording.load(std::memory_order_relaxed);
}

/// Changes who is told, which is the host: its functions or null. Whoever changes it holds the
/// registry's lock. No effect without an agent.
void listen_to_program(const sample_trace_listener& listener) noexcept;

/// Whether a channel is on, and so there is an agent.
[[nodiscard]] inline bool records_zones() noexcept {
    return sample_trace_cpu == 0;
}
[[nodiscard]] inline bool records_counters() noexcept {
    return sample_trace_counter == 0;
}

}  // namespace sample::unity
