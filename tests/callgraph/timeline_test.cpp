#include "callgraph/timeline.h"

#include "callgraph/transforms.h"
#include "recording_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace sample::callgraph {
namespace {

std::vector<TimedWeight> all(const SampleSeries& series) {
    std::vector<TimedWeight> samples;
    TimedWeight sample;
    for (SampleSeries::Reader reader = series.read(); reader.next(sample);) {
        samples.push_back(sample);
    }
    return samples;
}

bool are_same(const std::vector<TimedWeight>& left, const std::vector<TimedWeight>& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](const TimedWeight& one, const TimedWeight& other) {
                          return one.time_ns == other.time_ns && one.place == other.place &&
                                 one.weight == other.weight && one.is_booking == other.is_booking;
                      });
}

TEST(SampleSeries, is_empty_at_first) {
    const SampleSeries series;
    EXPECT_TRUE(series.is_empty());
    EXPECT_TRUE(all(series).empty());
}

TEST(SampleSeries, gives_back_what_was_appended) {
    constexpr int kSamples = 100'000;  // Several blocks.
    std::mt19937_64 random{7};
    SampleSeries series;
    std::vector<TimedWeight> expected;
    std::int64_t now = -5'000;
    for (int i = 0; i < kSamples; ++i) {
        now += static_cast<std::int64_t>(random() % 300'000) - 100;
        expected.push_back({now, static_cast<std::uint32_t>(random() % 1'000'000),
                            random() % 4 == 0 ? random() % 500'000 : 100'000, random() % 9 == 0});
        series.append(expected.back());
    }
    EXPECT_EQ(series.size(), expected.size());
    EXPECT_EQ(series.last_time_ns(), now);
    EXPECT_TRUE(are_same(all(series), expected));
}

TEST(SampleSeries, holds_the_extremes) {
    constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    constexpr auto kMostPlace = std::numeric_limits<std::uint32_t>::max();
    constexpr auto kMostWeight = std::numeric_limits<std::uint64_t>::max();
    const std::vector<TimedWeight> expected{{kLeast, kMostPlace, kMostWeight, true},
                                            {kMost, 0, 0, false},
                                            {kLeast, kMostPlace, kMostWeight, false},
                                            {0, 0, 1, true}};
    SampleSeries series;
    for (const TimedWeight& sample : expected) {
        series.append(sample);
    }
    EXPECT_TRUE(are_same(all(series), expected));
}

/// Two threads in three functions, with memory management and a booking.
class TimedRecording : public testing::Test {
protected:
    TimedRecording() {
        maker_.recording.keep_times();
        const ProcessId process = maker_.process("/usr/bin/app");
        const ThreadId first = maker_.thread(process, "app", 100);
        const ThreadId second = maker_.thread(process, "worker", 101);
        const NodeId work = maker_.stack({"main", "work"});
        const NodeId alloc = maker_.frame(work, "malloc");
        const NodeId rest = maker_.frame({}, "rest");
        maker_.sample(first, work, 10);
        maker_.sample(second, work, 20);
        maker_.sample(first, alloc, 30);
        maker_.sample(first, work, 40);
        maker_.book(second, rest, 50);
        const MetricId bytes{2};
        maker_.recording.record(trace::Metric{bytes, "allocated", "bytes", ""});
        const ThreadId third = maker_.thread(process, "loader", 102);
        maker_.recording.sample({second, 2'000, alloc, 64, false, bytes});
        maker_.recording.sample({third, 3'000, maker_.frame(work, "load"), 100, false, bytes});
    }

    [[nodiscard]] Profile profile() const { return maker_.profile({.further = true}); }

    using Sums = std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>>;

    static Sums sums_of(const Timeline& timeline) {
        Sums sums;
        for (const Timeline::Thread& thread : timeline.threads) {
            for (const TimedWeight& sample : all(*thread.samples)) {
                const NodeId node = timeline.nodes[sample.place];
                if (!node.is_none()) {
                    sums[node.value].first += sample.weight;
                    sums[node.value].second += sample.is_booking ? 0 : 1;
                }
            }
        }
        return sums;
    }

    /// The timelines' sums must be the nodes' own weights.
    static void expect_agreement(const Profile& profile) {
        ASSERT_TRUE(profile.timeline);
        ASSERT_EQ(profile.further.size(), 1U);
        const FurtherMetric& further = profile.further[0];
        ASSERT_TRUE(further.timeline);
        ASSERT_EQ(further.selves.size(), profile.nodes.size());
        Sums sums = sums_of(*profile.timeline);
        Sums further_sums = sums_of(*further.timeline);
        for (std::uint32_t id = 1; id < profile.nodes.size(); ++id) {
            EXPECT_EQ(sums[id].first, profile.nodes[id].self) << id;
            EXPECT_EQ(sums[id].second, profile.nodes[id].self_samples) << id;
            EXPECT_EQ(further_sums[id].first, further.selves[id]) << id;
        }
    }

    RecordingMaker maker_;
};

TEST_F(TimedRecording, keeps_each_threads_samples_in_order) {
    const Profile profile = this->profile();
    expect_agreement(profile);
    ASSERT_EQ(profile.timeline->threads.size(), 2U);
    EXPECT_EQ(profile.timeline->threads[0].thread, 0U);
    EXPECT_EQ(profile.timeline->threads[1].thread, 1U);
    const std::vector<TimedWeight> first = all(*profile.timeline->threads[0].samples);
    ASSERT_EQ(first.size(), 3U);
    EXPECT_EQ(first[1].time_ns - first[0].time_ns, 20 + 30);
    EXPECT_EQ(first[2].time_ns - first[1].time_ns, 40);
    const Node& node = profile.node(profile.timeline->nodes[first[1].place]);
    EXPECT_EQ(profile.function(node.function).name, "malloc");
}

TEST_F(TimedRecording, has_nodes_that_a_further_metric_alone_has) {
    const Profile all = profile();
    EXPECT_EQ(all.further.at(0).metric.name, "allocated");
    EXPECT_EQ(all.further[0].total(), 164U);
    EXPECT_EQ(all.further[0].timeline->threads.size(), 2U);
    ASSERT_EQ(all.categories.size(), 3U);
    const Node& loader = all.node(all.categories[2].node);
    EXPECT_EQ(all.categories[2].name, "loader");
    EXPECT_EQ(loader.total, 0U);
    ASSERT_FALSE(loader.first_child.is_none());
    EXPECT_TRUE(all.node(loader.first_child).next_sibling.is_none());
    const Profile own = maker_.profile();
    EXPECT_TRUE(own.further.empty());
    EXPECT_EQ(own.categories.size(), 2U);
    EXPECT_EQ(own.nodes[0].total, all.nodes[0].total);
}

TEST_F(TimedRecording, keeps_the_times_of_what_is_kept) {
    const NodeId work{2};  // A caller of what is kept still.
    maker_.recording.keep([work](const StackWeight& weight) { return weight.node != work; });
    const Profile kept = profile();
    expect_agreement(kept);
    ASSERT_EQ(kept.timeline->threads.size(), 2U);
    ASSERT_EQ(all(*kept.timeline->threads[0].samples).size(), 1U);
    EXPECT_EQ(all(*kept.timeline->threads[0].samples)[0].weight, 30U);
    EXPECT_EQ(kept.threads.size(), 3U);
    maker_.recording.keep([](const StackWeight& weight) { return weight.thread.value == 2; });
    const Profile second = profile();
    expect_agreement(second);
    ASSERT_EQ(second.timeline->threads.size(), 1U);
    EXPECT_EQ(second.timeline->threads[0].thread, 0U);
    EXPECT_EQ(second.threads.at(0).name, "worker");
}

TEST_F(TimedRecording, has_no_timeline_unless_times_were_kept) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"main"}), 10);
    EXPECT_FALSE(maker.profile().timeline);
}

TEST_F(TimedRecording, follows_every_transform) {
    const Profile all = profile();
    expect_agreement(hide_memory(all));
    expect_agreement(focus(all, "work"));
    expect_agreement(search(all, "malloc"));
    expect_agreement(fold_inlined(all));
    expect_agreement(rename(all, [](const Function&) { return std::string{"same"}; }));
    expect_agreement(hide_memory(focus(all, "main")));
}

TEST_F(TimedRecording, loses_its_times_when_durations_are_scaled) {
    maker_.end();
    const Profile scaled = average(profile(), 60);
    EXPECT_FALSE(scaled.timeline);
    EXPECT_FALSE(scaled.further.at(0).timeline);
    EXPECT_GT(scaled.further[0].total(), 164U);
}

}  // namespace
}  // namespace sample::callgraph
