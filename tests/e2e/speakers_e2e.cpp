// Who says it: threads, children, images, libraries and handlers that come, go and say too much.
#include "heard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace sample {
namespace {

TEST(Said, ends_with_scopes_of_cpp) {
    const Heard heard = listen({target("says_ways"), "scopes"}, kDefaultChannels);
    ASSERT_EQ(heard.speakers().size(), 2U);
    EXPECT_EQ(all_of(*heard.speakers()[0]), R"(frame 1 begins
begin thrown out of
end thrown out of
begin caught 1
end caught 1
begin with values n=3 x=0.5 t=text s=string
region region (category) begins
end with values
frame 1 ends
)");
    EXPECT_EQ(all_of(*heard.speakers()[1]), R"(begin on another thread
end on another thread
region region ends
)");
}

TEST(Said, by_short_threads_is_whole_also_beside_samples) {
    for (const std::uint32_t frequency_hz : {0U, 1'000U}) {
        const Heard heard =
            listen({target("says_ways"), "threads"}, kDefaultChannels, frequency_hz);
        EXPECT_EQ(heard.speakers().size(), 501U);
        std::size_t short_ones = 0;
        std::size_t left_open = 0;
        for (const HeardThread* thread : heard.speakers()) {
            short_ones +=
                thread->lines == Lines{"begin short", "begin life", "end life", "end short"} ? 1
                                                                                             : 0;
            left_open += thread->lines == Lines{"begin left open", "end left open"} ? 1 : 0;
        }
        EXPECT_EQ(short_ones, 500U);
        EXPECT_EQ(left_open, 1U);
    }
}

TEST(Said, by_a_forked_child_is_its_own) {
    const Heard heard = listen({target("says_ways"), "fork"}, kDefaultChannels);
    ASSERT_EQ(heard.speakers().size(), 2U);
    const HeardThread& parent = *heard.speakers()[0];
    const HeardThread& child = *heard.speakers()[1];
    EXPECT_NE(parent.pid, child.pid);
    EXPECT_EQ(all_of(parent), "begin parent\nin %s|parent\nend parent\n");
    EXPECT_EQ(all_of(child), "begin child\nin %s|child\nend child\n");
}

TEST(Said, goes_on_in_the_next_image) {
    const Heard heard = listen({target("says_ways"), "exec"}, kDefaultChannels);
    ASSERT_EQ(heard.speakers().size(), 4U);
    EXPECT_EQ(all_of(*heard.speakers()[1]), "begin child\nin %s|child\nend child\n");
    EXPECT_EQ(heard.speakers()[2]->pid, heard.speakers()[1]->pid);
    EXPECT_EQ(count(heard.speakers()[2]->lines, "begin caught 1"), 1);
}

TEST(Said, outlives_the_library_that_said_it) {
    const Heard heard = listen({target("says_ways"), "plugins", target("says_plugin.so")},
                               std::string{kDefaultChannels} + ",plugin");
    ASSERT_EQ(heard.speakers().size(), 1U);
    const Lines& lines = heard.speakers()[0]->lines;
    EXPECT_EQ(count(lines, "begin of the library"), 20);
    EXPECT_EQ(count(lines, "begin on its channel"), 20);
    EXPECT_EQ(count(lines, "loaded %d|1"), 20);
    EXPECT_EQ(count(lines, "begin without it"), 20);
    EXPECT_EQ(heard.zones.size(), 3U) << "loaded again it is the same";
}

TEST(Said, by_a_child_of_a_handler_that_interrupted_it_harms_nothing) {
    testing::internal::CaptureStdout();
    const Heard heard = listen({target("says_ways"), "forks in handler"}, kDefaultChannels);
    std::fflush(stdout);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "harmed=0\n");
    EXPECT_FALSE(heard.speakers().empty());
}

/// `rounds` of two zones each, and `handled` of two zones each between them: what is lost is
/// counted, and nothing else is missing.
TEST(Said, in_signal_handlers_is_whole_while_samples_come) {
    testing::internal::CaptureStdout();
    const Heard heard = listen({target("says_ways"), "signals"}, kDefaultChannels, 10'000);
    std::fflush(stdout);
    const std::string told = testing::internal::GetCapturedStdout();
    unsigned long long rounds = 0;
    unsigned long long handled = 0;
    ASSERT_EQ(std::sscanf(told.c_str(), "rounds=%llu handled=%llu", &rounds, &handled), 2) << told;
    EXPECT_GE(handled, 2'000U);
    EXPECT_GT(heard.samples, 100U);
    ASSERT_EQ(heard.speakers().size(), 1U);
    const HeardThread& thread = *heard.speakers()[0];
    EXPECT_EQ(thread.begun + thread.lost_zones, 2 * (rounds + handled));
    EXPECT_EQ(heard.note.find("damaged"), std::string::npos) << heard.note;
}

TEST(Said, beyond_what_there_is_room_for_is_counted) {
    testing::internal::CaptureStdout();
    std::array<int, 2> done{};
    // NOLINTNEXTLINE(android-cloexec-pipe): the program writes to it
    ASSERT_EQ(pipe(done.data()), 0);
    const Heard heard = listen({target("says_ways"), "flood", std::to_string(done[1])},
                               kDefaultChannels, 0, done[0]);
    close(done[0]);
    close(done[1]);
    std::fflush(stdout);
    const std::string told = testing::internal::GetCapturedStdout();
    unsigned long long zones = 0;
    unsigned long long others = 0;
    ASSERT_EQ(std::sscanf(told.c_str(), "zones=%llu others=%llu", &zones, &others), 2) << told;
    ASSERT_EQ(heard.speakers().size(), 2U);
    std::uint64_t heard_zones = 0;
    std::uint64_t lost_zones = 0;
    std::uint64_t heard_others = 0;
    for (const HeardThread* thread : heard.speakers()) {
        EXPECT_GT(thread->begun, 0U);
        heard_zones += thread->begun + thread->lost_zones;
        lost_zones += thread->lost_zones;
        heard_others += thread->others + thread->lost_others;
    }
    EXPECT_EQ(heard_zones, zones);
    EXPECT_EQ(heard_others, others);
    EXPECT_GT(lost_zones, 0U);
    EXPECT_NE(heard.note.find(std::to_string(lost_zones) + " zones are not recorded"),
              std::string::npos)
        << heard.note;
}

}  // namespace
}  // namespace sample
