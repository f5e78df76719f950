#include "callgraph/timeline.h"

#include "callgraph/rename.h"
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
    }

    /// The timeline's sums must be the nodes' own times.
    static void expect_agreement(const Profile& profile) {
        ASSERT_TRUE(profile.timeline);
        std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> sums;
        for (const Timeline::Thread& thread : profile.timeline->threads) {
            for (const TimedWeight& sample : all(*thread.samples)) {
                const NodeId node = profile.timeline->nodes[sample.place];
                if (!node.is_none()) {
                    sums[node.value].first += sample.weight;
                    sums[node.value].second += sample.is_booking ? 0 : 1;
                }
            }
        }
        for (std::uint32_t id = 1; id < profile.nodes.size(); ++id) {
            EXPECT_EQ(sums[id].first, profile.nodes[id].self_ns) << id;
            EXPECT_EQ(sums[id].second, profile.nodes[id].self_samples) << id;
        }
    }

    RecordingMaker maker_;
};

TEST_F(TimedRecording, keeps_each_threads_samples_in_order) {
    const Profile profile = maker_.profile();
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

TEST_F(TimedRecording, has_no_timeline_unless_times_were_kept) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"main"}), 10);
    EXPECT_FALSE(maker.profile().timeline);
}

TEST_F(TimedRecording, follows_every_transform) {
    const Profile profile = maker_.profile();
    expect_agreement(hide_gc(profile));
    expect_agreement(focus(profile, "work"));
    expect_agreement(search(profile, "malloc"));
    expect_agreement(fold_inlined(profile));
    expect_agreement(rename(profile, [](const Function&) { return std::string{"same"}; }));
    expect_agreement(hide_gc(focus(profile, "main")));
}

TEST_F(TimedRecording, loses_its_times_when_durations_are_scaled) {
    maker_.end();
    const Profile profile = maker_.profile();
    EXPECT_FALSE(average(profile, 60).timeline);
}

}  // namespace
}  // namespace sample::callgraph
