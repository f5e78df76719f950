// Frames, counters, regions, messages and the moments that are chosen by them.
#include "analysis/instrumentation/program_events.h"

#include "analysis/instrumentation/chosen_threads.h"
#include "analysis/instrumentation/moments.h"
#include "analysis/instrumentation/own_events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sample::analysis {
namespace {

trace::FrameEdge frame_edge(std::uint64_t time, bool is_begin, std::uint8_t kind = 0,
                            std::uint32_t thread = 1) {
    return {ThreadId{thread}, time, kind, is_begin};
}

/// Frames of these lengths, each 1000 ns behind the last one.
ProgramEventsSink frames_of(const std::vector<std::uint64_t>& lengths) {
    ProgramEventsSink sink;
    std::uint64_t now = 5'000;
    for (const std::uint64_t length : lengths) {
        sink.instrumentation(frame_edge(now, true));
        sink.instrumentation(frame_edge(now + length, false));
        now += length + 1'000;
    }
    return sink;
}

void say(ProgramEventsSink& sink, std::uint64_t time, const std::string& text,
         bool is_bookmark = true) {
    static std::uint32_t id = 0;
    trace::MessageSpec spec;
    spec.id = trace::MessageId{++id};
    spec.is_bookmark = is_bookmark;
    spec.format = text;
    sink.instrumentation(spec);
    sink.instrumentation(trace::Message{ThreadId{1}, time, spec.id, {}});
}

std::string drawn(const Moments& moments) {
    std::string text;
    for (const Moments::Span& span : moments.spans()) {
        text += std::to_string(span.begin_ns) + "-" + std::to_string(span.end_ns) + " ";
    }
    return text;
}

TEST(Frames, are_of_their_kinds_and_threads) {
    ProgramEventsSink sink;
    sink.instrumentation(trace::FrameKind{5, "audio"});
    sink.instrumentation(frame_edge(100, true));
    sink.instrumentation(frame_edge(110, true, 5, 2));
    sink.instrumentation(frame_edge(130, false, 5, 2));
    sink.instrumentation(frame_edge(150, false));
    sink.instrumentation(frame_edge(160, false));
    sink.instrumentation(frame_edge(170, true));
    const ProgramEvents events = std::move(sink).finish();
    ASSERT_EQ(events.frames.size(), 2U);
    EXPECT_EQ(events.frames[0].name, "main");
    ASSERT_EQ(events.frames[0].frames.size(), 1U);
    EXPECT_EQ(events.frames[0].frames[0].length_ns(), 50U);
    EXPECT_EQ(events.frames[0].unfinished, 2U);
    EXPECT_EQ(events.frames[1].name, "audio");
    EXPECT_EQ(events.frames[1].frames[0].length_ns(), 20U);
    EXPECT_EQ(events.frames_of(""), events.frames.data());
    EXPECT_EQ(events.frames_of("5"), &events.frames[1]);
    EXPECT_EQ(events.frames_of("render"), nullptr);
}

TEST(Frames, end_where_the_next_begins) {
    ProgramEventsSink sink;
    for (const std::uint64_t time : {1'000'000'000U, 1'250'000'000U, 1'500'000'000U}) {
        sink.instrumentation(frame_edge(time, true));
    }
    const ProgramEvents events = std::move(sink).finish();
    ASSERT_EQ(events.frames[0].frames.size(), 2U);
    EXPECT_EQ(events.frames[0].unfinished, 1U);
    EXPECT_DOUBLE_EQ(events.frames[0].per_second(), 4.0);
}

TEST(Frames, the_slowest_come_first) {
    const ProgramEvents events = std::move(frames_of({20, 50, 10, 50})).finish();
    const FramesOfKind& main = events.frames[0];
    EXPECT_EQ(main.slowest(), (std::vector<std::uint32_t>{1, 3, 0, 2}));
    EXPECT_EQ(main.lengths_ns(), (std::vector<std::uint64_t>{10, 20, 50, 50}));
    EXPECT_EQ(quantile(main.lengths_ns(), 0.5), 20U);
    EXPECT_EQ(quantile(main.lengths_ns(), 0.99), 50U);
    EXPECT_EQ(choose_frames(main, {"", 30.0, {}}), (std::vector<std::uint32_t>{1, 3}));
    EXPECT_EQ(choose_frames(main, {"", {}, 20}), (std::vector<std::uint32_t>{0, 1, 3}));
}

TEST(Counters, have_their_values_until_the_next) {
    ProgramEventsSink sink;
    trace::CounterSpec spec;
    spec.id = trace::CounterId{1};
    spec.name = "jobs";
    sink.instrumentation(spec);
    // A second thread's values come later in the file.
    sink.instrumentation(trace::CounterValue{ThreadId{1}, 0, spec.id, std::int64_t{10}});
    sink.instrumentation(trace::CounterValue{ThreadId{1}, 75, spec.id, std::int64_t{0}});
    sink.instrumentation(trace::CounterValue{ThreadId{2}, 25, spec.id, 40.0});
    const ProgramEvents events = std::move(sink).finish();
    ASSERT_EQ(events.counters.size(), 1U);
    const CounterSeries& jobs = events.counters[0];
    EXPECT_EQ(jobs.first(), 10);
    EXPECT_EQ(jobs.last(), 0);
    EXPECT_EQ(jobs.min(), 0);
    EXPECT_EQ(jobs.max(), 40);
    EXPECT_DOUBLE_EQ(jobs.mean(100), (10.0 * 25 + 40.0 * 50) / 100);
    const auto peaks = jobs.peaks(0, 100, 4);
    EXPECT_EQ(peaks, (std::vector<std::optional<double>>{10, 40, 40, 0}));
    EXPECT_EQ(jobs.peaks(0, 100, 8)[7], 0);
}

TEST(Counters, have_no_value_before_the_first) {
    CounterSeries series;
    series.points = {{50, 3}, {60, 1}};
    const auto peaks = series.peaks(0, 100, 10);
    EXPECT_EQ(peaks[4], std::nullopt);
    EXPECT_EQ(peaks[5], 3);
    EXPECT_EQ(peaks[6], 1);
    EXPECT_EQ(peaks[9], 1);
}

TEST(Regions, end_on_other_threads_whatever_comes_first_in_the_file) {
    ProgramEventsSink sink;
    sink.instrumentation(trace::RegionEnd{ThreadId{2}, 300, 7, ""});
    sink.instrumentation(trace::RegionBegin{ThreadId{1}, 100, 7, "level", "load"});
    sink.instrumentation(trace::RegionBegin{ThreadId{1}, 150, 0, "stream"});
    sink.instrumentation(trace::RegionBegin{ThreadId{1}, 160, 0, "stream"});
    sink.instrumentation(trace::RegionEnd{ThreadId{1}, 200, 0, "stream"});
    sink.instrumentation(trace::RegionEnd{ThreadId{1}, 210, 9, ""});
    const ProgramEvents events = std::move(sink).finish();
    const std::vector<RegionTotals> regions = events.regions.totals();
    ASSERT_EQ(regions.size(), 2U);
    EXPECT_EQ(regions[0].name, "level");
    EXPECT_EQ(regions[0].category, "load");
    EXPECT_EQ(regions[0].durations.max_ns(), 200U);
    EXPECT_EQ(regions[1].begun, 2U);
    EXPECT_EQ(regions[1].open, 1U);
    EXPECT_EQ(regions[1].durations.max_ns(), 40U);
    const auto late =
        events.regions.totals([](const Regions::Region& region) { return region.begin_ns == 150; });
    ASSERT_EQ(late.size(), 1U);
    EXPECT_EQ(late[0].begun, 1U);
    EXPECT_EQ(late[0].open, 1U);
}

TEST(ProgramEvents, count_flows_and_losses) {
    ProgramEventsSink sink;
    for (const std::uint64_t flow : {1U, 2U, 1U}) {
        sink.instrumentation(trace::Flow{ThreadId{1}, 10, flow, trace::FlowStep::begin});
    }
    sink.instrumentation(trace::InstrumentationLoss{ThreadId{1}, 10, 3, 4});
    sink.instrumentation(trace::InstrumentationLoss{ThreadId{2}, 10, 5, 0});
    const ProgramEvents events = std::move(sink).finish();
    EXPECT_EQ(events.flows, 2U);
    EXPECT_EQ(events.flow_steps, 3U);
    EXPECT_EQ(events.lost_zones, 8U);
    EXPECT_EQ(events.lost_others, 4U);
}

TEST(Moments, are_joined_where_they_touch) {
    EXPECT_EQ(drawn(Moments{{{30, 40}, {10, 20}, {20, 25}, {5, 5}, {35, 50}}}), "10-25 30-50 ");
}

TEST(Moments, have_the_length_of_what_lies_between_two) {
    const Moments moments{{{10, 20}, {30, 40}}};
    EXPECT_EQ(moments.length_ns({0, 100}), 20U);
    EXPECT_EQ(moments.length_ns({15, 35}), 10U);
    EXPECT_EQ(Moments{}.length_ns({15, 35}), 20U);
    EXPECT_EQ(moments.length_ns({50, 40}), 0U);
}

TEST(Moments, of_two_are_in_both) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        std::mt19937_64 random{seed};
        const auto made = [&random] {
            std::vector<Moments::Span> spans(random() % 6);
            for (auto& span : spans) {
                span.begin_ns = random() % 50;
                span.end_ns = span.begin_ns + random() % 20;
            }
            return spans;
        };
        const std::vector<Moments::Span> left = made();
        const std::vector<Moments::Span> right = made();
        const auto is_in = [](const std::vector<Moments::Span>& spans, std::uint64_t time) {
            return std::any_of(spans.begin(), spans.end(), [time](const auto& span) {
                return span.begin_ns <= time && time < span.end_ns;
            });
        };
        const Moments both = Moments{left}.in(Moments{right});
        for (std::uint64_t time = 0; time < 80; ++time) {
            EXPECT_EQ(both.has(time), is_in(left, time) && is_in(right, time))
                << "seed " << seed << ", time " << time;
        }
    }
}

