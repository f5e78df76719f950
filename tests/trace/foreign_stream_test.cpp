// Streams of other programs: every protocol, the order of serial numbers, scopes, attachments, and
// streams that come in pieces.
#include "tests/trace/foreign_writer.h"
#include "trace/event_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace sample::trace {
namespace {

using namespace foreign;  // NOLINT(google-build-using-namespace): the subject of all tests here

constexpr std::size_t kHeaderBytes = 12;
constexpr unsigned kOrdered = 100;
constexpr unsigned kFree = 101;
constexpr unsigned kRich = 102;
constexpr unsigned kTiming = 103;

Stream a_stream(unsigned transport = 4, unsigned protocol = 7, bool has_metadata = true) {
    Stream stream{transport, protocol, has_metadata};
    stream.begin(1000, 1'000'000);
    stream.declare(kOrdered, 0, "Test", "Ordered", {{"Number", kU32}});
    stream.declare(kFree, kNoSync, "Test", "Free", {{"Number", kU32}});
    return stream;
}

Out ordered(unsigned serial, unsigned number) {
    return Out{}.event(kOrdered, serial).number(number, 4);
}

/// All events of logger Test as "thread:style number".
class Log {
public:
    Log() {
        for (const char* name : {"Test.Ordered", "Test.Free"}) {
            reader_.subscribe(name, [this](const EventView& event) -> std::optional<std::string> {
                std::string line = std::to_string(event.stream()) + ":";
                line += event.style() == EventStyle::enter   ? "enter "
                        : event.style() == EventStyle::leave ? "leave "
                                                             : "";
                line += std::to_string(event.number<unsigned>("Number"));
                if (event.occurrence().cycle) {
                    line += "@" + std::to_string(*event.occurrence().cycle);
                }
                lines.push_back(line);
                return std::nullopt;
            });
        }
    }
    StreamOutcome read(const Stream& stream) {
        auto outcome = reader_.run(stream.bytes());
        EXPECT_TRUE(outcome);
        return outcome ? *std::move(outcome) : StreamOutcome{};
    }
    EventReader& reader() { return reader_; }

