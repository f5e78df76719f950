// What the views of the callgraph print for a profile whose figures are known.
#include "callgraph/tree.h"
#include "cli/views/views.h"
#include "made_up_profile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace sample::cli {
namespace {

using Json = nlohmann::json;

TEST(CallgraphView, draws_rails_and_counts_what_is_small) {
    EXPECT_EQ(callgraph_view(made_up_profile(), options_of(kPipe)), R"(./app --fast  00:00:01.100

  total ms    self ms
  1000.000             <root>
   900.000             ├─ app
   900.000      0.500  │  main  (+1 small: 0.500)
   600.000    500.000  │  ├─ parse(std::string const&)
   100.000    100.000  │  │  /src/app/tree.cpp:7 [jit]
   299.000    299.000  │  └─ print
   100.000             └─ worker
   100.000    100.000     <anonymous>

Too small to show: 1 (--min PERCENT sets the limit, --min 0 shows all).
A line without a branch is called by the line above it.
)");
}

TEST(CallgraphView, marks_inlined_functions_and_lines) {
    callgraph::Profile profile = made_up_profile();
    profile.nodes[2].line = 12;
    profile.nodes[3].inlining = callgraph::Inlining::all;
    profile.nodes[3].call_line = 12;
    profile.nodes[4].inlining = callgraph::Inlining::some;
    profile.nodes[5].inlining = callgraph::Inlining::all;
    const std::string text = callgraph_view(profile, options_of(kPipe));
    EXPECT_NE(text.find("main:12  (+1"), std::string::npos) << text;
    EXPECT_NE(text.find(" \u2937 parse(std::string const&) :12\n"), std::string::npos) << text;
    EXPECT_NE(text.find(" \u2937 /src/app/tree.cpp:7 [jit] (partly)\n"), std::string::npos) << text;
    EXPECT_NE(text.find(" \u2937 print\n"), std::string::npos) << text;
    EXPECT_NE(callgraph_view(profile, options_of(kAsciiPipe)).find(" ~> print\n"),
              std::string::npos);
    const auto json =
        nlohmann::json::parse(as_json(callgraph_view, profile, {kPipe, Unit::weight, 0.0}));
    EXPECT_EQ(json["nodes"][2]["line"], 12);
    EXPECT_EQ(json["nodes"][3]["inlined"], "all");
    EXPECT_EQ(json["nodes"][3]["call_line"], 12);
    EXPECT_EQ(json["nodes"][4]["inlined"], "some");
    EXPECT_FALSE(json["nodes"][2].contains("inlined"));
}

TEST(CallgraphView, draws_ascii_rails_per_cent_and_everything) {
    EXPECT_EQ(callgraph_view(made_up_profile(), {kAsciiPipe, Unit::percent, 0.0}),
              R"(./app --fast  00:00:01.100

   total %     self %
   100.000             <root>
    90.000             |- app
    90.000      0.050  |  main
    60.000     50.000  |  |- parse(std::string const&)
    10.000     10.000  |  |  /src/app/tree.cpp:7 [jit]
    29.900     29.900  |  |- print
     0.050      0.050  |  `- tiny
    10.000             `- worker
    10.000     10.000     <anonymous>

A line without a branch is called by the line above it.
)");
}

TEST(CallgraphView, says_that_figures_are_scaled) {
    callgraph::Profile profile = made_up_profile();
    profile.scale = 5.0;
    const std::string text = callgraph_view(profile, options_of(kPipe));
    EXPECT_NE(text.find("00:00:01.100  durations ×5 by --average\n"), std::string::npos);
    EXPECT_NE(text.find("total ms ×5  self ms ×5\n"), std::string::npos);
    EXPECT_EQ(callgraph_view(profile, options_of(kAsciiPipe)).find("×"), std::string::npos);
}

TEST(CallgraphView, says_that_figures_are_net) {
    callgraph::Profile profile = made_up_profile();
    profile.is_net = true;
    EXPECT_NE(callgraph_view(profile, options_of(kPipe)).find("00:00:01.100  net of sampling\n"),
              std::string::npos);
    profile.stats.gross = 700'000'000;
    profile.stats.net = 500'000'000;
    EXPECT_NE(callgraph_view(profile, options_of(kPipe)).find("  net of 200.000 ms of sampling\n"),
              std::string::npos);
}

TEST(CallgraphView, colours_only_where_it_may) {
    const callgraph::Profile profile = made_up_profile();
    EXPECT_EQ(callgraph_view(profile, options_of(kPipe)).find('\x1b'), std::string::npos);
    const std::string colored = callgraph_view(profile, options_of({true, true, 80}));
    EXPECT_NE(colored.find("\x1b[31m"), std::string::npos);
}

/// A chain of `depth` nodes, each with a second child, so that every level needs a rail.
callgraph::Profile deep_profile(std::uint32_t depth) {
    callgraph::Profile profile = made_up_profile();
    profile.nodes.clear();
    profile.categories.clear();
    profile.nodes.resize(2 * depth + 1);
    for (std::uint32_t i = 0; i < profile.nodes.size(); ++i) {
        profile.nodes[i].total = 1'000'000;
    }
    for (std::uint32_t level = 0; level < depth; ++level) {
        const std::array children{NodeId{level + 1}, NodeId{depth + 1 + level}};
        callgraph::set_children(profile.nodes, NodeId{level}, children);
        profile.nodes[level + 1].function = FunctionId{1};
        profile.nodes[depth + 1 + level].function = FunctionId{2};
    }
    return profile;
}

TEST(CallgraphView, fits_a_terminal_however_deep_the_tree) {
    const std::string text = callgraph_view(deep_profile(200), options_of({false, false, 100}));
    EXPECT_LE(widest_line(text), 100U);
    EXPECT_NE(text.find("...|  |"), std::string::npos);
}

TEST(CallgraphView, leaves_names_half_of_the_room_beside_the_figures) {
    callgraph::Profile profile = deep_profile(200);
    profile.functions[0].name = "a_name_of_21_columns_";
    const std::string text = callgraph_view(profile, {{false, false, 80}, Unit::weight, {}});
    EXPECT_LE(widest_line(text), 80U);
    EXPECT_EQ(text.find("a_nam..."), std::string::npos) << text;
    EXPECT_EQ(text.find("self ms   share"), std::string::npos) << text;
}

TEST(CallgraphView, walks_a_hundred_thousand_frames) {
    callgraph::Profile profile = made_up_profile();
    profile.nodes.assign(100'000, profile.nodes[2]);
    for (std::uint32_t i = 0; i < profile.nodes.size(); ++i) {
        profile.nodes[i].parent = NodeId{i == 0 ? 0 : i - 1};
        profile.nodes[i].next_sibling = NodeId{};
        profile.nodes[i].function = FunctionId{1 + i % 2};
    }
    callgraph::link_children(profile.nodes);
    const std::string text = callgraph_view(profile, options_of(kPipe));
    EXPECT_GT(std::count(text.begin(), text.end(), '\n'), 100'000);
    const Json json = Json::parse(as_json(callgraph_view, profile, options_of(kPipe)));
    EXPECT_EQ(json.at("nodes").size(), 100'000U);
}

TEST(CallgraphView, makes_one_line_of_a_function_that_calls_itself) {
    callgraph::Profile profile = made_up_profile();
    const FunctionId parse = profile.nodes[3].function;
    callgraph::Node again = profile.nodes[3];
    profile.nodes[3].self = 1'000'000;
    again.self = again.total - 1'000'000;
    again.function = parse;
    again.first_child = NodeId{};
    profile.nodes.push_back(again);
    const std::array children{NodeId{static_cast<std::uint32_t>(profile.nodes.size() - 1)}};
    callgraph::set_children(profile.nodes, NodeId{3}, children);
    const std::string text = callgraph_view(profile, options_of(kPipe));
    EXPECT_NE(text.find("   600.000    600.000  │  ├─ parse(std::string const&) ×2\n"),
              std::string::npos)
        << text;
    const Json json = Json::parse(as_json(callgraph_view, profile, options_of(kPipe)));
    EXPECT_EQ(json.at("nodes").size(), profile.nodes.size() - 1) << "nodes are what they are";
}

TEST(CallersView, has_the_callers_below_a_function) {
    ViewOptions options = options_of(kPipe);
    EXPECT_EQ(callers_view(made_up_profile(), options), R"(./app --fast  00:00:01.100

  total ms    self ms
  1000.000             <root>  (+2 small: 1.000)
   500.000    500.000  ├─ parse(std::string const&)
   500.000             │  main
   500.000             │  app
   299.000    299.000  ├─ print
   299.000             │  main
   299.000             │  app
   100.000    100.000  ├─ /src/app/tree.cpp:7 [jit]
   100.000             │  parse(std::string const&)
   100.000             │  main
   100.000             │  app
   100.000    100.000  └─ <anonymous>
   100.000                worker

Too small to show: 2 (--min PERCENT sets the limit, --min 0 shows all).
A line without a branch calls the line above it.
)");
    options.focus = "parse";
    options.unit = Unit::percent;
    EXPECT_EQ(callers_view(made_up_profile(), options), R"(./app --fast  00:00:01.100

   total %     self %
   100.000             <root>
   100.000     83.333  └─ parse(std::string const&)
   100.000                main
   100.000                app

A line without a branch calls the line above it.
)");
}

TEST(CallersView, focuses_on_all_code_of_a_module_that_is_no_file) {
    callgraph::Profile profile = made_up_profile();
    profile.modules.push_back({"[kernel]", "", ""});
    profile.functions[1].module = static_cast<std::uint32_t>(profile.modules.size() - 1);
    ViewOptions options;
    options.focus = "parse";
    const std::string parse = callers_view(profile, options);
    options.focus = "[kernel]";
    EXPECT_EQ(callers_view(profile, options), parse);
}

TEST(CallersJson, has_the_functions_of_the_list_and_leaves_out_what_is_small) {
    const callgraph::Profile profile = made_up_profile();
    const Json nodes = Json::parse(as_json(callers_view, profile)).at("nodes");
    ASSERT_EQ(nodes.size(), 13U);
    EXPECT_EQ(nodes[1].at("name"), "parse(std::string const&)");
    EXPECT_EQ(nodes[1].at("function"), 2);
    EXPECT_EQ(nodes[1].at("self_us"), 500'000);
    EXPECT_EQ(nodes[2].at("name"), "main");
    EXPECT_EQ(nodes[2].at("parent"), 1);
    EXPECT_EQ(nodes[2].at("total_us"), 500'000);
    EXPECT_EQ(nodes[2].at("self_us"), 0);
    ViewOptions all;
    all.min_percent = 0;
    EXPECT_EQ(Json::parse(as_json(callers_view, profile, all)).at("nodes").size(), 18U);
}

TEST(CallgraphJson, lists_nodes_with_their_parents) {
    const Json json = Json::parse(as_json(callgraph_view, made_up_profile(), options_of(kPipe)));
    const Json& nodes = json.at("nodes");
    ASSERT_EQ(nodes.size(), 9U);
    EXPECT_TRUE(nodes[0].at("parent").is_null());
    EXPECT_EQ(nodes[3].at("name"), "parse(std::string const&)");
    EXPECT_EQ(nodes[nodes[3].at("parent").get<std::size_t>()].at("name"), "main");
    EXPECT_EQ(nodes[3].at("total_us"), 600'000);
    EXPECT_EQ(nodes[3].at("self_us"), 500'000);
    EXPECT_EQ(nodes[3].at("function"), 2);
}

}  // namespace
}  // namespace sample::cli
