// What the lists of functions, threads and statistics print for a profile whose figures are known.
#include "cli/views/views.h"

#include "made_up_profile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

namespace sample::cli {
namespace {

using Json = nlohmann::json;

TEST(FunctionsView, lists_by_self_time) {
    EXPECT_EQ(functions_view(made_up_profile(), options_of(kPipe)), R"(./app --fast  00:00:01.100

  total ms    self ms    samples  function
   600.000    500.000       6000  parse(std::string const&)  /src/app/parse.cpp:20
   299.000    299.000       2990  print  libprint.so
   100.000    100.000       1000  /src/app/tree.cpp:7 [jit]
   100.000    100.000       1000  <anonymous>
   900.000      0.500       9000  main  /src/app/main.cpp:10
     0.500      0.500          5  tiny
)");
}

TEST(FunctionsView, has_no_samples_on_a_narrow_terminal) {
    const auto shown = [](std::size_t width) {
        return functions_view(made_up_profile(), options_of({false, false, width}));
    };
    EXPECT_EQ(shown(99).find("samples"), std::string::npos);
    EXPECT_NE(shown(100).find("samples"), std::string::npos);
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
    EXPECT_EQ(
        Json::parse(as_json(functions_view, made_up_profile(), options)).at("functions").size(),
        1U);
}

TEST(FunctionsView, obeys_no_control_characters_in_names) {
    callgraph::Profile profile = made_up_profile();
    profile.functions[0].name = "ev\x1b]0;il\nname";
    const std::string text = functions_view(profile, options_of(kPipe));
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_NE(text.find(R"(ev\x1b]0;il\nname)"), std::string::npos);
}

TEST(FunctionsJson, has_whole_names_and_microseconds) {
    const Json json = Json::parse(as_json(functions_view, made_up_profile(), options_of(kPipe)));
    const Json& first = json.at("functions").at(0);
    EXPECT_EQ(first.at("name"), "parse(std::string const&)");
    EXPECT_EQ(first.at("source"), "/src/app/parse.cpp");
    EXPECT_EQ(first.at("line"), 20);
    EXPECT_EQ(first.at("self_us"), 500'000);
    EXPECT_EQ(first.at("samples"), 6000);
}

TEST(ThreadsView, says_which_time_it_shows) {
    callgraph::Profile profile = made_up_profile();
    EXPECT_NE(threads_view(profile, options_of(kPipe)).find("cpu ms"), std::string::npos);
    profile.stats.clock = "wall";
    EXPECT_NE(threads_view(profile, options_of(kPipe)).find("wall ms"), std::string::npos);
    profile.stats.clock.clear();
    EXPECT_NE(threads_view(profile, options_of(kPipe)).find("time ms"), std::string::npos)
        << "an import may not say which";
}

TEST(ThreadsView, lists_by_cpu_time) {
    EXPECT_EQ(threads_view(made_up_profile(), {kPipe}), R"(./app --fast  00:00:01.100

    cpu ms   share    samples incomplete      pid      tid  thread  process
   900.000  90.0 %       9000          4      100      100  app     app
   100.000  10.0 %       1000          0      100      101  worker  app
)");
    const Json json = Json::parse(as_json(threads_view, made_up_profile()));
    EXPECT_EQ(json.at("threads").at(1).at("tid"), 101);
    EXPECT_EQ(json.at("threads").at(1).at("cpu_us"), 100'000);
    callgraph::Profile waits = made_up_profile();
    waits.stats.clock = "wall";
    EXPECT_EQ(Json::parse(as_json(threads_view, waits)).at("threads").at(1).at("wall_us"), 100'000);
}

TEST(ThreadsView, heeds_unit_and_min) {
    ViewOptions options = options_of(kPipe);
    options.unit = Unit::percent;
    options.min_percent = 20;
    const std::string expected = R"(./app --fast  00:00:01.100

     cpu %    samples incomplete      pid      tid  thread  process
    90.000       9000          4      100      100  app     app

1 thread not shown because of --min
)";
    EXPECT_EQ(threads_view(made_up_profile(), options), expected);
    options.min_percent = 0;
    EXPECT_NE(threads_view(made_up_profile(), options).find("    10.000       1000"),
              std::string::npos);
    options.min_percent = 20;
    EXPECT_EQ(Json::parse(as_json(threads_view, made_up_profile(), options)).at("threads").size(),
              1U);
}

TEST(ThreadsView, does_not_make_up_ids_that_an_import_lacks) {
    callgraph::Profile profile = made_up_profile();
    profile.threads[0].pid = 0;
    profile.threads[0].tid = 0;
    const std::string text = threads_view(profile, options_of(kPipe));
    EXPECT_NE(text.find("          4        -        -  app     app\n"), std::string::npos) << text;
    const Json json = Json::parse(as_json(threads_view, profile));
    EXPECT_TRUE(json.at("threads").at(0).at("pid").is_null());
    EXPECT_TRUE(json.at("threads").at(0).at("tid").is_null());
}

TEST(StatsView, shows_what_was_not_measured_as_a_dash) {
    const std::string text = stats_view(made_up_profile(), options_of(kPipe));
    EXPECT_NE(text.find("achieved_hz          9990.0\n"), std::string::npos);
    EXPECT_NE(text.find("agent_rss_bytes      -\n"), std::string::npos);
    EXPECT_NE(text.find("  100  ./app --fast: exited with 0, 1001.000 ms, sigtrap\n"),
              std::string::npos);
}

TEST(Json, has_the_notes_of_the_text_in_every_view) {
    callgraph::Profile profile = made_up_profile();
    profile.stats.notes = {"3 stacks cut short"};
    for (const auto view : {callgraph_view, callers_view, functions_view, threads_view}) {
        EXPECT_EQ(Json::parse(as_json(view, profile)).at("notes"), profile.stats.notes);
    }
}

TEST(StatsJson, says_what_a_report_is_restricted_to) {
    callgraph::Profile profile = made_up_profile();
    EXPECT_FALSE(Json::parse(as_json(stats_view, profile)).contains("restriction"));
    profile.restriction = "in zone 'physics'";
    EXPECT_EQ(Json::parse(as_json(stats_view, profile)).at("restriction"), profile.restriction);
}

TEST(StatsJson, has_every_field_of_the_contract) {
    const Json json = Json::parse(as_json(stats_view, made_up_profile()));
    for (const char* name : {"requested_hz",
                             "achieved_hz",
                             "source",
                             "clock",
                             "wall_us",
                             "process_cpu_us",
                             "unprofiled_cpu_us",
                             "sampled_us",
                             "samples",
                             "effective_samples",
                             "lost",
                             "truncated_stacks",
                             "incomplete_stacks",
                             "threads",
                             "processes",
                             "handler_ns_mean",
                             "handler_ns_p99",
                             "signal_way_ns_mean",
                             "late_samples",
                             "sample_cost_ns",
                             "sample_cost_ns_low",
                             "sample_cost_ns_high",
                             "gross_us",
                             "net_us",
                             "agent_cpu_us",
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

TEST(Json, survives_names_that_are_not_utf8) {
    callgraph::Profile profile = made_up_profile();
    profile.functions[0].name = "br\xffken";
    profile.command_line = "\xc3";
    EXPECT_FALSE(Json::parse(as_json(functions_view, profile, options_of(kPipe)), nullptr, false)
                     .is_discarded());
}

}  // namespace
}  // namespace sample::cli
