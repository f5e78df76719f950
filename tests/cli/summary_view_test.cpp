// What the summary prints for a profile whose figures are known.
#include "callgraph/transforms.h"
#include "cli/views/text.h"
#include "cli/views/views.h"
#include "made_up_profile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace sample::cli {
namespace {

using Json = nlohmann::json;

TEST(SummaryView, says_where_the_time_went_in_a_dozen_lines) {
    EXPECT_EQ(summary_view(made_up_profile(), {kPipe, {}, {}, {}, false, "app.utrace"}),
              R"(./app --fast  00:00:01.100  exited with 0
time      1.000 s of CPU time in 2 threads, 10,000 samples
where     app 90.0 %, worker 10.0 %
heaviest  app → main → parse(std::string const&)  60.0 %
self time  50.0 %  500.000 ms  parse(std::string const&)  parse.cpp:20
           29.9 %  299.000 ms  print  libprint.so
           10.0 %  100.000 ms  /src/app/tree.cpp:7 [jit]
           10.0 %  100.000 ms  <anonymous>
           <0.1 %      500 us  main  main.cpp:10
rate      9,990 of 10,000 Hz by sigtrap, 0 samples lost
stacks    <0.1 % incomplete; 99.9 % of the CPU time has one
kept      app.utrace
look      sample report --view callgraph app.utrace   (or functions, threads, stats)
)");
}

/// What print() took is called as what has no stack.
callgraph::Profile profile_without_stacks(const char* name) {
    callgraph::Profile profile = made_up_profile();
    callgraph::Function& print = profile.functions[3];
    EXPECT_EQ(print.name, "print");
    print.name = name;
    print.source.clear();
    print.module = 0;
    return profile;
}

TEST(SummaryView, lists_functions_and_says_in_a_line_what_has_no_stack) {
    const callgraph::Profile profile = profile_without_stacks("[not sampled]");
    const std::string text = summary_view(profile, {kPipe});
    EXPECT_NE(text.find("no stack  29.9 % between samples\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("[not sampled]"), std::string::npos) << text;
    const std::string list = functions_view(profile, options_of(kPipe));
    EXPECT_GT(list.find("[not sampled]"), list.find("tiny")) << list;
}

TEST(SummaryView, says_in_a_line_what_the_start_took) {
    const callgraph::Profile profile = profile_without_stacks("[before sampling]");
    const std::string line = "299.000 ms, 29.9 %, before sampling could begin (exec, loader)\n";
    const std::string text = summary_view(profile, {kPipe});
    EXPECT_NE(text.find("\nstart     " + line), std::string::npos) << text;
    EXPECT_EQ(text.find("no stack"), std::string::npos) << text;
    const std::string list = functions_view(profile, options_of(kPipe));
    EXPECT_NE(list.find("\n" + line), std::string::npos) << list;
    EXPECT_EQ(list.find("[before sampling]"), std::string::npos) << list;
    EXPECT_EQ(list.find("not shown"), std::string::npos) << list;
    ViewOptions json = options_of(kPipe);
    json.json = true;
    EXPECT_NE(functions_view(profile, json).find("[before sampling]"), std::string::npos);
}

TEST(SummaryView, follows_no_path_into_the_start) {
    callgraph::Profile profile = made_up_profile();
    const auto parse = std::find_if(profile.functions.begin(), profile.functions.end(),
                                    [](const auto& of) { return of.name.starts_with("parse"); });
    ASSERT_NE(parse, profile.functions.end());
    parse->name = "[before sampling]";
    parse->source.clear();
    parse->module = 0;
    const std::string text = summary_view(profile, {kPipe});
    EXPECT_EQ(text.find("[before sampling]"), std::string::npos) << text;
}

TEST(SummaryView, names_modules_where_there_is_one_category) {
    callgraph::Profile profile = made_up_profile();
    profile.categories.resize(1);
    const std::string text = summary_view(profile, {kPipe});
    EXPECT_EQ(text.find("where     app 90.0 %"), std::string::npos) << text;
}

TEST(SummaryView, names_the_signal_that_ended_the_program) {
    callgraph::Profile profile = made_up_profile();
    profile.processes[0].ending = "killed by SIGSEGV (11)";
    profile.processes[0].ended_badly = true;
    EXPECT_NE(summary_view(profile, {kPipe}).find("00:00:01.100  killed by SIGSEGV (11)\n"),
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
    EXPECT_NE(
        summary_view(profile, {kPipe}).find("exited with 0; child (7) killed by SIGKILL (9)\n"),
        std::string::npos);
}

TEST(SummaryView, follows_an_exec_to_the_end) {
    callgraph::Profile profile = made_up_profile();
    profile.processes.push_back(profile.processes[0]);
    profile.processes[0].ending = "replaced by an exec";
    profile.processes[1].ending = "exited with 3";
    EXPECT_NE(summary_view(profile, {kPipe}).find("00:00:01.100  exited with 3\n"),
              std::string::npos);
}

TEST(SummaryView, shows_the_first_notes_and_counts_the_rest) {
    callgraph::Profile profile = made_up_profile();
    profile.stats.notes = {"first", "second", "third", "fourth", "fifth"};
    const std::string text = summary_view(profile, {kPipe});
    EXPECT_NE(text.find("note      first\n"), std::string::npos);
    EXPECT_NE(text.find("note      third\n"), std::string::npos);
    EXPECT_EQ(text.find("fourth"), std::string::npos);
    EXPECT_NE(text.find("note      2 more: see the view stats\n"), std::string::npos);
}

TEST(SummaryView, has_advice_behind_the_notes_as_far_as_there_is_room) {
    callgraph::Profile profile = made_up_profile();
    profile.stats.notes = {"first", "second"};
    ViewOptions options;
    options.advice = {"heaviest", "lighter"};
    const std::string text = summary_view(profile, options);
    EXPECT_NE(text.find("note      second\nnote      heaviest\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("lighter"), std::string::npos);
    EXPECT_EQ(text.find("more: see"), std::string::npos);
}

TEST(SummaryView, stands_an_empty_profile) {
    callgraph::Profile broken_off;
    broken_off.stats.whole = false;
    const std::string broken_off_text = summary_view(broken_off, {kPipe});
    EXPECT_NE(broken_off_text.find("0 ns: the recording breaks off before its first sample\n"),
              std::string::npos)
        << broken_off_text;
    const std::string text = summary_view(callgraph::Profile{}, {kPipe});
    EXPECT_NE(text.find("time      0 ns: the program slept (see --clock wall), ended at once, or "
                        "sampling was off\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("\ntime "), text.rfind("\ntime ")) << text;
    callgraph::Profile delayed;
    delayed.stats.source = "sigtrap";
    const std::string delayed_text = summary_view(delayed, {kPipe});
    EXPECT_NE(delayed_text.find("0 ns: the session ended before --delay was over\n"),
              std::string::npos)
        << delayed_text;
}

TEST(SummaryView, says_what_programs_said_and_which_views_show_it) {
    callgraph::Profile profile = made_up_profile();
    profile.stats.said = {.zones = 2, .regions = 1, .messages = 1, .events = 1};
    EXPECT_NE(summary_view(profile, {kPipe})
                  .find("said      2 zones, 1 region, 1 message, 1 event of its own: see --view "
                        "zones, log, events\n"),
              std::string::npos)
        << summary_view(profile, {kPipe});
}

TEST(SummaryView, of_a_recording_without_samples_leads_to_what_was_said) {
    callgraph::Profile profile = made_up_profile();
    callgraph::Stats& stats = profile.stats;
    stats.sampling = callgraph::Sampling::off;
    stats.samples = stats.recorded_samples = 0;
    stats.said = {.frames = 3, .counters = 1, .values = 2};
    profile.nodes[0].samples = 0;
    EXPECT_EQ(summary_view(profile, {kPipe, {}, {}, {}, false, "app.utrace"}),
              R"(./app --fast  00:00:01.100  exited with 0
time      1.000 s of CPU time in 2 threads, no samples: recorded with --freq off
where     app 90.0 %, worker 10.0 %
said      3 frames, 2 values of 1 counter: see --view frames, counters
kept      app.utrace
look      sample report --view frames app.utrace   (or counters, threads, stats)
)");
    const std::string note =
        "note: recorded with --freq off: no samples, but 3 frames, 2 values of 1 counter: see "
        "--view frames, counters\n";
    EXPECT_NE(callgraph_view(profile, options_of(kPipe)).find(note), std::string::npos);
    profile.nodes.clear();
    EXPECT_EQ(footer(profile, kPipe, ""), "") << "of a view of what was said";
}

TEST(SummaryView, counts_what_is_shown) {
    callgraph::Profile profile = callgraph::focus(made_up_profile(), "parse");
    const std::string focus = summary_view(profile, {kPipe});
    EXPECT_NE(focus.find("time      600.000 ms of CPU time, 6,000 of 10,000 samples\n"),
              std::string::npos)
        << focus;
    EXPECT_NE(focus.find("stacks    whole recording: <0.1 % incomplete; "), std::string::npos)
        << focus;
    profile = made_up_profile();
    profile.stats.recorded_samples = 40'000;
    const std::string chosen = summary_view(profile, {kPipe});
    EXPECT_NE(chosen.find("of CPU time in 2 threads, 10,000 of 40,000 samples\n"),
              std::string::npos)
        << chosen;
    EXPECT_NE(chosen.find("stacks    <0.1 %"), std::string::npos) << chosen;
}

TEST(SummaryView, says_what_a_count_is_of) {
    callgraph::Profile profile = made_up_profile();
    profile.stats.clock.clear();
    profile.metric = {"allocated", "bytes", ""};
    EXPECT_NE(summary_view(profile, {kPipe}).find(" bytes (allocated) in 2 threads"),
              std::string::npos);
    profile.metric = {"bytes", "bytes", ""};
    EXPECT_NE(summary_view(profile, {kPipe}).find(" bytes in 2 threads"), std::string::npos);
    profile.event = "page-faults";
    EXPECT_NE(summary_view(profile, {kPipe}).find(" bytes of page-faults in 2 threads"),
              std::string::npos);
}

TEST(SummaryView, compares_net_time_with_net_time) {
    callgraph::Profile profile = made_up_profile();
    profile.is_net = true;
    profile.stats.booked = 0;
    profile.stats.process_cpu_ns = 2 * profile.stats.sampled;  // with what sampling took
    const std::string text = summary_view(profile, options_of(kPipe));
    EXPECT_NE(text.find("; 100.0 % of the CPU time has one"), std::string::npos) << text;
}

TEST(SummaryView, quotes_what_a_shell_would_take_apart) {
    const std::string text = summary_view(made_up_profile(), {kPipe, {}, {}, {}, false, "a b.u"});
    EXPECT_NE(text.find("kept      a b.u\n"), std::string::npos) << text;
    EXPECT_NE(text.find("--view callgraph 'a b.u' "), std::string::npos) << text;
}

TEST(SummaryView, fits_a_narrow_terminal) {
    callgraph::Profile profile = made_up_profile();
    profile.functions[1].name = "std::map<" + std::string(300, 'x') + ">::find(int)";
    profile.functions[4].self = 5'000'000'000;
    profile.functions[4].name = "a_function_whose_name_is_longer_than_half_of_the_line";
    profile.stats.notes = {"what has to be known " + std::string(60, 'x') + " is said here"};
    for (int i = 0; i < 3; ++i) {
        profile.categories.push_back(profile.categories.back());
        profile.categories.back().name = "a-thread-with-a-long-name";
    }
    const std::string text = summary_view(profile, {Terminal{false, false, 80}});
    EXPECT_LE(widest_line(text), 80U) << text;
    EXPECT_NE(text.find(", and 3 more\n"), std::string::npos) << text;
}

TEST(SummaryView, lists_what_has_no_stack_heaviest_first) {
    callgraph::Profile profile = made_up_profile();
    for (const auto& [index, name] :
         {std::pair{0, "[not sampled]"}, {3, "[kernel, caller unseen]"}}) {
        callgraph::Function& function = profile.functions[static_cast<std::size_t>(index)];
        function.name = name;
        function.source.clear();
        function.module = 0;
    }
    const std::string text = summary_view(profile, {kPipe});
    EXPECT_NE(text.find("no stack  29.9 % in the kernel (caller unseen), <0.1 % between samples\n"),
              std::string::npos)
        << text;
}

TEST(SummaryView, lists_code_without_a_name_among_the_functions) {
    callgraph::Profile profile = made_up_profile();
    callgraph::Function& heaviest = profile.functions[3];
    heaviest.name = "[unknown]";
    heaviest.source.clear();
    heaviest.module = 0;
    const std::string text = summary_view(profile, {kPipe});
    EXPECT_NE(text.find("[unknown]"), std::string::npos) << text;
    EXPECT_EQ(text.find("no stack"), std::string::npos) << text;
}

TEST(SummaryJson, has_the_heaviest_path) {
    const Json json = Json::parse(as_json(summary_view, made_up_profile()));
    EXPECT_EQ(json.at("heaviest_path").size(), 3U);
    EXPECT_EQ(json.at("heaviest_path").at(2).at("name"), "parse(std::string const&)");
    EXPECT_EQ(json.at("top_functions").at(0).at("self_us"), 500'000);
    EXPECT_EQ(json.at("stats").at("lost"), 0);
}

}  // namespace
}  // namespace sample::cli
