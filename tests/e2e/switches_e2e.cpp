// Threads that leave the processor often are sampled without a timer at each switch, and by timers
// again when they stay.
#include "beside.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace sample::e2e {
namespace {

class Switches : public Session {
protected:
    /// Samples a second of CPU time between two times of the recording.
    [[nodiscard]] double rate(const std::string& from, const std::string& to) const {
        const Outcome outcome = sample(
            {"report", "--view", "stats", "--json", "--from", from, "--to", to, recording()});
        const auto stats = nlohmann::json::parse(outcome.out, nullptr, false);
        EXPECT_TRUE(stats.is_object()) << outcome.err;
        return stats.is_object() ? stats.value("achieved_hz", 0.0) : 0;
    }
};

TEST_F(Switches, are_told_and_interrupt_nothing_and_timers_come_back_where_there_are_few) {
    const Outcome outcome = record({target("switches"), "working", "1.5"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(told(outcome.out, "interrupted"), 0);
    const Recording seen{recording()};
    EXPECT_NE(seen.stats()["notes"].dump().find("left the processor often"), std::string::npos);
    // As often as asked for, or as a sample's price allows, once it only works.
    const auto end_ms = static_cast<int>(seen.stat("end_unix_ms") - seen.stat("start_unix_ms"));
    EXPECT_GT(rate(fmt::format("{}ms", end_ms - 400), fmt::format("{}ms", end_ms - 50)),
              1.5 * rate("300ms", "600ms"));
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

// Else the period would begin anew each time, and no sample would come.
TEST_F(Switches, of_less_than_ten_periods_change_no_event) {
    const Outcome outcome = sample(
        {"--quiet", "--freq", "1", "-o", recording(), "--", target("switches"), "threads", "1"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    ASSERT_LT(seen.roots_us(), 10'000'000);
    EXPECT_EQ(seen.stats()["notes"].dump().find("left the processor often"), std::string::npos);
}

// They inherit no event of one that has none.
TEST_F(Switches, beside_threads_that_are_soon_gone_leave_these_their_samples) {
    const Outcome outcome = record({target("brief_threads"), "work", "5", "3"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_GT(Recording{recording()}.total_us("works_briefly"), 0.5 * told(outcome.out, "brief_us"))
        << outcome.out;
}

TEST_F(Switches, of_threads_that_have_ended_leave_no_event_open) {
    Beside recorder{{sample_path(), "--quiet", "-o", recording(), "--", target("brief_threads"),
                     "nap", "300", "6", file("alone"), file("end")},
                    file("told")};
    while (!std::filesystem::exists(file("alone")) && recorder.state() != 'Z') {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    // Of the thread that is left, and of the price of a sample.
    constexpr std::size_t kFew = 3;
    for (int look = 0; look < 100 && recorder.events() > kFew; ++look) {
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
    EXPECT_LE(recorder.events(), kFew);
    const std::ofstream end{file("end")};
    EXPECT_EQ(recorder.wait(), 0) << recorder.out();
}

}  // namespace
}  // namespace sample::e2e
