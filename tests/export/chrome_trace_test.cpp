#include "export/formats.h"
#include "threads_profile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <utility>

namespace sample::exports {
namespace {

using callgraph::Profile;
using Json = nlohmann::json;

std::string chrome_trace_text(const Profile& profile) {
    std::string text;
    EXPECT_TRUE(write_chrome_trace(profile, to_string_sink(text)).has_value());
    return text;
}

/// The lines of a thread's begin and end events, as "B main 1.000".
std::string slices_of(const std::string& text, const std::string& tid) {
    std::string out;
    for (std::size_t at = text.find("{\"ph\":"); at != std::string::npos;
         at = text.find("{\"ph\":", at + 1)) {
        const std::string line = text.substr(at, text.find('\n', at) - at);
        const Json event = Json::parse(line.substr(0, line.rfind('}') + 1), nullptr, false);
        if (event.is_object() && (event["ph"] == "B" || event["ph"] == "E") &&
            std::to_string(event["tid"].get<int>()) == tid) {
            const std::size_t time = line.find("\"ts\":") + 5;
            out += event["ph"].get<std::string>() + " " + event["name"].get<std::string>() + " " +
                   line.substr(time, line.find(',', time) - time) + "\n";
        }
    }
    return out;
}

TEST(ChromeTrace, nests_slices_along_time_and_tells_equal_names_apart) {
    EXPECT_EQ(slices_of(chrome_trace_text(threads_profile()), "100"),
              "B [before sampling] 0.100\n"
              "E [before sampling] 0.400\n"
              "B main 1.000\n"
              "B run(int) 1.000\n"
              "B work<\"a\"> 1.000\n"
              "E work<\"a\"> 3.000\n"
              "E run(int) 3.000\n"
              "B work<\"a\"> 3.00001\n"
              "E work<\"a\"> 4.000\n"
              "E main 4.000\n"
              "B main 8.000\n"
              "B run(int) 8.000\n"
              "B run(int) 8.000\n"
              "B helper 8.000\n"
              "E helper 9.000\n"
              "E run(int) 9.000\n"
              "E run(int) 9.000\n"
              "E main 10.000\n");
}

TEST(ChromeTrace, has_what_the_program_says_beside_the_slices) {
    Profile profile = threads_profile();
    profile.markers = {{"main", "frame", 0, 1'500, 2'500},
                       {"level \"1\"", "bookmark", std::nullopt, 2'000, 2'000}};
    profile.counters = {{"jobs", {{0, 3}, {1'000, 2.5}}, std::nullopt}};
    const Json json = Json::parse(chrome_trace_text(profile));
    std::string found;
    for (const Json& event : json["traceEvents"]) {
        const std::string kind = event["ph"];
        if (kind == "b" || kind == "e" || kind == "i") {
            found += kind + " " + event["cat"].get<std::string>() + " " +
                     event["name"].get<std::string>() + " " + event["ts"].dump() + "\n";
        } else if (kind == "C" && event["name"] == "jobs") {
            found += "C " + event["ts"].dump() + " " + event["args"]["value"].dump() + "\n";
        }
    }
    EXPECT_EQ(found,
              "b frame main 1.5\n"
              "e frame main 2.5\n"
              "i bookmark level \"1\" 2.0\n"
              "C 0.0 3\n"
              "C 1.0 2.5\n");
}

TEST(ChromeTrace, has_zones_as_they_were_and_arrows_between_them) {
    using Step = callgraph::FlowPoint::Step;
    Profile profile = threads_profile();
    profile.markers = {{"outer", "zone", 0, 1'500, 2'500},
                       {"inner", "zone", 0, 1'600, 1'600},
                       {"load", "region", 1, 500, 500},
                       {"work", "zone", 1, 3'000, 4'001}};
    profile.flows = {
        {7, 0, 1'700, Step::begin}, {7, 1, 3'100, Step::step}, {7, 1, 3'200, Step::end}};
    profile.counters = {{"jobs", {{0, 3}}, 4711}};
    const Json json = Json::parse(chrome_trace_text(profile));
    std::map<Json, std::string> tracks;
    std::string found;
    for (const Json& event : json["traceEvents"]) {
        const std::string kind = event["ph"];
        if (event["name"] == "thread_name") {
            tracks[event["tid"]] = event["args"]["name"];
        } else if (kind == "X") {
            found += tracks[event["tid"]] + ": " + event["name"].get<std::string>() + " " +
                     event["ts"].dump() + " for " + event["dur"].dump() + "\n";
        } else if (kind == "s" || kind == "t" || kind == "f") {
            found += tracks[event["tid"]] + ": " + kind + event["id"].get<std::string>() + " " +
                     event["ts"].dump() + "\n";
        } else if (kind == "b" || kind == "e") {
            found += tracks[event["tid"]] + ": " + kind + " " + event["cat"].get<std::string>() +
                     " " + event["ts"].dump() + "\n";
        } else if (event["name"] == "jobs") {
            found += "jobs of " + event["pid"].dump() + "\n";
        }
    }
    EXPECT_EQ(found,
              "app (tid 100): zones: outer 1.5 for 1.0\n"
              "app (tid 100): zones: inner 1.6 for 0.0\n"
              "worker 1: b region 0.5\n"
              "worker 1: e region 0.5\n"
              "worker 1 (tid 101): zones: work 3.0 for 1.001\n"
              "app (tid 100): zones: s7 1.7\n"
              "worker 1 (tid 101): zones: t7 3.1\n"
              "worker 1 (tid 101): zones: f7 3.2\n"
              "jobs of 4711\n");
}

TEST(ChromeTrace, is_one_document_with_names_modules_and_facts) {
    const Json trace = Json::parse(chrome_trace_text(threads_profile()));
    EXPECT_EQ(trace["displayTimeUnit"], "ns");
    const Json& events = trace["traceEvents"];
    EXPECT_EQ(events[0], Json::parse(R"({"ph":"M","pid":100,"tid":100,"ts":0,"name":"thread_name",
                                         "args":{"name":"app"}})"));
    EXPECT_EQ(events[1]["name"], "process_name");
    EXPECT_EQ(events[2]["cat"], "");
    EXPECT_EQ(events[4]["cat"], "app");
    EXPECT_EQ(trace["otherData"]["sample"]["lost"], 3);
    EXPECT_EQ(trace["otherData"]["functions"][0],
              Json::parse(R"({"name":"main","file":"/src/main.cpp","line":10,"module":1})"));
    EXPECT_NE(
        chrome_trace_text(threads_profile()).find("\"cat\":\"app,inlined\",\"name\":\"helper\""),
        std::string::npos);
}

TEST(ChromeTrace, counts_samples_and_cpu_use_by_interval) {
    const Json trace = Json::parse(chrome_trace_text(threads_profile()));
    std::string counters;
    for (const Json& event : trace["traceEvents"]) {
        if (event["ph"] == "C" && event["tid"] == 101) {
            counters += event["ts"].dump() + " " + event["args"].dump() + "\n";
            EXPECT_TRUE(event["name"].get<std::string>().ends_with(", worker 1 (tid 101)"));
        }
    }
    // 6 ms to 15 ms, in intervals of 10 ms: 4 ms of the first, 5 ms of the second.
    EXPECT_EQ(counters,
              "0 {\"samples\":0}\n0 {\"CPU %\":40}\n"
              "10000 {\"samples\":1}\n10000 {\"CPU %\":50}\n"
              "20000 {\"samples\":0}\n20000 {\"CPU %\":0}\n");
}

TEST(ChromeTrace, counts_a_slice_that_is_longer_than_the_session_in_few_steps) {
    ThreadsProfileMaker maker;
    const auto at_f = maker.child(maker.category("app"), maker.function("f"));
    const auto thread = maker.thread("app", "app", 1, 1);
    maker.profile.stats.clock = "cpu";
    maker.sample(thread, 1'005'000'000, at_f, 1'000'000'000);
    const Json trace = Json::parse(chrome_trace_text(maker.finish()));
    std::string counters;
    for (const Json& event : trace["traceEvents"]) {
        if (event["ph"] == "C" && event["args"].contains("CPU %")) {
            counters += event["ts"].dump() + " " + event["args"]["CPU %"].dump() + "\n";
        }
    }
    EXPECT_EQ(counters, "0 50\n10000 100\n990000 100\n1000000 50\n1010000 0\n");
}

TEST(ChromeTrace, has_no_counters_and_says_so_where_no_times_are_known) {
    Profile profile = threads_profile();
    profile.timeline.reset();
    const std::string text = chrome_trace_text(profile);
    EXPECT_EQ(text.find("\"ph\":\"C\""), std::string::npos);
    EXPECT_TRUE(Json::parse(text)["otherData"]["axis"].get<std::string>().starts_with("no times"));
}

TEST(ChromeTrace, makes_a_microsecond_of_each_that_is_counted) {
    ThreadsProfileMaker maker;
    const auto app = maker.category("app");
    const auto at_f = maker.child(app, maker.function("f"));
    const auto thread = maker.thread("app", "app", 1, 1);
    maker.profile.event = maker.profile.metric.unit = "page-faults";
    maker.sample(thread, 7, at_f, 3);
    maker.sample(thread, 9, maker.child(app, maker.function("f")), 2);
    EXPECT_EQ(slices_of(chrome_trace_text(maker.finish()), "1"),
              "B f 0.000\nE f 3.000\nB f 3.00001\nE f 5.000\n");
}

TEST(ChromeTrace, writes_times_before_the_start) {
    ThreadsProfileMaker maker;
    const FunctionId f = maker.function("f");
    const auto app = maker.category("app");
    const auto at_f = maker.child(app, f);
    const auto thread = maker.thread("app", "app", 1, 1);
    maker.sample(thread, -1500, maker.child(at_f, f), 1000);
    maker.sample(thread, -500, at_f, 1000);
    maker.sample(thread, 500, maker.child(maker.child(app, maker.function("g")), f), 1000);
    EXPECT_EQ(slices_of(chrome_trace_text(maker.finish()), "1"),
              "B f -2.500\nB f -2.500\nE f -1.500\nE f -0.500\n"
              "B g -0.500\nB f -0.500\nE f 0.500\nE g 0.500\n");
}

TEST(ChromeTrace, tells_equal_names_apart_before_the_start_and_at_it) {
    for (const auto& [end, text] : {std::pair{-1, "-0.00099"}, std::pair{0, "0.00001"}}) {
        ThreadsProfileMaker maker;
        const FunctionId f = maker.function("f");
        const auto app = maker.category("app");
        const auto thread = maker.thread("app", "app", 1, 1);
        maker.sample(thread, end, maker.child(maker.child(app, maker.function("g")), f), 1000);
        maker.sample(thread, end + 1000, maker.child(app, f), 1000);
        EXPECT_NE(slices_of(chrome_trace_text(maker.finish()), "1")
                      .find(std::string{"\nB f "} + text + "\n"),
                  std::string::npos);
    }
}

}  // namespace
}  // namespace sample::exports
