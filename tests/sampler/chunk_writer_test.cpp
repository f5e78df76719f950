#include "tests/sampler/area_fixture.h"

namespace sample::capture {
namespace {

using collector::TestArea;

constexpr std::uint32_t kChunkWords = Chunk::kDataBytes / 8;

class ChunkWriter : public ::testing::Test {
protected:
    [[nodiscard]] Area& area() const { return test_.area(); }
    [[nodiscard]] ThreadState& thread() const { return test_.thread(5); }
    [[nodiscard]] ThreadSlot& slot() const { return test_.slot(5); }
    [[nodiscard]] Chunk& chunk(std::uint32_t index) const { return test_.chunk(index); }

private:
    TestArea test_;
};

TEST_F(ChunkWriter, has_no_room_before_it_has_a_chunk) {
    EXPECT_EQ(reserve(thread(), 1).words, nullptr);
}

TEST_F(ChunkWriter, labels_a_new_chunk_with_its_owner) {
    ASSERT_TRUE(change_chunk(area(), thread()));
    EXPECT_EQ(slot().chunk, 0U);
    EXPECT_EQ(chunk(0).slot, 5U);
    EXPECT_EQ(chunk(0).sequence, 0U);
    ASSERT_TRUE(change_chunk(area(), thread()));
    EXPECT_EQ(slot().chunk, 1U);
    EXPECT_EQ(chunk(1).sequence, 1U);
}

TEST_F(ChunkWriter, fills_a_chunk_to_its_last_word) {
    ASSERT_TRUE(change_chunk(area(), thread()));
    thread().cursor.enough = Chunk::kDataBytes;
    const Reservation most = reserve(thread(), kChunkWords - 1);
    ASSERT_NE(most.words, nullptr);
    commit(thread(), most);
    EXPECT_EQ(reserve(thread(), 2).words, nullptr);
    const Reservation last = reserve(thread(), 1);
    ASSERT_NE(last.words, nullptr);
    EXPECT_EQ(reinterpret_cast<std::byte*>(last.words + 1), chunk(0).data.end());
    commit(thread(), last);
    EXPECT_EQ(chunk(0).committed.load(), Chunk::kDataBytes);
    EXPECT_EQ(reserve(thread(), 1).words, nullptr);
}

TEST_F(ChunkWriter, leaves_a_chunk_when_its_stack_is_a_small_part_of_it) {
    ASSERT_TRUE(change_chunk(area(), thread()));
    EXPECT_NE(reserve(thread(), kChunkWords).words, nullptr) << "one record may be as long";
    const std::uint32_t enough = enough_of_chunk(0);
    commit(thread(), reserve(thread(), enough / 8 - 1));
    commit(thread(), reserve(thread(), 10));
    EXPECT_EQ(reserve(thread(), 1).words, nullptr);
    EXPECT_GE(enough_of_chunk(4096), 16U * 4096);
}

TEST_F(ChunkWriter, shows_nothing_before_the_commit) {
    ASSERT_TRUE(change_chunk(area(), thread()));
    const Reservation room = reserve(thread(), 4);
    EXPECT_EQ(chunk(0).committed.load(), 0U);
    commit(thread(), room);
    EXPECT_EQ(chunk(0).committed.load(), 32U);
}

TEST_F(ChunkWriter, leaves_the_old_chunk_as_full) {
    ASSERT_TRUE(change_chunk(area(), thread()));
    EXPECT_EQ(chunk(0).full.load(), 0U);
    ASSERT_TRUE(change_chunk(area(), thread()));
    EXPECT_EQ(chunk(0).full.load(), 1U);
    EXPECT_EQ(chunk(1).full.load(), 0U);
}

TEST_F(ChunkWriter, keeps_its_chunk_when_there_is_no_other) {
    ASSERT_TRUE(change_chunk(area(), thread()));
    for (auto& word : area().header.free_chunks) {
        word.store(0);
    }
    EXPECT_FALSE(change_chunk(area(), thread()));
    EXPECT_EQ(slot().chunk, 0U);
    EXPECT_EQ(chunk(0).full.load(), 0U);
    EXPECT_NE(reserve(thread(), 1).words, nullptr);
}

TEST_F(ChunkWriter, forgets_the_last_stack_with_the_chunk) {
    ThreadRecord record;
    record.tid = 77;
    thread().unchanged = 9;
    ASSERT_TRUE(write_record(area(), thread(), record));
    EXPECT_EQ(thread().unchanged, 0U);
    thread().unchanged = 9;
    ASSERT_TRUE(write_record(area(), thread(), record));
    EXPECT_EQ(thread().unchanged, 9U) << "the same chunk";
    RecordHead head;
    std::memcpy(static_cast<void*>(&head), chunk(0).data.data(), sizeof head);
    EXPECT_EQ(head.size_words, sizeof(ThreadRecord) / 8);
}

TEST_F(ChunkWriter, believes_nothing_that_another_writes_into_its_chunk) {
    ASSERT_TRUE(change_chunk(area(), thread()));
    commit(thread(), reserve(thread(), 4));
    chunk(0).committed.store(0xfffffff8);
    slot().chunk.store(kNoIndex);
    const Reservation room = reserve(thread(), 4);
    EXPECT_EQ(reinterpret_cast<std::byte*>(room.words), chunk(0).data.data() + 32);
    commit(thread(), room);
    EXPECT_EQ(chunk(0).committed.load(), 64U);
}

TEST_F(ChunkWriter, says_when_a_record_has_no_room) {
    for (auto& word : area().header.free_chunks) {
        word.store(0);
    }
    EXPECT_FALSE(write_record(area(), thread(), ThreadRecord{}));
}

}  // namespace
}  // namespace sample::capture
