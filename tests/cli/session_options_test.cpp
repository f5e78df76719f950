#include "cli/session_options.h"

#include <gtest/gtest.h>

namespace sample::cli {
namespace {

using collector::SourceChoice;

TEST(SessionOptions, are_what_the_command_line_says) {
    RecordOptions options;
    options.frequency_hz = 250;
    options.time = std::chrono::seconds{3};
    options.max_stack = 100;
    options.children = false;
    const collector::SessionOptions session = session_options_of(options);
    EXPECT_EQ(session.frequency_hz, 250U);
    EXPECT_EQ(session.time, std::chrono::seconds{3});
    EXPECT_EQ(session.max_stack, 100U);
    EXPECT_FALSE(session.children);
    EXPECT_FALSE(session.tool_version.empty());
}

TEST(SessionOptions, choose_the_source_by_its_name) {
    const auto source = [](const char* name) {
        RecordOptions options;
        options.source = name;
        return session_options_of(options).source;
    };
    EXPECT_EQ(source("auto"), SourceChoice::automatic);
    EXPECT_EQ(source("sigtrap"), SourceChoice::sigtrap);
    EXPECT_EQ(source("perf"), SourceChoice::perf);
}

}  // namespace
}  // namespace sample::cli
