#include "cli/record/recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sample::cli {
namespace {

using control::Source;

/// By how much a share may be off, of three functions that have 50, 30 and 20 % of each turn of a
/// loop, with an expiry once a period for five seconds: wherever in a turn the first one comes.
double worst_share(std::uint64_t period_ns, std::uint64_t turn_ns) {
    constexpr std::size_t kPlaces = 100;
    constexpr std::uint64_t kWholeNs = 5'000'000'000;
    std::array<double, kPlaces> met{};
    const std::uint64_t whole_periods = kWholeNs / period_ns;
    const auto samples = static_cast<double>(whole_periods);
    for (std::uint64_t now = period_ns; now <= kWholeNs; now += period_ns) {
        met.at(now % turn_ns * kPlaces / turn_ns) += 1 / samples;
    }
    double worst = 0;
    for (std::size_t first = 0; first < kPlaces; ++first) {
        double seen = 0;
        for (std::size_t place = 0; place < kPlaces / 2; ++place) {
            seen += met.at((first + place) % kPlaces);
            const double share = static_cast<double>(place + 1) / kPlaces;
            if (place + 1 == 20 || place + 1 == 30 || place + 1 == 50) {
                worst = std::max(worst, std::abs(seen - share));
            }
        }
    }
    return worst;
}

TEST(SessionOptions, are_what_the_command_line_says) {
    RecordOptions options;
    options.frequency_hz = 250;
    options.delay = std::chrono::seconds{2};
    options.time = std::chrono::seconds{3};
    options.max_stack = 100;
    options.children = false;
    options.clock = trace::Clock::wall;
    const collector::SessionOptions session = session_options_of(options);
    EXPECT_EQ(session.frequency_hz, 250U);
    EXPECT_EQ(session.delay, std::chrono::seconds{2});
    EXPECT_EQ(session.time, std::chrono::seconds{3});
    EXPECT_EQ(session.max_stack, 100U);
    EXPECT_FALSE(session.children);
    EXPECT_EQ(session.clock, trace::Clock::wall);
    EXPECT_FALSE(session.tool_version.empty());
}

TEST(SessionOptions, have_the_event) {
    RecordOptions options;
    EXPECT_TRUE(session_options_of(options).event.is_default());
    EXPECT_TRUE(check_event(options));
    options.event.name = "page-faults";
    options.event.config = 2;
    EXPECT_EQ(session_options_of(options).event.name, "page-faults");
}

TEST(SessionOptions, have_expiries_that_no_usual_loop_is_in_step_with) {
    collector::SessionOptions session;
    for (const std::uint32_t hz : {1'000U, 10'000U}) {
        session.frequency_hz = hz;
        EXPECT_EQ(session.period(), 1'000'000'000 / hz);
        EXPECT_GT(worst_share(session.period(), 100'000), 0.4) << "the round one is";
        for (const std::uint64_t us :
             {10U,  20U,   25U,   40U,   50U,   80U,   95U,     99U,    100U,
              101U, 105U,  125U,  200U,  250U,  333U,  500U,    950U,   990U,
              999U, 1000U, 1001U, 1010U, 2000U, 5000U, 10'000U, 20'000U}) {
            EXPECT_LT(worst_share(session.expiry_period(), us * 1000), 0.015)
                << us << " us, " << hz;
        }
    }
}

TEST(SessionOptions, have_as_many_samples_as_were_asked_for) {
    collector::SessionOptions session;
    session.frequency_hz = 10'000;
    const double skipped = session.skipped_share() / 4294967296.0;
    EXPECT_GT(skipped, 0);
    EXPECT_NEAR(static_cast<double>(session.expiry_period()) / (1 - skipped), 100'000, 1);
}

TEST(SessionOptions, have_the_period_of_an_event_as_it_was_asked_for) {
    collector::SessionOptions session;
    session.event.is_clock = false;
    session.event.period = 1000;
    EXPECT_EQ(session.period(), 1000U);
    EXPECT_EQ(session.expiry_period(), 1000U);
    EXPECT_EQ(session.skipped_share(), 0U);
}

TEST(SessionOptions, choose_the_source_by_its_name) {
    const auto source = [](const char* name) {
        const auto invocation = parse_command_line({"--source", name, "app"});
        return session_options_of(std::get<RecordOptions>(*invocation)).source;
    };
    EXPECT_EQ(source("auto"), Source::none);
    EXPECT_EQ(source("sigtrap"), Source::sigtrap);
    EXPECT_EQ(source("perf"), Source::perf);
    EXPECT_EQ(source("thread"), Source::thread);
    EXPECT_EQ(source("timer"), Source::timer);
}

}  // namespace
}  // namespace sample::cli
