// What the reader makes of an area that the program has written over: it drops a chunk, counts it,
// and reads nothing outside.
#include "sampler/capture/lane_records.h"
#include "tests/sampler/area_fixture.h"

#include <bit>
#include <random>

namespace sample::collector {
namespace {

using capture::Chunk;
using capture::kMaxDepth;
using capture::kMaxThreads;
using Frames = std::vector<std::uint64_t>;

/// One good sample, then one whose record is overwritten.
class CorruptArea : public AreaReading {
protected:
    void SetUp() override {
        slot = test.start_thread(100);
        test.add_sample(slot, {{2, 1}});
        reader.drain(sink);
        at = test.chunk_of(slot).committed.load();
    }
    template <class Change>
    void spoil(Change change) {
        test.add_sample(slot, {{3}, 1});
        capture::SampleRecord record;
        std::byte* bytes = test.chunk_of(slot).data.data() + at;
        std::memcpy(static_cast<void*>(&record), bytes, sizeof record);
        change(record);
        std::memcpy(bytes, &record, sizeof record);
    }
    void expect_dropped() {
        const std::size_t before = sink.records();
        reader.drain(sink);
        EXPECT_EQ(sink.records(), before);
        EXPECT_EQ(reader.corrupt_chunks(), 1U);
        // The rest of the chunk is not looked at, nor counted again.
        test.add_sample(slot, {{4}});
        reader.drain(sink);
        EXPECT_EQ(sink.records(), before);
        EXPECT_EQ(reader.corrupt_chunks(), 1U);
        // The next chunk starts afresh, and the spoiled one comes back.
        const std::uint32_t old = test.chunk_index_of(slot);
        ASSERT_TRUE(capture::change_chunk(test.area(), test.thread(slot)));
        test.add_sample(slot, {{6, 5}});
        reader.drain(sink);
        ASSERT_EQ(sink.records(), before + 1);
        EXPECT_EQ(sink.samples.back().frames, (Frames{5, 6}));
        EXPECT_EQ(reader.corrupt_chunks(), 1U);
        EXPECT_EQ(capture::claim_bit(test.area().header.free_chunks), old);
    }
    std::uint32_t slot = 0;
    std::uint32_t at = 0;
};

TEST_F(CorruptArea, drops_a_record_of_no_size) {
    spoil([](capture::SampleRecord& record) { record.head.size_words = 0; });
    expect_dropped();
}
TEST_F(CorruptArea, drops_a_record_beyond_what_is_committed) {
    spoil([](capture::SampleRecord& record) {
        ++record.head.size_words;
        ++record.head.a;
    });
    expect_dropped();
}
TEST_F(CorruptArea, drops_a_record_smaller_than_its_kind) {
    spoil([](capture::SampleRecord& record) { record.head.size_words = 2; });
    expect_dropped();
}
TEST_F(CorruptArea, drops_more_frames_than_the_record_has) {
    spoil([](capture::SampleRecord& record) { record.head.a = 2; });
    expect_dropped();
}
TEST_F(CorruptArea, drops_more_kept_frames_than_there_were) {
    spoil([](capture::SampleRecord& record) { record.head.b = 3; });
    expect_dropped();
}
TEST_F(CorruptArea, drops_an_unknown_kind) {
    spoil([](capture::SampleRecord& record) {
        record.head.kind = static_cast<capture::RecordKind>(99);
    });
    expect_dropped();
}
TEST_F(CorruptArea, drops_a_thread_record_that_is_too_small) {
    spoil([](capture::SampleRecord& record) {
        record.head.kind = capture::RecordKind::thread_start;
    });
    expect_dropped();
}
TEST_F(CorruptArea, drops_a_module_record_that_is_too_small) {
    spoil([](capture::SampleRecord& record) { record.head.kind = capture::RecordKind::module; });
    expect_dropped();
}
TEST_F(CorruptArea, drops_a_chunk_committed_to_no_whole_word) {
    test.add_sample(slot, {{3}, 1});
    test.chunk_of(slot).committed.fetch_add(4);
    const std::size_t before = sink.records();
    reader.drain(sink);
    EXPECT_EQ(sink.records(), before);
    EXPECT_EQ(reader.corrupt_chunks(), 1U);
    // What follows lies askew.
    test.chunk_of(slot).committed.fetch_add(4);
    test.add_sample(slot, {{3}});
    reader.drain(sink);
    EXPECT_EQ(sink.records(), before);
    EXPECT_EQ(reader.corrupt_chunks(), 1U);
}
TEST_F(CorruptArea, reads_no_further_than_the_chunk) {
    test.chunk_of(slot).committed.store(0xfffffff8);
    const std::size_t before = sink.records();
    reader.drain(sink);
    EXPECT_EQ(sink.records(), before);
    EXPECT_EQ(reader.corrupt_chunks(), 1U);
}
TEST_F(CorruptArea, drops_the_chunk_of_a_slot_that_does_not_exist) {
    test.add_sample(slot, {{3}});
    test.chunk_of(slot).slot = kMaxThreads;
    const std::size_t before = sink.records();
    reader.drain(sink);
    EXPECT_EQ(sink.records(), before);
    EXPECT_EQ(reader.corrupt_chunks(), 1U);
}

TEST_F(CorruptArea, drops_the_chunk_of_a_lane_that_does_not_exist) {
    test.add_sample(slot, {{3}});
    test.chunk_of(slot).lane = capture::kLanes;
    const std::size_t before = sink.records();
    reader.drain(sink);
    EXPECT_EQ(sink.records(), before);
    EXPECT_EQ(reader.corrupt_chunks(), 1U);
}

/// A chunk of what the thread says, with `words` in it.
Chunk& said_chunk(const TestArea& test, std::uint32_t slot,
                  const std::vector<std::uint64_t>& words) {
    Chunk& chunk = test.chunk(capture::claim_chunk(test.area()));
    chunk.slot = static_cast<std::uint16_t>(slot);
    chunk.lane = capture::kInstrumentLane;
    std::memcpy(chunk.data.data(), words.data(), words.size() * 8);
    return chunk;
}

TEST_F(CorruptArea, does_not_lose_a_stack_with_another_lanes_chunk) {
    said_chunk(test, slot, {~std::uint64_t{0}});
    reader.drain(sink);
    EXPECT_EQ(reader.corrupt_chunks(), 1U);
    test.add_sample(slot, {{3}, 1});
    reader.drain(sink);
    EXPECT_EQ(sink.samples.back().frames, (Frames{1, 3}));
}

TEST_F(CorruptArea, bounds_what_a_thread_says) {
    const std::uint64_t head = capture::lane_head(capture::LaneRecord::other, 1);
    const auto second = std::bit_cast<std::uint64_t>(
        capture::OtherRecord{capture::OtherKind::flow, {}, capture::kMostSaid + 1, 0});
    Chunk& chunk = said_chunk(test, slot, {head, second});
    reader.drain(sink);
    EXPECT_TRUE(sink.said.empty());
    EXPECT_EQ(reader.corrupt_chunks(), 1U);
    // Whatever is behind it is not looked at, and the chunk is zero for who has it next.
    chunk.committed.store(~0U);
    chunk.full.store(1);
    reader.drain(sink);
    EXPECT_TRUE(sink.said.empty());
    EXPECT_EQ(chunk.data[0], std::byte{0});
}

TEST_F(CorruptArea, takes_no_record_that_ends_behind_its_chunk) {
    Chunk& chunk = said_chunk(test, slot, {capture::lane_head(capture::LaneRecord::counter, 1)});
    chunk.committed.store(16);
    chunk.full.store(1);
    reader.drain(sink);
    EXPECT_TRUE(sink.said.empty());
    EXPECT_EQ(reader.corrupt_chunks(), 1U);
}

TEST_F(AreaReading, bounds_the_path_and_the_build_id_of_a_module) {
    for (const auto& [path_bytes, id_bytes] : {std::pair{9, 2}, std::pair{8, 33}}) {
        const std::uint32_t slot = test.start_thread(100);
        capture::ModuleRecord record;
        record.head = {capture::RecordKind::module, 0, static_cast<std::uint16_t>(path_bytes),
                       static_cast<std::uint16_t>(id_bytes)};
        test.write(slot, record, "/lib/one", 8);
    }
    reader.drain(sink);
    EXPECT_TRUE(sink.modules.empty());
    EXPECT_EQ(reader.corrupt_chunks(), 2U);
}

TEST_F(AreaReading, bounds_the_depth_of_a_stack) {
    const std::uint32_t slot = test.start_thread(100);
    test.add_sample(slot, {Frames(kMaxDepth, 1)});
    reader.drain(sink);
    ASSERT_EQ(sink.samples.size(), 1U);
    EXPECT_EQ(sink.samples[0].frames.size(), kMaxDepth);
    test.add_sample(slot, {{1}, kMaxDepth});
    reader.drain(sink);
    EXPECT_EQ(sink.samples.size(), 1U);
    EXPECT_EQ(reader.corrupt_chunks(), 1U);
}

TEST_F(AreaReading, terminates_a_threads_name) {
    const std::uint32_t slot = test.start_thread(100, std::string(16, 'n'));
    (void)slot;
    reader.drain(sink);
    ASSERT_EQ(sink.starts.size(), 1U);
    EXPECT_EQ(std::strlen(sink.starts[0].second.name.data()), 15U);
}

TEST_F(AreaReading, orders_any_sequence_numbers) {
    // Numbers a third of the circle apart have no order if it is judged by their distance, and a
    // sort by such an order may leave its array.
    std::mt19937 random{5};
    for (std::uint32_t i = 0; i < 300; ++i) {
        const std::uint32_t index = capture::claim_bit(test.area().header.free_chunks);
        Chunk& chunk = test.chunk(index);
        chunk.slot = 1;
        chunk.sequence = static_cast<std::uint32_t>(random());
        test.thread(1).cursor = {&chunk, 0, Chunk::kDataBytes, 0};
        test.add_sample(1, {{chunk.sequence}});
    }
    reader.drain(sink);
    ASSERT_EQ(sink.samples.size(), 300U);
    for (std::size_t i = 1; i < sink.samples.size(); ++i) {
        EXPECT_LT(sink.samples[i - 1].frames[0], sink.samples[i].frames[0]);
    }
}

}  // namespace
}  // namespace sample::collector