    std::vector<std::string> lines;

private:
    EventReader reader_;
};

using Lines = std::vector<std::string>;

std::uint64_t skipped(const StreamOutcome& outcome, std::string_view what) {
    for (const Skipped& skipped : outcome.skipped) {
        if (skipped.what == what) {
            return skipped.count;
        }
    }
    return 0;
}

TEST(ForeignStream, is_read_in_every_transport_and_protocol) {
    for (const unsigned transport : {3U, 4U}) {
        for (const unsigned protocol : {5U, 6U, 7U}) {
            for (const bool has_metadata : {false, true}) {
                Stream stream = a_stream(transport, protocol, has_metadata);
                stream.declare(kRich, kNoSync | kHasAux, "Test", "Rich",
                               {{"I8", kI8},
                                {"U16", kU16},
                                {"I64", kI64},
                                {"F32", kF32},
                                {"F64", kF64},
                                {"Ansi", kAnsi},
                                {"Wide", kWide},
                                {"Array", kArray | kI16}});
                stream.compressed_packet(5, Out{}
                                                .event(kRich)
                                                .number(0xff, 1)
                                                .number(65'000, 2)
                                                .number(static_cast<std::uint64_t>(-7), 8)
                                                .real(0.5F)
                                                .real(-2.25)
                                                .thread_aux(6, wide(u"w\u00efde \u6f22"))
                                                .thread_aux(7, Out{}.number(1, 2))
                                                .thread_aux(5, narrow("plain"))
                                                .thread_aux(7, Out{}.number(0xfffe, 2))
                                                .thread_end());
                EventReader reader;
                int calls = 0;
                reader.subscribe("Test.Rich", [&](const EventView& event) {
                    ++calls;
                    EXPECT_EQ(event.stream(), 5U);
                    EXPECT_EQ(event.number<int>("I8"), -1);
                    EXPECT_EQ(event.number<int>("U16"), 65'000);
                    EXPECT_EQ(event.number<std::int64_t>("I64"), -7);
                    EXPECT_EQ(event.real("F32"), 0.5);
                    EXPECT_EQ(event.real("F64"), -2.25);
                    EXPECT_EQ(event.text("Ansi"), "plain");
                    EXPECT_EQ(event.text("Wide"), "w\u00efde \u6f22");
                    const Out array = Out{}.number(1, 2).number(0xfffe, 2);
                    EXPECT_TRUE(std::ranges::equal(event.bytes("Array"), array.bytes()));
                    return std::optional<std::string>{};
                });
                const auto outcome = reader.run(stream.bytes());
                ASSERT_TRUE(outcome);
                EXPECT_EQ(outcome->problem, "");
                EXPECT_EQ(calls, 1);
                EXPECT_EQ(reader.header().protocol, protocol);
            }
        }
    }
}

TEST(ForeignStream, says_which_thread_an_event_is_of) {
    Stream stream = a_stream();
    stream.thread(7, 4321, "worker");
    stream.packet(0x3ffe, Out{}
                              .event(17)
                              .number(8, 4)
                              .number(4322, 4)
                              .number(0, 4)
                              .thread_aux(3, narrow("listed"))
                              .thread_end());
    stream.packet(0x3ffe, Out{}.number(0, 2));
    Log log;
    const StreamOutcome outcome = log.read(stream);
    EXPECT_EQ(outcome.problem, "");
    EXPECT_EQ(skipped(outcome, "(lists of threads that do not parse)"), 1U);
    ASSERT_NE(log.reader().facts().thread(7), nullptr);
    EXPECT_EQ(log.reader().facts().thread(7)->system_id, 4321U);
    EXPECT_EQ(log.reader().facts().thread(7)->name, "worker");
    ASSERT_NE(log.reader().facts().thread(8), nullptr);
    EXPECT_EQ(log.reader().facts().thread(8)->name, "listed");
    EXPECT_EQ(log.reader().facts().thread(9), nullptr);
    EXPECT_EQ(log.reader().facts().clock().nanoseconds(1500), 500'000U);
    EXPECT_EQ(log.reader().facts().clock().nanoseconds(999), 0U);
}

TEST(ForeignStream, hands_out_events_of_all_threads_in_the_order_of_their_serials) {
    constexpr unsigned kEvents = 3000;
    constexpr unsigned kFirst = (1U << 24) - 1000;  // So that they wrap.
    std::mt19937 random{11};
    std::vector<std::vector<unsigned>> of_thread(5);
    for (unsigned i = 0; i < kEvents; ++i) {
        of_thread[random() % of_thread.size()].push_back(i);
    }
    Stream stream = a_stream();
    for (std::size_t left = of_thread.size(); left > 0;) {
        const std::size_t thread = random() % of_thread.size();
        auto& events = of_thread[thread];
        if (events.empty()) {
            continue;
        }
        Out packet;
        const std::size_t count = std::min<std::size_t>(events.size(), 1 + random() % 200);
        for (std::size_t i = 0; i < count; ++i) {
            packet.add(ordered((kFirst + events[i]) & 0xffffff, events[i]));
        }
        events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(count));
        left -= events.empty() ? 1 : 0;
        stream.packet(static_cast<unsigned>(2 + thread), packet);
    }
    std::vector<unsigned> numbers;
    EventReader reader;
    reader.subscribe("Test.Ordered", [&](const EventView& event) {
        numbers.push_back(event.number<unsigned>("Number"));
        return std::optional<std::string>{};
    });
    const auto outcome = reader.run(stream.bytes());
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->lost_serials, 0U);
    EXPECT_EQ(numbers.size(), kEvents);
    EXPECT_TRUE(std::ranges::is_sorted(numbers));
}

TEST(ForeignStream, hands_out_events_without_a_serial_at_once) {
    Stream stream = a_stream();
    stream.packet(2, ordered(11, 11));
    stream.packet(3, Out{}.event(kFree).number(1, 4));
    stream.packet(3, ordered(10, 10));
    Log log;
    log.read(stream);
    EXPECT_EQ(log.lines, (Lines{"3:1", "3:10", "2:11"}));
}

TEST(ForeignStream, counts_events_that_never_came_and_goes_on) {
    Stream stream = a_stream();
    stream.packet(2, ordered(5, 5));
    for (int i = 0; i < 3; ++i) {
        stream.sync();
    }
    stream.packet(2, ordered(9, 9));
    stream.packet(3, ordered(6, 6));
    stream.sync();
    stream.sync();
    stream.packet(3, ordered(10, 10));
    stream.packet(4, Out{}.event(kFree).number(1, 4));
    stream.sync();
    stream.packet(4, Out{}.event(kFree).number(2, 4));
    stream.packet(5, ordered(7, 7));
    Log log;
    const StreamOutcome outcome = log.read(stream);
    EXPECT_EQ(outcome.problem, "");
    // 7 and 8 are waited for until three sync packets have passed; then 7 comes too late.
    EXPECT_EQ(log.lines, (Lines{"2:5", "3:6", "4:1", "2:9", "3:10", "4:2", "5:7"}));
    EXPECT_EQ(outcome.lost_serials, 2U);
    EXPECT_EQ(skipped(outcome, "(events in order that never came)"), 2U);
    EXPECT_EQ(skipped(outcome, "(events that came too late for their order)"), 1U);
}

TEST(ForeignStream, keeps_no_more_than_a_bounded_number_of_events) {
    constexpr unsigned kEvents = SerialOrder::kMaxEvents + 1000;
    Stream stream = a_stream();
    Out packet;
    for (unsigned i = 0; i < kEvents; ++i) {
        packet.add(ordered(2 + i, i));  // 1 is missing.
        if (packet.size() > 4000) {
            stream.packet(2, packet);
            packet = Out{};
        }
    }
    stream.packet(2, packet);
    EventReader reader;
    unsigned before_end = 0;
    reader.subscribe("Test.Ordered", [&](const EventView& /*event*/) {
        ++before_end;
        return std::optional<std::string>{};
    });
    ASSERT_TRUE(reader.feed(stream.bytes()));
    EXPECT_GE(before_end, SerialOrder::kMaxEvents);
    EXPECT_EQ(reader.finish().lost_serials, 0U) << "before the first one, nothing is known lost";
    EXPECT_EQ(before_end, kEvents);
}

TEST(ForeignStream, keeps_no_more_than_a_bounded_number_of_bytes) {
    Stream stream = a_stream();
    stream.declare(kRich, kHasAux, "Test", "Rich", {{"Data", kArray}});
    const Out data = narrow(std::string(60'000, 'x'));
    constexpr unsigned kEvents = 2 * SerialOrder::kMaxBytes / 60'000;
    for (unsigned i = 0; i < kEvents; ++i) {
        stream.packet(2, Out{}.event(kRich, 5 + 2 * i).thread_aux(0, data).thread_end());
    }
    EventReader reader;
    unsigned events = 0;
    reader.subscribe("Test.Rich", [&](const EventView& event) {
        events += event.bytes("Data").size() == 60'000 ? 1 : 0;
        return std::optional<std::string>{};
    });
    ASSERT_TRUE(reader.feed(stream.bytes()));
    EXPECT_GT(events, kEvents / 4);
    reader.settle();
    EXPECT_EQ(events, kEvents);
    EXPECT_EQ(reader.finish().lost_serials, kEvents - 1);
}

TEST(ForeignStream, tells_begin_and_end_of_scopes) {
    Stream stream = a_stream();
    stream.declare(kTiming, kNoSync, "$Trace", "ThreadTiming", {{"BaseTimestamp", kU64}});
    const auto free = [](unsigned number) { return Out{}.event(kFree).number(number, 4); };
    stream.packet(2, Out{}.enter().add(free(1)).add(free(2)).leave());
    stream.packet(3, Out{}.event(kTiming).number(5000, 8));
    stream.packet(3, Out{}.timed_scope(8, 7).add(free(3)).timed_scope(9, 9));
    stream.packet(4, Out{}.timed_scope(8, 7).add(free(4)).timed_scope(9, 9));
    stream.packet(5, Out{}.timed_scope(6, 1234).add(free(5)).timed_scope(7, 1250));
    stream.packet(6, Out{}.timed_scope(6, 1234).number(0, 1).add(free(6)));  // 8 bytes of time.
    stream.packet(6, Out{}.timed_scope(7, 1250));
    stream.packet(6, Out{}.number(0, 1).add(free(7)));
    Log log;
    const StreamOutcome outcome = log.read(stream);
    EXPECT_EQ(outcome.problem, "");
    EXPECT_EQ(log.lines, (Lines{"2:enter 1", "2:2", "2:leave 0", "3:enter 3@5007", "3:leave 0@5009",
                                "4:enter 4@1007", "4:leave 0@1009", "5:enter 5@1234",
                                "5:leave 0@1250", "6:enter 6@1234", "6:leave 0@1250", "6:7"}));
}

TEST(ForeignStream, takes_a_base_time_from_before_the_start_for_relative) {
    Stream stream = a_stream();
    stream.declare(kTiming, kNoSync, "$Trace", "ThreadTiming", {{"BaseTimestamp", kU64}});
    const Out scope = Out{}.timed_scope(8, 7).event(kFree).number(1, 4).leave();
    stream.packet(2, Out{}.event(kTiming).number(500, 8).add(scope));
    stream.packet(3, Out{}.event(kTiming).number(static_cast<std::uint64_t>(-100), 8).add(scope));
    Log log;
    log.read(stream);
    EXPECT_EQ(log.lines, (Lines{"2:enter 1@1507", "2:leave 0", "3:enter 1@907", "3:leave 0"}));
}

TEST(ForeignStream, ends_a_scope_behind_what_was_kept_of_it) {
    Stream stream = a_stream();
    stream.packet(2, Out{}
                         .enter()
                         .add(ordered(4, 4))
                         .enter()
                         .add(ordered(6, 6))
                         .leave()
                         .add(ordered(7, 7))
                         .leave());
    stream.packet(3, ordered(5, 5));
    stream.packet(3, ordered(3, 3));
    Log log;
    log.read(stream);
    EXPECT_EQ(log.lines,
              (Lines{"3:3", "2:enter 4", "3:5", "2:enter 6", "2:leave 0", "2:7", "2:leave 0"}));
}

TEST(ForeignStream, counts_scopes_that_do_not_match) {
    Stream stream = a_stream();
    stream.packet(2, Out{}.leave().enter().enter().leave().event(kFree).number(1, 4));
    Log log;
    const StreamOutcome outcome = log.read(stream);
    EXPECT_EQ(outcome.problem, "");
    EXPECT_EQ(log.lines, Lines{"2:1"});
    EXPECT_EQ(skipped(outcome, "(scopes that end without a begin)"), 1U);
    EXPECT_EQ(skipped(outcome, "(scopes that begin without an event)"), 2U);
}

TEST(ForeignStream, bounds_open_scopes) {
    Stream stream = a_stream();
    Out packet;
    for (int i = 0; i < 8000; ++i) {
        packet.enter().event(kFree).number(1, 4);
    }
    for (int i = 0; i < 9; ++i) {
        stream.packet(2, packet);
    }
    EXPECT_EQ(Log{}.read(stream).problem, "more than 64 Ki scopes are open");
}

TEST(ForeignStream, reads_attachments_of_old_writers) {
    Stream stream = a_stream();
    stream.declare(kRich, kImportant | kNoSync, "Test", "Old", {{"Number", kU16}});
    stream.declare(kTiming, kNoSync | kHasAux, "Test", "Newer", {{"Text", kAnsi}});
    stream.important(kRich, Out{}.number(5, 2).text("raw bytes"));
    stream.packet(2, Out{}
                         .event(kTiming)
                         .thread_aux(31, narrow("in two "))
                         .thread_aux(0, narrow("text"))
                         .thread_aux(31, narrow("pieces"))
                         .thread_end());
    std::vector<std::string> attachments;
    EventReader reader;
    reader.subscribe_to_others([&](const EventView& event) {
        const auto bytes = event.attachment();
        attachments.push_back(
            event.type().name + "=" +
            std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) +
            event.text("Text"));
        return std::optional<std::string>{};
    });
    ASSERT_TRUE(reader.run(stream.bytes()));
    EXPECT_EQ(attachments,
              (Lines{"$Trace.NewTrace=", "Test.Old=raw bytes", "Test.Newer=in two piecestext"}));
}

TEST(ForeignStream, reads_wide_text_of_important_events_in_both_forms) {
    Stream stream = a_stream();
    stream.declare(kRich, kImportant | kNoSync | kHasAux, "Test", "Spec",
                   {{"Format", kWide}, {"File", kAnsi}});
    for (const Out& format : {wide(u"%s at 100%"), narrow("%s at 100%"), wide(u"\u00fcber")}) {
        stream.important(kRich, Out{}
                                    .important_aux(0, format)
                                    .important_end()  // Behind each field, as some write it.
                                    .important_aux(1, narrow("a.cpp"))
                                    .important_end());
    }
    Lines formats;
    EventReader reader;
    reader.subscribe("Test.Spec", [&](const EventView& event) {
        formats.push_back(event.text("Format") + " " + event.text("File"));
        return std::optional<std::string>{};
    });
    ASSERT_TRUE(reader.run(stream.bytes()));
    EXPECT_EQ(formats, (Lines{"%s at 100% a.cpp", "%s at 100% a.cpp", "\u00fcber a.cpp"}));
}

TEST(ForeignStream, reads_definitions_and_references) {
    Stream stream = a_stream();
    Out type;  // A definition's own number of 4 bytes, a reference of 2, and a plain field.
    type.number(kRich, 2).number(3, 1).number(kNoSync | 8, 1).number(4, 1).number(3, 1);
    type.number(2, 1).number(0, 1).number(0, 2).number(0, 2).number(0, 1).number(kU32, 1);
    type.number(1, 1).number(0, 1).number(4, 2).number(kOrdered, 2).number(kU16, 1).number(3, 1);
    type.number(0, 1).number(0, 1).number(6, 2).number(1, 2).number(kU8, 1).number(4, 1);
    type.text("TestDefRefLast");
    stream.packet(0, Out{}.number(0, 2).number(type.size(), 2).add(type));
    stream.packet(2, Out{}.event(kRich).number(77, 4).number(88, 2).number(99, 1));
    EventReader reader;
    int calls = 0;
    reader.subscribe("Test.Def", [&](const EventView& event) {
        ++calls;
        EXPECT_EQ(event.number<int>("DefinitionId"), 77);
        EXPECT_EQ(event.number<int>("Ref"), 88);
        EXPECT_EQ(event.number<int>("Last"), 99);
        return std::optional<std::string>{};
    });
    const auto outcome = reader.run(stream.bytes());
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->problem, "");
    EXPECT_EQ(calls, 1);
}

TEST(ForeignStream, names_and_counts_what_nobody_wanted) {
    Stream stream = a_stream();
    stream.packet(2, Out{}.event(kFree).number(1, 4).event(kFree).number(2, 4));
    stream.important(999, Out{}.number(0, 4));
    EventReader reader;
    const auto outcome = reader.run(stream.bytes());
    ASSERT_TRUE(outcome);
    EXPECT_EQ(skipped(*outcome, "Test.Free"), 2U);
    EXPECT_EQ(skipped(*outcome, "$Trace.NewTrace"), 1U);
    EXPECT_EQ(skipped(*outcome, "(events of types that are not declared)"), 1U);
    EXPECT_EQ(outcome->unknown_events, 4U);
    const auto types = reader.types();
    ASSERT_EQ(types.size(), 4U);
    EXPECT_EQ(types[2].type->name, "Test.Free");
    EXPECT_EQ(types[2].events, 2U);
    EXPECT_EQ(types[2].bytes, 12U);
}

Stream one_of_each() {
    Stream stream = a_stream();
    stream.declare(kRich, kHasAux, "Test", "Rich", {{"Data", kArray}});
    stream.thread(2, 40, "main");
    const Out data = narrow(std::string(500, 'x'));
    stream.compressed_packet(2, Out{}.event(kRich, 3).thread_aux(0, data).thread_end());
    stream.packet(3, Out{}.enter().add(ordered(2, 2)).timed_scope(7, 5000));
    stream.sync();
    stream.packet(2, ordered(5, 5));
    stream.packet(3, ordered(4, 4));
    return stream;
}

TEST(ForeignStream, may_come_in_pieces_of_any_size) {
    const Stream stream = one_of_each();
    Log whole;
    whole.read(stream);
    ASSERT_EQ(whole.lines, (Lines{"3:enter 2", "3:leave 0@5000", "3:4", "2:5"}));
    const std::span<const std::byte> bytes = stream.bytes();
    for (std::size_t size = 1; size < bytes.size(); ++size) {
        Log log;
        for (std::size_t at = 0; at < bytes.size(); at += size) {
            const auto more =
                log.reader().feed(bytes.subspan(at, std::min(size, bytes.size() - at)));
            ASSERT_TRUE(more && *more);
        }
        const StreamOutcome outcome = log.reader().finish();
        EXPECT_EQ(outcome.problem, "");
        EXPECT_EQ(outcome.bytes_used, bytes.size());
        ASSERT_EQ(log.lines, whole.lines) << size;
    }
}

TEST(ForeignStream, says_that_it_was_cut_off_wherever_it_was) {
    const Stream stream = one_of_each();
    const std::span<const std::byte> bytes = stream.bytes();
    for (std::size_t size = 1; size < bytes.size(); ++size) {
        EventReader reader;
        const auto outcome = reader.run(bytes.first(size));
        ASSERT_TRUE(outcome);
        EXPECT_LE(outcome->bytes_used, size);
        if (!outcome->problem.empty()) {
            EXPECT_EQ(outcome->problem, "the file ends in the middle of a packet");
        } else {
            EXPECT_TRUE(outcome->bytes_used == size || size == kHeaderBytes) << size;
        }
    }
}

TEST(ForeignStream, says_that_it_has_verified_packets) {
    Stream stream = a_stream();
    stream.packet(0x4002, Out{}.event(kFree).number(1, 4).number(0, 8));
    EXPECT_EQ(Log{}.read(stream).problem,
              "its packets have verification numbers, which sample does not read");
}

TEST(ForeignStream, survives_every_flipped_bit) {
    const Stream stream = one_of_each();
    std::vector<std::byte> damaged = stream.bytes();
    for (std::size_t bit = 0; bit < 8 * damaged.size(); ++bit) {
        const auto mask = std::byte{1} << (bit % 8);
        damaged[bit / 8] ^= mask;
        EventReader reader;
        reader.subscribe_to_others([](const EventView& event) {
            for (const DeclaredField& field : event.type().fields) {
                EXPECT_LE(event.text(field.name).size(), std::size_t{1} << 20);
                EXPECT_LE(event.number<std::uint8_t>(field.name), 255);
                [[maybe_unused]] const double real = event.real(field.name);
            }
            return std::optional<std::string>{};
        });
        if (const auto outcome = reader.run(damaged)) {
            EXPECT_LE(outcome->bytes_used, damaged.size());
        }
        damaged[bit / 8] ^= mask;
    }
}

TEST(ForeignStream, is_read_no_further_than_a_handler_wants) {
    Stream stream = a_stream();
    stream.packet(2, Out{}.event(kFree).number(1, 4).event(kFree).number(2, 4));
    const std::size_t enough = stream.bytes().size();
    stream.packet(2, Out{}.event(kFree).number(3, 4));
    EventReader reader;
    int calls = 0;
    reader.subscribe("Test.Free", [&](const EventView& /*event*/) {
        ++calls;
        reader.stop();
        return std::optional<std::string>{};
    });
    const std::span<const std::byte> bytes = stream.bytes();
    const auto more = reader.feed(bytes.first(enough));
    ASSERT_TRUE(more);
    EXPECT_FALSE(*more);
    EXPECT_EQ(reader.finish().problem, "");
    EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace sample::trace
