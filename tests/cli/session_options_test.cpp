#include "cli/record/recording.h"

#include <gtest/gtest.h>

namespace sample::cli {
namespace {

using control::Source;

TEST(SessionOptions, are_what_the_command_line_says) {
    RecordOptions options;
    options.frequency_hz = 250;
    options.time = std::chrono::seconds{3};
    options.max_stack = 100;
    options.children = false;
    options.clock = trace::Clock::wall;
    const collector::SessionOptions session = session_options_of(options);
    EXPECT_EQ(session.frequency_hz, 250U);
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
