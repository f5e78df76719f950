// What each view prints for a profile whose figures are known.
#include "cli/views/views.h"

#include "made_up_profile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>

namespace sample::cli {
namespace {

using Json = nlohmann::json;

constexpr Terminal kAsciiPipe{false, false, 0};

ViewOptions options_of(Terminal terminal) {
    return {terminal, Unit::milliseconds, {}};
}

std::size_t widest_line(const std::string& text) {
    std::istringstream lines{text};
    std::size_t widest = 0;
    for (std::string line; std::getline(lines, line);) {
        widest = std::max(widest, line.size());
    }
    return widest;
}

TEST(SummaryView, says_where_the_time_went_in_a_dozen_lines) {
    EXPECT_EQ(summary_view(made_up_profile(), {kPipe, 3, "app.utrace"}),
              R"(./app --fast  00:00:01.100  exited with 0
time      1.000 s of CPU time in 2 threads, 10,000 samples
where     app 90.0 %, worker 10.0 %
heaviest  app → main → parse(std::string const&)  60.0 %
self time  50.0 %  500.000 ms  parse(std::string const&)  parse.cpp:20
           29.9 %  299.000 ms  print  libprint.so
           10.0 %  100.000 ms  /src/app/tree.cpp:7 <native> <plugin>
rate      9,990 of 10,000 Hz by sigtrap, 0 samples lost
stacks    <0.1 % incomplete; 99.9 % of the CPU time has one
kept      app.utrace
look      sample report --view callgraph app.utrace   (or functions, threads, stats)
)");
}

TEST(SummaryView, names_the_signal_that_ended_the_program) {
    callgraph::Profile profile = made_up_profile();
    profile.processes[0].ending = "killed by SIGSEGV (11)";
    profile.processes[0].ended_badly = true;
    EXPECT_NE(summary_view(profile, {kPipe, 5, ""}).find("00:00:01.100  killed by SIGSEGV (11)\n"),
              std::string::npos);
}

TEST(SummaryView, names_a_child_that_was_killed) {
    callgraph::Profile profile = made_up_profile();
    callgraph::ProcessTotals child;
    child.executable = "/usr/bin/child";
    child.pid = 7;
    child.ending = "killed by SIGKILL (9)";
    child.ended_badly = true;
    profile.processes.push_back(child);
    EXPECT_NE(summary_view(profile, {kPipe, 5, ""})
                  .find("exited with 0; child (7) killed by SIGKILL (9)\n"),
              std::string::npos);
}

TEST(SummaryView, follows_an_exec_to_the_end) {
    callgraph::Profile profile = made_up_profile();
    profile.processes.push_back(profile.processes[0]);
    profile.processes[0].ending = "replaced by an exec";
    profile.processes[1].ending = "exited with 3";
    EXPECT_NE(summary_view(profile, {kPipe, 5, ""}).find("00:00:01.100  exited with 3\n"),
              std::string::npos);
}

TEST(SummaryView, shows_the_first_notes_and_counts_the_rest) {
    callgraph::Profile profile = made_up_profile();
    profile.stats.notes = {"first", "second", "third", "fourth", "fifth"};
    const std::string text = summary_view(profile, {kPipe, 5, ""});
    EXPECT_NE(text.find("note      first\n"), std::string::npos);
    EXPECT_NE(text.find("note      third\n"), std::string::npos);
    EXPECT_EQ(text.find("fourth"), std::string::npos);
    EXPECT_NE(text.find("note      2 more: see the view stats\n"), std::string::npos);
}

TEST(SummaryView, stands_an_empty_profile) {
    const std::string text = summary_view(callgraph::Profile{}, {kPipe, 5, ""});
    EXPECT_NE(text.find("no CPU time was sampled"), std::string::npos);
}

TEST(SummaryView, fits_a_narrow_terminal) {
    callgraph::Profile profile = made_up_profile();
    profile.functions[1].name = "std::map<" + std::string(300, 'x') + ">::find(int)";
    EXPECT_LE(widest_line(summary_view(profile, {Terminal{false, false, 80}, 5, ""})), 80U);
}

TEST(CallgraphView, draws_rails_and_counts_what_is_small) {
    EXPECT_EQ(callgraph_view(made_up_profile(), options_of(kPipe)), R"(./app --fast  00:00:01.100

    total ms      self ms
    1000.000        0.000  <root>
     900.000        0.000  ├─ app
     900.000        0.500  │  main  (+1 small: 0.500)
     600.000      500.000  │  ├─ parse(std::string const&)
     100.000      100.000  │  │  /src/app/tree.cpp:7 <native> <plugin>
     299.000      299.000  │  └─ print
     100.000        0.000  └─ worker
     100.000      100.000     <anonymous>

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
    EXPECT_NE(text.find("parse(std::string const&) <inlined at line 12>\n"), std::string::npos);
    EXPECT_NE(text.find("<plugin> <partly inlined>\n"), std::string::npos) << text;
    EXPECT_NE(text.find("print <inlined>\n"), std::string::npos) << text;
    const auto json = nlohmann::json::parse(callgraph_json(profile, {kPipe, Unit::weight, 0.0}));
    EXPECT_EQ(json["nodes"][2]["line"], 12);
    EXPECT_EQ(json["nodes"][3]["inlined"], "all");
    EXPECT_EQ(json["nodes"][3]["call_line"], 12);
    EXPECT_EQ(json["nodes"][4]["inlined"], "some");
    EXPECT_FALSE(json["nodes"][2].contains("inlined"));
}

TEST(CallgraphView, draws_ascii_rails_per_cent_and_everything) {
    EXPECT_EQ(callgraph_view(made_up_profile(), {kAsciiPipe, Unit::percent, 0.0}),
              R"(./app --fast  00:00:01.100

     total %       self %
     100.000        0.000  <root>
      90.000        0.000  |- app
      90.000        0.050  |  main
      60.000       50.000  |  |- parse(std::string const&)
      10.000       10.000  |  |  /src/app/tree.cpp:7 <native> <plugin>
      29.900       29.900  |  |- print
       0.050        0.050  |  `- tiny
      10.000        0.000  `- worker
      10.000       10.000     <anonymous>

A line without a branch is called by the line above it.
)");
}

TEST(CallgraphView, says_that_figures_are_scaled) {
    callgraph::Profile profile = made_up_profile();
    profile.scale = 5.0;
    const std::string text = callgraph_view(profile, options_of(kPipe));
    EXPECT_NE(text.find("00:00:01.100  durations ×5 by --average\n"), std::string::npos);
    EXPECT_NE(text.find(" total ms ×5   self ms ×5\n"), std::string::npos);
    EXPECT_EQ(callgraph_view(profile, options_of(kAsciiPipe)).find("×"), std::string::npos);
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
        profile.nodes[i].total_ns = 1'000'000;
    }
    for (std::uint32_t level = 0; level < depth; ++level) {
        profile.nodes[level].children = {NodeId{level + 1}, NodeId{depth + 1 + level}};
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

TEST(CallgraphView, walks_a_hundred_thousand_frames) {
    callgraph::Profile profile = made_up_profile();
    profile.nodes.assign(100'000, profile.nodes[2]);
    for (std::uint32_t i = 0; i + 1 < profile.nodes.size(); ++i) {
        profile.nodes[i].children = {NodeId{i + 1}};
    }
    profile.nodes.back().children.clear();
    const std::string text = callgraph_view(profile, options_of(kPipe));
    EXPECT_GT(std::count(text.begin(), text.end(), '\n'), 100'000);
    const Json json = Json::parse(callgraph_json(profile, options_of(kPipe)));
    EXPECT_EQ(json.at("nodes").size(), 100'000U);
}

TEST(CallgraphJson, lists_nodes_with_their_parents) {
    const Json json = Json::parse(callgraph_json(made_up_profile(), options_of(kPipe)));
    const Json& nodes = json.at("nodes");
    ASSERT_EQ(nodes.size(), 9U);
    EXPECT_TRUE(nodes[0].at("parent").is_null());
    EXPECT_EQ(nodes[3].at("name"), "parse(std::string const&)");
    EXPECT_EQ(nodes[nodes[3].at("parent").get<std::size_t>()].at("name"), "main");
    EXPECT_EQ(nodes[3].at("total_us"), 600'000);
    EXPECT_EQ(nodes[3].at("self_us"), 500'000);
    EXPECT_EQ(nodes[3].at("function"), 2);
}

TEST(FunctionsView, lists_by_self_time) {
    EXPECT_EQ(functions_view(made_up_profile(), options_of(kPipe)), R"(./app --fast  00:00:01.100

    total ms      self ms    samples  function
     600.000      500.000       6000  parse(std::string const&)  /src/app/parse.cpp:20
     299.000      299.000       2990  print  libprint.so
     100.000      100.000       1000  /src/app/tree.cpp:7 <native> <plugin>
     100.000      100.000       1000  <anonymous>
     900.000        0.500       9000  main  /src/app/main.cpp:10
       0.500        0.500          5  tiny
)");
}

TEST(FunctionsView, leaves_out_what_is_below_the_minimum) {
    const std::string text = functions_view(made_up_profile(), {kPipe, Unit::milliseconds, 20.0});
    EXPECT_NE(text.find("print"), std::string::npos);
    EXPECT_EQ(text.find("tiny"), std::string::npos);
    EXPECT_NE(text.find("3 functions not shown because of --min or --search"), std::string::npos);
}

TEST(FunctionsView, lists_what_is_searched_for) {
    ViewOptions options = options_of(kPipe);
    options.search = "tree.cpp";
    const std::string text = functions_view(made_up_profile(), options);
    EXPECT_NE(text.find("tree.cpp:7"), std::string::npos);
    EXPECT_EQ(text.find("print"), std::string::npos);
    EXPECT_EQ(Json::parse(functions_json(made_up_profile(), options)).at("functions").size(), 1U);
}

TEST(FunctionsView, obeys_no_control_characters_in_names) {
    callgraph::Profile profile = made_up_profile();
    profile.functions[0].name = "ev\x1b]0;il\nname";
    const std::string text = functions_view(profile, options_of(kPipe));
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_NE(text.find(R"(ev\x1b]0;il\nname)"), std::string::npos);
}

TEST(FunctionsJson, has_whole_names_and_microseconds) {
    const Json json = Json::parse(functions_json(made_up_profile(), options_of(kPipe)));
    const Json& first = json.at("functions").at(0);
    EXPECT_EQ(first.at("name"), "parse(std::string const&)");
    EXPECT_EQ(first.at("source"), "/src/app/parse.cpp");
    EXPECT_EQ(first.at("line"), 20);
    EXPECT_EQ(first.at("self_us"), 500'000);
    EXPECT_EQ(first.at("samples"), 6000);
}

TEST(ThreadsView, lists_by_cpu_time) {
    EXPECT_EQ(threads_view(made_up_profile(), options_of(kPipe)), R"(./app --fast  00:00:01.100

      cpu ms    share    samples incomplete      pid      tid  thread  process
     900.000   90.0 %       9000          4      100      100  app     app
     100.000   10.0 %       1000          0      100      101  worker  app
)");
    const Json json = Json::parse(threads_json(made_up_profile()));
    EXPECT_EQ(json.at("threads").at(1).at("tid"), 101);
    EXPECT_EQ(json.at("threads").at(1).at("cpu_us"), 100'000);
}

TEST(ThreadsView, does_not_make_up_ids_that_an_import_lacks) {
    callgraph::Profile profile = made_up_profile();
    profile.threads[0].pid = 0;
    profile.threads[0].tid = 0;
    const std::string text = threads_view(profile, options_of(kPipe));
    EXPECT_NE(text.find("          4        -        -  app     app\n"), std::string::npos) << text;
    const Json json = Json::parse(threads_json(profile));
    EXPECT_TRUE(json.at("threads").at(0).at("pid").is_null());
    EXPECT_TRUE(json.at("threads").at(0).at("tid").is_null());
}

TEST(StatsView, shows_what_was_not_measured_as_a_dash) {
    const std::string text = stats_view(made_up_profile(), options_of(kPipe));
    EXPECT_NE(text.find("achieved_hz         9990.0\n"), std::string::npos);
    EXPECT_NE(text.find("agent_rss_bytes     -\n"), std::string::npos);
    EXPECT_NE(text.find("  100  ./app --fast: exited with 0, 1001.000 ms, sigtrap\n"),
              std::string::npos);
}

TEST(StatsJson, has_every_field_of_the_contract) {
    const Json json = Json::parse(stats_json(made_up_profile()));
    for (const char* name : {"requested_hz",
                             "achieved_hz",
                             "source",
                             "clock",
                             "wall_us",
                             "process_cpu_us",
                             "sampled_us",
                             "samples",
                             "lost",
                             "truncated_stacks",
                             "incomplete_stacks",
                             "threads",
                             "processes",
                             "handler_ns_mean",
                             "handler_ns_p99",
                             "agent_rss_bytes",
                             "truncated_us",
                             "incomplete_us",
                             "guessed_stacks",
                             "guessed_us",
                             "unwind_table_bytes",
                             "break_reasons",
                             "broken_stacks"}) {
        EXPECT_TRUE(json.contains(name)) << name;
    }
    EXPECT_EQ(json.at("requested_hz"), 10'000);
    EXPECT_EQ(json.at("wall_us"), 1'100'000);
    EXPECT_EQ(json.at("process_cpu_us"), 1'001'000);
    EXPECT_EQ(json.at("handler_ns_mean"), 812.3);
    EXPECT_TRUE(json.at("handler_ns_p99").is_null());
}

TEST(SummaryJson, has_the_heaviest_path) {
    const Json json = Json::parse(summary_json(made_up_profile()));
    EXPECT_EQ(json.at("heaviest_path").size(), 3U);
    EXPECT_EQ(json.at("heaviest_path").at(2).at("name"), "parse(std::string const&)");
    EXPECT_EQ(json.at("top_functions").at(0).at("self_us"), 500'000);
    EXPECT_EQ(json.at("stats").at("lost"), 0);
}

TEST(Json, survives_names_that_are_not_utf8) {
    callgraph::Profile profile = made_up_profile();
    profile.functions[0].name = "br\xffken";
    profile.command_line = "\xc3";
    EXPECT_FALSE(
        Json::parse(functions_json(profile, options_of(kPipe)), nullptr, false).is_discarded());
}

}  // namespace
}  // namespace sample::cli
