#include "sampler/collector/code/jit_history.h"

#include <gtest/gtest.h>

namespace sample::collector {
namespace {

/// Where the byte lies, or 0.
std::uint64_t place(JitHistory& history, std::uint64_t address, std::uint64_t time_ns) {
    const auto found = history.find(address, time_ns);
    return found ? found->code_offset : 0;
}

TEST(JitHistory, finds_from_the_first_byte_to_the_last) {
    JitHistory history;
    history.load(0x1000, 0x10, 500, 1);
    EXPECT_EQ(place(history, 0xfff, 5), 0U);
    EXPECT_EQ(place(history, 0x1000, 5), 500U);
    EXPECT_EQ(place(history, 0x100f, 5), 515U);
    EXPECT_EQ(place(history, 0x1010, 5), 0U);
}

TEST(JitHistory, tells_code_at_one_address_apart_by_time) {
    JitHistory history;
    history.load(0x1000, 0x10, 500, 10);
    history.load(0x1000, 0x10, 600, 20);
    history.load(0x1000, 0x10, 700, 30);
    EXPECT_EQ(place(history, 0x1001, 10), 501U);
    EXPECT_EQ(place(history, 0x1001, 19), 501U);
    EXPECT_EQ(place(history, 0x1001, 20), 601U);
    EXPECT_EQ(place(history, 0x1001, 31), 701U);
    EXPECT_EQ(history.find(0x1001, 25)->until_ns, 30U);
    EXPECT_EQ(history.find(0x1001, 35)->until_ns, JitHistory::kForever);
}

TEST(JitHistory, takes_the_first_code_for_what_ran_before_it_was_told_of) {
    JitHistory history;
    history.load(0x1000, 0x10, 500, 10);
    EXPECT_EQ(place(history, 0x1000, 3), 500U);
}

TEST(JitHistory, keeps_what_new_code_leaves_of_old_code) {
    JitHistory history;
    history.load(0x1000, 0x100, 500, 10);
    history.load(0x1040, 0x10, 900, 20);
    EXPECT_EQ(place(history, 0x103f, 25), 500U + 0x3f);
    EXPECT_EQ(place(history, 0x1040, 25), 900U);
    EXPECT_EQ(place(history, 0x1050, 25), 500U + 0x50);
    EXPECT_EQ(place(history, 0x1045, 15), 500U + 0x45);
    history.load(0x0ff0, 0x200, 2000, 30);
    EXPECT_EQ(place(history, 0x1045, 35), 2000U + 0x55);
    EXPECT_EQ(place(history, 0x1045, 25), 905U);
}

TEST(JitHistory, knows_moved_code_again) {
    JitHistory history;
    history.load(0x1000, 0x10, 500, 10);
    history.move(0x1000, 0x5000, 0x10, 20);
    EXPECT_EQ(place(history, 0x5004, 25), 504U);
    history.move(0x7777, 0x8000, 0x10, 30);
    EXPECT_EQ(place(history, 0x8000, 35), 0U) << "nothing was known there";
    history.load(0x1000, 0x10, 600, 40);
    EXPECT_EQ(place(history, 0x5004, 45), 504U);
}

TEST(JitHistory, counts_what_it_was_told_of_too_late) {
    JitHistory history;
    history.load(0x1000, 0x10, 500, 10);
    EXPECT_EQ(place(history, 0x1000, 30), 500U);
    history.load(0x1000, 0x10, 600, 40);
    EXPECT_EQ(history.late(), 0U);
    EXPECT_EQ(place(history, 0x1000, 60), 600U);
    history.load(0x1000, 0x10, 700, 50);
    EXPECT_EQ(history.late(), 1U);
    EXPECT_EQ(place(history, 0x1000, 60), 700U);
}

TEST(JitHistory, forgets_what_nobody_will_ask_for) {
    JitHistory history;
    history.load(0x1000, 0x10, 500, 10);
    history.load(0x1000, 0x10, 600, 20);
    history.forget_before(21);
    EXPECT_EQ(place(history, 0x1000, 15), 600U) << "all that is known";
}

TEST(JitHistory, does_not_believe_times_that_run_backwards) {
    JitHistory history;
    history.load(0x1000, 0x10, 500, 50);
    history.load(0x1000, 0x10, 600, 10);
    EXPECT_EQ(place(history, 0x1000, 60), 600U);
}

TEST(JitHistory, is_bounded) {
    JitHistory history;
    constexpr std::uint64_t kMany = 300'000;
    for (std::uint64_t i = 0; i < kMany; ++i) {
        history.load(0x1000 + i * 0x20, 0x10, i + 1, i);
    }
    EXPECT_TRUE(history.is_full());
    EXPECT_EQ(place(history, 0x1000, kMany), 1U);
    EXPECT_EQ(place(history, 0x1000 + (kMany - 1) * 0x20, kMany), 0U);
}

}  // namespace
}  // namespace sample::collector