TEST(Moments, lie_between_bookmarks_each_time) {
    ProgramEventsSink sink;
    say(sink, 500, "shown");
    say(sink, 100, "loaded");
    say(sink, 150, "loaded");
    say(sink, 150, "a log message", false);
    say(sink, 300, "shown");
    say(sink, 400, "loaded");
    say(sink, 450, "loading");
    const ProgramEvents events = std::move(sink).finish();
    MomentChoice choice;
    choice.between = {"loaded", "shown"};
    const auto chosen = choose_moments(choice, events, 0);
    ASSERT_TRUE(chosen);
    EXPECT_EQ(drawn(chosen->moments), "100-300 400-500 ");
    EXPECT_EQ(chosen->words, "between 'loaded' and 'shown'");
    choice.from_ns = 50;
    choice.to_ns = 80;
    EXPECT_EQ(drawn(choose_moments(choice, events, 100)->moments), "150-180 ");
    choice.between = {"loaded", "a log message"};
    const auto none = choose_moments(choice, events, 0);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().context,
              "--between: no bookmark is 'a log message': choose one of 'loaded', 'shown', "
              "'loading'");
    choice.between = {"loading", "loaded"};
    EXPECT_FALSE(choose_moments(choice, events, 0));
}

TEST(Moments, of_frames_say_how_many_they_are) {
    const ProgramEvents events = std::move(frames_of({20, 50, 10, 50})).finish();
    MomentChoice choice;
    choice.frames = FrameChoice{"", 1.0, {}};
    auto chosen = choose_moments(choice, events, 0);
    ASSERT_TRUE(chosen);
    EXPECT_EQ(drawn(chosen->moments), "6020-6070 ");
    EXPECT_EQ(chosen->words, "in 1 of 4 frames (main: the slowest 1 %)");
    choice.frames = FrameChoice{"main", {}, 100};
    chosen = choose_moments(choice, events, 0);
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().context,
              "--in-frames: none of 4 frames (main) took 100 ns: the slowest took 50 ns");
    choice.frames = FrameChoice{"render", {}, 100};
    EXPECT_FALSE(choose_moments(choice, events, 0));
}

