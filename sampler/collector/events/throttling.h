// Notices that the kernel held samples back, and says so.
//
// kernel.perf_event_max_sample_rate bounds how often one event may expire in a tick of the
// scheduler: what asks for more is stopped until the next tick. The kernel lowers that setting by
// itself when samples take it more than kernel.perf_cpu_time_max_percent of its time. Durations
// stay right, since a sample carries all the time of its thread since the last one, but they come
// from fewer samples. Sources that need no event are never throttled.
//
// Two things tell it, as neither does alone. A clock event that is started again by the tick has
// counted less than the time for which it was on; but one whose thread is switched off while it is
// stopped has counted the stop as well: the count shows that it happened, not how often. Fewer
// samples than were asked for may have another reason, like a long system call; where the setting
// is no higher than the rate, the reason is known. Source: Linux 6.18, kernel/events/core.c,
// __perf_event_account_interrupt(), perf_event_throttle(), cpu_clock_event_stop().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sample::collector {

/// What a perf event says of itself, with those of the threads that it was passed on to.
struct EventTimes {
    std::uint64_t counted = 0;  ///< Nanoseconds of a clock, else occurrences.
    std::uint64_t running_ns = 0;

    EventTimes& operator+=(const EventTimes& other) {
        counted += other.counted;
        running_ns += other.running_ns;
        return *this;
    }
};

/// Reads an event that was opened with source::kReadFormat; zeros if it cannot be read.
/// Source: perf_event_open(2), "Reading results".
[[nodiscard]] EventTimes read_event(int fd);

/// Of one session. Not thread-safe.
class ThrottleWatch {
public:
    /// Reads the settings, below `folder`, for the first time.
    explicit ThrottleWatch(std::uint32_t due_hz, std::string folder = "/proc/sys/kernel");

    /// Reads the setting again, which the kernel or a user may have changed. Now and then.
    void look();
    /// So often from now on.
    void change_frequency(std::uint32_t hz);
    /// What the clock events of a process have said at its end, and how many samples they gave.
    void add(const EventTimes& times, std::uint64_t samples);

    /// One line for people, what to do included; empty if the kernel held nothing back.
    /// `kernel_excluded`: a part of the processes was sampled without the kernel's time.
    [[nodiscard]] std::string note(bool kernel_excluded) const;

private:
    [[nodiscard]] bool is_throttled() const;
    [[nodiscard]] double samples_a_second() const;  ///< Of CPU time with an event on.

    // Not always what was asked for: attaching takes a longer period, dear samples are taken less
    // often.
    std::uint32_t least_hz_;  ///< That was due at any time,
    std::uint32_t most_hz_;   ///< and the most.
    std::string folder_;
    std::optional<std::int64_t> first_limit_;
    std::optional<std::int64_t> lowest_limit_;
    EventTimes times_;
    std::uint64_t samples_ = 0;
};

}  // namespace sample::collector
