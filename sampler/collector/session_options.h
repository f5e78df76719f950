// What a session is asked to do.
#pragma once

#include "core/fd.h"
#include "sampler/capture/shared_area.h"
#include "sampler/control/protocol.h"
#include "sampler/source/event_spec.h"
#include "trace/records.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace sample::collector {

/// Whether stacks have the kernel's part, where they are taken from outside.
enum class KernelFrames : std::uint8_t {
    automatic,  ///< Where this user may see it.
    on,
    off,
};

struct SessionOptions {
    std::uint32_t frequency_hz = 1000;
    control::Source source = control::Source::none;  ///< `none`: the best that works.
    trace::Clock clock = trace::Clock::cpu;
    source::EventSpec event;  ///< Other than the default: by the sources sigtrap and perf alone.
    std::uint32_t max_stack = capture::kMaxDepth;  ///< Frames kept of a stack.
    KernelFrames kernel = KernelFrames::automatic;
    bool off_cpu = false;  ///< From outside: each wait is recorded, by the kernel's switches.
    bool samples = true;   ///< False: only what programs say is recorded.
    /// Of what programs say: that are on at first, separated by commas; empty: nobody asks.
    std::string channels;
    bool children = true;
    bool starts_off = false;                       ///< Sampling is off until somebody asks for it.
    std::chrono::nanoseconds delay{0};             ///< The recording begins so late.
    std::optional<std::chrono::nanoseconds> time;  ///< Stop by itself so long after it began.
    std::string command_line;
    std::string tool_version;
    int stop_fd = -1;                                         ///< When readable: stop now.
    std::function<void(std::chrono::nanoseconds)> on_second;  ///< Time left, about once a second.
    std::function<void()> on_cancel;  ///< Sampling does not end by itself any more.
    bool is_controlled = true;        ///< From outside, by a socket: docs/control.md.
    std::string recording;            ///< The file that the session's sink writes; empty: none.
    /// Opens what has that name now, to be read, if the recording is in parts.
    std::function<Fd()> current_part;
    std::function<void(const std::string&)> on_trouble;  ///< What a person should know at once.

    /// What a recording says of them that begins after the delay from now.
    [[nodiscard]] trace::SessionStart start_now() const;

    /// Else an event is counted, or nothing is sampled.
    [[nodiscard]] bool has_frequency() const { return samples && event.is_clock; }
    /// Nanoseconds of a clock, else occurrences of the event, from one sample to the next: on
    /// average, of a clock.
    [[nodiscard]] std::uint64_t period() const { return period_at(frequency_hz); }
    /// The same at another frequency than the one that the session began with.
    [[nodiscard]] std::uint64_t period_at(std::uint32_t hz) const {
        return event.is_clock ? 1'000'000'000U / hz : event.period;
    }

    /// A clock expires a little more often, at a period that is near no simple ratio to those which
    /// programs work in step with: 10 µs to 33 ms, also some per cent beside the round ones. Each
    /// expiry finds such a loop further on. As many as there are too many, at random ones, are no
    /// sample.
    static constexpr std::uint64_t kSkippedOfMillion = 68'350;
    [[nodiscard]] std::uint64_t expiry_period() const { return expiry_period_at(frequency_hz); }
    [[nodiscard]] std::uint64_t expiry_period_at(std::uint32_t hz) const {
        const std::uint64_t period = period_at(hz);
        return event.is_clock ? period - period * kSkippedOfMillion / 1'000'000 : period;
    }
    /// Of 2^32.
    [[nodiscard]] std::uint32_t skipped_share() const {
        return event.is_clock ? static_cast<std::uint32_t>((kSkippedOfMillion << 32U) / 1'000'000)
                              : 0;
    }
};

/// How a session samples right now, and which channels are on. Written by its loop alone, read by
/// any thread.
struct Pace {
    Pace(std::uint32_t hz, std::string channels)
        : frequency_hz{hz}, channels_{std::move(channels)} {}
    std::atomic<bool> is_on{true};
    std::atomic<std::uint32_t> frequency_hz;
    std::atomic<std::uint32_t> switches{0};  ///< Of channels.

    /// As SessionOptions::channels.
    [[nodiscard]] std::string channels() const {
        const std::lock_guard lock{mutex_};
        return channels_;
    }
    void switch_channels(std::string channels) {
        const std::lock_guard lock{mutex_};
        channels_ = std::move(channels);
        ++switches;
    }

private:
    mutable std::mutex mutex_;
    std::string channels_;  // guarded by mutex_
};

}  // namespace sample::collector
