// What programs say of themselves, through a file and back.
#include "tests/trace/instrumentation_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sample::trace {
namespace {

using Lines = std::vector<std::string>;

constexpr std::uint64_t kStart = 1'000'000'000'000;

template <class Fill>
KeepingSink through_file(const Fill& fill) {
    return read_whole(record(a_session(), [&](TestWriter& writer) {
        define_threads(writer);
        fill(writer.writer());
    }));
}

void define_zones(RecordingWriter& writer, std::uint32_t count) {
    for (std::uint32_t id = 1; id <= count; ++id) {
        writer.instrumentation(ZoneSpec{ZoneId{id}, "zone " + std::to_string(id)});
    }
}

TEST(Instrumentation, comes_back_as_it_was_said) {
    const auto said = one_of_each(kStart);
    const KeepingSink kept = through_file([&](RecordingWriter& writer) {
        for (const Instrumentation& one : said) {
            writer.instrumentation(one);
        }
    });
    // Important events come before those of threads; each kind is in its order.
    Lines expected = lines_of(said);
    Lines got = lines_of(kept.said);
    EXPECT_EQ(got.size(), expected.size());
    std::sort(expected.begin(), expected.end());
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, expected);
}

TEST(Instrumentation, keeps_the_order_of_what_a_thread_says) {
    const KeepingSink kept = through_file([&](RecordingWriter& writer) {
        for (const Instrumentation& one : one_of_each(kStart)) {
            writer.instrumentation(one);
        }
    });
    std::vector<std::uint64_t> times;
    for (const Instrumentation& one : kept.said) {
        std::visit(
            [&](const auto& it) {
                if constexpr (requires { it.time_ns; }) {
                    if (it.thread == ThreadId{1}) {
                        times.push_back(it.time_ns);
                    }
                }
            },
            one);
    }
    EXPECT_EQ(times.size(), 12U);
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
}

