// What a session is asked to do.
#pragma once

#include "sampler/capture/shared_area.h"
#include "sampler/control/protocol.h"
#include "sampler/source/event_spec.h"
#include "trace/records.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace sample::collector {

struct SessionOptions {
    std::uint32_t frequency_hz = 1000;
    control::Source source = control::Source::none;  ///< `none`: the best that works.
    trace::Clock clock = trace::Clock::cpu;
    source::EventSpec event;  ///< Other than the default: by the sources sigtrap and perf alone.
    std::uint32_t max_stack = capture::kMaxDepth;  ///< Frames kept of a stack.
    bool children = true;
    std::optional<std::chrono::nanoseconds> time;  ///< Stop by itself after this long.
    std::string command_line;
    std::string tool_version;
    int stop_fd = -1;                                         ///< When readable: stop now.
    std::function<void(std::chrono::nanoseconds)> on_second;  ///< Time left, about once a second.

    /// Nanoseconds of a clock, else occurrences of the event.
    [[nodiscard]] std::uint64_t period() const {
        return event.is_clock ? 1'000'000'000U / frequency_hz : event.period;
    }
};

}  // namespace sample::collector
