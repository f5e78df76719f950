// Files of other programs: made by hand, as the public facts describe an engine's.
#include "tests/trace/engine_file.h"
#include "tests/trace/instrumentation_fixture.h"
#include "trace/event_spec.h"
#include "trace/instrumentation_reader.h"
#include "trace/zone_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::trace {
namespace {

using namespace std::string_view_literals;

using Bytes = std::vector<std::byte>;
using Lines = std::vector<std::string>;

KeepingSink read_foreign_file(const EngineFile& file, const std::string& problem = "") {
    KeepingSink kept;
    const auto outcome = read_recording(file.bytes(), kept);
    EXPECT_TRUE(outcome) << outcome.error().message();
    if (outcome) {
        EXPECT_TRUE(outcome->whole) << outcome->problem;
        EXPECT_EQ(outcome->instrumentation_problem, problem);
        EXPECT_EQ(outcome->bytes_used, file.bytes().size());
    }
    return kept;
}

TEST(ForeignRecording, is_a_session_of_one_process_and_its_threads) {
    EngineFile file;
    const auto& thread = file.type("$Trace", "ThreadInfo", true,
                                   {{"ThreadId", FieldType::u32},
                                    {"SystemId", FieldType::u32},
                                    {"SortHint", FieldType::i32},
                                    {"Name", FieldType::text}});
    const auto& group = file.type("$Trace", "ThreadGroupBegin", true, {{"Name", FieldType::text}});
    const auto& group_end = file.type("$Trace", "ThreadGroupEnd", true, {});
    file.event(1, thread, {2, 4711, 0}, {bytes_of("GameThread")});
    file.event(1, group, {}, {bytes_of("Workers")});
    file.event(1, thread, {9, 4712, 5}, {bytes_of("Worker 1")});
    file.event(1, group_end, {}, {});
    const auto& session = file.type("Diagnostics", "Session2", true,
                                    {{"Platform", FieldType::wide_text},
                                     {"AppName", FieldType::wide_text},
                                     {"CommandLine", FieldType::wide_text},
                                     {"BuildVersion", FieldType::text}});
    file.event(1, session, {},
               {wide_bytes(u"Win64"), wide_bytes(u"Br\u00fccke"), wide_bytes(u"game.exe -trace"),
                bytes_of("5.6")});
    const auto& end_frame = file.type("Misc", "EndFrame", false,
                                      {{"Cycle", FieldType::u64}, {"FrameType", FieldType::u8}});
    file.event(30, end_frame, {kStartCycle + 123, 1}, {});

    const KeepingSink kept = read_foreign_file(file);
    EXPECT_EQ(kept.log, (Lines{"session game.exe -trace", "process 1", "thread 1", "thread 2",
                               "thread 3", "process end 1", "session end"}));
    EXPECT_EQ(kept.sessions[0].start_ns, 0U);
    EXPECT_EQ(kept.sessions[0].tool_version, "5.6");
    EXPECT_EQ(kept.sessions[0].source, kNoSource);
    EXPECT_EQ(kept.processes[0].executable,
              "Br\xc3\xbc"
              "cke");
    EXPECT_EQ(kept.threads[0].name, "GameThread");
    EXPECT_EQ(kept.threads[1].tid, 4712U);
    EXPECT_EQ(kept.threads[2].tid, 30U) << "known by its packets alone";
    EXPECT_EQ(kept.session_ends[0].end_ns, 12'300U);
    EXPECT_EQ(lines_of(kept.said),
              (Lines{"thread 2 in group Workers", "thread 3 at 12300: frame 1 ends"}));
}

/// The same two intervals in each version: 100 to 400 and, inside, 150 to 250, in cycles.
std::vector<Bytes> batches_of(ZoneBatchVersion version) {
    constexpr std::uint64_t kSparse = 0x40000007;
    switch (version) {
        case ZoneBatchVersion::v1:
            return {varints({(kStartCycle + 100) << 1 | 1, 3, 50 << 1 | 1, kSparse}),
                    varints({100 << 1, 150 << 1})};
        case ZoneBatchVersion::v2:
            return {varints({(kStartCycle + 100) << 2 | 1, 3, 50 << 2 | 1, kSparse}),
                    varints({100 << 2, 150 << 2})};
        case ZoneBatchVersion::v3:
            break;
    }
    return {varints({(kStartCycle + 100) << 2 | 1, 3 << 1, 50 << 2 | 1, kSparse << 1}),
            varints({100 << 2, 150 << 2})};
}

TEST(ForeignRecording, has_zones_of_all_versions) {
    const std::pair<const char*, ZoneBatchVersion> versions[]{
        {"EventBatch", ZoneBatchVersion::v1},
        {"EventBatchV2", ZoneBatchVersion::v2},
        {"EventBatchV3", ZoneBatchVersion::v3}};
    for (const auto& [name, version] : versions) {
        EngineFile file;
        const auto& timer = file.timer();
        const auto& batch = file.batch(name);
        file.event(1, timer, {3}, {bytes_of("Tick")});
        for (const Bytes& data : batches_of(version)) {
            file.event(5, batch, {}, {data});
        }
        // Defined after it was used.
        file.event(1, timer, {0x40000007}, {bytes_of("Physics")});
        const KeepingSink kept = read_foreign_file(file);
        EXPECT_EQ(lines_of(kept.said),
                  (Lines{"zone spec 1 Tick  4294967295 :0", "zone spec 2 Physics  4294967295 :0"}))
            << name;
        EXPECT_EQ(lines_of(kept.zones), (Lines{"begin thread 1 at 10000 zone 1 note 0 depth 0",
                                               "begin thread 1 at 15000 zone 2 note 0 depth 0",
                                               "end thread 1 at 25000 zone 0 note 0 depth 0",
                                               "end thread 1 at 40000 zone 0 note 0 depth 0"}))
            << name;
    }
}

TEST(ForeignRecording, a_cycle_before_the_start_is_one_since_the_start) {
    EngineFile file;
    const auto& timer = file.timer();
    const auto& batch = file.batch("EventBatchV3");
    file.event(1, timer, {1}, {bytes_of("Tick")});
    file.event(5, batch, {}, {varints({100 << 2 | 1, 1 << 1, 50 << 2})});
    EXPECT_EQ(lines_of(read_foreign_file(file).zones),
              (Lines{"begin thread 1 at 10000 zone 1 note 0 depth 0",
                     "end thread 1 at 15000 zone 0 note 0 depth 0"}));
}

TEST(ForeignRecording, zones_that_are_not_defined_are_unknown) {
    EngineFile file;
    const auto& batch = file.batch("EventBatchV3");
    file.event(5, batch, {},
               {varints({(kStartCycle + 1) << 2 | 1, 7 << 1, 1 << 2 | 1, 8 << 1 | 1, 1 << 2, 1 << 2,
                         1 << 2 | 3, 99, 2, 1 << 2 | 2, 2})});
    const KeepingSink kept = read_foreign_file(file);
    EXPECT_EQ(lines_of(kept.said), (Lines{"zone spec 1 [unknown]  4294967295 :0",
                                          "zone spec 2 [coroutine]  4294967295 :0"}));
    EXPECT_EQ(lines_of(kept.zones), (Lines{"begin thread 1 at 100 zone 1 note 0 depth 0",
                                           "begin thread 1 at 200 zone 1 note 0 depth 0",
                                           "end thread 1 at 300 zone 0 note 0 depth 0",
                                           "end thread 1 at 400 zone 0 note 0 depth 0",
                                           "resume thread 1 at 500 zone 2 note 0 depth 2",
                                           "suspend thread 1 at 600 zone 2 note 0 depth 2"}));
}

TEST(ForeignRecording, zones_end_with_their_thread) {
    EngineFile file;
    const auto& timer = file.timer();
    const auto& batch = file.batch("EventBatchV3");
    const auto& end = file.type("CpuProfiler", "EndThread", false, {{"Cycle", FieldType::u64}});
    file.event(1, timer, {1}, {bytes_of("Tick")});
    file.event(5, batch, {},
               {varints({(kStartCycle + 1) << 2 | 1, 1 << 1, 1 << 2 | 1, 1 << 1, 1 << 2})});
    file.event(5, end, {kStartCycle + 10}, {});
    const KeepingSink kept = read_foreign_file(file);
    ASSERT_EQ(kept.zones.size(), 4U);
    EXPECT_EQ(line_of(kept.zones[3]), "end thread 1 at 1000 zone 0 note 0 depth 0");
}

TEST(ForeignRecording, has_metadata_with_names_from_its_spec) {
    EngineFile file;
    const auto& spec = file.type("CpuProfiler", "MetadataSpec", true,
                                 {{"Id", FieldType::u32},
                                  {"Name", FieldType::text},
                                  {"NameFormat", FieldType::wide_text},
                                  {"FieldNames", FieldType::bytes}});
    const auto& metadata = file.type(
        "CpuProfiler", "Metadata", false,
        {{"Id", FieldType::u32}, {"SpecId", FieldType::u32}, {"Metadata", FieldType::bytes}});
    const auto& batch = file.batch("EventBatchV3");
    // ["asset", "size"] and [_ "tree", 1.5, [true, null], 0xfb…]: RFC 8949.
    file.event(1, spec, {4},
               {bytes_of("Load"), wide_bytes(u"Load {0}"),
                bytes_of("\x82\x65"
                         "asset\x64"
                         "size")});
    file.event(5, metadata, {1, 4}, {bytes_of("\x9f\x64tree\xf9\x3e\x00\x82\xf5\xf6\xff"sv)});
    file.event(5, metadata, {2, 4}, {bytes_of("\xa1\x61x\x38\x63")});
    file.event(5, metadata, {3, 4}, {bytes_of("\x9f\x9f\x9f")});
    file.event(5, batch, {}, {varints({(kStartCycle + 1) << 2 | 1, 1 << 1 | 1, 1 << 2})});
    const KeepingSink kept = read_foreign_file(file);
    EXPECT_EQ(lines_of(kept.said), (Lines{"zone spec 1 Load  4294967295 :0",
                                          "note 1 of zone 1 asset=tree/2 size=1.5/1 2=1/0 3=/2",
                                          "note 2 of zone 1 x=-100/0", "note 3 of zone 1"}));
    ASSERT_FALSE(kept.zones.empty());
    EXPECT_EQ(line_of(kept.zones[0]), "begin thread 1 at 100 zone 1 note 1 depth 0");
}

TEST(ForeignRecording, has_counters_bookmarks_logs_regions_and_channels) {
    constexpr std::uint64_t kPointer = 0x7ff6'1234'5678;
    EngineFile file;
    const auto& counter = file.type("Counters", "Spec", true,
                                    {{"Id", FieldType::u16},
                                     {"Type", FieldType::u8},
                                     {"DisplayHint", FieldType::u8},
                                     {"Name", FieldType::wide_text}});
    const auto& set = file.type(
        "Counters", "SetValueInt", false,
        {{"Cycle", FieldType::u64}, {"Value", FieldType::i64}, {"CounterId", FieldType::u16}},
        true);
    const auto& point = file.type("Misc", "BookmarkSpec", true,
                                  {{"BookmarkPoint", FieldType::u64},
                                   {"Line", FieldType::i32},
                                   {"FormatString", FieldType::wide_text},
                                   {"FileName", FieldType::text}});
    const auto& bookmark = file.type("Misc", "Bookmark", false,
                                     {{"Cycle", FieldType::u64},
                                      {"BookmarkPoint", FieldType::u64},
                                      {"FormatArgs", FieldType::bytes}});
    const auto& category = file.type("Logging", "LogCategory", true,
                                     {{"CategoryPointer", FieldType::u64},
                                      {"DefaultVerbosity", FieldType::u8},
                                      {"Name", FieldType::wide_text}});
    const auto& log_point = file.type("Logging", "LogMessageSpec", true,
                                      {{"LogPoint", FieldType::u64},
                                       {"CategoryPointer", FieldType::u64},
                                       {"Line", FieldType::i32},
                                       {"Verbosity", FieldType::u8},
                                       {"FileName", FieldType::text},
                                       {"FormatString", FieldType::wide_text}});
    const auto& log = file.type("Logging", "LogMessage", false,
                                {{"LogPoint", FieldType::u64},
                                 {"Cycle", FieldType::u64},
                                 {"FormatArgs", FieldType::bytes}});
    const auto& channel = file.type("Trace", "ChannelAnnounce", true,
                                    {{"Id", FieldType::u32},
                                     {"IsEnabled", FieldType::u8},
                                     {"ReadOnly", FieldType::u8},
                                     {"Name", FieldType::text}});
    const auto& toggle = file.type("Trace", "ChannelToggle", true,
                                   {{"Id", FieldType::u32}, {"IsEnabled", FieldType::u8}});
    const auto& region =
        file.type("Misc", "RegionBegin", false,
                  {{"Cycle", FieldType::u64}, {"RegionName", FieldType::wide_text}});
    file.event(1, counter, {0xfffe, 0, 1}, {wide_bytes(u"Memory \u20ac")});
    file.event(1, category, {kPointer, 5}, {wide_bytes(u"LogInit")});
    file.event(1, log_point, {kPointer + 8, kPointer, 12, 3},
               {bytes_of("a.cpp"), wide_bytes(u"%s!")});
    file.event(1, log_point, {kPointer + 16, 1, 13, 99}, {bytes_of("b.cpp"), wide_bytes(u"x")});
    file.event(1, point, {kPointer + 8, 7}, {wide_bytes(u"Loaded"), bytes_of("c.cpp")});
    file.event(1, channel, {0xdeadbeef, 1, 0}, {bytes_of("CpuChannel")});
    file.event(1, toggle, {0xdeadbeef, 0}, {});
    file.event(1, toggle, {1, 0}, {});
    Bytes synced;
    wire::append(synced, std::uint64_t{set.uid} << 1 | 1, 2);
    wire::append(synced, 0, 3);
    wire::append(synced, kStartCycle + 4, 8);
    wire::append(synced, 1U << 20, 8);
    wire::append(synced, 0xfffe, 2);
    file.packet(5, synced);
    file.event(5, bookmark, {kStartCycle + 5, kPointer + 8}, {{}});
    file.event(5, bookmark, {kStartCycle + 6, 0}, {{}});
    file.event(5, log, {kPointer + 8, kStartCycle + 7},
               {ArgumentsBuilder{}.text(u"\u20ac").arguments()});
    file.event(5, region, {kStartCycle + 8}, {wide_bytes(u"Level")});

    const KeepingSink kept = read_foreign_file(file, "1 event refers to what is not defined");
    EXPECT_EQ(lines_of(kept.said),
              (Lines{"counter spec 1 process 1 Memory \u20ac 01",
                     "message spec 1 log LogInit 3 %s! a.cpp:12",
                     "message spec 2 log [unknown] 7 x b.cpp:13",
                     "message spec 3 bookmark  5 Loaded c.cpp:7", "channel 1 CpuChannel 10",
                     "channel 1 toggled 0", "thread 1 at 500: message 3",
                     "message spec 4 bookmark  5 [unknown] :0", "thread 1 at 600: message 4",
                     "thread 1 at 700: message 1 1 c2 ac 20 0 0",
                     "thread 1 at 800: region 0 begins Level ",
                     // It has a serial number, and others could have come before it.
                     "thread 1 at 400: counter 1 = 1048576"}));
    const auto& message = std::get<Message>(kept.said[9]);
    EXPECT_EQ(message_text("%s!", message.arguments), "\u20ac!");
}

TEST(ForeignRecording, events_that_nobody_knows_are_the_programs_own) {
    EngineFile file;
    const auto& zippy = file.type("RainbowLogger", "ZippyEvent", false,
                                  {{"Field0", FieldType::u32},
                                   {"Field1", static_cast<FieldType>(0x42)},
                                   {"Field2", FieldType::i64},
                                   {"Field3", FieldType::wide_text}});
    file.event(7, zippy, {5, std::bit_cast<std::uint32_t>(1.5F), static_cast<std::uint64_t>(-2)},
               {wide_bytes(u"zip")});
    const KeepingSink kept = read_foreign_file(file);
    EXPECT_EQ(lines_of(kept.said),
              (Lines{"event type 1 RainbowLogger.ZippyEvent flags 6 Field0:2 Field1:66 Field2:19 "
                     "Field3:137",
                     "thread 1 at 0: event 1 scope 0 serial 0 fixed 5 0 0 0 0 0 c0 3f fe ff ff ff "
                     "ff ff ff ff field 3 7a 0 69 0 70 0"}));
}

TEST(ForeignRecording, a_damaged_batch_is_named_and_the_rest_is_read) {
    EngineFile file;
    const auto& timer = file.timer();
    const auto& batch = file.batch("EventBatchV3");
    file.event(1, timer, {1}, {bytes_of("Tick")});
    file.event(5, batch, {}, {varints({(kStartCycle + 1) << 2 | 1})});
    file.event(5, batch, {}, {Bytes(20, std::byte{0xff})});
    file.event(6, batch, {}, {varints({(kStartCycle + 1) << 2 | 1, 1 << 1})});
    const KeepingSink kept = read_foreign_file(file, "2 batches of zones are damaged");
    EXPECT_EQ(kept.zones.size(), 1U);
}

TEST(ForeignRecording, that_is_cut_off_has_its_end_and_a_problem) {
    EngineFile file;
    const auto& timer = file.timer();
    file.event(1, timer, {1}, {bytes_of("Tick")});
    Bytes cut = file.bytes();
    cut.pop_back();
    KeepingSink kept;
    const auto outcome = read_recording(cut, kept);
    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->whole);
    EXPECT_EQ(outcome->problem, "the file ends in the middle of a packet");
    EXPECT_EQ(kept.session_ends.size(), 1U);
}

TEST(CycleClock, has_the_nanoseconds_of_any_frequency) {
    const auto exactly = [](std::uint64_t cycles, std::uint64_t frequency) {
        return static_cast<std::uint64_t>(static_cast<long double>(cycles) * 1e9L /
                                          static_cast<long double>(frequency));
    };
    for (const std::uint64_t frequency :
         {1ULL, 3ULL, 1'000ULL, 10'000'000ULL, 24'000'000ULL, 1'000'000'000ULL, 2'899'999'999ULL}) {
        const CycleClock clock{100, frequency};
        EXPECT_EQ(clock.nanoseconds(0), 0U);
        EXPECT_EQ(clock.nanoseconds(100), 0U);
        EXPECT_EQ(clock.nanoseconds(100 + frequency), 1'000'000'000U) << frequency;
        EXPECT_EQ(clock.nanoseconds(100 + 3'600 * frequency), 3'600'000'000'000U) << frequency;
        const std::uint64_t cycles = 1'234'567 * frequency + frequency / 7;
        EXPECT_EQ(clock.nanoseconds(100 + cycles), exactly(cycles, frequency)) << frequency;
    }
    EXPECT_EQ(CycleClock(0, 0).nanoseconds(5), 5U) << "an unknown one counts nanoseconds";
    EXPECT_EQ(CycleClock{}.nanoseconds(~std::uint64_t{0}), ~std::uint64_t{0});
}

}  // namespace
}  // namespace sample::trace
