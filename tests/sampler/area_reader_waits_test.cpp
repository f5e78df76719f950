#include "sampler/collector/process/area_reader.h"
#include "tests/sampler/area_fixture.h"

namespace sample::collector {
namespace {

using capture::kMaxDepth;
using capture::RecordKind;
using capture::WaitKind;
using Frames = std::vector<std::uint64_t>;
using Kinds = std::vector<RecordKind>;

class WaitReading : public AreaReading {
protected:
    void observe(std::uint32_t slot) const {
        test.area().header.observer_slot_plus_one.store(slot + 1);
    }
    /// A record that says of itself what the caller wants, and is followed by `words` words.
    void write_record(std::uint32_t slot, std::size_t words, std::size_t said_frames) const {
        capture::WaitRecord record;
        record.head.kind = RecordKind::wait;
        record.head.a = static_cast<std::uint16_t>(said_frames);
        const Frames rest(words, 1);
        test.write(slot, record, rest.data(), rest.size() * 8);
    }
};

TEST_F(WaitReading, tells_what_was_seen) {
    const std::uint32_t slot = test.start_thread(100);
    test.add_wait(slot, {77, WaitKind::stack, 5, 6, 7, {30, 20, 10}, 8});
    test.add_wait(slot, {78, WaitKind::goes_on, 9, 10, 11});
    reader.drain(sink);
    ASSERT_EQ(sink.waits.size(), 2U);
    const KeepingSink::KeptWait& stack = sink.waits[0];
    EXPECT_EQ(stack.record.tid, 77U);
    EXPECT_EQ(stack.record.head.b, static_cast<std::uint16_t>(WaitKind::stack));
    EXPECT_EQ(stack.record.ticks, 5U);
    EXPECT_EQ(stack.record.cpu_ns, 6U);
    EXPECT_EQ(stack.record.processor_wait_ns, 7U);
    EXPECT_EQ(stack.record.stop, 8U);
    EXPECT_EQ(stack.frames, (Frames{10, 20, 30}));
    EXPECT_EQ(sink.waits[1].record.tid, 78U);
    EXPECT_TRUE(sink.waits[1].frames.empty());
    EXPECT_EQ(reader.corrupt_chunks(), 0U);
}

TEST_F(WaitReading, leaves_the_slots_own_stack_alone) {
    const std::uint32_t slot = test.start_thread(100);
    test.add_sample(slot, {{2, 1}});
    test.add_wait(slot, {77, WaitKind::stack, 0, 0, 0, {9, 8, 7}});
    test.add_sample(slot, {{3}, 1});
    reader.drain(sink);
    ASSERT_EQ(sink.samples.size(), 2U);
    EXPECT_EQ(sink.samples[1].frames, (Frames{1, 3}));
}

TEST_F(WaitReading, takes_the_deepest_stack) {
    const std::uint32_t slot = test.start_thread(100);
    write_record(slot, kMaxDepth, kMaxDepth);
    reader.drain(sink);
    ASSERT_EQ(sink.waits.size(), 1U);
    EXPECT_EQ(sink.waits[0].frames.size(), kMaxDepth);
}

TEST_F(WaitReading, drops_a_stack_that_is_too_deep) {
    const std::uint32_t slot = test.start_thread(100);
    write_record(slot, kMaxDepth + 1, kMaxDepth + 1);
    reader.drain(sink);
    EXPECT_TRUE(sink.waits.empty());
    EXPECT_EQ(reader.corrupt_chunks(), 1U);
}

TEST_F(WaitReading, drops_frames_that_are_not_there) {
    for (const auto& [words, said] : {std::pair{2, 3}, std::pair{2, 1}, std::pair{0, 1}}) {
        const std::uint32_t slot = test.start_thread(100);
        write_record(slot, static_cast<std::size_t>(words), static_cast<std::size_t>(said));
    }
    reader.drain(sink);
    EXPECT_TRUE(sink.waits.empty());
    EXPECT_EQ(reader.corrupt_chunks(), 3U);
}

TEST_F(WaitReading, drops_a_record_that_is_too_short) {
    const std::uint32_t slot = test.start_thread(100);
    const capture::UnloadRecord head{{RecordKind::wait}};
    const Frames rest(sizeof(capture::WaitRecord) / 8 - 2, 0);
    test.write(slot, head, rest.data(), rest.size() * 8);
    reader.drain(sink);
    EXPECT_TRUE(sink.waits.empty());
    EXPECT_EQ(reader.corrupt_chunks(), 1U);
}

// What a thread says may be the code that it was seen in; its end comes after all.
TEST_F(WaitReading, takes_what_was_seen_between_what_threads_say_and_their_end) {
    const std::uint32_t thread = test.start_thread(77);
    const std::uint32_t observer = test.start_thread(100);
    test.add_sample(thread, {{1}});
    test.end_thread(thread, 5);
    test.add_wait(observer, {77, WaitKind::goes_on});
    observe(observer);
    reader.drain(sink);
    EXPECT_EQ(sink.order,
              (Kinds{RecordKind::thread_start, RecordKind::sample, RecordKind::thread_start,
                     RecordKind::wait, RecordKind::thread_end}));
}

TEST_F(WaitReading, keeps_the_order_of_the_observers_own_chunks) {
    const std::uint32_t thread = test.start_thread(77);
    const std::uint32_t observer = test.start_thread(100);
    test.add_sample(thread, {{1}});
    observe(observer);
    // Three chunks, claimed from the highest one down.
    std::array<std::uint32_t, 3> chunks{};
    for (std::uint32_t& chunk : chunks) {
        chunk = capture::claim_bit(test.area().header.free_chunks);
    }
    for (std::uint32_t i = 3; i-- > 0;) {
        capture::return_bit(test.area().header.free_chunks, chunks[i]);
        ASSERT_TRUE(capture::change_chunk(test.area(), test.thread(observer)));
        ASSERT_EQ(test.chunk_index_of(observer), chunks[i]);
        test.add_wait(observer, {3 - i, WaitKind::clocks});
    }
    reader.drain(sink);
    ASSERT_EQ(sink.waits.size(), 3U);
    for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(sink.waits[i].record.tid, i + 1);
    }
    EXPECT_EQ(sink.order.back(), RecordKind::wait);
}

TEST_F(WaitReading, needs_no_observer_to_be_named_rightly) {
    const std::uint32_t thread = test.start_thread(77);
    test.add_sample(thread, {{1}});
    for (const std::uint32_t wild : {0U, 1U, 4097U, 0xffffffffU}) {
        test.area().header.observer_slot_plus_one.store(wild);
        test.add_wait(thread, {78, WaitKind::clocks});
        reader.drain(sink);
    }
    EXPECT_EQ(sink.waits.size(), 4U);
    EXPECT_EQ(sink.samples.size(), 1U);
}

}  // namespace
}  // namespace sample::collector
