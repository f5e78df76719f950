// The values that the command line and the SAMPLE_* variables share.
//
//   frequency   1000   1k   2.5k   10kHz        samples a second
//   duration    10s   500ms   1.5m   1h   10    without a unit: seconds; also us and ns
//   switch      1 yes true on / 0 no false off
#pragma once

#include <cstdint>
#include <string_view>

namespace sample {

inline constexpr std::uint32_t kMaxFrequencyHz = 10'000;
inline constexpr std::uint32_t kDefaultFrequencyHz = 1'000;
inline constexpr std::string_view kFrequencyHelp =
    "a frequency is a whole number of samples a second, from 1 to 10000, e.g. 1000, 1k or 2.5k";
inline constexpr std::string_view kDurationHelp =
    "a duration is a number above 0 with ns, us, ms, s, m or h (without one: seconds), at most "
    "1000h, e.g. 500ms, 10s or 5m";

enum class OptionProblem : std::uint8_t {
    none,
    syntax,        ///< Not a number with a known unit.
    out_of_range,  ///< Understood, but not allowed.
};

template <class T>
struct OptionValue {
    T value{};
    OptionProblem problem = OptionProblem::syntax;
    [[nodiscard]] bool ok() const noexcept { return problem == OptionProblem::none; }
};

/// Samples a second, from 1 to kMaxFrequencyHz; kFrequencyHelp says it in words.
[[nodiscard]] OptionValue<std::uint32_t> parse_frequency(std::string_view text);

/// Nanoseconds, above 0 and at most 1000 hours; kDurationHelp says it in words.
[[nodiscard]] OptionValue<std::uint64_t> parse_duration_ns(std::string_view text);

/// A switch of the SAMPLE_* variables.
[[nodiscard]] OptionValue<bool> parse_switch(std::string_view text);

}  // namespace sample
