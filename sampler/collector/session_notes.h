// What a person should know of a session beside its figures: which processes were not sampled to
// their end, and why; what was left running; and why there is no recording, if there is none.
#pragma once

#include "sampler/capture/shared_area.h"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sample::collector {

/// Not thread-safe.
class SessionNotes {
public:
    /// How many of a kind are named.
    static constexpr unsigned kMostNamed = 16;

    /// The process has confined itself so that its sampling ended or became less.
    void confined(pid_t pid, std::string_view executable, capture::Confinement how);
    /// It goes on behind the end of the session.
    void left_running(pid_t pid);
    /// The kernel hides where a process's threads sleep from the process itself.
    void waits_hidden() { ++waits_hidden_; }
    /// A tracer kept a process from being sampled.
    void traced() { was_traced_ = true; }
    /// A process's sampling thread has taken over from its events.
    void handed_over() { ++handed_over_; }
    /// A process's events could not be changed to another frequency.
    void kept_frequency() { ++kept_frequency_; }
    /// A process's channels could not be switched.
    void kept_channels() { ++kept_channels_; }
    /// A process's samples do not see the kernel.
    void kernel_excluded() { kernel_excluded_ = true; }
    [[nodiscard]] bool is_kernel_excluded() const { return kernel_excluded_; }
    [[nodiscard]] std::uint32_t left() const { return left_; }

    /// A line more, if `line` is one.
    void add(std::string_view line);
    /// The same for what was counted, if it is more than nothing.
    void add(std::uint64_t count, std::string_view line);
    /// All lines, separated by '\n'. `root_ended`: what is left runs on behind the command.
    [[nodiscard]] std::string text(bool root_ended) const;

private:
    std::string lines_;
    std::string left_names_;
    std::uint32_t left_ = 0;
    std::string confined_names_;
    unsigned confined_ = 0;
    unsigned waits_hidden_ = 0;
    unsigned handed_over_ = 0;
    unsigned kept_frequency_ = 0;
    unsigned kept_channels_ = 0;
    bool kernel_excluded_ = false;
    bool was_traced_ = false;
};

}  // namespace sample::collector
