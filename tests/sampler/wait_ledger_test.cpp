#include "sampler/collector/process/wait_ledger.h"

#include <gtest/gtest.h>

namespace sample::collector {
namespace {

TEST(WaitLedger, divides_a_life_into_work_sleep_and_waiting_for_a_processor) {
    WaitLedger ledger;
    ledger.begin(1'000, 0);
    ledger.read(1'100, 30, 20);
    EXPECT_EQ(ledger.take_for_processor(), 20U);
    EXPECT_EQ(ledger.take_asleep(), 50U);
    EXPECT_EQ(ledger.cpu_ns(), 30U);
}

TEST(WaitLedger, writes_everything_down_once) {
    WaitLedger ledger;
    ledger.begin(0, 0);
    ledger.read(100, 0, 40);
    EXPECT_EQ(ledger.take_asleep(), 60U);
    EXPECT_EQ(ledger.take_for_processor(), 40U);
    EXPECT_EQ(ledger.take_asleep(), 0U);
    EXPECT_EQ(ledger.take_for_processor(), 0U);
    ledger.read(150, 10, 45);
    EXPECT_EQ(ledger.take_for_processor(), 5U);
    EXPECT_EQ(ledger.take_asleep(), 35U);
}

TEST(WaitLedger, leaves_out_what_came_before_the_beginning) {
    WaitLedger ledger;
    ledger.begin(1'000, 700);
    ledger.read(1'050, 710, 500);
    ledger.read(1'100, 720, 530);
    EXPECT_EQ(ledger.take_for_processor(), 30U) << "the 500 may lie before";
    EXPECT_EQ(ledger.take_asleep(), 50U);
}

TEST(WaitLedger, counts_what_a_new_thread_waited_before_it_was_looked_at) {
    WaitLedger ledger;
    ledger.begin(1'000, 0);
    ledger.read(1'100, 10, 60);
    EXPECT_EQ(ledger.take_for_processor(), 60U);
    EXPECT_EQ(ledger.take_asleep(), 30U);
}

TEST(WaitLedger, has_no_life_before_it_begins) {
    WaitLedger ledger;
    ledger.read(1'000'000, 0, 1'000);
    EXPECT_EQ(ledger.take_asleep(), 0U);
    EXPECT_EQ(ledger.take_for_processor(), 0U);
}

TEST(WaitLedger, takes_the_earliest_beginning) {
    WaitLedger ledger;
    ledger.begin(1'000, 0);
    ledger.read(1'100, 0, 0);
    EXPECT_EQ(ledger.take_asleep(), 100U);
    ledger.begin(900, 0);  // its own word, which comes after it was seen
    ledger.read(1'100, 0, 0);
    EXPECT_EQ(ledger.take_asleep(), 100U);
    ledger.begin(1'100, 0);  // its first sample
    ledger.read(1'200, 0, 0);
    EXPECT_EQ(ledger.take_asleep(), 100U);
}

// The kernel adds a wait for a processor when it ends.
TEST(WaitLedger, never_writes_down_more_than_the_life) {
    WaitLedger ledger;
    ledger.begin(0, 0);
    ledger.read(100, 0, 0);
    std::uint64_t sum = ledger.take_asleep();
    ledger.read(100, 0, 80);
    sum += ledger.take_for_processor() + ledger.take_asleep();
    EXPECT_EQ(sum, 100U);
    ledger.read(200, 0, 80);
    EXPECT_EQ(ledger.take_for_processor(), 80U) << "now there is room for it";
    EXPECT_EQ(ledger.take_asleep(), 20U);
}

TEST(WaitLedger, believes_no_more_waiting_for_a_processor_than_there_was_time) {
    WaitLedger ledger;
    ledger.begin(0, 0);
    ledger.read(100, 70, ~std::uint64_t{0});
    EXPECT_EQ(ledger.take_for_processor(), 30U);
    EXPECT_EQ(ledger.take_asleep(), 0U);
}

TEST(WaitLedger, survives_clocks_that_go_backwards) {
    WaitLedger ledger;
    ledger.begin(1'000, 50);
    ledger.read(1'100, 50, 0);
    EXPECT_EQ(ledger.take_asleep(), 100U);
    ledger.read(900, 20, 0);
    EXPECT_EQ(ledger.take_asleep(), 0U);
    ledger.read(1'120, 1'000'000, 0);
    EXPECT_EQ(ledger.take_asleep(), 0U);
    ledger.read(1'150, 50, 0);
    EXPECT_EQ(ledger.take_asleep(), 50U);
}

TEST(WaitLedger, keeps_what_it_knew_of_a_processor_at_the_end) {
    WaitLedger ledger;
    ledger.begin(0, 0);
    ledger.read(100, 0, 40);
    ledger.read(200, 0);
    EXPECT_EQ(ledger.take_for_processor(), 40U);
    EXPECT_EQ(ledger.take_asleep(), 160U);
}

}  // namespace
}  // namespace sample::collector
