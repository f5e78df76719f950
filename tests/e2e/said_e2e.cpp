// What a program says comes out of a session as it was said.
#include "heard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace sample {
namespace {

TEST(Said, is_heard_as_it_was_said) {
    const Heard heard = listen({target("says")}, std::string{kDefaultChannels} + ",physics");
    ASSERT_EQ(heard.speakers().size(), 1U);
    const HeardThread& thread = *heard.speakers()[0];
    EXPECT_EQ(thread.name, "speaker");
    EXPECT_EQ(all_of(thread), R"(group speakers
frame 0 begins
begin zones
begin painted
begin on physics
begin on both
end on both
end on physics
begin if so
begin noted a=-5 b=0.5 c=text
begin dynamic 7
begin dynamic 7
end dynamic 7
end dynamic 7
end noted
end if so
end painted
end zones
begin from here
end from here
begin outer
begin inner
suspend coroutine 1
end outer
resume coroutine 1
end inner
frame 0 ends
frame 7 begins
frame 7 ends
items=10
items=15
items=12
items=13
items=12
items=12
load=0.25
load=0.75
heap=4096
heap=4097
shared=1
shared=3
plain
level %s of %d|one|3
%5.1f %% of %zu, %.*s, %ls, %c %lld %p|99.5|7|2|ab|wé|120|-1|0
%hhx %hu|128|65535
%Ld %lc %S|1099511627776|8364|w
region loading (io) begins
region loading ends
flow 2 0
flow 2 1
flow 2 2
)");
    EXPECT_EQ(heard.frame_kinds, (std::map<unsigned, std::string>{{7, "audio"}}));
    EXPECT_EQ(heard.channels, (std::map<std::string, bool>{{"cpu", true},
                                                           {"frame", true},
                                                           {"bookmark", true},
                                                           {"region", true},
                                                           {"counter", true},
                                                           {"log", true},
                                                           {"memory", false},
                                                           {"physics", true},
                                                           {"never_on", false}}));
    EXPECT_EQ(heard.note.find("no room"), std::string::npos) << heard.note;
}

TEST(Said, on_all_channels_is_heard_if_they_are_asked_for) {
    const Heard heard = listen({target("says_ways"), "plugins", target("says_plugin.so")}, "all");
    ASSERT_EQ(heard.speakers().size(), 1U);
    EXPECT_EQ(count(heard.speakers()[0]->lines, "begin on its channel"), 20);
    EXPECT_EQ(heard.note.find("--trace"), std::string::npos) << heard.note;
}

TEST(Said, places_and_kinds_are_told_once) {
    const Heard heard = listen({target("says")}, kDefaultChannels);
    const auto painted = std::find_if(heard.zones.begin(), heard.zones.end(), [](const auto& zone) {
        return zone.second.name == "painted";
    });
    ASSERT_NE(painted, heard.zones.end());
    EXPECT_EQ(painted->second.category, "art");
    EXPECT_EQ(painted->second.colour, 0x102030U);
    EXPECT_NE(painted->second.file.find("says.c"), std::string::npos);
    EXPECT_NE(painted->second.line, 0U);
    EXPECT_EQ(heard.counters.size(), 4U);
    for (const auto& [id, counter] : heard.counters) {
        EXPECT_EQ(counter.is_real, counter.name == "load");
        EXPECT_EQ(counter.is_memory, counter.name == "heap");
    }
    ASSERT_EQ(heard.messages.size(), 5U);
    EXPECT_TRUE(heard.messages.at(1).is_bookmark);
    EXPECT_FALSE(heard.messages.at(3).is_bookmark);
    EXPECT_EQ(heard.messages.at(3).category, "net");
    EXPECT_EQ(heard.messages.at(3).verbosity, trace::Verbosity::warning);
}

TEST(Said, is_nothing_while_channels_are_off) {
    const Heard heard = listen({target("says")}, "bookmark");
    ASSERT_EQ(heard.speakers().size(), 1U);
    EXPECT_EQ(all_of(*heard.speakers()[0]), "group speakers\nplain\nlevel %s of %d|one|3\n");
    EXPECT_FALSE(heard.channels.at("cpu"));
}

TEST(Said, is_nothing_where_it_is_compiled_out) {
    EXPECT_TRUE(listen({target("says_nothing")}, kDefaultChannels).speakers().empty());
}

TEST(Said, by_nobody_is_noted) {
    const std::string note = listen({target("says")}, "cpu,nosuch,physics,other").note;
    EXPECT_NE(note.find("no program has the channel that --trace names: nosuch, other"),
              std::string::npos)
        << note;
    const std::string none = listen({"/bin/true"}, kDefaultChannels).note;
    EXPECT_NE(none.find("nothing was said"), std::string::npos) << none;
}

}  // namespace
}  // namespace sample
