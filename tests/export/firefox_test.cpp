#include "callgraph/label.h"
#include "callgraph/tree.h"
#include "export/formats.h"
#include "tests/export/firefox_checker.h"
#include "tests/export/timed_profile.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

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
        EXPECT_EQ(totals.at(i).total, function.total_ns) << function.name;
        EXPECT_EQ(totals.at(i).self, function.self_ns) << function.name;
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
    EXPECT_EQ(seen["GC:null"], "0 GC: memory management");
    EXPECT_EQ(seen["malloc:null"], "0 GC: memory management");
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
    profile.event = profile.unit = "page-faults";
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
        for (NodeId& child : node.children) {
            child = swapped(child);
        }
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