TEST(Moments, of_a_recording_without_them_say_what_to_do) {
    MomentChoice choice;
    choice.between = {"a", "b"};
    const auto chosen = choose_moments(choice, {}, 0);
    ASSERT_FALSE(chosen);
    EXPECT_NE(chosen.error().context.find("--trace"), std::string::npos) << chosen.error().context;
}

/// Three of one type, the second a scope, and one of another without thread and time.
void say_own_events(trace::RecordSink& sink) {
    sink.instrumentation(trace::EventTypeSpec{trace::EventTypeId{1}, "Dog", "Bark", 0, {}});
    sink.instrumentation(trace::EventTypeSpec{trace::EventTypeId{2}, "Dog", "Born", 1, {}});
    trace::RaisedEvent event;
    event.type = trace::EventTypeId{1};
    event.thread = ThreadId{1};
    event.time_ns = 1'000'000'000;
    event.fixed.resize(4);
    sink.instrumentation(event);
    event.thread = ThreadId{2};
    event.time_ns = 3'000'000'000;
    event.scope = trace::ScopeKind::enter;
    event.variable.push_back({1, std::vector<std::byte>(10)});
    sink.instrumentation(event);
    event.scope = trace::ScopeKind::leave;
    event.time_ns = 4'000'000'000;
    sink.instrumentation(event);
    trace::RaisedEvent timeless;
    timeless.type = trace::EventTypeId{1};
    timeless.thread = ThreadId{1};
    sink.instrumentation(timeless);
    timeless.type = trace::EventTypeId{2};
    timeless.thread = {};
    sink.instrumentation(timeless);
}

