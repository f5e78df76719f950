#include "symbolize/runtime/latest_code.h"
#include "symbolize/runtime/runtime_code.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace sample::symbolize {
namespace {

std::string name_at(std::string_view text, std::uint64_t address) {
    const RuntimeCode code = read_perf_map(text, {&address, 1});
    return code.locations.at(0) ? code.functions.at(code.locations[0]->function).name : "";
}

TEST(PerfMap, names_from_the_first_byte_to_the_last) {
    constexpr const char* kMap = "1000 20 one\n1020 10 two\n";
    EXPECT_EQ(name_at(kMap, 0xfff), "");
    EXPECT_EQ(name_at(kMap, 0x1000), "one");
    EXPECT_EQ(name_at(kMap, 0x101f), "one");
    EXPECT_EQ(name_at(kMap, 0x1020), "two");
    EXPECT_EQ(name_at(kMap, 0x1030), "");
}

TEST(PerfMap, lets_the_last_line_win) {
    constexpr const char* kMap = "1000 100 old\n1040 10 new\n1048 4 newest\n";
    EXPECT_EQ(name_at(kMap, 0x1000), "old");
    EXPECT_EQ(name_at(kMap, 0x1040), "new");
    EXPECT_EQ(name_at(kMap, 0x1049), "newest");
    EXPECT_EQ(name_at(kMap, 0x1050), "old");
}

TEST(PerfMap, keeps_names_with_spaces_and_either_form_of_number) {
    EXPECT_EQ(name_at("0x1000 0x10 int Main.fib(int, long)\r\n", 0x1001),
              "int Main.fib(int, long)");
    EXPECT_EQ(name_at("0000000000001000 10  two  spaces", 0x1001), " two  spaces");
}

TEST(PerfMap, passes_over_what_is_no_line) {
    for (const char* line : {"", "1000", "1000 10", "1000 10 ", "x000 10 n", "1000 1y n",
                             "1000\t10\tn", "-1000 10 n", "10000000000000000 10 n", "1000 0 n"}) {
        EXPECT_EQ(name_at(std::string{line} + "\n2000 10 sound\n", 0x1000), "") << line;
        EXPECT_EQ(name_at(std::string{line} + "\n2000 10 sound\n", 0x2000), "sound") << line;
    }
}

TEST(PerfMap, survives_sizes_past_the_last_address) {
    EXPECT_EQ(name_at("1000 ffffffffffffffff all\n", 0xffff0000), "all");
    EXPECT_EQ(name_at("1000 ffffffffffffffff all\n", 0xfff), "");
}

TEST(PerfMap, gives_a_functions_addresses_one_function) {
    const std::uint64_t addresses[] = {0x1004, 0x5000, 0x1000, 0x1004};
    const RuntimeCode code = read_perf_map("1000 10 one\n", addresses);
    ASSERT_EQ(code.functions.size(), 1U);
    EXPECT_EQ(code.functions[0].start, 0x1000U);
    ASSERT_EQ(code.locations.size(), 4U);
    EXPECT_TRUE(code.locations[0] && code.locations[2] && code.locations[3]);
    EXPECT_FALSE(code.locations[1]);
}

/// The obvious way.
std::optional<std::uint64_t> last_cover(const std::vector<std::array<std::uint64_t, 3>>& ranges,
                                        std::uint64_t address) {
    for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
        if ((*range)[0] <= address && address < (*range)[1]) {
            return (*range)[2];
        }
    }
    return std::nullopt;
}

TEST(LatestCode, agrees_with_the_obvious_way) {
    std::mt19937 random{5};
    for (int round = 0; round < 50; ++round) {
        std::vector<std::uint64_t> addresses(40);
        for (std::uint64_t& address : addresses) {
            address = random() % 300;
        }
        LatestCode latest{addresses};
        std::vector<std::array<std::uint64_t, 3>> ranges;
        for (std::uint64_t i = 0; i < 60; ++i) {
            const std::uint64_t start = random() % 300;
            ranges.push_back({start, start + random() % 40, i});
            latest.add(ranges.back()[0], ranges.back()[1], i);
        }
        for (const std::uint64_t address : addresses) {
            EXPECT_EQ(latest.find(address), last_cover(ranges, address));
        }
    }
}

TEST(LatestCode, takes_more_ranges_than_it_keeps) {
    const std::vector<std::uint64_t> addresses{10, 20};
    LatestCode latest{addresses};
    constexpr std::uint64_t kMany = 200'000;
    latest.add(20, 21, 7);
    for (std::uint64_t i = 0; i < kMany; ++i) {
        latest.add(0, 15, i);
    }
    EXPECT_EQ(latest.find(10), kMany - 1);
    EXPECT_EQ(latest.find(20), 7U);
}

}  // namespace
}  // namespace sample::symbolize
