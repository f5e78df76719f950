#include "import/import.h"
#include "import_fixture.h"

#include <gtest/gtest.h>

#include <string>

namespace sample::imports {
namespace {

using callgraph::Profile;

/// A file with two frames, main (a.c:3) and f, and the given profiles.
std::string file_of(const std::string& profiles) {
    return R"({"profiles":[)" + profiles +
           R"(],"shared":{"frames":[{"name":"main","file":"a.c","line":3},{"name":"f"}]},)"
           R"("$schema":"https://www.speedscope.app/file-format-schema.json","name":"app -x"})";
}

std::string sampled(const std::string& samples, const std::string& weights,
                    const std::string& unit = "microseconds", const std::string& name = "t") {
    return R"({"type":"sampled","name":")" + name + R"(","unit":")" + unit +
           R"(","startValue":10,"endValue":99,"samples":[)" + samples + R"(],"weights":[)" +
           weights + "]}";
}

std::string evented(const std::string& events, const std::string& name = "t") {
    return R"({"type":"evented","name":")" + name +
           R"(","unit":"nanoseconds","startValue":10,"endValue":99,"events":[)" + events + "]}";
}

std::string open(int frame, const std::string& at) {
    return R"({"type":"O","frame":)" + std::to_string(frame) + R"(,"at":)" + at + "}";
}

std::string close(int frame, const std::string& at) {
    return R"({"type":"C","frame":)" + std::to_string(frame) + R"(,"at":)" + at + "}";
}

TEST(Speedscope, reads_samples_with_their_times) {
    const Profile profile = imported(file_of(sampled("[0,1],[0],[],[0,1]", "1.5,2,4,0.25")));
    EXPECT_EQ(totals(profile), (Totals{{"main", {3750, 2000}}, {"f", {1750, 1750}}}));
    EXPECT_EQ(profile.command_line, "app -x");
    EXPECT_EQ(profile.stats.samples, 3U);
    EXPECT_EQ(function_called(profile, "main").source, "a.c");
    EXPECT_EQ(function_called(profile, "main").line, 3U);
    EXPECT_EQ(moments(profile, 0),
              (std::vector<Moment>{{"f", 1500, 1500}, {"main", 3500, 2000}, {"f", 7750, 250}}));
    EXPECT_TRUE(has_note(profile, "4000 ns of samples without a frame were taken for gaps"));
}

TEST(Speedscope, reads_events_with_their_times_as_no_samples) {
    const Profile profile =
        imported(file_of(evented(open(0, "10") + "," + open(1, "12") + "," + close(1, "15") + "," +
                                 close(0, "16") + "," + open(1, "20") + "," + close(1, "27"))));
    EXPECT_EQ(totals(profile), (Totals{{"main", {6, 3}}, {"f", {10, 10}}}));
    EXPECT_EQ(profile.stats.samples, 0U);
    EXPECT_EQ(moments(profile, 0),
              (std::vector<Moment>{{"main", 2, 2}, {"f", 5, 3}, {"main", 6, 1}, {"f", 17, 7}}));
    EXPECT_EQ(profile.stats.wall_ns, 89U);
}

TEST(Speedscope, reads_ids_of_our_own_names_of_profiles) {
    const Profile profile = imported(
        file_of(evented(open(0, "10") + "," + close(0, "11"), "app, a, b (pid 7, tid 8)") + "," +
                evented(open(0, "10") + "," + close(0, "11"), "other (pid x, tid 8)")));
    ASSERT_EQ(profile.threads.size(), 2U);
    EXPECT_EQ(profile.threads[0].process, "app");
    EXPECT_EQ(profile.threads[0].name, "a, b");
    EXPECT_EQ(profile.threads[0].pid, 7U);
    EXPECT_EQ(profile.threads[0].tid, 8U);
    EXPECT_EQ(profile.threads[1].name, "other (pid x, tid 8)");
}