TEST(Instrumentation, gives_back_every_edge_of_zones_of_several_threads) {
    std::vector<ZoneEdge> said;
    const KeepingSink kept = through_file([&](RecordingWriter& writer) {
        define_zones(writer, 300);
        writer.instrumentation(ZoneNote{ZoneNoteId{1}, ZoneId{5}, {}});
        const auto say = [&](const ZoneEdge& edge) {
            said.push_back(edge);
            writer.zone(edge);
        };
        for (std::uint32_t i = 0; i < 20'000; ++i) {
            const std::uint32_t thread = 1 + i % 3;
            const std::uint64_t time =
                kStart + std::uint64_t{i} * 997 + (i == 9'000 ? 5 * kStart : 0);
            ZoneEdge begin = edge_of(thread, EdgeKind::begin, time, 1 + i % 300);
            if (begin.zone == ZoneId{5}) {
                begin.note = ZoneNoteId{1};
            }
            say(begin);
            say(edge_of(thread, EdgeKind::end, i == 9'000 ? time : time + 500));
            if (i == 9'000) {
                // Longer than all the time before: no delta can say it.
                say(edge_of(thread, EdgeKind::begin, 20 * kStart, 1));
                say(edge_of(thread, EdgeKind::end, 20 * kStart + 1));
                break;
            }
        }
    });
    for (std::uint32_t thread = 1; thread <= 3; ++thread) {
        const auto of_thread = [thread](std::vector<ZoneEdge> edges) {
            std::erase_if(edges, [&](const ZoneEdge& e) { return e.thread != ThreadId{thread}; });
            return lines_of(edges);
        };
        EXPECT_GT(of_thread(said).size(), 5'000U);
        EXPECT_EQ(of_thread(kept.zones), of_thread(said)) << thread;
    }
}

TEST(Instrumentation, knows_which_coroutine_was_suspended) {
    const Lines expected{
        "begin thread 1 at 1000 zone 1 note 0 depth 0",
        "begin thread 1 at 1010 zone 2 note 0 depth 0",
        "begin thread 1 at 1020 zone 3 note 0 depth 0",
        "suspend thread 1 at 1030 zone 2 note 0 depth 2",
        "end thread 1 at 1040 zone 0 note 0 depth 0",
        "resume thread 2 at 1050 zone 2 note 0 depth 2",
        "suspend thread 2 at 1060 zone 2 note 0 depth 2",
        "resume thread 2 at 1070 zone 2 note 0 depth 2",
        "end thread 2 at 1080 zone 0 note 0 depth 0",
        "end thread 2 at 1090 zone 0 note 0 depth 0",
    };
    const KeepingSink kept = through_file([&](RecordingWriter& writer) {
        define_zones(writer, 3);
        const auto say = [&](std::uint32_t thread, EdgeKind kind, std::uint64_t time,
                             std::uint32_t zone = 0, std::uint32_t depth = 0) {
            ZoneEdge edge = edge_of(thread, kind, time, zone);
            edge.depth = depth;
            writer.zone(edge);
        };
        say(1, EdgeKind::begin, 1000, 1);
        say(1, EdgeKind::begin, 1010, 2);
        say(1, EdgeKind::begin, 1020, 3);
        say(1, EdgeKind::suspend, 1030, 2, 2);
        say(1, EdgeKind::end, 1040);
        say(2, EdgeKind::resume, 1050, 2, 2);
        say(2, EdgeKind::suspend, 1060, 2, 2);
        say(2, EdgeKind::resume, 1070, 2, 2);
        say(2, EdgeKind::end, 1080);
        say(2, EdgeKind::end, 1090);
    });
    EXPECT_EQ(lines_of(kept.zones), expected);
}

TEST(Instrumentation, ends_open_zones_with_their_process) {
    const KeepingSink kept = through_file([&](RecordingWriter& writer) {
        define_zones(writer, 2);
        writer.zone(edge_of(1, EdgeKind::begin, kStart, 1));
        writer.zone(edge_of(1, EdgeKind::begin, kStart + 1, 2));
        writer.zone(edge_of(3, EdgeKind::begin, kStart, 1));
        ProcessEnd end;
        end.id = ProcessId{1};
        end.end_ns = kStart + 9;
        writer.record(end);
        writer.zone(edge_of(1, EdgeKind::begin, kStart + 12, 1));
    });
    Lines lines = lines_of(kept.zones);
    std::erase_if(lines,
                  [](const std::string& line) { return line.starts_with("begin thread 3"); });
    const std::string end = "end thread 1 at 1000000000009 zone 0 note 0 depth 0";
    EXPECT_EQ(lines, (Lines{"begin thread 1 at 1000000000000 zone 1 note 0 depth 0",
                            "begin thread 1 at 1000000000001 zone 2 note 0 depth 0", end, end,
                            "begin thread 1 at 1000000000012 zone 1 note 0 depth 0"}));
}

TEST(Instrumentation, a_region_ends_on_a_thread_that_is_read_first) {
    const KeepingSink kept = through_file([&](RecordingWriter& writer) {
        writer.instrumentation(RegionEnd{ThreadId{2}, kStart + 50, 7, ""});
        writer.instrumentation(RegionBegin{ThreadId{3}, kStart + 20, 7, "another process's"});
        writer.instrumentation(RegionBegin{ThreadId{1}, kStart + 20, 7, "download"});
        writer.instrumentation(RegionBegin{ThreadId{1}, kStart + 20, 8, "at the same time"});
        writer.instrumentation(RegionEnd{ThreadId{1}, kStart + 60, 8, ""});
    });
    const std::vector<std::string> begins = lines_of<RegionBegin>(kept);
    const std::vector<std::string> ends = lines_of<RegionEnd>(kept);
    ASSERT_EQ(begins.size(), 3U);
    ASSERT_EQ(ends.size(), 2U);
    std::map<std::string, std::uint64_t> regions;
    for (const Instrumentation& one : kept.said) {
        if (const auto* begin = std::get_if<RegionBegin>(&one)) {
            regions[begin->name] = begin->region;
        }
    }
    EXPECT_NE(regions["download"], regions["another process's"]);
    EXPECT_NE(regions["at the same time"], regions["another process's"]);
    for (const Instrumentation& one : kept.said) {
        if (const auto* end = std::get_if<RegionEnd>(&one)) {
            EXPECT_EQ(end->region,
                      regions[end->time_ns == kStart + 50 ? "download" : "at the same time"]);
        }
    }
}

EventTypeSpec bark(std::uint8_t flags) {
    return EventTypeSpec{EventTypeId{1},
                         "BoniLogger",
                         "BarkEvent",
                         flags,
                         {{"Volume", code(FieldType::u32)},
                          {"WoofString", code(FieldType::wide_text)},
                          {"Pitch", code(FieldType::f64)},
                          {"DratField", code(FieldType::bytes)}}};
}

RaisedEvent a_bark(std::uint32_t thread, std::uint64_t serial, std::uint32_t volume) {
    RaisedEvent event;
    event.thread = ThreadId{thread};
    event.type = EventTypeId{1};
    event.serial = serial;
    wire::append(event.fixed, volume, 4);
    wire::append(event.fixed, 0x3ff0000000000000, 8);
    return event;
}

TEST(Instrumentation, gives_back_events_of_the_programs_own) {
    std::vector<Instrumentation> said{
        EventTypeSpec{EventTypeId{1}, "BoniLogger", "BarkEvent", wire::kNoSync | wire::kMaybeHasAux,
                      bark(0).fields},
        EventTypeSpec{EventTypeId{2},
                      "BoniLogger",
                      "Known",
                      wire::kImportant | wire::kNoSync | wire::kMaybeHasAux,
                      {{"Name", code(FieldType::text)}}},
        EventTypeSpec{EventTypeId{3}, "BoniLogger", "Quiet", wire::kNoSync, {}},
    };
    RaisedEvent full = a_bark(1, 0, 5);
    full.time_ns = kStart + 5;
    full.variable = {{1, bytes_of("w\0")}, {3, std::vector<std::byte>(20'000, std::byte{9})}};
    RaisedEvent enter = a_bark(1, 0, 6);
    enter.scope = ScopeKind::enter;
    enter.time_ns = kStart + 7;
    RaisedEvent leave;
    leave.thread = ThreadId{1};
    leave.scope = ScopeKind::leave;
    leave.time_ns = kStart + 9;
    leave.type = EventTypeId{1};
    RaisedEvent untimed_enter = enter;
    untimed_enter.time_ns = 0;
    RaisedEvent untimed_leave = leave;
    untimed_leave.time_ns = 0;
    RaisedEvent quiet;
    quiet.thread = ThreadId{2};
    quiet.type = EventTypeId{3};
    RaisedEvent important;
    important.type = EventTypeId{2};
    important.variable = {{0, bytes_of("kept")}};
    for (const RaisedEvent& event :
         {a_bark(1, 0, 4), full, enter, untimed_enter, untimed_leave, leave, quiet, important}) {
        said.emplace_back(event);
    }
    const KeepingSink kept = through_file([&](RecordingWriter& writer) {
        for (Instrumentation one : said) {
            if (auto* event = std::get_if<RaisedEvent>(&one); event && event->thread.is_none()) {
                event->thread = ThreadId{1};  // Of an important one the file does not say it.
            }
            writer.instrumentation(one);
        }
    });
    Lines expected = lines_of(said);
    Lines got = lines_of(kept.said);
    std::sort(expected.begin(), expected.end());
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, expected);
}

TEST(Instrumentation, brings_ordered_events_of_all_threads_into_their_order) {
    constexpr std::uint32_t kEvents = 3'000;
    const KeepingSink kept = through_file([&](RecordingWriter& writer) {
        writer.instrumentation(bark(0));
        // Each round takes what came of thread 1, and of thread 2 what it said a round before; some
        // is lost.
        const auto take = [&](std::uint32_t thread, std::uint32_t first) {
            for (std::uint32_t i = 0; i < 100; ++i) {
                if (i % 2 + 1 == thread && i % 7 != 0) {
                    RaisedEvent event = a_bark(thread, 1'000 + first + i, first + i);
                    event.time_ns = i % 3 == 0 ? kStart + first + i : 0;
                    writer.instrumentation(event);
                }
            }
        };
        for (std::uint32_t first = 0; first < kEvents; first += 100) {
            take(1, first);
            if (first != 0) {
                take(2, first - 100);
            }
            EXPECT_TRUE(writer.flush());
        }
        take(2, kEvents - 100);
    });
    std::vector<std::uint64_t> serials;
    std::vector<std::uint32_t> volumes;
    for (const Instrumentation& one : kept.said) {
        if (const auto* event = std::get_if<RaisedEvent>(&one)) {
            volumes.push_back(wire::load<std::uint32_t>(event->fixed.data()));
            serials.push_back(event->serial);
            EXPECT_EQ(event->time_ns, volumes.back() % 100 % 3 == 0 ? kStart + volumes.back() : 0);
        }
    }
    EXPECT_EQ(volumes.size(), kEvents / 100 * 85);
    EXPECT_TRUE(std::is_sorted(volumes.begin(), volumes.end()));
    EXPECT_TRUE(std::is_sorted(serials.begin(), serials.end()));
}

TEST(Instrumentation, counts_what_threads_without_a_stream_say) {
    constexpr std::uint32_t kLastWithStream = wire::kLastThreadStream - 2;
    const auto file = record(a_session(), [&](TestWriter& writer) {
        writer.record(Process{ProcessId{1}, 10, 1, 0, "/bin/a", "a", "sigtrap", ""});
        for (std::uint32_t i = 1; i <= kLastWithStream + 1; ++i) {
            writer.record(Thread{ThreadId{i}, ProcessId{1}, i, 0, ""});
        }
        define_zones(writer.writer(), 1);
        writer.writer().instrumentation(CounterSpec{CounterId{1}, ProcessId{1}, "c"});
        for (const std::uint32_t thread : {kLastWithStream, kLastWithStream + 1}) {
            for (std::uint64_t i = 0; i < 5; ++i) {
                writer.writer().zone(edge_of(thread, EdgeKind::begin, kStart + 2 * i, 1));
                writer.writer().zone(edge_of(thread, EdgeKind::end, kStart + 2 * i + 1));
            }
            writer.writer().instrumentation(
                CounterValue{ThreadId{thread}, kStart + 20, CounterId{1}, std::int64_t{1}});
        }
    });
    const KeepingSink kept = read_whole(file);
    EXPECT_EQ(kept.zones.size(), 10U);
    EXPECT_EQ(kept.zones.back().thread, ThreadId{kLastWithStream});
    EXPECT_EQ(lines_of<CounterValue>(kept).size(), 1U);
    EXPECT_EQ(lines_of<InstrumentationLoss>(kept),
              Lines{"thread 16380 at 1000000000020: lost 5 zones 1 others"});
}

TEST(Instrumentation, counts_what_the_container_cannot_hold) {
    const KeepingSink kept = through_file([&](RecordingWriter& writer) {
        for (std::uint32_t id = 1; id <= 0x10000; ++id) {
            writer.instrumentation(CounterSpec{CounterId{id}, ProcessId{1}, "c"});
        }
        writer.instrumentation(
            CounterValue{ThreadId{1}, kStart, CounterId{0xffff}, std::int64_t{1}});
        writer.instrumentation(
            CounterValue{ThreadId{1}, kStart, CounterId{0x10000}, std::int64_t{1}});
        writer.instrumentation(bark(wire::kNoSync));
        RaisedEvent too_long = a_bark(1, 0, 1);
        too_long.variable = {{3, std::vector<std::byte>(std::size_t{1} << 20)}};
        writer.instrumentation(too_long);
        RaisedEvent too_short = a_bark(1, 0, 1);
        too_short.fixed.pop_back();
        writer.instrumentation(too_short);
        RaisedEvent wrong_field = a_bark(1, 0, 1);
        wrong_field.variable = {{0, bytes_of("x")}};
        writer.instrumentation(wrong_field);
    });
    EXPECT_EQ(lines_of<CounterValue>(kept).size(), 1U);
    EXPECT_TRUE(lines_of<RaisedEvent>(kept).empty());
    EXPECT_EQ(lines_of<InstrumentationLoss>(kept),
              Lines{"thread 1 at 1000000000000: lost 0 zones 4 others"});
}

TEST(Instrumentation, refuses_what_refers_to_nothing) {
    const auto error_of = [](const auto& fill) {
        const TemporaryFile file;
        auto writer = TestWriter::create(file.open(), a_session());
        EXPECT_TRUE(writer);
        define_threads(*writer);
        fill(writer->writer());
        const auto flushed = writer->flush();
        return flushed ? std::string{} : flushed.error().message();
    };
    EXPECT_EQ(error_of([](RecordingWriter& w) { define_zones(w, 1); }), "");
    EXPECT_NE(error_of([](RecordingWriter& w) { w.zone(edge_of(1, EdgeKind::begin, 1, 1)); }), "");
    EXPECT_NE(error_of([](RecordingWriter& w) {
                  define_zones(w, 1);
                  w.zone(edge_of(4, EdgeKind::begin, 1, 1));
              }),
              "");
    EXPECT_NE(error_of([](RecordingWriter& w) {
                  w.instrumentation(Message{ThreadId{1}, 1, MessageId{1}, {}});
              }),
              "");
    EXPECT_NE(error_of([](RecordingWriter& w) { w.instrumentation(a_bark(1, 0, 1)); }), "");
    EXPECT_NE(error_of([](RecordingWriter& w) {
                  w.instrumentation(ZoneSpec{ZoneId{2}, "not the next"});
              }),
              "");
}

TEST(Instrumentation, defines_before_it_refers_wherever_the_file_is_cut) {
    const auto file = record(a_session(), [&](TestWriter& writer) {
        define_threads(writer);
        for (std::uint32_t i = 1; i <= 3'000; ++i) {
            writer.writer().instrumentation(ZoneSpec{ZoneId{i}, "zone"});
            writer.writer().instrumentation(ZoneNote{ZoneNoteId{i}, ZoneId{i}, {}});
            ZoneEdge begin =
                edge_of(1 + i % 3, EdgeKind::begin, kStart + std::uint64_t{i} * 1000, i);
            begin.note = ZoneNoteId{i % 2 * i};
            writer.writer().zone(begin);
            writer.writer().zone(
                edge_of(1 + i % 3, EdgeKind::end, kStart + std::uint64_t{i} * 1000 + 1));
            if (i % 100 == 0) {
                EXPECT_TRUE(writer.flush());
            }
        }
    });
    std::size_t most = 0;
    for (std::size_t size = 64; size < file.size(); size += 257) {
        KeepingSink kept;
        const auto outcome = read_recording(std::span{file}.first(size), kept);
        ASSERT_TRUE(outcome) << outcome.error().message();
        EXPECT_EQ(outcome->instrumentation_problem, "");
        most = std::max(most, kept.zones.size());
        for (const Instrumentation& one : kept.said) {
            if (const auto* spec = std::get_if<ZoneSpec>(&one)) {
                ASSERT_EQ(spec->name, "zone");
            }
        }
    }
    EXPECT_GT(most, 3'000U);
}

TEST(Instrumentation, a_flush_of_everything_leaves_nothing_behind) {
    const TemporaryFile file;
    auto writer = TestWriter::create(file.open(), a_session());
    ASSERT_TRUE(writer);
    define_threads(*writer);
    define_zones(writer->writer(), 1);
    writer->writer().instrumentation(bark(0));
    writer->writer().zone(edge_of(1, EdgeKind::begin, kStart, 1));
    writer->writer().instrumentation(a_bark(2, 17, 3));
    ASSERT_TRUE(writer->flush(FlushMode::everything));
    KeepingSink kept;
    ASSERT_TRUE(read_recording(file.bytes(), kept));
    EXPECT_EQ(kept.zones.size(), 1U);
    EXPECT_EQ(lines_of<RaisedEvent>(kept).size(), 1U);
}

TEST(Instrumentation, is_in_the_file_when_a_second_has_gone_by) {
    const TemporaryFile file;
    auto writer = TestWriter::create(file.open(), a_session());
    ASSERT_TRUE(writer);
    define_threads(*writer);
    define_zones(writer->writer(), 1);
    writer->writer().zone(edge_of(1, EdgeKind::begin, kStart, 1));
    ASSERT_TRUE(writer->flush());
    KeepingSink early;
    ASSERT_TRUE(read_recording(file.bytes(), early));
    EXPECT_TRUE(early.zones.empty());
    writer->writer().zone(edge_of(1, EdgeKind::end, kStart + 1'000'000'000));
    ASSERT_TRUE(writer->flush());
    KeepingSink late;
    ASSERT_TRUE(read_recording(file.bytes(), late));
    EXPECT_EQ(late.zones.size(), 2U);
}

/// How many zones begin, as one hears who asks for no more.
class CountingSink final : public RecordSink {
public:
    void record(const Record& /*record*/) override {}
    void node(const StackNode& /*node*/) override {}
    void sample(const Sample& /*sample*/) override {}
    void zone(const ZoneEdge& /*edge*/) override { ADD_FAILURE() << "an edge"; }
    [[nodiscard]] bool wants_edges() const override { return false; }
    void zones(std::uint64_t begun) override { begun_ += begun; }
    [[nodiscard]] std::uint64_t begun() const { return begun_; }

private:
    std::uint64_t begun_ = 0;
};

TEST(Instrumentation, counts_zones_for_who_wants_no_edges) {
    const auto file = record(a_session(), [&](TestWriter& writer) {
        define_threads(writer);
        define_zones(writer.writer(), 300);
        for (std::uint32_t i = 0; i < 20'000; ++i) {
            const std::uint64_t at = kStart + std::uint64_t{i} * 300;
            writer.writer().zone(edge_of(1, EdgeKind::begin, at, 1 + i % 300));
            if (i % 3 != 0) {
                ZoneEdge suspended = edge_of(1, EdgeKind::suspend, at, 1);
                suspended.depth = 1;
                writer.writer().zone(suspended);
                suspended.kind = EdgeKind::resume;
                writer.writer().zone(suspended);
            }
            writer.writer().zone(edge_of(1, EdgeKind::end, at + i % 200));
        }
    });
    CountingSink counted;
    CountingSink counted_too;
    Tee tee{{&counted, &counted_too}};
    ASSERT_TRUE(read_recording(file, tee));
    EXPECT_EQ(counted.begun(), 20'000U);
    EXPECT_EQ(counted_too.begun(), 20'000U);
    // Who wants them gets them, whoever else there is.
    KeepingSink kept;
    Tee both{{&kept}};
    ASSERT_TRUE(read_recording(file, both));
    EXPECT_EQ(std::count_if(kept.zones.begin(), kept.zones.end(),
                            [](const ZoneEdge& edge) { return edge.kind == EdgeKind::begin; }),
              20'000);
    EXPECT_TRUE(both.wants_edges());
}

TEST(Instrumentation, names_batches_that_are_damaged) {
    const auto file = record(a_session(), [&](TestWriter& writer) {
        define_threads(writer);
        define_zones(writer.writer(), 1);
        writer.writer().zone(edge_of(1, EdgeKind::begin, kStart, 1));
        writer.writer().zone(edge_of(1, EdgeKind::begin, kStart + 77, 1));
    });
    // The last varint of the batch (the zone's id, 1 << 1) loses its end.
    auto damaged = file;
    const std::vector<std::byte> tail{std::byte{2}, std::byte{6}};
    const auto at = std::find_end(damaged.begin(), damaged.end(), tail.begin(), tail.end());
    ASSERT_NE(at, damaged.end());
    *at = std::byte{0x82};
    KeepingSink kept;
    const auto outcome = read_recording(damaged, kept);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->instrumentation_problem, "1 batch of zones is damaged");
    EXPECT_EQ(kept.zones.size(), 1U);
    CountingSink counted;
    const auto counting = read_recording(damaged, counted);
    ASSERT_TRUE(counting);
    EXPECT_EQ(counting->instrumentation_problem, "1 batch of zones is damaged");
    EXPECT_EQ(counted.begun(), 1U);
}

}  // namespace
}  // namespace sample::trace
