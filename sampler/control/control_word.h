// What a program asks of its own session, in one word of the shared area (AreaHeader), and what the
// session answers.
//
// The program writes its request by one exchange of the word and rings the session's doorbell; the
// collector carries it out and says the request's serial in `control_ack`. A request that comes
// before the one before it was read takes its place: what counts is how the sampling is to be from
// now on.
#pragma once

#include <cstdint>

namespace sample::control {

/// stop and start: the recording stays open in between. pause and resume are the same, but a pause
/// does not end the session's countdown, as a stop does.
enum class ControlKind : std::uint32_t { start = 1, stop, pause, resume };

struct ControlRequest {
    ControlKind kind = ControlKind::start;
    std::uint32_t frequency_hz = 0;  ///< 0: as it is.
};

struct ControlWord {
    std::uint32_t serial = 0;  ///< Of the request; 0: there was none yet.
    ControlRequest request;
};

/// serial | kind, 4 bits | frequency.
inline constexpr unsigned kSerialBits = 32;
inline constexpr unsigned kFrequencyBits = 28;
inline constexpr std::uint32_t kMostControlHz = (1U << kFrequencyBits) - 1;

[[nodiscard]] constexpr std::uint64_t pack(const ControlWord& word) noexcept {
    const std::uint32_t hz = word.request.frequency_hz;
    return std::uint64_t{word.serial} << kSerialBits |
           std::uint64_t{static_cast<std::uint32_t>(word.request.kind) & 0xf} << kFrequencyBits |
           (hz < kMostControlHz ? hz : kMostControlHz);
}
/// The kind may be none of those that there are: another process has written it.
[[nodiscard]] constexpr ControlWord unpack(std::uint64_t bits) noexcept {
    const auto low = static_cast<std::uint32_t>(bits);
    return {static_cast<std::uint32_t>(bits >> kSerialBits),
            {static_cast<ControlKind>(low >> kFrequencyBits), low & kMostControlHz}};
}

}  // namespace sample::control