TEST(Speedscope, takes_each_profile_for_a_thread) {
    const Profile profile =
        imported(file_of(sampled("[0]", "3") + "," + sampled("[0]", "4") + "," +
                         sampled("[0]", "5", "microseconds", "app, a (pid 7, tid 8) (no times)")));
    ASSERT_EQ(profile.threads.size(), 3U);
    EXPECT_EQ(profile.threads[0].total, 3000U);
    EXPECT_EQ(profile.threads[1].total, 4000U);
    EXPECT_EQ(profile.threads[2].tid, 8U);
}

TEST(Speedscope, keeps_one_unit_and_says_so) {
    const Profile profile =
        imported(file_of(sampled("[0]", "7", "bytes") + "," + sampled("[1]", "9", "milliseconds")));
    EXPECT_EQ(totals(profile), (Totals{{"main", {7, 7}}}));
    EXPECT_EQ(profile.metric.unit, "bytes");
    EXPECT_FALSE(profile.timeline.has_value());
    EXPECT_TRUE(has_note(profile, "1 profiles of other metrics or units than bytes were left out"));
}

TEST(Speedscope, keeps_one_metric_though_others_have_its_unit) {
    std::string wall = sampled("[1]", "9", "microseconds", "t: wall");
    wall.insert(1, R"("metric":"wall",)");
    const Profile profile = imported(file_of(sampled("[0]", "7") + "," + wall));
    EXPECT_EQ(totals(profile), (Totals{{"main", {7'000, 7'000}}}));
    EXPECT_EQ(profile.threads.size(), 1U);
    EXPECT_TRUE(
        has_note(profile, "1 profiles of other metrics or units than microseconds were left out"));
}

TEST(Speedscope, rounds_counts_with_fractions_and_says_so) {
    const Profile profile = imported(file_of(sampled("[0],[0]", "0.75,0.75", "none")));
    EXPECT_EQ(profile.nodes[0].total, 2U);
    EXPECT_TRUE(has_note(profile, "rounded"));
}

TEST(Speedscope, reads_a_file_of_nothing) {
    const Profile profile = imported(file_of(""));
    EXPECT_EQ(profile.nodes.size(), 1U);
}

TEST(Speedscope, refuses_with_the_place) {
    const auto refused = [](const std::string& profiles, const std::string& part) {
        expect_refusal(file_of(profiles), Format::speedscope, "speedscope: " + part);
    };
    refused(sampled("[0],[1]", "1"), "profiles[0]: has 2 samples and 1 weights");
    refused(sampled("[0],[2]", "1,1"), "profiles[0].samples[1]: there is no frame 2");
    refused(sampled("[0],[-1]", "1,1"), "profiles[0].samples[1]: samples cannot be or hold this");
    refused(sampled("[4294967296]", "1"), "profiles[0].samples[0]: there is no frame 4294967296");
    refused(sampled("[0],[\"x\"]", "1,1"),
            "profiles[0].samples[1]: samples cannot be or hold a str");
    refused(sampled("[0]", "-1"), "profiles[0].weights[0]: negative");
    refused(sampled("[0]", "1e300"), "profiles[0].weights[0]: negative, or more than 62 bits");
    refused(sampled("[0]", "1e400"), "malformed JSON");
    refused(sampled("[0]", "NaN"), "malformed JSON");
    refused(sampled("[0]", "null"), "profiles[0]: weights cannot be or hold null");
    refused(evented(open(0, "10") + "," + close(1, "11")),
            "profiles[0].events[1]: ends another frame than the innermost");
    refused(evented(close(0, "11")), "profiles[0].events[0]: ends a frame where none has begun");
    refused(evented(open(0, "9")), "profiles[0].events[0]: is before the one it follows");
    refused(evented(open(2, "11")), "profiles[0].events[0]: names a frame that is not there");
    refused(evented(open(0, "11")), "profiles[0]: its last event leaves a frame open");
    refused(evented(R"({"type":"X"})"), "profiles[0].events[0]: type must be");
    refused(evented(R"({"type":"O","at":1})"), "profiles[0].events[0]: frame is missing");
    refused(R"({"type":"other"})", "profiles[0]: type must be");
    refused(R"({"type":"evented","type":"evented"})", "profiles[0]: type appears twice");
    refused(R"({"type":"evented"})", "profiles[0]: name is missing");
    refused("7", "profiles cannot be or hold this number");
    expect_refusal(R"({"profiles":[]})", Format::speedscope, "shared is missing");
    expect_refusal("[]", Format::speedscope, "the document cannot be or hold an array");
    expect_refusal(R"({"x":)" + std::string(1000, '[') + std::string(1000, ']') + "}",
                   Format::speedscope, "nested too deeply");
}

