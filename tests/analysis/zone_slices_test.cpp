// A bounded number of zones and flows, of a thread's and a coroutine's.
#include "analysis/instrumentation/zone_slices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

namespace sample::analysis {
namespace {

using trace::EdgeKind;
using trace::FlowStep;

void define(ZoneSlices& zones, std::uint32_t id, const std::string& name) {
    zones.instrumentation(trace::ZoneSpec{trace::ZoneId{id}, name});
}

void edge(ZoneSlices& zones, std::uint32_t thread, std::uint64_t time, EdgeKind kind,
          std::uint32_t zone = 0, std::uint32_t depth = 0) {
    zones.zone({ThreadId{thread}, kind, time, trace::ZoneId{zone}, {}, depth});
}

std::string drawn(const ZoneSlices& zones) {
    std::string text;
    for (const ZoneSlice& slice : zones.slices()) {
        text += zones.names().specs()[slice.name].name + "@" + std::to_string(slice.thread.value) +
                " " + std::to_string(slice.begin_ns) + "-" + std::to_string(slice.end_ns) + "\n";
    }
    return text;
}

TEST(ZoneSlices, are_nested_and_of_their_threads_and_end_with_the_recording) {
    ZoneSlices zones;
    define(zones, 1, "outer");
    define(zones, 2, "inner");
    edge(zones, 2, 5, EdgeKind::begin, 2);
    edge(zones, 1, 10, EdgeKind::begin, 1);
    edge(zones, 1, 10, EdgeKind::begin, 2);
    edge(zones, 1, 20, EdgeKind::end);
    edge(zones, 1, 30, EdgeKind::end);
    zones.finish(50);
    EXPECT_EQ(drawn(zones), "outer@1 10-30\ninner@1 10-20\ninner@2 5-50\n");
    EXPECT_EQ(zones.slices_left_out(), 0);
}

TEST(ZoneSlices, of_a_coroutine_are_where_it_ran) {
    ZoneSlices zones;
    define(zones, 1, "task");
    edge(zones, 1, 10, EdgeKind::begin, 1);
    edge(zones, 1, 20, EdgeKind::suspend, 1, 1);
    edge(zones, 2, 40, EdgeKind::resume, 1, 1);
    edge(zones, 2, 45, EdgeKind::end);
    zones.finish(50);
    EXPECT_EQ(drawn(zones), "task@1 10-20\ntask@2 40-45\n");
}

TEST(ZoneSlices, keep_the_longest_and_count_the_others) {
    constexpr std::uint64_t kZones = 1000;
    constexpr std::size_t kMost = 3;
    ZoneSlices zones{kMost};
    define(zones, 1, "zone");
    std::uint64_t now = 0;
    for (std::uint64_t i = 0; i < kZones; ++i) {
        // Lengths 0 to 999 in another order: 7 and 1000 have no common divisor.
        edge(zones, 1, now, EdgeKind::begin, 1);
        now += i * 7 % kZones;
        edge(zones, 1, now, EdgeKind::end);
        ASSERT_LT(zones.slices().size(), 2 * kMost);
    }
    zones.finish(now);
    std::uint64_t sum = 0;
    for (const ZoneSlice& slice : zones.slices()) {
        sum += slice.length_ns();
    }
    EXPECT_EQ(zones.slices().size(), kMost);
    EXPECT_EQ(sum, 999 + 998 + 997);
    EXPECT_EQ(zones.slices_left_out(), kZones - kMost);
}

TEST(ZoneSlices, are_those_that_begin_inside) {
    ZoneSlices zones{10, [](std::uint64_t time) { return time >= 15; }};
    define(zones, 1, "zone");
    for (const std::uint64_t time : {10U, 20U}) {
        edge(zones, 1, time, EdgeKind::begin, 1);
        zones.instrumentation(trace::Flow{ThreadId{1}, time, time, FlowStep::begin});
        edge(zones, 1, time + 9, EdgeKind::end);
    }
    zones.finish(50);
    EXPECT_EQ(drawn(zones), "zone@1 20-29\n");
    ASSERT_EQ(zones.flows().size(), 1);
    EXPECT_EQ(zones.flows()[0].time_ns, 20);
}

TEST(ZoneSlices, keep_whole_flows_and_count_the_steps_of_others) {
    constexpr std::uint64_t kFlows = 1000;
    constexpr std::size_t kMost = 100;
    ZoneSlices zones{kMost};
    for (const FlowStep step : {FlowStep::begin, FlowStep::end}) {
        for (std::uint64_t flow = 1; flow <= kFlows; ++flow) {
            zones.instrumentation(trace::Flow{ThreadId{1}, flow, flow, step});
            ASSERT_LE(zones.flows().size(), kMost);
        }
    }
    zones.finish(kFlows);
    std::map<std::uint64_t, int> steps;
    for (const trace::Flow& each : zones.flows()) {
        ++steps[each.flow];
    }
    EXPECT_GT(steps.size(), 10);
    for (const auto& [flow, count] : steps) {
        EXPECT_EQ(count, 2) << flow;
    }
    EXPECT_EQ(zones.flows().size() + zones.flow_steps_left_out(), 2 * kFlows);
}

}  // namespace
}  // namespace sample::analysis
