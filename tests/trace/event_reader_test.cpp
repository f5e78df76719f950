// The generic reader, on streams made by hand: as another program, or a later version, would write.
#include "trace/event_reader.h"

#include "tests/trace/recording_fixture.h"
#include "trace/event_encoder.h"
#include "trace/wire.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace sample::trace {
namespace {

using namespace std::string_view_literals;

using Bytes = std::vector<std::byte>;

constexpr auto kImportantFields = std::to_array<FieldSpec>({
    {"Small", FieldType::u8},
    {"Signed", FieldType::i32},
    {"Large", FieldType::u64},
    {"Text", FieldType::text},
    {"Wide", FieldType::wide_text},
});
constexpr EventSpec kImportantSpec{100, wire::kImportant | wire::kNoSync | wire::kMaybeHasAux,
                                   "Test", "Important", kImportantFields};

constexpr auto kThreadFields = std::to_array<FieldSpec>({
    {"Number", FieldType::u32},
    {"Data", FieldType::bytes},
});
constexpr EventSpec kThreadSpec{101, wire::kNoSync | wire::kMaybeHasAux, "Test", "Thread",
                                kThreadFields};
constexpr EventSpec kUnknownSpec{102, wire::kNoSync | wire::kMaybeHasAux, "Other", "Thing",
                                 kThreadFields};
constexpr EventSpec kSyncSpec{103, wire::kMaybeHasAux, "Test", "Sync", kThreadFields};

/// A file in the making.
class File {
public:
    File() : bytes_{bytes_of("2CRT\0\0\x04\x07"sv)} {
        Bytes schema;
        for (const EventSpec& spec : {kImportantSpec, kThreadSpec, kUnknownSpec, kSyncSpec}) {
            append_declaration(schema, spec);
        }
        packet(0, schema);
    }
    void packet(std::uint16_t tid, std::span<const std::byte> payload) {
        wire::append(bytes_, 4 + payload.size(), 2);
        wire::append(bytes_, tid, 2);
        wire::append(bytes_, payload);
    }
    /// One packet for each byte: the worst that can happen to an event.
    void packets_of_one_byte(std::uint16_t tid, std::span<const std::byte> payload) {
        for (const std::byte& byte : payload) {
            packet(tid, {&byte, 1});
        }
    }
    [[nodiscard]] const Bytes& bytes() const { return bytes_; }

private:
    Bytes bytes_;
};

Bytes thread_event(const EventSpec& spec, std::uint32_t number, std::string_view data) {
    Bytes event;
    EventEncoder{spec, event}.number(number).text(data).finish();
    return event;
}

Bytes important_event() {
    Bytes event;
    EventEncoder{kImportantSpec, event}
        .number(200)
        .number(static_cast<std::uint32_t>(-5))
        .number(0x0123456789abcdef)
        .text("plain \xe2\x82\xac")
        .text("w\0i\0d\0e\0 \0\x3d\xd8\x25\xdd"sv)
        .finish();
    return event;
}

/// Reads a file and notes the events "Test.Thread" as "number:data".
struct Outcome {
    std::vector<std::string> events;
    StreamOutcome stream;
};

Outcome read(const Bytes& file, std::string_view name = "Test.Thread") {
    Outcome outcome;
    EventReader reader;
    reader.subscribe(name, [&](const EventView& event) -> std::optional<std::string> {
        outcome.events.push_back(std::to_string(event.number<std::uint32_t>("Number")) + ":" +
                                 event.text("Data"));
        return std::nullopt;
    });
    const auto stream = reader.run(file);
    EXPECT_TRUE(stream);
    outcome.stream = *stream;
    return outcome;
}

TEST(EventReader, gives_typed_access_by_field_name) {
    File file;
    file.packet(1, important_event());
    EventReader reader;
    int calls = 0;
    reader.subscribe("Test.Important", [&](const EventView& event) -> std::optional<std::string> {
        ++calls;
        EXPECT_EQ(event.type().name, "Test.Important");
        EXPECT_EQ(event.number<int>("Small"), 200);
        EXPECT_EQ(event.number<int>("Signed"), -5);
        EXPECT_EQ(event.number<std::int64_t>("Signed"), -5);
        EXPECT_EQ(event.number<std::uint64_t>("Large"), 0x0123456789abcdefU);
        EXPECT_EQ(event.text("Text"), "plain \xe2\x82\xac");
        EXPECT_EQ(event.text("Wide"), "wide \U0001f525");
        EXPECT_EQ(event.number<int>("Missing"), 0);
        EXPECT_EQ(event.text("Missing"), "");
        EXPECT_TRUE(event.bytes("Small").empty());
        EXPECT_EQ(event.number<int>("Text"), 0);
        EXPECT_EQ(event.real("Large"), 0.0);
        return std::nullopt;
    });
    ASSERT_TRUE(reader.run(file.bytes()));
    EXPECT_EQ(calls, 1);
}

TEST(EventReader, tells_of_what_it_has_passed) {
    File file;
    for (std::uint32_t i = 0; i < 200; ++i) {
        file.packet(5, thread_event(kThreadSpec, i, std::string(60'000, 'x')));
    }
    const Bytes bytes = file.bytes();
    ASSERT_GT(bytes.size(), std::size_t{10} << 20);
    EventReader reader;
    std::size_t events = 0;
    reader.subscribe("Test.Thread", [&](const EventView& event) -> std::optional<std::string> {
        EXPECT_EQ(event.number<std::size_t>("Number"), events++);
        return std::nullopt;
    });
    std::vector<std::span<const std::byte>> passed;
    ASSERT_TRUE(
        reader.run(bytes, [&](std::span<const std::byte> part) { passed.push_back(part); }));
    EXPECT_EQ(events, 200U);
    ASSERT_GT(passed.size(), 2U);
    const std::byte* next = bytes.data();
    for (const auto part : passed) {
        EXPECT_EQ(part.data(), next);
        next = part.data() + part.size();
    }
    EXPECT_EQ(next, bytes.data() + bytes.size());
}

TEST(EventReader, skips_and_counts_types_without_a_subscriber) {
    File file;
    Bytes stream = thread_event(kUnknownSpec, 1, "skipped");
    wire::append(stream, thread_event(kThreadSpec, 2, "seen"));
    wire::append(stream, thread_event(kUnknownSpec, 3, ""));
    file.packet(5, stream);
    file.packet(1, important_event());
    const Outcome outcome = read(file.bytes());
    EXPECT_EQ(outcome.events, std::vector<std::string>{"2:seen"});
    EXPECT_EQ(outcome.stream.unknown_events, 3U);
    EXPECT_EQ(outcome.stream.problem, "");
    EXPECT_EQ(outcome.stream.bytes_used, file.bytes().size());
}

TEST(EventReader, skips_serial_numbers_and_scopes) {
    File file;
    Bytes stream;
    wire::append(stream, (103 << 1) | 1, 2);
    wire::append(stream, 0xc0ffee, 3);
    wire::append(stream, 77, 4);
    wire::append(stream, 6, 1);                     // no aux
    wire::append(stream, 4 << 1, 1);                // EnterScope
    wire::append(stream, (99 << 8) | (8 << 1), 8);  // EnterScope_TB
    wire::append(stream, (99 << 8) | (9 << 1), 8);  // LeaveScope_TB
    wire::append(stream, 5 << 1, 1);                // LeaveScope
    wire::append(stream, (103 << 1) | 1, 2);
    wire::append(stream, 0xc0ffef, 3);
    wire::append(stream, 78, 4);
    wire::append(stream, (1 << 1) | (1 << 8) | (2 << 13), 4);
    wire::append(stream, bytes_of("hi"));
    wire::append(stream, 6, 1);
    file.packet(2, stream);
    const Outcome outcome = read(file.bytes(), "Test.Sync");
    EXPECT_EQ(outcome.events, (std::vector<std::string>{"77:", "78:hi"}));
    EXPECT_EQ(outcome.stream.problem, "");
}

TEST(EventReader, joins_events_that_come_in_pieces) {
    File file;
    file.packets_of_one_byte(3, thread_event(kThreadSpec, 7, "in pieces"));
    file.packets_of_one_byte(1, important_event());
    Bytes two = thread_event(kThreadSpec, 8, "first");
    wire::append(two, thread_event(kThreadSpec, 9, "second"));
    file.packet(3, std::span{two}.first(two.size() - 3));
    file.packet(4, thread_event(kThreadSpec, 10, "other stream"));
    file.packet(3, std::span{two}.last(3));
    const Outcome outcome = read(file.bytes());
    EXPECT_EQ(outcome.events,
              (std::vector<std::string>{"7:in pieces", "8:first", "10:other stream", "9:second"}));
    EXPECT_EQ(outcome.stream.unknown_events, 1U);
    EXPECT_EQ(outcome.stream.problem, "");
}

TEST(EventReader, joins_blocks_of_one_field) {
    File file;
    Bytes stream;
    wire::append(stream, (101 << 1) | 1, 2);
    wire::append(stream, 1, 4);
    for (const std::string_view piece : {"a", "", "bc", "def"}) {
        wire::append(stream, (1 << 1) | (1 << 8) | (piece.size() << 13), 4);
        wire::append(stream, bytes_of(piece));
    }
    wire::append(stream, 6, 1);
    file.packet(2, stream);
    EXPECT_EQ(read(file.bytes()).events, std::vector<std::string>{"1:abcdef"});
}

TEST(EventReader, tells_an_event_that_the_file_cuts_off) {
    File file;
    const Bytes event = thread_event(kThreadSpec, 7, "cut");
    file.packet(3, std::span{event}.first(event.size() - 1));
    const Outcome outcome = read(file.bytes());
    EXPECT_TRUE(outcome.events.empty());
    EXPECT_EQ(outcome.stream.problem, "the file ends in the middle of an event");
}

TEST(EventReader, stops_at_a_type_that_was_not_declared) {
    File file;
    file.packet(3, thread_event(kThreadSpec, 1, "before"));
    const std::size_t before = file.bytes().size();
    Bytes stream;
    wire::append(stream, (999 << 1) | 1, 2);
    file.packet(3, stream);
    file.packet(3, thread_event(kThreadSpec, 2, "after"));
    const Outcome outcome = read(file.bytes());
    EXPECT_EQ(outcome.events, std::vector<std::string>{"1:before"});
    EXPECT_EQ(outcome.stream.problem, "an event of a type that was not declared");
    EXPECT_EQ(outcome.stream.bytes_used, before);
}

TEST(EventReader, stops_when_a_handler_says_so) {
    File file;
    file.packet(3, thread_event(kThreadSpec, 1, ""));
    file.packet(3, thread_event(kThreadSpec, 2, ""));
    EventReader reader;
    int calls = 0;
    reader.subscribe("Test.Thread", [&](const EventView&) -> std::optional<std::string> {
        ++calls;
        return "enough";
    });
    const auto outcome = reader.run(file.bytes());
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->problem, "enough");
    EXPECT_EQ(calls, 1);
}

TEST(EventReader, bounds_an_event_that_never_ends) {
    File file;
    Bytes start;
    wire::append(start, (101 << 1) | 1, 2);
    wire::append(start, 1, 4);
    file.packet(3, start);
    Bytes blocks;
    for (int i = 0; i < 15'000; ++i) {
        wire::append(blocks, (1 << 1) | (1 << 8), 4);
    }
    for (int i = 0; i < 20; ++i) {
        file.packet(3, blocks);
    }
    EXPECT_EQ(read(file.bytes()).stream.problem, "an event is larger than 1 MiB");
}

TEST(EventReader, takes_time_in_proportion_to_an_event_in_tiny_packets) {
    File file;
    Bytes event;
    wire::append(event, (101 << 1) | 1, 2);
    wire::append(event, 1, 4);
    for (int i = 0; i < 100'000;
         ++i) {  // Looked through from its start each time: 2 * 10^10 steps.
        wire::append(event, (1 << 1) | (1 << 8), 4);
    }
    wire::append(event, 6, 1);
    file.packets_of_one_byte(3, event);
    EXPECT_EQ(read(file.bytes()).events, std::vector<std::string>{"1:"});
}

}  // namespace
}  // namespace sample::trace