TEST(ScriptProfilerTree, reads_version_1) {
    const Profile profile = imported(
        R"({"Version":1,"SessionStartTime":1000,"SessionEndTime":3000,"Other":[{"a":1}],"Children":{
            "x,y.lua,main,1":{"TotalDuration":10,"Children":{
                "g.lua,,7":{"TotalDuration":4,"Color":{"r":1}},"g.lua,h,":{"TotalDuration":3}}},
            "y.lua,other,2":{"Children":{"g.lua,h,":{"TotalDuration":6}},"TotalDuration":5}}})");
    EXPECT_EQ(profile.nodes[0].total, 16'000U);
    EXPECT_EQ(totals(profile), (Totals{{"main", {10'000, 3'000}},
                                       {"", {4'000, 4'000}},
                                       {"h", {9'000, 9'000}},
                                       {"other", {6'000, 0}}}));
    EXPECT_EQ(function_called(profile, "main").source, "x,y.lua");
    EXPECT_EQ(function_called(profile, "").line, 7U);
    EXPECT_EQ(profile.stats.wall_ns, 2'000'000'000U);
    EXPECT_TRUE(has_note(profile, "1 nodes had less time than their children"));
}

TEST(ScriptProfilerTree, reads_nodes_of_any_depth) {
    constexpr int kDepth = 100'000;
    std::string text = R"({"Version":1)";
    for (int i = 0; i < kDepth; ++i) {
        text += R"(,"Children":{"a,f,1":{"TotalDuration":5)";
    }
    for (int i = 0; i < kDepth; ++i) {
        text += "}}";
    }
    const Profile profile = imported(text + "}");
    EXPECT_EQ(profile.nodes.size(), kDepth + 2U);
    EXPECT_EQ(totals(profile), (Totals{{"f", {5'000, 5'000}}}));
}

TEST(ScriptProfilerTree, refuses_with_the_path) {
    const auto refused = [](const std::string& children, const std::string& part) {
        expect_refusal(R"({"Version":1,"Children":)" + children + "}", {}, "json: " + part);
    };
    refused(R"({"a,f,1":{}})", "\"a,f,1\": TotalDuration is missing");
    refused(R"({"a,f,1":{"TotalDuration":-1}})", "\"a,f,1\": TotalDuration must be");
    refused(R"({"a,f,1":{"TotalDuration":1.5}})", "\"a,f,1\": TotalDuration must be");
    refused(R"({"a,f,1":{"TotalDuration":{}}})", "\"a,f,1\": TotalDuration must be");
    refused(R"({"a,f,1":{"TotalDuration":18446744073709552}})",
            "\"a,f,1\": TotalDuration overflows");
    refused(R"({"a,f,1":{"TotalDuration":1,"Children":{"b":{}}}})",
            "\"a,f,1\" > \"b\": a key must be source,name,line");
    refused(R"({"a,f,1":{"TotalDuration":1},"a,f,1":{"TotalDuration":1}})",
            "\"a,f,1\": comes twice");
    refused(R"({"a,f,1":{"TotalDuration":1,"TotalDuration":1}})",
            "\"a,f,1\": TotalDuration appears twice");
    refused(R"({"a,f,1":7})", "\"a,f,1\": a child must be an object");
    refused("[]", "Children must be an object");
    refused(R"({"a,f,1":{"TotalDuration":18446744073709551},"b,f,1":{"TotalDuration":1}})",
            "\"b,f,1\": the sum of the durations overflows");
    expect_refusal(R"({"Version":1,"Children":{},"Children":{}})", {}, "Children appears twice");
    expect_refusal(R"({"Version":1,)", {}, "malformed JSON");
}

}  // namespace
}  // namespace sample::imports
