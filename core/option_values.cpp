#include "core/option_values.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <span>
#include <string>

namespace sample {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t value = 0;
};
constexpr std::array<Unit, 4> kFrequencies{{{"", 1}, {"hz", 1}, {"k", 1'000}, {"khz", 1'000}}};
constexpr std::array<Unit, 7> kDurations{{{"ns", 1},
                                          {"us", 1'000},
                                          {"ms", 1'000'000},
                                          {"", 1'000'000'000},
                                          {"s", 1'000'000'000},
                                          {"m", 60'000'000'000},
                                          {"h", 3'600'000'000'000}}};

std::string lower(std::string_view text) {
    std::string result{text};
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

/// Takes the digits off the front of `text`.
std::string take_digits(std::string_view& text) {
    std::string digits{text.substr(0, text.find_first_not_of("0123456789"))};
    text.remove_prefix(digits.size());
    return digits;
}

/// A decimal number of at most 12 digits and its unit; out of range if that is not a whole number
/// from 1 to `max`.
OptionValue<std::uint64_t> parse(std::string_view text, std::span<const Unit> units,
                                 std::uint64_t max) {
    constexpr std::size_t kMostDigits = 12;
    std::string digits = take_digits(text);
    bool is_number = !digits.empty();
    std::uint64_t divisor = 1;
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        const std::string fraction = take_digits(text);
        is_number = is_number && !fraction.empty();
        digits += fraction;
        for (std::size_t i = 0; i < std::min(fraction.size(), kMostDigits); ++i) {
            divisor *= 10;
        }
    }
    const auto unit = std::find_if(units.begin(), units.end(),
                                   [text](const Unit& known) { return known.name == text; });
    if (!is_number || digits.size() > kMostDigits || unit == units.end()) {
        return {};
    }
    std::uint64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool fits = number <= std::numeric_limits<std::uint64_t>::max() / unit->value;
    const std::uint64_t product = fits ? number * unit->value : 0;
    const std::uint64_t value = product / divisor;
    const bool is_allowed = product % divisor == 0 && value != 0 && value <= max;
    return {value, is_allowed ? OptionProblem::none : OptionProblem::out_of_range};
}

}  // namespace

OptionValue<std::uint32_t> parse_frequency(std::string_view text) {
    const auto hz = parse(lower(text), kFrequencies, kMaxFrequencyHz);
    return {static_cast<std::uint32_t>(hz.ok() ? hz.value : 0), hz.problem};
}

OptionValue<std::uint64_t> parse_duration_ns(std::string_view text) {
    constexpr std::uint64_t kLongest = 3'600'000'000'000'000;
    return parse(text, kDurations, kLongest);
}

OptionValue<bool> parse_switch(std::string_view text) {
    const std::string word = lower(text);
    const auto is_one_of = [&](const auto&... words) { return ((word == words) || ...); };
    if (is_one_of("1", "yes", "true", "on")) {
        return {true, OptionProblem::none};
    }
    return {false,
            is_one_of("0", "no", "false", "off") ? OptionProblem::none : OptionProblem::syntax};
}

}  // namespace sample
