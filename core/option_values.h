// The values that the command line and the agent's SAMPLE_* variables share: frequencies and
// durations.
//
// The agent parses them before main() in a program that is not ours and without the C++ runtime, so
// everything here is constexpr, reads only its argument, and needs no function of any library.
//
//   frequency   1000   1k   2.5k   10kHz        samples a second
//   duration    10s   500ms   1.5m   1h   10    without a unit: seconds; also us and ns
//   switch      1 yes true on / 0 no false off
#pragma once

#include <cstdint>
#include <string_view>

namespace sample {

inline constexpr std::uint32_t kMinFrequencyHz = 1;
inline constexpr std::uint32_t kMaxFrequencyHz = 10'000;
inline constexpr std::uint32_t kDefaultFrequencyHz = 1'000;
inline constexpr std::string_view kFrequencyHelp =
    "a frequency is a number from 1 to 10000 samples a second, e.g. 1000, 1k or 10k";
inline constexpr std::string_view kDurationHelp =
    "a duration is a number above 0 with ms, s, m or h, e.g. 500ms, 10s or 5m";

enum class OptionProblem : std::uint8_t {
    none,
    syntax,        ///< Not a number with a known unit.
    out_of_range,  ///< Understood, but not allowed.
};

template <class T>
struct OptionValue {
    T value{};
    OptionProblem problem = OptionProblem::syntax;
    [[nodiscard]] constexpr bool ok() const noexcept { return problem == OptionProblem::none; }
};

namespace option_detail {

/// A decimal number as digits scaled by a power of ten: 1.25 is {125, 2}.
struct Decimal {
    std::uint64_t digits = 0;
    unsigned fraction = 0;
    bool valid = false;
};

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (lower(a[i]) != lower(b[i])) {
            return false;
        }
    }
    return true;
}

/// Takes a number of at most 12 digits off the front of `text`.
constexpr Decimal take_decimal(std::string_view& text) noexcept {
    constexpr unsigned kMaxDigits = 12;
    Decimal result;
    unsigned digits = 0;
    bool point = false;
    while (!text.empty()) {
        const char c = text.front();
        if (c == '.' && !point && digits > 0) {
            point = true;
        } else if (c >= '0' && c <= '9' && digits < kMaxDigits) {
            result.digits = result.digits * 10 + static_cast<std::uint64_t>(c - '0');
            result.fraction += point ? 1U : 0U;
            ++digits;
        } else {
            break;
        }
        text.remove_prefix(1);
    }
    result.valid = digits > 0 && (!point || result.fraction > 0);
    return result;
}

/// `number` times `unit`, or out_of_range if it is not a whole number of at most `max`.
constexpr OptionValue<std::uint64_t> scale(Decimal number, std::uint64_t unit,
                                           std::uint64_t max) noexcept {
    std::uint64_t divisor = 1;
    for (unsigned i = 0; i < number.fraction; ++i) {
        divisor *= 10;
    }
    if (number.digits != 0 && unit > UINT64_MAX / number.digits) {
        return {0, OptionProblem::out_of_range};
    }
    const std::uint64_t product = number.digits * unit;
    const std::uint64_t value = product / divisor;
    if (product % divisor != 0 || value == 0 || value > max) {
        return {value, OptionProblem::out_of_range};
    }
    return {value, OptionProblem::none};
}

constexpr std::uint64_t duration_unit_ns(std::string_view unit) noexcept {
    struct Unit {
        std::string_view name;
        std::uint64_t ns;
    };
    constexpr Unit kUnits[] = {
        {"ns", 1},
        {"us", 1'000},
        {"ms", 1'000'000},
        {"", 1'000'000'000},
        {"s", 1'000'000'000},
        {"m", 60'000'000'000},
        {"h", 3'600'000'000'000},
    };
    for (const Unit& known : kUnits) {
        if (known.name == unit) {
            return known.ns;
        }
    }
    return 0;
}

}  // namespace option_detail

/// Samples a second, in kMinFrequencyHz..kMaxFrequencyHz; kFrequencyHelp says it in words.
/// Async-signal-safe.
[[nodiscard]] constexpr OptionValue<std::uint32_t> parse_frequency(std::string_view text) noexcept {
    const option_detail::Decimal number = option_detail::take_decimal(text);
    if (!number.valid) {
        return {};
    }
    std::uint64_t unit = 1;
    if (!text.empty() && option_detail::lower(text.front()) == 'k') {
        unit = 1'000;
        text.remove_prefix(1);
    }
    if (!text.empty() && !option_detail::equals_ignoring_case(text, "hz")) {
        return {};
    }
    const auto hz = option_detail::scale(number, unit, kMaxFrequencyHz);
    return {static_cast<std::uint32_t>(hz.ok() ? hz.value : 0), hz.problem};
}

/// Nanoseconds, above 0 and at most 1000 hours; kDurationHelp says it in words.
/// Async-signal-safe.
[[nodiscard]] constexpr OptionValue<std::uint64_t> parse_duration_ns(
    std::string_view text) noexcept {
    constexpr std::uint64_t kLongest = 3'600'000'000'000'000;
    const option_detail::Decimal number = option_detail::take_decimal(text);
    const std::uint64_t unit = option_detail::duration_unit_ns(text);
    if (!number.valid || unit == 0) {
        return {};
    }
    return option_detail::scale(number, unit, kLongest);
}

/// A switch of the SAMPLE_* variables. Async-signal-safe.
[[nodiscard]] constexpr OptionValue<bool> parse_switch(std::string_view text) noexcept {
    constexpr std::string_view kOn[] = {"1", "yes", "true", "on"};
    constexpr std::string_view kOff[] = {"0", "no", "false", "off"};
    for (const std::string_view word : kOn) {
        if (option_detail::equals_ignoring_case(text, word)) {
            return {true, OptionProblem::none};
        }
    }
    for (const std::string_view word : kOff) {
        if (option_detail::equals_ignoring_case(text, word)) {
            return {false, OptionProblem::none};
        }
    }
    return {};
}

}  // namespace sample
