#include "export/shared/tracks.h"

#include "threads_profile.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace sample::exports {
namespace {

using callgraph::Profile;

/// Each slice as "start-end name samples".
std::vector<std::string> slices_of(const Profile& profile, std::size_t index) {
    const Tracks tracks{profile};
    SliceReader reader = tracks.slices(tracks.list().at(index));
    std::vector<std::string> out;
    for (Slice slice; reader.next(slice);) {
        const FunctionId function = profile.node(slice.node).function;
        out.push_back(std::to_string(slice.start) + "-" + std::to_string(slice.end) + " " +
                      (function.is_none() ? "" : profile.function(function).name) + " " +
                      std::to_string(slice.samples));
    }
    return out;
}

TEST(Tracks, places_samples_along_time_without_overlap_and_keeps_pauses) {
    const Profile profile = threads_profile();
    EXPECT_EQ(axis_of(profile), Axis::time);
    const std::vector<std::string> expected{
        "100-400 [before sampling] 0", "1000-2000 work<\"a\"> 1", "2000-3000 work<\"a\"> 1",
        "3000-4000 work<\"a\"> 1",     "8000-9000 helper 1",      "9000-10000 main 1"};
    EXPECT_EQ(slices_of(profile, 0), expected);
}

TEST(Tracks, closes_pauses_only_until_they_add_up_to_half_a_period) {
    ThreadsProfileMaker maker;
    maker.profile.stats.requested_hz = 1'000'000;
    const auto node = maker.child(maker.category("app"), maker.function("f"));
    const auto thread = maker.thread("app", "app", 1, 1);
    maker.sample(thread, 1000, node, 1000);
    maker.sample(thread, 2300, node, 1000);
    maker.sample(thread, 3500, node, 1000);
    maker.sample(thread, 4501, node, 1000);
    const std::vector<std::string> expected{"0-1000 f 1", "1000-2000 f 1", "2000-3000 f 1",
                                            "3501-4501 f 1"};
    EXPECT_EQ(slices_of(maker.finish(), 0), expected);
}

TEST(Tracks, leaves_out_what_a_transform_took_away) {
    Profile profile = threads_profile();
    profile.timeline->nodes[0] = NodeId{};
    EXPECT_EQ(slices_of(profile, 0).size(), 5U);
}

TEST(Tracks, goes_by_the_sum_where_times_are_not_known) {
    Profile profile = threads_profile();
    profile.timeline.reset();
    EXPECT_EQ(axis_of(profile), Axis::spent);
    const Tracks tracks{profile};
    ASSERT_EQ(tracks.list().size(), 3U);
    EXPECT_EQ(tracks.list()[1].name, "worker");  // The heaviest category.
    EXPECT_EQ(tracks.list()[2].name, "app");
    EXPECT_TRUE(slices_of(profile, 0).empty());
    const std::vector<std::string> expected{"0-1000 main 1", "1000-3000 work<\"a\"> 2",
                                            "3000-4000 helper 1", "4000-5000 work<\"a\"> 1",
                                            "5000-5300 [before sampling] 0"};
    EXPECT_EQ(slices_of(profile, 2), expected);
}

TEST(Tracks, goes_by_the_count_where_an_event_was_counted) {
    Profile profile = threads_profile();
    profile.event = profile.metric.unit = "page-faults";
    EXPECT_EQ(axis_of(profile), Axis::count);
    EXPECT_EQ(slices_of(profile, 0).front(), "0-300 [before sampling] 0");
    EXPECT_EQ(slices_of(profile, 0).back(), "4300-5300 main 1");
}

TEST(Tracks, tells_threads_of_one_number_apart) {
    Profile profile = threads_profile();
    profile.threads[1].tid = 100;
    const Tracks tracks{profile};
    EXPECT_EQ(tracks.list()[0].unique_tid, 100U);
    EXPECT_EQ(tracks.list()[1].tid, 100U);
    EXPECT_GT(tracks.list()[1].unique_tid, 4'194'304U);
}

TEST(Tracks, survives_any_time_and_weight) {
    constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    ThreadsProfileMaker maker;
    const auto node = maker.child(maker.category("app"), maker.function("f"));
    const auto thread = maker.thread("app", "app", 1, 1);
    maker.sample(thread, kLeast, node, std::numeric_limits<std::uint64_t>::max() - 10);
    maker.sample(thread, kMost, node, 1);
    maker.sample(thread, kLeast, node, 1);
    const Profile profile = maker.finish();
    const Tracks tracks{profile};
    SliceReader reader = tracks.slices(tracks.list().front());
    std::int64_t end = kLeast;
    for (Slice slice; reader.next(slice); end = slice.end) {
        EXPECT_LE(end, slice.start);
        EXPECT_LE(slice.start, slice.end);
    }
}

}  // namespace
}  // namespace sample::exports
