#include "core/option_values.h"

#include <gtest/gtest.h>

#include <string>

namespace sample {
namespace {

TEST(ParseFrequency, reads_plain_and_scaled_numbers) {
    const struct {
        const char* text;
        std::uint32_t hz;
    } cases[] = {{"1", 1},       {"1000", 1000}, {"1k", 1000},    {"10k", 10'000},
                 {"2.5k", 2500}, {"997", 997},   {"10K", 10'000}, {"10kHz", 10'000},
                 {"250hz", 250}, {"0.5k", 500},  {"0010", 10},    {"10000", 10'000}};
    for (const auto& item : cases) {
        const auto parsed = parse_frequency(item.text);
        EXPECT_TRUE(parsed.ok()) << item.text;
        EXPECT_EQ(parsed.value, item.hz) << item.text;
    }
}

TEST(ParseFrequency, tells_out_of_range_from_nonsense) {
    for (const char* text : {"0", "10001", "11k", "999999999999", "0.1", "0.0001k", "0k"}) {
        EXPECT_EQ(parse_frequency(text).problem, OptionProblem::out_of_range) << text;
    }
    for (const char* text : {"", "k", "-1", "+1", "1kk", "1m", " 1", "1 ", "ten", "1.", ".5k",
                             "1.5.5", "0x10", "9999999999999", "1khzz"}) {
        EXPECT_EQ(parse_frequency(text).problem, OptionProblem::syntax) << text;
    }
}

TEST(ParseDuration, reads_every_unit) {
    const struct {
        const char* text;
        std::uint64_t ns;
    } cases[] = {{"10s", 10'000'000'000},  {"1m", 60'000'000'000},
                 {"500ms", 500'000'000},   {"1h", 3'600'000'000'000},
                 {"10", 10'000'000'000},   {"1.5s", 1'500'000'000},
                 {"20us", 20'000},         {"7ns", 7},
                 {"0.25m", 15'000'000'000}};
    for (const auto& item : cases) {
        const auto parsed = parse_duration_ns(item.text);
        EXPECT_TRUE(parsed.ok()) << item.text;
        EXPECT_EQ(parsed.value, item.ns) << item.text;
    }
}

TEST(ParseDuration, refuses_nothing_too_much_and_nonsense) {
    for (const char* text : {"0s", "0", "0.5ns", "1001h", "999999999999h"}) {
        EXPECT_EQ(parse_duration_ns(text).problem, OptionProblem::out_of_range) << text;
    }
    for (const char* text : {"", "s", "-1s", "1d", "1S", "1 s", "1s ", "1.s"}) {
        EXPECT_EQ(parse_duration_ns(text).problem, OptionProblem::syntax) << text;
    }
}

TEST(ParseSwitch, knows_the_usual_words_only) {
    EXPECT_TRUE(parse_switch("1").ok());
    EXPECT_TRUE(parse_switch("Yes").value);
    EXPECT_TRUE(parse_switch("off").ok());
    EXPECT_FALSE(parse_switch("off").value);
    EXPECT_FALSE(parse_switch("").ok());
    EXPECT_FALSE(parse_switch("2").ok());
}

}  // namespace
}  // namespace sample
