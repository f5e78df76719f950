// What our files look like to a reader that knows nothing of us.
#include "tests/trace/plain_reader.h"
#include "tests/trace/recording_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace sample::trace {
namespace {

std::vector<std::uint8_t> first_bytes(std::span<const std::byte> bytes, std::size_t count) {
    std::vector<std::uint8_t> out;
    for (const std::byte byte : bytes.first(count)) {
        out.push_back(std::to_integer<std::uint8_t>(byte));
    }
    return out;
}

std::vector<const plain::Event*> events_named(const plain::File& file, const std::string& name) {
    std::vector<const plain::Event*> found;
    for (const plain::Event& event : file.events) {
        if (event.name == name) {
            found.push_back(&event);
        }
    }
    return found;
}

TEST(Container, begins_with_the_golden_header) {
    const auto file = small_recording();
    const auto head = first_bytes(file, 48);
    const std::vector<std::uint8_t> before_guid{'2', 'C', 'R', 'T', 40, 0, 2, 0, 0xc1, 7, 16, 1};
    EXPECT_TRUE(std::equal(before_guid.begin(), before_guid.end(), head.begin()));
    EXPECT_EQ(head[28], 16);  // the trace's GUID: size, then id
    EXPECT_EQ(head[29], 2);
    EXPECT_FALSE(std::equal(head.begin() + 12, head.begin() + 28, head.begin() + 30));
    EXPECT_EQ(head[46], 4);  // transport
    EXPECT_EQ(head[47], 7);  // protocol
}

TEST(Container, declares_types_in_golden_bytes) {
    const plain::File file = plain::read(small_recording());
    ASSERT_FALSE(file.packets.empty());
    EXPECT_EQ(file.packets[0].tid, 0U);
    EXPECT_TRUE(file.packets[0].compressed);
    const plain::Bytes golden{
        0,   0,   94,  0,                        // NewEvent, its size
        16,  0,   4,   5,   6,   8,              // uid, fields, Important|NoSync, name lengths
        0,   0,   0,   0,   8,   0,   0x03, 10,  // StartCycle: u64 at 0
        0,   0,   8,   0,   8,   0,   0x03, 14,  // CycleFrequency: u64 at 8
        0,   0,   16,  0,   2,   0,   0x01, 6,   // Endian: u16 at 16
        0,   0,   18,  0,   1,   0,   0x00, 11,  // PointerSize: u8 at 18
        '$', 'T', 'r', 'a', 'c', 'e', 'N',  'e', 'w', 'T', 'r', 'a', 'c', 'e', 'S',
        't', 'a', 'r', 't', 'C', 'y', 'c',  'l', 'e', 'C', 'y', 'c', 'l', 'e', 'F',
        'r', 'e', 'q', 'u', 'e', 'n', 'c',  'y', 'E', 'n', 'd', 'i', 'a', 'n', 'P',
        'o', 'i', 'n', 't', 'e', 'r', 'S',  'i', 'z', 'e', 0};  // padding to an even length
    const plain::Bytes& payload = file.packets[0].payload;
    ASSERT_GE(payload.size(), golden.size());
    EXPECT_EQ(
        plain::Bytes(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(golden.size())),
        golden);
}

TEST(Container, writes_important_events_in_golden_bytes) {
    const plain::File file = plain::read(small_recording());
    const auto packet = std::find_if(file.packets.begin(), file.packets.end(),
                                     [](const plain::Packet& p) { return p.tid == 1; });
    ASSERT_NE(packet, file.packets.end());
    const plain::Bytes golden{16,   0,    19,   0,                    // $Trace.NewTrace, its size
                              0x00, 0x10, 0xa5, 0xd4, 0xe8, 0, 0, 0,  // StartCycle 10^12
                              0x00, 0xca, 0x9a, 0x3b, 0,    0, 0, 0,  // CycleFrequency 10^9
                              0x4d, 0x52, 8,                          // Endian, PointerSize
                              18,   0};                               // Diagnostics.Session2
    EXPECT_EQ(plain::Bytes(packet->payload.begin(),
                           packet->payload.begin() + static_cast<std::ptrdiff_t>(golden.size())),
              golden);
}

TEST(Container, shows_session_threads_and_modules_to_other_readers) {
    const auto bytes = small_recording();
    const plain::File file = plain::read(bytes);

    const auto sessions = events_named(file, "Diagnostics.Session2");
    ASSERT_EQ(sessions.size(), 1U);
    EXPECT_EQ(sessions[0]->text("Platform"), "Linux");
    EXPECT_EQ(sessions[0]->text("AppName"), "sample");
    EXPECT_EQ(sessions[0]->text("ProjectName"), "app");
    EXPECT_EQ(sessions[0]->text("CommandLine"), "/opt/app/bin/app --mode fast");
    EXPECT_EQ(sessions[0]->arrays.at("InstanceId"), first_bytes(std::span{bytes}.subspan(12), 16));

    const auto threads = events_named(file, "$Trace.ThreadInfo");
    ASSERT_EQ(threads.size(), 4U);  // our stream, two threads, one of them renamed
    EXPECT_EQ(threads[0]->numbers.at("ThreadId"), 2U);
    EXPECT_EQ(threads[1]->numbers.at("ThreadId"), 3U);
    EXPECT_EQ(threads[1]->numbers.at("SystemId"), 4321U);
    EXPECT_EQ(threads[1]->text("Name"), "app");
    EXPECT_EQ(threads[3]->numbers.at("ThreadId"), 4U);
    EXPECT_EQ(threads[3]->numbers.at("SystemId"), 4322U);
    EXPECT_EQ(threads[3]->text("Name"), "worker");

    EXPECT_EQ(events_named(file, "Diagnostics.ModuleInit").size(), 1U);
    const auto modules = events_named(file, "Diagnostics.ModuleLoad");
    ASSERT_EQ(modules.size(), 1U);
    EXPECT_EQ(modules[0]->text("Name"), "/opt/app/bin/app");
    EXPECT_EQ(modules[0]->numbers.at("Base"), 0x555500001000U);
    EXPECT_EQ(modules[0]->numbers.at("Size"), 0x20000U);
    EXPECT_EQ(modules[0]->arrays.at("ImageId"), (plain::Bytes{1, 2, 3, 4}));
}

TEST(Container, shows_every_field_of_every_event_to_who_stops_at_the_first_terminal) {
    const plain::File file = plain::read(record(a_session(), [](TestWriter& writer) {
        write_small_recording(writer);
        writer.record(Metric{MetricId{2}, "allocated", "bytes", "of malloc"});
    }));
    std::set<std::string> met;
    for (const plain::Event& event : file.events) {
        met.insert(event.name);
        const auto type = std::find_if(file.types.begin(), file.types.end(), [&](const auto& each) {
            return each.second.logger + "." + each.second.name == event.name;
        });
        ASSERT_NE(type, file.types.end());
        EXPECT_EQ(event.numbers.size() + event.arrays.size(), type->second.fields.size())
            << event.name;
    }
    EXPECT_EQ(met.size(), file.types.size()) << "a type that no event of the file shows";
}

TEST(Container, our_own_events_are_declared_and_parse) {
    const plain::File file = plain::read(small_recording());
    for (const char* name :
         {"Sample.Session", "Sample.SessionEnd", "Sample.Process", "Sample.ProcessEnd",
          "Sample.Thread", "Sample.ThreadName", "Sample.Module", "Sample.ModuleLoad",
          "Sample.StackNodes", "Sample.SampleBatch", "Sample.Unprofiled"}) {
        EXPECT_FALSE(events_named(file, name).empty()) << name;
    }
    for (const plain::Event* batch : events_named(file, "Sample.SampleBatch")) {
        EXPECT_EQ(batch->tid, 2U);
        EXPECT_EQ(batch->numbers.at("Period"), 100'000U);
    }
}

TEST(Container, keeps_to_packet_sizes_and_compresses_what_is_large) {
    const TemporaryFile target;
    auto writer = TestWriter::create(target.open(), a_session());
    ASSERT_TRUE(writer);
    write_small_recording(*writer);
    const std::string long_line(16'000, 'a');
    writer->record(Process{ProcessId{2}, 1, 1, 0, "/bin/b", long_line, "perf", ""});
    for (std::uint32_t i = 0; i < 20'000; ++i) {
        writer->sample(Sample{ThreadId{1}, i * std::uint64_t{100'000}, NodeId{1 + (i * i) % 5},
                              100'000 + i % 3});
    }
    ASSERT_TRUE(writer->finish(SessionEnd{}));
    const plain::File file = plain::read(target.bytes());
    bool has_small = false;
    for (const plain::Packet& packet : file.packets) {
        EXPECT_LE(packet.payload.size(), 4096U);
        EXPECT_TRUE(packet.tid <= 2) << packet.tid;
        has_small = has_small || packet.payload.size() <= 384;
        if (packet.payload.size() <= 384) {
            EXPECT_FALSE(packet.compressed);
        }
        if (packet.compressed) {
            EXPECT_LT(packet.wire_size, packet.payload.size() + 4);
        }
    }
    EXPECT_TRUE(has_small);
    // An important event that is larger than a packet goes on in the next one.
    const auto processes = events_named(file, "Sample.Process");
    ASSERT_EQ(processes.size(), 2U);
    EXPECT_EQ(processes[1]->text("CommandLine"), long_line);
}

TEST(Container, no_thread_stream_event_crosses_packets) {
    const plain::File whole = plain::read(small_recording());
    for (const plain::Packet& packet : whole.packets) {
        if (packet.tid >= 2) {
            plain::File alone;
            alone.types = whole.types;
            EXPECT_NO_THROW(plain::read_thread_stream(alone, packet.tid, packet.payload));
        }
    }
}

}  // namespace
}  // namespace sample::trace
