// The words of `--event NAME[:PERIOD]`: which perf event interrupts the program, and how many of
// its occurrences a sample stands for.
//
//   cycles  cache-misses:5000  L1-dcache-load-misses  r01c2  page-faults  sched:sched_switch:10
//
// The period is fixed, not steered towards a frequency: a handler cannot know the period of a
// sample that the kernel has adapted, and the weight of a sample is exactly what it stands for.
// Default periods are primes where events are many, so that they do not run in step with a loop.
// Not async-signal-safe. Source: perf_event_open(2).
#pragma once

#include "core/result.h"
#include "sampler/control/source.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sample::source {

struct EventSpec {
    std::string name = "cpu-clock";  ///< As it is shown: without the period.
    std::string unit = "ns";         ///< What one occurrence is called, in the plural.
    std::uint32_t type = 1;          ///< perf_event_attr::type; PERF_TYPE_SOFTWARE.
    std::uint64_t config = 0;        ///< PERF_COUNT_SW_CPU_CLOCK.
    std::uint64_t period = 0;        ///< Occurrences a sample; 0 of a clock: --freq says.
    bool is_clock = true;            ///< Weights are nanoseconds.
    /// Happens there only: nothing is counted where the kernel may not be seen, nor by the source
    /// perf, whose signals would cut system calls short.
    bool in_kernel = false;

    /// The event that is measured where --event is not given.
    [[nodiscard]] bool is_default() const noexcept { return type == 1 && config == 0; }
};

/// Where the ids of tracepoints are: tracefs, below debugfs on old systems.
inline constexpr std::string_view kTracefs = "/sys/kernel/tracing";
inline constexpr std::string_view kDebugfsTracing = "/sys/kernel/debug/tracing";

/// Understands the words; a tracepoint's id is read below `tracefs`, then below kDebugfsTracing.
/// Errors say what is allowed and what to do: invalid_argument for words and periods, not_found and
/// permission for tracepoints.
[[nodiscard]] Result<EventSpec> parse_event(std::string_view text,
                                            std::string_view tracefs = kTracefs);

/// How an attempt to open an event ended.
struct OpenAttempt {
    bool works = false;
    int errno_value = 0;          ///< Of the last refusal; 0 if there was none.
    bool exclude_kernel = false;  ///< Works only without the kernel's own time.
};

/// Opens the event, disabled, on the calling thread and closes it again, as the agent asks: sigtrap
/// with the kernel's part if it may, perf always without.
[[nodiscard]] OpenAttempt try_event(const EventSpec& event, bool sigtrap);

/// Whether the event can be sampled here by `source` (`none`: by sigtrap or perf), asked of the
/// kernel by trying, before the program starts. A tracepoint is also tried out, in a child: some
/// lie on the path of the sampling signal itself (signal:signal_deliver, raw_syscalls:sys_enter),
/// and each sample would cause the next, for ever. Errors: what cannot work, and what to do. See
/// event_check.cpp.
[[nodiscard]] Result<void> check_event(const EventSpec& event, control::Source source);

/// The names that parse_event() knows, for people, in lines of at most 100 columns.
[[nodiscard]] std::string known_events();

}  // namespace sample::source
