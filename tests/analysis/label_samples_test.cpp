// Which samples a choice leaves, and where labelled ones stand in a callgraph.
#include "analysis/instrumentation/label_samples.h"

#include "tests/callgraph/recording_fixture.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace sample::analysis {
namespace {

using callgraph::CategoryBy;
using callgraph::drawing;
using trace::EdgeKind;

/// A recording whose session starts at 1000 and whose zones are read again. Times count from there.
class LabelledRecording {
public:
    LabelledRecording() { maker.recording.keep_times(); }

    std::uint32_t zone(const std::string& name) {
        trace::ZoneSpec spec;
        spec.id = trace::ZoneId{static_cast<std::uint32_t>(specs_.size()) + 1};
        spec.name = name;
        spec.file = "game.cpp";
        specs_.push_back(spec);
        return spec.id.value;
    }
    void edge(ThreadId thread, std::uint64_t time, EdgeKind kind, std::uint32_t zone = 0) {
        trace::ZoneEdge edge;
        edge.thread = thread;
        edge.time_ns = 1'000 + time;
        edge.kind = kind;
        edge.zone = trace::ZoneId{zone};
        edges_.push_back(edge);
        events.zones = edges_.size();
    }
    void sample(ThreadId thread, std::uint64_t time, NodeId node, std::uint64_t weight,
                bool is_booking = false) {
        maker.recording.sample({thread, 1'000 + time, node, weight, is_booking});
    }
    Result<Restriction> choose(const LabelChoice& choice, MetricId metric = trace::kSessionMetric) {
        return label_samples(maker.recording, events, choice, metric,
                             [this](trace::RecordSink& sink) -> Result<void> {
                                 for (const trace::ZoneSpec& spec : specs_) {
                                     sink.instrumentation(spec);
                                 }
                                 for (const trace::ZoneEdge& edge : edges_) {
                                     sink.zone(edge);
                                 }
                                 return {};
                             });
    }

    callgraph::RecordingMaker maker;
    ProgramEvents events;

private:
    std::vector<trace::ZoneSpec> specs_;
    std::vector<trace::ZoneEdge> edges_;
};

/// Two frames, "update" and "draw" in each; 10 ns a sample.
struct Game : LabelledRecording {
    Game() {
        const ThreadId main = maker.main_thread();
        const NodeId update = maker.stack({"main", "step"});
        const NodeId draw = maker.stack({"main", "paint"});
        const std::uint32_t frame = zone("frame");
        const std::uint32_t physics = zone("physics");
        FramesOfKind& frames = events.frames.emplace_back();
        frames.name = "main";
        for (std::uint64_t start = 0; start < 200; start += 100) {
            edge(main, start, EdgeKind::begin, frame);
            edge(main, start + 20, EdgeKind::begin, physics);
            edge(main, start + 50 + start / 10, EdgeKind::end);
            edge(main, start + 90, EdgeKind::end);
            frames.frames.push_back({1'000 + start, 1'000 + start + 90 + start / 20, main});
        }
        for (std::uint64_t time = 0; time < 200; time += 10) {
            sample(main, time, time % 100 < 50 ? update : draw, 10);
        }
        sample(main, 200, maker.frame({}, "", maker.pseudo("[not sampled]")), 7, true);
        maker.end_process(ProcessId{1}, trace::EndKind::exited, 0, 207);
        maker.end(1'300);
    }
};

TEST(LabelSamples, keeps_those_inside_a_zone_and_says_how_many) {
    Game game;
    const auto said = game.choose({{}, {"physics"}});
    ASSERT_TRUE(said);
    // 20 to 50, and 120 to 160: an end is outside, a beginning inside.
    EXPECT_EQ(said->words,
              "in zone 'physics': 70 ns of 207 ns, 33.8 %; 7 ns at no known moment are left out");
    EXPECT_EQ(drawing(game.maker.profile()),
              "main 70/0\n"
              "  main 70/0\n"
              "    step 60/60\n"
              "    paint 10/10\n");
    const callgraph::Profile profile = game.maker.profile();
    EXPECT_EQ(profile.stats.samples, 7U);
    EXPECT_EQ(profile.stats.recorded_samples, 20U);
    EXPECT_EQ(profile.stats.process_cpu_ns, std::nullopt);
    ASSERT_TRUE(profile.timeline);
    EXPECT_EQ(profile.timeline->threads[0].samples->size(), 7U);
}

TEST(LabelSamples, keeps_what_fulfils_everything) {
    Game game;
    LabelChoice choice{{}, {"physics"}};
    choice.moments.from_ns = 100;
    choice.moments.to_ns = 140;
    const auto said = game.choose(choice);
    ASSERT_TRUE(said);
    EXPECT_EQ(said->words,
              "in zone 'physics', from 100 ns, to 140 ns: 20 ns of 207 ns, 9.7 %; 7 ns at no known "
              "moment are left out");
    EXPECT_EQ(said->chosen_ns, 40U);
}

TEST(LabelSamples, says_how_long_the_chosen_moments_are_inside_the_session) {
    Game open_end;
    LabelChoice choice;
    choice.moments.from_ns = 150;
    EXPECT_EQ(open_end.choose(choice)->chosen_ns, 150U) << "the session ends at 300";
    Game zones;
    EXPECT_EQ(zones.choose({{}, {"physics"}})->chosen_ns, std::nullopt);
}

TEST(LabelSamples, judges_by_the_metric_that_is_shown) {
    Game game;
    game.maker.recording.record(trace::Metric{MetricId{2}, "allocated", "bytes", ""});
    const NodeId main = game.maker.stack({"main"});
    for (const std::uint64_t time : {std::uint64_t{30}, std::uint64_t{250}}) {
        game.maker.recording.sample({ThreadId{1}, 1'000 + time, main, 64, false, MetricId{2}});
    }
    LabelChoice late;
    late.moments.from_ns = 240;
    const auto said = game.choose(late, MetricId{2});
    ASSERT_TRUE(said) << said.error().context;
    EXPECT_EQ(said->words, "from 240 ns: 64 bytes of 128 bytes, 50.0 %");
    Game without;
    without.maker.recording.record(trace::Metric{MetricId{2}, "allocated", "bytes", ""});
    late.moments.from_ns = 100;
    const auto none = without.choose(late, MetricId{2});
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().context.find("no sample lies from 100 ns"), std::string::npos);
}

TEST(LabelSamples, puts_zones_above_their_code) {
    Game game;
    LabelChoice choice;
    choice.zones = true;
    const auto said = game.choose(choice);
    ASSERT_TRUE(said);
    EXPECT_EQ(said->words, "");
    const callgraph::Profile profile = game.maker.profile();
    EXPECT_EQ(drawing(profile),
              "main 207/0\n"
              "  zone frame 180/0\n"
              "    main 110/0\n"
              "      paint 70/70\n"
              "      step 40/40\n"
              "    zone physics 70/0\n"
              "      main 70/0\n"
              "        step 60/60\n"
              "        paint 10/10\n"
              "  main 20/0\n"
              "    paint 20/20\n"
              "  [not sampled] 7/7\n");
    const callgraph::Function zone = callgraph::function_named(profile, "zone physics");
    EXPECT_EQ(zone.source, "game.cpp");
    EXPECT_EQ(zone.flags, callgraph::kZone);
    EXPECT_EQ(profile.stats.process_cpu_ns, 207U);
}

TEST(LabelSamples, makes_categories_of_the_innermost_zones) {
    Game game;
    LabelChoice choice;
    choice.by = LabelBy::zone;
    ASSERT_TRUE(game.choose(choice));
    std::string names;
    const callgraph::Profile profile = game.maker.profile({.category = CategoryBy::label});
    for (const callgraph::Category& each : profile.categories) {
        names += each.name + " " + std::to_string(profile.node(each.node).total) + "\n";
    }
    EXPECT_EQ(names, "frame 110\nphysics 70\n[no zone] 27\n");
}

TEST(LabelSamples, makes_categories_of_frames) {
    Game game;
    LabelChoice choice;
    choice.by = LabelBy::frame;
    ASSERT_TRUE(game.choose(choice));
    std::string names;
    const callgraph::Profile profile = game.maker.profile({.category = CategoryBy::label});
    for (const callgraph::Category& each : profile.categories) {
        names += each.name + " " + std::to_string(profile.node(each.node).total) + "\n";
    }
    EXPECT_EQ(names, "frame 2 at 100 ns: 95 ns 100\nframe 1 at 0 ns: 90 ns 90\n[no frame] 17\n");
}

TEST(LabelSamples, are_in_the_frame_that_began_last_where_others_go_on) {
    Game game;
    auto& frames = game.events.frames.front().frames;
    frames.insert(frames.begin() + 1, {1'020, 1'040, frames.front().thread});
    LabelChoice choice;
    choice.by = LabelBy::frame;
    ASSERT_TRUE(game.choose(choice));
    std::string names;
    const callgraph::Profile profile = game.maker.profile({.category = CategoryBy::label});
    for (const callgraph::Category& each : profile.categories) {
        names += each.name + " " + std::to_string(profile.node(each.node).total) + "\n";
    }
    EXPECT_EQ(names,
              "frame 3 at 100 ns: 95 ns 100\nframe 1 at 0 ns: 90 ns 70\n"
              "frame 2 at 20 ns: 20 ns 20\n[no frame] 17\n");
}

TEST(LabelSamples, in_the_slowest_frames) {
    Game game;
    LabelChoice choice;
    choice.moments.frames = FrameChoice{"", 50.0, {}};
    const auto said = game.choose(choice);
    ASSERT_TRUE(said);
    EXPECT_EQ(said->words,
              "in 1 of 2 frames (main: the slowest 50 %): 100 ns of 207 ns, 48.3 %; 7 ns at no "
              "known moment are left out");
}

TEST(LabelSamples, says_what_there_is_instead) {
    Game game;
    const auto unknown = game.choose({{}, {"phys"}});
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().context,
              "--in-zone: no zone is called 'phys': sample report --view zones lists them, as "
              "'frame', 'physics'");
    LabelChoice late;
    late.moments.from_ns = 5'000;
    const auto empty = game.choose(late);
    ASSERT_FALSE(empty);
    EXPECT_NE(empty.error().context.find("no sample lies from 5 us"), std::string::npos)
        << empty.error().context;
    Game plain;
    plain.events.zones = 0;
    const auto none = plain.choose({{}, {"physics"}});
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().context.find("--trace"), std::string::npos) << none.error().context;
}

TEST(LabelSamples, agrees_with_a_look_at_each_sample) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        std::mt19937_64 random{seed};
        LabelledRecording made;
        const ProcessId process = made.maker.process("/usr/bin/app");
        const NodeId node = made.maker.stack({"main", "work"});
        std::uint64_t inside = 0;
        std::uint64_t in_both = 0;
        for (int i = 0; i < 3; ++i) {
            made.zone(std::to_string(i + 1));
        }
        for (std::uint32_t tid = 1; tid <= 3; ++tid) {
            const ThreadId thread = made.maker.thread(process, "t", tid);
            struct Span {
                std::uint64_t begin, end;
            };
            std::vector<Span> wanted;  // of zone 2
            std::vector<std::pair<std::uint32_t, std::uint64_t>> open;
            std::uint64_t now = 0;
            for (int step = 0; step < 200; ++step) {
                now += random() % 20;
                if (random() % 2 == 0) {
                    const auto zone = static_cast<std::uint32_t>(1 + random() % 3);
                    made.edge(thread, now, EdgeKind::begin, zone);
                    open.emplace_back(zone, now);
                } else {
                    made.edge(thread, now, EdgeKind::end);
                    if (!open.empty() && open.back().first == 2) {
                        wanted.push_back({open.back().second, now});
                    }
                    if (!open.empty()) {
                        open.pop_back();
                    }
                }
            }
            for (const auto& [zone, begin] : open) {
                wanted.push_back({begin, zone == 2 ? UINT64_MAX : begin});
            }
            for (std::uint64_t time = 0; time < now; time += 1 + random() % 9) {
                const std::uint64_t weight = 1 + random() % 100;
                made.sample(thread, time, node, weight);
                bool is_in = false;
                for (const Span& span : wanted) {
                    is_in = is_in || (span.begin <= time && time < span.end);
                }
                inside += is_in ? weight : 0;
                in_both += is_in && time >= 500 ? weight : 0;
            }
        }
        // Longer than any thread: what is open then holds to the end.
        made.maker.end(1'000'000);
        LabelChoice choice{{}, {"2"}};
        const bool is_late = seed % 2 == 0;
        choice.moments.from_ns = is_late ? std::optional<std::uint64_t>{500} : std::nullopt;
        if ((is_late ? in_both : inside) == 0) {
            continue;
        }
        const auto said = made.choose(choice);
        ASSERT_TRUE(said) << said.error().context;
        const callgraph::Profile profile = made.maker.profile();
        EXPECT_EQ(profile.node({}).total, is_late ? in_both : inside) << "seed " << seed;
        EXPECT_EQ(profile.stats.sampled, is_late ? in_both : inside) << "seed " << seed;
    }
}

}  // namespace
}  // namespace sample::analysis
