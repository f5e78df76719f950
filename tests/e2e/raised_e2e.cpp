// Events of a program's own.
#include "heard.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace sample {
namespace {

TEST(Raised, events_have_the_values_that_were_set) {
    const Heard heard = listen({target("raises"), "fields"}, "events");
    ASSERT_EQ(heard.speakers().size(), 1U);
    EXPECT_EQ(all_of(*heard.speakers()[0]),
              "Types.Numbers I8=-128 I16=-32768 I32=-2147483648 I64=-9223372036854775808 U8=255 "
              "U16=65535 U32=4294967295 U64=18446744073709551615 F32=0.25f F64=-0.5\n"
              "Types.Numbers I8=0 I16=-10 I32=0 I64=0 U8=0 U16=0 U32=0 U64=0 F32=0f F64=0\n"
              "Types.Parts Ansi=made here Between=7 I16=[-1 2] F64=[1] Wide=[97 233 55356 57096]\n"
              "Types.Parts Ansi=awi Between=0 Wide=[110 97 114 114 111 119]\n"
              "Types.Parts Ansi=cut Between=0\n"
              "Types.Nothing\n");
    EXPECT_EQ(heard.by_serial.size(), 0U);
    EXPECT_EQ(heard.event_types.size(), 3U);  // each is told once
    EXPECT_TRUE(listen({target("raises"), "fields"}, kDefaultChannels).speakers().empty());
    EXPECT_TRUE(listen({target("raises_nothing"), "fields"}, "events").speakers().empty());
}

TEST(Raised, scopes_end_with_their_blocks) {
    const Heard heard = listen({target("raises"), "scopes"}, "cpu,events");
    ASSERT_EQ(heard.speakers().size(), 1U);
    const std::string number = " I8=0 I16=0 I32=0 I64=0 U8=2 U16=0 U32=0 U64=0 F32=0f F64=0\n";
    EXPECT_EQ(all_of(*heard.speakers()[0]),
              "enter Types.Turn timed Turn=1\n"
              "begin zone\n"
              "enter Types.Numbers" +
                  number +
                  "Types.Nothing\n"
                  "suspend coroutine 1\n"
                  "resume coroutine 1\n"
                  "leave Types.Numbers\n"
                  "enter Types.Nothing\n"
                  "leave Types.Nothing\n"
                  "end zone\n"
                  "leave Types.Turn timed\n");
}

TEST(Raised, events_of_two_threads_are_in_order_by_their_serials) {
    const Heard heard = listen({target("raises"), "turns"}, "events");
    EXPECT_EQ(heard.speakers().size(), 2U);
    Lines expected;
    Lines got;
    for (const auto& [serial, line] : heard.by_serial) {
        expected.push_back(fmt::format("Types.Turn Turn={}", got.size()));
        got.push_back(line);
    }
    EXPECT_EQ(got.size(), 2'000U);
    EXPECT_EQ(got, expected);
}

TEST(Raised, events_that_are_too_large_are_counted) {
    const Heard heard = listen({target("raises"), "limits"}, "events");
    ASSERT_EQ(heard.speakers().size(), 1U);
    const HeardThread& thread = *heard.speakers()[0];
    EXPECT_EQ(all_of(thread), "Types.Parts U8=(32754 bytes) Between=0\n");
    ASSERT_GT(heard.kept.size(), 100U);
    EXPECT_EQ(heard.kept[0], "Types.Kept Number=1 Text=four");
    EXPECT_EQ(heard.kept[1], "Types.Kept Number=3");
    EXPECT_EQ(heard.kept[2], "Types.Kept Number=4 Text=(30000 bytes)");
    // 199 Important ones, and one that is none.
    EXPECT_EQ(heard.kept.size() + thread.lost_others, 200U);
}

TEST(Raised, important_events_are_each_processs_own) {
    Heard heard = listen({target("raises"), "fork"}, "events");
    std::sort(heard.kept.begin(), heard.kept.end());
    EXPECT_EQ(heard.kept,
              (Lines{"Types.Kept Number=1", "Types.Kept Number=2", "Types.Kept Number=3"}));
    ASSERT_EQ(heard.speakers().size(), 1U);
    EXPECT_EQ(all_of(*heard.speakers()[0]), "Types.Turn Turn=1\n");
}

}  // namespace
}  // namespace sample
