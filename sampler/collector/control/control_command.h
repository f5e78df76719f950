// What a session can be told over its control socket: a line of words, read and checked.
#pragma once

#include "core/result.h"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sample::collector {

inline constexpr std::size_t kMostCommandBytes = 4096;

enum class ControlVerb : std::uint8_t {
    status,
    start,
    stop,
    pause,
    resume,
    frequency,
    time,
    cancel,
    channels,
    dump,
    data,
    open,
    close,
};

struct ControlCommand {
    ControlVerb verb = ControlVerb::status;
    std::optional<std::uint32_t> frequency_hz;
    std::optional<std::chrono::nanoseconds> time;
    std::string channels;      ///< That are to be on, separated by commas.
    std::string token;         ///< Of a shared session; empty: the command line's user.
    bool is_bound = false;     ///< start: until whoever has said it ends.
    pid_t about = 0;           ///< status: whether this process belongs to the session.
    pid_t peer = 0;            ///< Who has said it.
    std::uint64_t client = 0;  ///< ControlService's number of who waits for the answer.
};

/// Errors: invalid_argument, saying what is allowed.
[[nodiscard]] Result<ControlCommand> parse_control_command(std::string_view line);

}  // namespace sample::collector
