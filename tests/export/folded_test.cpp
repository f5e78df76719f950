#include "callgraph/tree.h"
#include "export/formats.h"

#include <gtest/gtest.h>

#include <string>

namespace sample::exports {
namespace {

using callgraph::Node;
using callgraph::Profile;

/// Category "a;b" → main (self 1600 ns, 2 samples) → two children of 700 ns and 1 sample each.
Profile small_profile() {
    Profile profile;
    profile.functions.resize(3);
    profile.functions[0].name = "main";
    profile.functions[1].name = "operator;\n";
    profile.functions[2].source = "x.c";
    profile.functions[2].line = 4;
    const auto add = [&](std::uint32_t parent, std::uint32_t function, std::uint64_t self,
                         std::uint64_t samples) {
        Node node;
        node.parent = NodeId{parent};
        node.function = FunctionId{function};
        node.self = self;
        node.self_samples = samples;
        profile.nodes.push_back(node);
    };
    add(0, 0, 0, 0);
    add(0, 0, 0, 0);
    add(1, 1, 1600, 2);
    add(2, 2, 700, 1);
    add(2, 3, 700, 1);
    callgraph::link_children(profile.nodes);
    profile.categories = {{"a;b", NodeId{1}}};
    return profile;
}

TEST(Folded, writes_a_line_for_each_stack_with_time_of_its_own) {
    std::string text;
    ASSERT_TRUE(write_folded(small_profile(), to_string_sink(text)).has_value());
    EXPECT_EQ(text,
              "a:b;main 1\n"
              "a:b;main;operator:  1\n"
              "a:b;main;x.c:4 1\n");
}

TEST(Folded, has_no_frame_of_blanks_and_turns_no_text_around) {
    Profile profile = small_profile();
    profile.functions[0].name = " \t";
    profile.functions[1].name = "left\u202eright";
    profile.categories[0].name = " ";
    std::string text;
    ASSERT_TRUE(write_folded(profile, to_string_sink(text)).has_value());
    EXPECT_EQ(text,
              "<anonymous>;<anonymous> 1\n"
              "<anonymous>;<anonymous>;left\\u202eright 1\n"
              "<anonymous>;<anonymous>;x.c:4 1\n");
}

TEST(Folded, is_utf8) {
    Profile profile = small_profile();
    profile.functions[0].name = "bad\xff";
    profile.categories[0].name = "\xc3";
    std::string text;
    ASSERT_TRUE(write_folded(profile, to_string_sink(text)).has_value());
    EXPECT_EQ(text.substr(0, text.find('\n')), "\xef\xbf\xbd;bad\xef\xbf\xbd 1");
}

TEST(Folded, adds_up_to_the_floored_total) {
    Profile profile = small_profile();
    profile.nodes[3].self = 399;
    profile.nodes[4].self = 1;
    std::string text;
    ASSERT_TRUE(write_folded(profile, to_string_sink(text)).has_value());
    EXPECT_EQ(text, "a:b;main 1\na:b;main;x.c:4 1\n");
}

TEST(Folded, writes_an_events_count_as_it_is) {
    Profile profile = small_profile();
    profile.event = profile.metric.unit = "page-faults";
    profile.nodes[2].self = 7;
    profile.nodes[3].self = 0;
    profile.nodes[4].self = 1;
    std::string text;
    ASSERT_TRUE(write_folded(profile, to_string_sink(text)).has_value());
    EXPECT_EQ(text, "a:b;main 7\na:b;main;x.c:4 1\n");
}

TEST(Folded, passes_a_sinks_failure_on) {
    const Sink full = [](std::string_view) -> Result<void> {
        return unexpected(ErrorCode::system, "full");
    };
    EXPECT_FALSE(write_folded(small_profile(), full).has_value());
}

}  // namespace
}  // namespace sample::exports