TEST(OwnEvents, are_counted_by_type) {
    OwnEvents sink;
    say_own_events(sink);
    const std::vector<OwnEventTotals> totals = std::move(sink).finish();
    ASSERT_EQ(totals.size(), 2U);
    const OwnEventTotals& barks = totals[0];
    EXPECT_EQ(barks.type.name, "Bark");
    EXPECT_EQ(barks.count, 3U) << "the end of a scope is no event";
    EXPECT_EQ(barks.scopes, 1U);
    EXPECT_EQ(barks.bytes, 18U);
    EXPECT_EQ(barks.timed, 2U);
    EXPECT_EQ(barks.first_ns, 1'000'000'000U);
    EXPECT_EQ(barks.last_ns, 3'000'000'000U);
    EXPECT_DOUBLE_EQ(barks.per_second(), 0.5);
    EXPECT_EQ(barks.threads, (std::set<ThreadId>{ThreadId{1}, ThreadId{2}}));
    EXPECT_EQ(totals[1].type.name, "Born");
    EXPECT_EQ(totals[1].threads.size(), 0U);
    EXPECT_EQ(totals[1].per_second(), 0);
}

TEST(OwnEvents, are_of_their_moments_if_they_have_a_time) {
    OwnEvents sink{[](std::uint64_t time_ns) { return time_ns > 2'000'000'000; }};
    say_own_events(sink);
    const std::vector<OwnEventTotals> totals = std::move(sink).finish();
    ASSERT_EQ(totals.size(), 1U);
    EXPECT_EQ(totals[0].count, 1U);
}

TEST(ChosenThreads, hand_on_what_they_said_and_definitions) {
    OwnEvents events;
    ChosenThreads first{{false, true}, events};
    say_own_events(first);
    const std::vector<OwnEventTotals> totals = std::move(events).finish();
    ASSERT_EQ(totals.size(), 1U) << "what no thread said is not of these";
    EXPECT_EQ(totals[0].count, 2U);

    ProgramEventsSink said;
    ChosenThreads second{{true, false, true}, said};
    trace::ZoneEdge zone;
    zone.thread = ThreadId{1};
    second.zone(zone);
    zone.thread = ThreadId{2};
    second.zone(zone);
    second.instrumentation(frame_edge(100, true, 0, 1));
    second.instrumentation(frame_edge(200, false, 0, 1));
    second.instrumentation(trace::RegionBegin{ThreadId{1}, 100, 5, "level"});
    second.instrumentation(trace::RegionEnd{ThreadId{2}, 150, 5, ""});
    const ProgramEvents kept = std::move(said).finish();
    EXPECT_EQ(kept.zones, 1U);
    EXPECT_TRUE(kept.frames.empty());
    ASSERT_EQ(kept.regions.all().size(), 1U);
    EXPECT_EQ(kept.regions.all()[0].end_ns, 150U);
}

}  // namespace
}  // namespace sample::analysis
