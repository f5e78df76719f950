// What `sample diff` prints for profiles whose figures are known, and when its gate closes.
#include "cli/views/diff.h"

#include "callgraph/transforms.h"
#include "made_up_profile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>

namespace sample::cli {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kNsPerSample = 100'000;

/// Gives the leaf `parse` so many samples more, of a period each.
callgraph::Profile with_more_parsing(std::uint64_t samples) {
    callgraph::Profile profile = made_up_profile();
    for (std::uint32_t id : {0U, 1U, 2U, 3U}) {
        profile.nodes[id].total += samples * kNsPerSample;
        profile.nodes[id].samples += samples;
    }
    profile.nodes[3].self += samples * kNsPerSample;
    profile.nodes[3].self_samples += samples;
    return profile;
}

std::vector<analysis::Run> runs_of(const std::vector<DiffSide>& sides) {
    std::vector<analysis::Run> runs;
    runs.reserve(sides.size());
    for (const DiffSide& side : sides) {
        runs.push_back({&side.profile, 1, side.reference ? &*side.reference : nullptr});
    }
    return runs;
}

std::vector<const callgraph::Profile*> profiles_of(const std::vector<DiffSide>& sides) {
    std::vector<const callgraph::Profile*> profiles;
    profiles.reserve(sides.size());
    for (const DiffSide& side : sides) {
        profiles.push_back(&side.profile);
    }
    return profiles;
}

/// Fills in what is found of the report's recordings.
void judge(DiffReport& report) {
    analysis::DiffOptions choice;
    choice.normalize = report.options.normalize;
    choice.paths = report.options.view == DiffView::paths;
    report.diff = analysis::diff(runs_of(report.before), runs_of(report.after), choice);
    report.warnings =
        analysis::comparability_warnings(profiles_of(report.before), profiles_of(report.after),
                                         report.options.choice.average_s.has_value());
    if (report.options.fail_above_percent) {
        report.failures = analysis::gate_failures(report.diff, *report.options.fail_above_percent);
    }
}

DiffReport report_of(callgraph::Profile before, callgraph::Profile after,
                     DiffVerbOptions options = {}) {
    DiffReport report;
    report.options = std::move(options);
    report.before = {{"a.utrace", std::move(before)}};
    report.after = {{"b.utrace", std::move(after)}};
    judge(report);
    return report;
}

TEST(DiffView, lists_what_is_worse_with_its_interval) {
    const DiffReport report = report_of(made_up_profile(), with_more_parsing(1000));
    // Four of thirteen are called, so at 0.05 * 4 / 13: 2.42 standard deviations, each the root of
    // the sum of both numbers of samples.
    EXPECT_EQ(diff_view(report, kPipe), R"(A  a.utrace  ./app --fast
   1.000 s of CPU time, 10,000 samples, 10,000 Hz by sigtrap, 00:00:01.100
B  b.utrace  ./app --fast
   1.100 s of CPU time, 11,000 samples, 10,000 Hz by sigtrap, 00:00:01.100
whole  1.000 s → 1.100 s  +10.0 % (+64.819 … +135.195 ms)  worse

worse by themselves: 1 function
        ms     from        to      %        A        B  function
  +100.000  +74.526  +125.502  +20.0  500.000  600.000  parse(std::string const&)  /src/app/parse.cpp:20

worse with what they call: 2 functions
        ms     from        to      %        A         B  function
  +100.000  +66.534  +133.482  +11.1  900.000  1000.000  main  /src/app/main.cpp:10
  +100.000  +72.310  +127.713  +16.7  600.000   700.000  parse(std::string const&)  /src/app/parse.cpp:20

within noise: 4 functions
sure to 95 %; intervals to 98.5 %, for 13 comparisons at once
only noise of sampling is counted: runs may differ by more
)");
}

TEST(DiffView, lists_what_is_better_apart) {
    const std::string text =
        diff_view(report_of(with_more_parsing(1000), made_up_profile()), kPipe);
    EXPECT_EQ(text.find("worse by themselves"), std::string::npos);
    EXPECT_NE(text.find("better by themselves: 1 function"), std::string::npos) << text;
    EXPECT_NE(text.find("  -100.000  -125.502  -74.526  -16.7"), std::string::npos) << text;
}

TEST(DiffView, says_that_nothing_differs) {
    const std::string text = diff_view(report_of(made_up_profile(), made_up_profile()), kPipe);
    EXPECT_NE(text.find("+0.0 % ("), std::string::npos) << text;
    EXPECT_NE(text.find("no function is surely worse or better\nwithin noise: 6 functions\n"),
              std::string::npos)
        << text;
}

TEST(DiffView, fits_a_terminal_and_does_not_need_colours) {
    const std::string name = "name::space<with, many, arguments>::function(of, other, arguments)";
    for (const DiffView view : {DiffView::functions, DiffView::paths}) {
        DiffVerbOptions options;
        options.view = view;
        callgraph::Profile before = made_up_profile();
        callgraph::Profile after = with_more_parsing(2000);
        before.functions[1].name = after.functions[1].name = name;
        const DiffReport report = report_of(before, after, options);
        for (const std::size_t width : {80U, 120U}) {
            const std::string text = diff_view(report, {false, true, width});
            EXPECT_LE(widest_line(text), width) << text;
            EXPECT_NE(text.find("+200.000"), std::string::npos);
        }
        const std::string colored = diff_view(report, {true, true, 80});
        EXPECT_NE(colored.find("\x1b[31m+200.000\x1b[0m"), std::string::npos);
    }
}

TEST(DiffView, shows_a_path_from_its_category) {
    DiffVerbOptions options;
    options.view = DiffView::paths;
    const std::string text =
        diff_view(report_of(made_up_profile(), with_more_parsing(1000), options), kPipe);
    EXPECT_NE(text.find("  app → main → parse(std::string const&)\n"), std::string::npos) << text;
    EXPECT_NE(text.find("worse by themselves: 1 path\n"), std::string::npos) << text;
}

TEST(DiffView, compares_shares) {
    DiffVerbOptions options;
    options.normalize = true;
    const std::string text =
        diff_view(report_of(made_up_profile(), with_more_parsing(1000), options), kPipe);
    EXPECT_NE(text.find("whole  1.000 s → 1.100 s; shares of each are compared\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("  points"), std::string::npos) << text;
    EXPECT_NE(text.find("  +4.545"), std::string::npos) << text;
}

TEST(DiffView, limits_its_lists) {
    DiffVerbOptions options;
    options.limit = 1;
    options.view = DiffView::paths;
    const std::string text =
        diff_view(report_of(made_up_profile(), with_more_parsing(1000), options), kPipe);
    EXPECT_NE(text.find("  and 2 more: --limit 0 shows all\n"), std::string::npos) << text;
}

TEST(DiffView, judges_nothing_without_numbers_of_samples) {
    callgraph::Profile imported = made_up_profile();
    for (callgraph::Node& node : imported.nodes) {
        node.samples = node.self_samples = 0;
    }
    const std::string text = diff_view(report_of(imported, with_more_parsing(10)), kPipe);
    EXPECT_NE(text.find("number of samples not known"), std::string::npos) << text;
    EXPECT_NE(text.find("differences by themselves, not judged: 1 function\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("not judged: A does not say how many samples it has"), std::string::npos);
    EXPECT_EQ(text.find("worse"), std::string::npos) << text;
}

TEST(DiffView, counts_an_event) {
    callgraph::Profile before = made_up_profile();
    callgraph::Profile after = with_more_parsing(1000);
    before.metric.unit = after.metric.unit = before.event = after.event = "page-faults";
    const std::string text = diff_view(report_of(before, after), kPipe);
    EXPECT_NE(text.find("  +100000000  "), std::string::npos) << text;
    EXPECT_NE(text.find("   1,000,000,000 page-faults, 10,000 samples"), std::string::npos) << text;
}

TEST(DiffView, names_every_run_and_says_what_is_counted) {
    DiffReport report = report_of(made_up_profile(), with_more_parsing(1000));
    report.before.push_back({"a2.utrace", with_more_parsing(100)});
    report.after.push_back({"b2.utrace", with_more_parsing(1100)});
    judge(report);
    const std::string text = diff_view(report, kPipe);
    EXPECT_NE(text.find("A1  a.utrace  ./app --fast\n   1.000 s of CPU time, 10,000 samples"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("A2  a2.utrace  ./app --fast\n   1.010 s"), std::string::npos) << text;
    EXPECT_NE(text.find("B2  b2.utrace"), std::string::npos) << text;
    EXPECT_NE(text.find("whole, mean  1.005 s → 1.105 s  +10.0 % ("), std::string::npos) << text;
    EXPECT_NE(text.find("noise of sampling and the spread between runs are counted\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("runs may differ by more"), std::string::npos) << text;
    const Json json = Json::parse(diff_json(report));
    ASSERT_EQ(json["a"].size(), 2U);
    EXPECT_EQ(json["a"][1]["file"], "a2.utrace");
    EXPECT_EQ(json["a"][1]["total_us"], 1'010'000);
    EXPECT_EQ(json["whole"]["a_us"], 1'005'000);
    EXPECT_EQ(json["whole"]["a_samples"], 20'100);
}

TEST(DiffView, says_which_run_cannot_be_judged) {
    DiffReport report = report_of(made_up_profile(), with_more_parsing(10));
    callgraph::Profile imported = made_up_profile();
    for (callgraph::Node& node : imported.nodes) {
        node.samples = node.self_samples = 0;
    }
    report.before.push_back({"a2.utrace", made_up_profile()});
    report.after.push_back({"b2.json", imported});
    judge(report);
    const std::string text = diff_view(report, kPipe);
    EXPECT_NE(text.find("not judged: B2 does not say"), std::string::npos) << text;
}

TEST(DiffView, says_what_each_side_is_restricted_to) {
    callgraph::Profile restricted = made_up_profile();
    restricted.restriction = "from 1.200 s: 1 s of 2 s, 50.0 %";
    const DiffReport report = report_of(restricted, made_up_profile());
    const std::string text = diff_view(report, kPipe);
    EXPECT_NE(text.find("\n   only from 1.200 s: 1 s of 2 s, 50.0 %\nB  "), std::string::npos)
        << text;
    const Json json = Json::parse(diff_json(report));
    EXPECT_EQ(json["a"]["restriction"], restricted.restriction);
    EXPECT_FALSE(json["b"].contains("restriction"));
}

TEST(DiffView, says_what_all_is_divided_by) {
    DiffVerbOptions options;
    options.normalize = true;
    options.normalize_by = "parse";
    DiffReport report = report_of(made_up_profile(), made_up_profile(), options);
    for (std::vector<DiffSide>* sides : {&report.before, &report.after}) {
        sides->front().reference = callgraph::focus(made_up_profile(), "parse");
    }
    judge(report);
    const std::string text = diff_view(report, kPipe);
    // 1.000 s of which parse has 0.600.
    EXPECT_DOUBLE_EQ(report.diff.whole.before.value, 1 / 0.6);
    EXPECT_NE(text.find("; divided by parse  +0.0 % ("), std::string::npos) << text;
    EXPECT_NE(text.find(" % of parse)  within noise"), std::string::npos) << text;
    EXPECT_EQ(Json::parse(diff_json(report))["normalized_by"], "parse");
}

TEST(DiffJson, has_every_function_with_its_interval) {
    DiffVerbOptions options;
    options.fail_above_percent = 5;
    const DiffReport report =
        report_of(made_up_profile(), with_more_parsing(1000), std::move(options));
    const Json json = Json::parse(diff_json(report));
    EXPECT_EQ(json["a"]["total_us"], 1'000'000);
    EXPECT_EQ(json["b"]["samples"], 11'000);
    EXPECT_EQ(json["normalized"], false);
    EXPECT_EQ(json["confidence"], 0.95);
    EXPECT_EQ(json["compared"], 13);
    ASSERT_EQ(json["functions"].size(), 6U);
    const Json& parse = json["functions"][1];
    EXPECT_EQ(parse["name"], "parse(std::string const&)");
    EXPECT_EQ(parse["presence"], "both");
    EXPECT_EQ(parse["self"]["verdict"], "worse");
    EXPECT_EQ(parse["self"]["a_us"], 500'000);
    EXPECT_EQ(parse["self"]["b_us"], 600'000);
    EXPECT_EQ(parse["self"]["delta"], 100'000);
    EXPECT_NEAR(parse["self"]["low"].get<double>(), 74'526, 1);
    EXPECT_EQ(json["whole"]["verdict"], "worse");
    EXPECT_TRUE(json["gate"]["failed"]);
    EXPECT_EQ(json["gate"]["failures"][0]["function"], 1);
    EXPECT_NEAR(json["gate"]["failures"][0]["at_least_percent"].get<double>(), 7.2, 0.1);
    EXPECT_FALSE(json.contains("nodes"));
}

TEST(DiffJson, has_the_paths_that_were_asked_for) {
    DiffVerbOptions options;
    options.view = DiffView::paths;
    const Json json = Json::parse(
        diff_json(report_of(made_up_profile(), with_more_parsing(1000), std::move(options))));
    ASSERT_EQ(json["nodes"].size(), 9U);
    EXPECT_TRUE(json["nodes"][0]["parent"].is_null());
    EXPECT_EQ(json["nodes"][1]["category"], "app");
    EXPECT_EQ(json["nodes"][3]["function"], 1);
    EXPECT_EQ(json["nodes"][3]["self"]["verdict"], "worse");
    EXPECT_TRUE(json["gate"].is_null());
}

TEST(DiffGate, closes_when_the_low_end_is_above_the_limit) {
    const DiffReport report = report_of(made_up_profile(), with_more_parsing(1000));
    // parse grew by 10 % of the whole, by 7.2 % at the least; the whole by 6.5 %.
    const auto failures = analysis::gate_failures(report.diff, 7);
    ASSERT_EQ(failures.size(), 1U);
    EXPECT_EQ(report.diff.functions[*failures[0].function].name, "parse(std::string const&)");
    EXPECT_NEAR(failures[0].least, 0.072, 0.003);
    EXPECT_EQ(analysis::gate_failures(report.diff, 6).size(), 3U) << "main and the whole, too";
    EXPECT_TRUE(analysis::gate_failures(report.diff, 8).empty());
}

TEST(DiffGate, noise_does_not_close_it) {
    const DiffReport report = report_of(made_up_profile(), with_more_parsing(100));
    EXPECT_TRUE(analysis::gate_failures(report.diff, 0).empty());
}

TEST(DiffGate, what_is_better_or_new_does_not_close_it) {
    EXPECT_TRUE(
        analysis::gate_failures(report_of(with_more_parsing(1000), made_up_profile()).diff, 0)
            .empty());
    callgraph::Profile renamed = made_up_profile();
    renamed.functions[1].name = "scan";
    const DiffReport report = report_of(made_up_profile(), renamed);
    EXPECT_TRUE(analysis::gate_failures(report.diff, 0).empty());
    EXPECT_NE(diff_view(report, kPipe).find("  new  "), std::string::npos);
    EXPECT_NE(diff_view(report, kPipe).find("  gone  "), std::string::npos);
}

std::string warnings_of(const callgraph::Profile& before, const callgraph::Profile& after) {
    std::string all;
    for (const std::string& line : report_of(before, after).warnings) {
        all += line + "\n";
    }
    return all;
}

TEST(DiffWarnings, equal_conditions_give_none) {
    EXPECT_EQ(warnings_of(made_up_profile(), made_up_profile()), "");
}

TEST(DiffWarnings, name_what_is_not_comparable) {
    callgraph::Profile other = made_up_profile();
    other.stats.clock = "wall";
    other.stats.source = "timer";
    other.stats.requested_hz = 1000;
    other.stats.whole = false;
    other.stats.lost = 200;
    other.stats.incomplete_stacks = 500;
    other.scale = 5;
    other.event = "task-clock";
    const std::string warnings = warnings_of(made_up_profile(), other);
    for (const char* part :
         {"clock (cpu, wall)", "source (sigtrap, timer)", "frequency (10,000 Hz, 1,000 Hz)",
          "different events (the clock, task-clock)", "multiplied by 1 in A, by 5 in B",
          "B is cut off", "B lost 200 samples of 10,200", "B has 500 incomplete stacks"}) {
        EXPECT_NE(warnings.find(part), std::string::npos) << part << " in\n" << warnings;
    }
    EXPECT_EQ(warnings.find("A is"), std::string::npos);
}

TEST(DiffWarnings, what_an_import_does_not_say_is_no_difference) {
    callgraph::Profile imported = made_up_profile();
    imported.stats = {};
    imported.stats.samples = 10'000;
    EXPECT_EQ(warnings_of(made_up_profile(), imported), "");
}

}  // namespace
}  // namespace sample::cli
