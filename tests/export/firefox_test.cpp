#include "callgraph/label.h"
#include "callgraph/tree.h"
#include "export/formats.h"
#include "tests/export/firefox_checker.h"
#include "tests/export/random_profile.h"
#include "tests/export/timed_profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace sample::exports {
namespace {

using callgraph::Profile;
using nlohmann::json;

json exported(const Profile& profile) {
    std::string text;
    EXPECT_TRUE(write_firefox(profile, to_string_sink(text)).has_value());
    return json::parse(text);
}

void expect_valid(const json& document) {
    for (const std::string& problem : firefox_problems(document)) {
        ADD_FAILURE() << problem;
    }
}

void expect_same_totals(const Profile& profile, const json& document) {
    const auto totals = firefox_totals(document);
    for (std::size_t i = 0; i < profile.functions.size(); ++i) {
        const callgraph::Function& function = profile.functions[i];
        ASSERT_TRUE(totals.contains(i)) << function.name;
        EXPECT_EQ(totals.at(i).total, function.total) << function.name;
        EXPECT_EQ(totals.at(i).self, function.self) << function.name;
        const json& shared = document["shared"];
        EXPECT_EQ(shared["stringArray"][shared["funcTable"]["name"][i].get<std::size_t>()],
                  callgraph::label(function));
    }
}

TEST(Firefox, writes_a_valid_profile_with_our_totals) {
    const Profile profile = timed_profile();
    const json document = exported(profile);
    expect_valid(document);
    expect_same_totals(profile, document);
}

TEST(Firefox, gives_each_thread_its_names_and_its_samples_at_their_times) {
    const json document = exported(timed_profile());
    ASSERT_EQ(document["threads"].size(), 2);
    const json& first = document["threads"][0];
    EXPECT_EQ(first["name"], "app");
    EXPECT_EQ(first["processName"], "app");
    EXPECT_EQ(first["pid"], "100");
    EXPECT_EQ(first["tid"], 100);
    EXPECT_EQ(first["processShutdownTime"], 60);
    // The row at 5.000001 ends the sample before the gap.
    EXPECT_EQ(first["samples"]["time"], json::parse("[1,2,3,4.000001,5.000001,50,51,52,52.5]"));
    EXPECT_EQ(first["samples"]["weight"], json::parse("[1,1,1,1,0,1,1,1,0.5]"));
    EXPECT_TRUE(first["samples"]["stack"][4].is_null());
    EXPECT_EQ(first["samples"]["threadCPUDelta"][8], 500'000);
    const json& second = document["threads"][1];
    EXPECT_EQ(second["processName"], "child");
    EXPECT_EQ(second["processStartupTime"], 10);
    EXPECT_EQ(second["registerTime"], 10);
}

TEST(Firefox, has_what_the_program_says_as_markers_of_its_threads) {
    Profile profile = timed_profile();
    // A thread that has no samples.
    profile.threads.push_back({"quiet", "app", 100, 109});
    const auto quiet = static_cast<std::uint32_t>(profile.threads.size() - 1);
    profile.markers = {{"outer", "zone", 0, 1'000'000, 4'000'000},
                       {"inner", "zone", 0, 1'500'000, 2'000'000},
                       {"main", "frame", quiet, 2'000'000, 2'000'000},
                       {"load", "region", std::nullopt, 0, 5'000'000},
                       {"said \"x\"", "log", 0, 1'250'000, 1'250'000},
                       {"level 1", "bookmark", 0, 500'000, 500'000}};
    const json document = exported(profile);
    expect_valid(document);
    expect_same_totals(profile, document);
    std::string found;
    for (const json& thread : document["threads"]) {
        const json& markers = thread["markers"];
        for (std::size_t i = 0; i < markers["length"]; ++i) {
            found += thread["name"].get<std::string>() + ": " + markers["data"][i].dump() + " " +
                     document["shared"]["stringArray"][markers["name"][i].get<std::size_t>()]
                         .get<std::string>() +
                     " " + markers["startTime"][i].dump() + " " + markers["endTime"][i].dump() +
                     " " + markers["phase"][i].dump() + "\n";
        }
    }
    EXPECT_EQ(found,
              "app: {\"type\":\"Region\"} load 0 5 1\n"
              "app: {\"text\":\"level 1\",\"type\":\"Bookmark\"} Bookmark 0.5 null 0\n"
              "app: {\"type\":\"Zone\"} outer 1 4 1\n"
              "app: {\"text\":\"said \\\"x\\\"\",\"type\":\"LogMessage\"} LogMessage 1.25 null 0\n"
              "app: {\"type\":\"Zone\"} inner 1.5 2 1\n"
              "quiet: {\"type\":\"Frame\"} main 2 2 1\n");
    profile.timeline.reset();
    EXPECT_EQ(exported(profile)["threads"][0]["markers"]["length"], 0) << "there are no times";
}

TEST(Firefox, has_counters_of_their_processes_as_steps_from_nothing) {
    Profile profile = timed_profile();
    profile.counters = {
        {"jobs", {{1'000'000, 3}, {2'000'000, HUGE_VAL}, {3'000'000, 2.5}}, std::nullopt},
        {"heap", {{-1'000'000, 64}}, profile.threads.back().pid, true}};
    const json document = exported(profile);
    expect_valid(document);
    const json& jobs = document["counters"][0];
    EXPECT_EQ(jobs["pid"], document["threads"][0]["pid"]);
    EXPECT_EQ(jobs["samples"]["time"], json::parse("[0,1,3]"));
    EXPECT_EQ(jobs["samples"]["count"], json::parse("[0,3,-0.5]"));
    const json& heap = document["counters"][1];
    EXPECT_EQ(heap["name"], "heap");
    EXPECT_EQ(heap["display"]["unit"], "bytes");
    EXPECT_EQ(heap["samples"]["time"], json::parse("[-1,-1]"));
    const std::size_t thread = heap["mainThreadIndex"];
    EXPECT_EQ(document["threads"][thread]["processName"], profile.threads.back().process);
}

TEST(Firefox, has_no_steps_of_counters_that_no_number_holds) {
    constexpr double kMost = std::numeric_limits<double>::max();
    Profile profile = timed_profile();
    profile.counters = {
        {"wild", {{1, -kMost}, {2, kMost}, {3, -kMost / 2}, {4, kMost / 2}}, std::nullopt}};
    const json document = exported(profile);
    expect_valid(document);
    EXPECT_EQ(document["counters"][0]["samples"]["count"],
              (json{0, -kMost / 2, kMost / 2 + kMost / 2}));
}

TEST(Firefox, takes_a_process_by_its_whole_name) {
    Profile profile = timed_profile();
    callgraph::ProcessTotals before = profile.processes.front();
    before.executable = "/usr/bin/my" + profile.threads.front().process;
    before.start_ns = 7'000'000;
    profile.processes.insert(profile.processes.begin(), before);
    EXPECT_EQ(exported(profile)["threads"][0]["processStartupTime"],
              exported(timed_profile())["threads"][0]["processStartupTime"]);
}

TEST(Firefox, tells_lines_inlining_and_categories_of_a_frame) {
    const Profile profile = timed_profile();
    const json document = exported(profile);
    const json& frames = document["shared"]["frameTable"];
    std::map<std::string, std::string> seen;
    for (std::size_t i = 0; i < frames["length"]; ++i) {
        const std::size_t function = frames["func"][i];
        if (function >= profile.functions.size()) {
            continue;
        }
        seen[profile.functions[function].name + ":" + frames["line"][i].dump()] =
            frames["inlineDepth"][i].dump() + " " +
            document["meta"]["categories"][frames["category"][i].get<std::size_t>()]["name"]
                .get<std::string>();
    }
    EXPECT_EQ(seen["run():12"], "0 Code");
    EXPECT_EQ(seen["run():14"], "0 Code");
    EXPECT_EQ(seen["step</script><b>:31"], "1 Code");
    EXPECT_EQ(seen["GC:null"], "0 Memory management");
    EXPECT_EQ(seen["malloc:null"], "0 Memory management");
    EXPECT_EQ(seen["made\"\u2028\u202e:null"], "0 JIT");
    EXPECT_EQ(seen["[kernel, caller unseen]:null"], "0 Kernel");
    EXPECT_EQ(seen["[not sampled]:null"], "0 No stack");
}

TEST(Firefox, names_libraries_with_their_build_ids) {
    const json document = exported(timed_profile());
    const json& lib = document["libs"][0];
    EXPECT_EQ(lib["path"], "/usr/bin/app");
    EXPECT_EQ(lib["codeId"], "0123456789abcdef0123456789abcdef01234567");
    EXPECT_EQ(lib["breakpadId"], "67452301AB89EFCD0123456789ABCDEF0");
    EXPECT_TRUE(document["libs"][1]["codeId"].is_null());
}

TEST(Firefox, carries_the_command_line_and_the_truth) {
    const json document = exported(timed_profile());
    EXPECT_EQ(document["meta"]["arguments"], "app --fast \"</script>\"");
    EXPECT_EQ(document["meta"]["interval"], 1);
    std::map<std::string, std::string> facts;
    for (const json& entry : document["meta"]["extra"][0]["entries"]) {
        facts[entry["label"]] = entry["value"];
    }
    EXPECT_EQ(facts["samples lost"], "3");
    EXPECT_EQ(facts["samples"], "11, 11 ms");
    EXPECT_EQ(facts["booked without a stack"], "500 us");
    EXPECT_EQ(facts["note"], "one library has no unwind tables");
}

TEST(Firefox, makes_a_track_of_each_category_where_times_are_not_known) {
    Profile profile = timed_profile();
    profile.timeline.reset();
    const json document = exported(profile);
    expect_valid(document);
    expect_same_totals(profile, document);
    ASSERT_EQ(document["threads"].size(), 2);
    EXPECT_EQ(document["threads"][0]["name"], "main");
    EXPECT_FALSE(document["threads"][0]["samples"].contains("threadCPUDelta"));
    for (const json& time : document["threads"][1]["samples"]["time"]) {
        EXPECT_EQ(time, 0);
    }
    EXPECT_NE(document["meta"]["extra"].dump().find("time axis"), std::string::npos);
}

TEST(Firefox, counts_an_event) {
    Profile profile = timed_profile();
    profile.event = profile.metric.unit = "page-faults";
    profile.stats.clock.clear();
    const json document = exported(profile);
    expect_valid(document);
    expect_same_totals(profile, document);
    const json& samples = document["threads"][0]["samples"];
    EXPECT_EQ(samples["weightType"], "samples");
    EXPECT_EQ(samples["weight"][0], 1'000'000);
    EXPECT_FALSE(samples.contains("threadCPUDelta"));
    EXPECT_EQ(samples["length"], 8) << "no row without a stack: counts have no gaps";
}

TEST(Firefox, takes_nodes_in_any_order) {
    Profile profile = timed_profile();
    // The last node and the second one, a category, change places.
    const auto last = static_cast<std::uint32_t>(profile.nodes.size() - 1);
    const auto swapped = [last](NodeId id) {
        return id.value == 1 ? NodeId{last} : id.value == last ? NodeId{1} : id;
    };
    std::swap(profile.nodes[1], profile.nodes[last]);
    for (callgraph::Node& node : profile.nodes) {
        node.parent = swapped(node.parent);
        node.first_child = swapped(node.first_child);
        node.next_sibling = swapped(node.next_sibling);
    }
    for (callgraph::Category& category : profile.categories) {
        category.node = swapped(category.node);
    }
    for (NodeId& node : profile.timeline->nodes) {
        node = swapped(node);
    }
    const json document = exported(profile);
    expect_valid(document);
    expect_same_totals(profile, document);
}

TEST(Firefox, tells_programs_and_threads_with_the_same_ids_apart) {
    Profile profile = timed_profile();
    profile.threads[1].pid = 100;
    profile.threads[1].tid = 100;
    const json document = exported(profile);
    expect_valid(document);
    EXPECT_EQ(document["threads"][1]["pid"], "100.1");
    EXPECT_EQ(document["threads"][1]["tid"], "100.1");
}

TEST(Firefox, leaves_out_samples_that_a_transform_left_out) {
    Profile profile = timed_profile();
    for (NodeId& node : profile.timeline->nodes) {
        node = profile.node(node).function == FunctionId{4} ? NodeId{} : node;
    }
    const json document = exported(profile);
    expect_valid(document);
    EXPECT_FALSE(firefox_totals(document).contains(3)) << "malloc";
}

TEST(Firefox, has_tracks_of_each_metric) {
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
        for (const SeveralMetrics& metrics : random_metrics(seed)) {
            SCOPED_TRACE(metrics.name + " " + std::to_string(seed));
            const json document = exported(metrics.all);
            expect_valid(document);
            for (const Profile& alone : metrics.alone) {
                const bool is_own = alone.metric.name == "cpu";
                json part = document;
                part["threads"].clear();
                for (const json& thread : document["threads"]) {
                    const std::string name = thread["name"];
                    const std::size_t colon = name.find(": ");
                    if (is_own ? colon == std::string::npos
                               : name.ends_with(": " + alone.metric.name)) {
                        part["threads"].push_back(thread);
                        EXPECT_EQ(thread["samples"]["weightType"],
                                  alone.is_time() ? "tracing-ms" : "bytes");
                        EXPECT_FALSE(!is_own && thread["isMainThread"].get<bool>());
                    }
                }
                std::map<std::size_t, std::pair<std::int64_t, std::int64_t>> found;
                for (const auto& [function, totals] : firefox_totals(part)) {
                    found[function] = {totals.total, totals.self};
                }
                EXPECT_EQ(function_totals(metrics.all, found), function_totals(alone));
            }
            const std::size_t selected = document["meta"]["initialSelectedThreads"][0];
            const std::string name = document["threads"][selected]["name"];
            EXPECT_EQ(name.find(": "), std::string::npos);
            ASSERT_FALSE(HasFailure());
        }
    }
}

TEST(Firefox, is_valid_without_anything) {
    Profile profile;
    profile.nodes.resize(1);
    const json document = exported(profile);
    expect_valid(document);
    EXPECT_EQ(document["threads"].size(), 1) << "the profiler refuses a profile without a thread";
}

TEST(Firefox, passes_a_sinks_failure_on) {
    const Sink full = [](std::string_view) -> Result<void> {
        return unexpected(ErrorCode::system, "full");
    };
    EXPECT_FALSE(write_firefox(timed_profile(), full).has_value());
}

struct Damage {
    const char* name;
    std::function<void(json&)> apply;
};

class FirefoxChecker : public testing::TestWithParam<Damage> {};

TEST_P(FirefoxChecker, refuses) {
    json document = exported(timed_profile());
    ASSERT_TRUE(firefox_problems(document).empty());
    GetParam().apply(document);
    EXPECT_FALSE(firefox_problems(document).empty());
}

INSTANTIATE_TEST_SUITE_P(
    Damages, FirefoxChecker,
    testing::Values(
        Damage{"another_version", [](json& p) { p["meta"]["preprocessedProfileVersion"] = 67; }},
        Damage{"a_missing_table", [](json& p) { p["shared"].erase("nativeSymbols"); }},
        Damage{"a_missing_column", [](json& p) { p["shared"]["frameTable"].erase("line"); }},
        Damage{"a_short_column",
               [](json& p) { p["shared"]["frameTable"]["func"].erase(std::size_t{0}); }},
        Damage{"a_frame_out_of_range",
               [](json& p) {
                   p["shared"]["stackTable"]["frame"][1] = p["shared"]["frameTable"]["length"];
               }},
        Damage{"a_prefix_before_the_first",
               [](json& p) { p["shared"]["stackTable"]["prefixOffset"][1] = 2; }},
        Damage{"a_negative_offset",
               [](json& p) { p["shared"]["stackTable"]["prefixOffset"][1] = -1; }},
        Damage{"a_name_out_of_range", [](json& p) { p["shared"]["funcTable"]["name"][0] = 10000; }},
        Damage{"a_string_twice",
               [](json& p) { p["shared"]["stringArray"][0] = p["shared"]["stringArray"][1]; }},
        Damage{"a_lib_out_of_range", [](json& p) { p["libs"].erase(std::size_t{0}); }},
        Damage{"a_subcategory_out_of_range",
               [](json& p) { p["shared"]["frameTable"]["subcategory"][0] = 99; }},
        Damage{"inlining_into_nothing",
               [](json& p) {
                   p["shared"]["frameTable"]["inlineDepth"] =
                       json(p["shared"]["frameTable"]["length"].get<std::size_t>(), 2);
               }},
        Damage{"time_that_runs_backwards",
               [](json& p) { p["threads"][0]["samples"]["time"][2] = 0; }},
        Damage{"a_stack_out_of_range",
               [](json& p) { p["threads"][0]["samples"]["stack"][0] = 10000; }},
        Damage{"weight_without_a_stack",
               [](json& p) { p["threads"][0]["samples"]["weight"][4] = 1; }},
        Damage{"a_number_as_process_id", [](json& p) { p["threads"][0]["pid"] = 100; }},
        Damage{"no_default_category",
               [](json& p) {
                   for (json& category : p["meta"]["categories"]) {
                       category["color"] = "blue";
                   }
               }}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace sample::exports
