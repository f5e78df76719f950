#include "export/formats.h"
#include "import/import.h"
#include "import_fixture.h"

#include <gtest/gtest.h>

#include <string>

namespace sample::imports {
namespace {

using callgraph::Profile;

TEST(Folded, adds_up_stacks_and_counts_recursion_once) {
    const Profile profile = imported("main;f;g 3\nmain;f 2\nmain;f;f 4\n");
    EXPECT_EQ(totals(profile), (Totals{{"main", {9, 0}}, {"f", {9, 6}}, {"g", {3, 3}}}));
    EXPECT_EQ(profile.nodes[0].total, 9U);
    EXPECT_FALSE(profile.is_time());
    EXPECT_EQ(profile.stats.known_samples(0), std::nullopt);
    EXPECT_FALSE(profile.timeline.has_value());
}

TEST(Folded, takes_the_first_frame_as_a_thread_where_told) {
    const Profile profile = imported("worker;f 3\nmain;f;g 2\n", Format::folded_threads);
    EXPECT_EQ(totals(profile), (Totals{{"f", {5, 3}}, {"g", {2, 2}}}));
    ASSERT_EQ(profile.categories.size(), 2U);
    EXPECT_EQ(profile.categories[0].name, "worker");
    EXPECT_EQ(profile.categories[1].name, "main");
}

TEST(Folded, takes_lines_as_windows_and_editors_leave_them) {
    const Profile profile = imported(
        "\xef\xbb\xbf"
        "a;b c 1\r\n\r\n  a;b c\t2  \r\na;d 4");
    EXPECT_EQ(totals(profile), (Totals{{"a", {7, 0}}, {"b c", {3, 3}}, {"d", {4, 4}}}));
}

TEST(Folded, understands_marks_of_frames) {
    const Profile profile = imported("a;b_[i];c_[j];d_[k];e_[x] 1\n");
    EXPECT_EQ(node_called(profile, "b").inlining, callgraph::Inlining::all);
    EXPECT_EQ(function_called(profile, "c").flags, callgraph::kNative);
    EXPECT_EQ(function_called(profile, "d").source, "[kernel]");
    EXPECT_EQ(node_called(profile, "e_[x]").inlining, callgraph::Inlining::none);
}

TEST(Folded, shows_names_for_linkers_as_people_write_them) {
    const Profile profile = imported(
        "_ZN3app4workEi;_ZN4core3fmt5write17h0123456789abcdefE;_RNvC4demo4main;_Rest;_Zap_[j] 1\n");
    EXPECT_EQ(function_called(profile, "app::work(int)").linkage_name, "_ZN3app4workEi");
    EXPECT_EQ(function_called(profile, "core::fmt::write").self, 0U);
    EXPECT_EQ(function_called(profile, "demo::main").linkage_name, "_RNvC4demo4main");
    EXPECT_EQ(function_called(profile, "_Rest").linkage_name, "");
    EXPECT_EQ(function_called(profile, "_Zap").linkage_name, "");
}

TEST(Folded, keeps_names_of_any_bytes) {
    const Profile profile = imported("a;\xff\xfe 1\n");
    EXPECT_EQ(function_called(profile, "\xff\xfe").self, 1U);
}

TEST(Folded, keeps_weights_without_a_frame) {
    const Profile profile = imported("a;b 1\n 5\n");
    EXPECT_EQ(profile.nodes[0].total, 6U);
}

TEST(Folded, refuses_with_the_line) {
    expect_refusal("a;b 1\na;c -2\n", Format::folded, "folded: line 2: must end with a space and");
    expect_refusal("a;b 1\n\na;c\n", Format::folded, "line 3");
    expect_refusal("a;b 1.5\n", Format::folded, "not with \"1.5\"");
    expect_refusal("a;b 18446744073709551616\n", Format::folded, "whole number of at most 64");
    expect_refusal("a 18446744073709551615\nb 1\n", Format::folded,
                   "line 2: the sum of all weights needs more than 64 bits");
}

TEST(Folded, refuses_the_difference_of_two_profiles) {
    expect_refusal("main;parse;read 40 60\nmain;parse;lex 10 15\n\nmain;emit 50\t25\n",
                   Format::folded, "sample diff A B");
    const Profile profile = imported("main;step 40 60\nmain;lex 10\n");
    EXPECT_EQ(totals(profile).at("step 40").first, 60U);
}

TEST(Folded, refuses_more_nodes_than_it_bears) {
    Options options;
    options.max_nodes = 4;
    EXPECT_TRUE(import_profile("a;b 1\n", {}, options).has_value());
    const auto result = import_profile("a;b 1\na;b;c;d;e 1\n", {}, options);
    ASSERT_FALSE(result.has_value());
    EXPECT_NE(result.error().message().find("line 2: more than 4 different stacks"),
              std::string::npos)
        << result.error().message();
}

TEST(Luau, reads_stacks_with_their_lines_in_microseconds) {
    const Profile profile = imported(
        "1523 my, dir/chess.lua,evaluate,120;my, dir/chess.lua,search,80;=stdin,,\n"
        "7 GC,GC,;=stdin,,\n");
    EXPECT_TRUE(profile.is_time());
    EXPECT_EQ(profile.nodes[0].total, 1'530'000U);
    const auto& evaluate = function_called(profile, "evaluate");
    EXPECT_EQ(evaluate.source, "my, dir/chess.lua");
    EXPECT_EQ(evaluate.line, 120U);
    EXPECT_EQ(evaluate.self, 1'523'000U);
    EXPECT_EQ(function_called(profile, "search").total, 1'523'000U);
    EXPECT_EQ(function_called(profile, "").source, "=stdin");
    ASSERT_TRUE(profile.memory.has_value());
    EXPECT_EQ(profile.function(*profile.memory).total, 7'000U);
}

TEST(Luau, refuses_with_the_line) {
    expect_refusal("5 a,b,1\nx a,b,1\n", Format::luau, "luau: line 2: must begin with its micro");
    expect_refusal("-5 a,b,1\n", Format::luau, "line 1: must begin");
    expect_refusal("5 a,b,1;c,d\n", Format::luau, "source,name,line, not \"c,d\"");
    expect_refusal("5 a,b,4294967296\n", Format::luau, "source,name,line");
    expect_refusal("18446744073709552 a,b,1\n", Format::luau, "overflows 64-bit nanoseconds");
    expect_refusal("18446744073709551 a,b,1\n1 a,b,1\n", Format::luau, "line 2: the sum");
}

}  // namespace
}  // namespace sample::imports
