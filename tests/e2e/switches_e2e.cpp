// Threads that leave the processor often are sampled without a timer at each switch, and by timers
// again when they stay.
#include "session.h"

namespace sample::e2e {
namespace {

class Switches : public Session {};

TEST_F(Switches, are_told_and_interrupt_nothing_and_timers_come_back_where_there_are_few) {
    const Outcome outcome = record({target("switches"), "working", "1.5"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(told(outcome.out, "interrupted"), 0);
    const Recording seen{recording()};
    EXPECT_NE(seen.stats()["notes"].dump().find("left the processor often"), std::string::npos);
    // By events that expire once there are at most 1,000 samples a second.
    EXPECT_GT(seen.stat("achieved_hz"), 2500);
    EXPECT_GT(seen.total_us("leaf_fifty"), seen.total_us("leaf_twenty"));
}

TEST_F(Switches, of_two_threads_interrupt_nothing) {
    const Outcome outcome = record({target("switches"), "threads", "1"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(told(outcome.out, "interrupted"), 0);
    const Recording seen{recording()};
    EXPECT_NE(seen.stats()["notes"].dump().find("left the processor often"), std::string::npos);
    EXPECT_GT(seen.stat("samples"), 50);
}

}  // namespace
}  // namespace sample::e2e
