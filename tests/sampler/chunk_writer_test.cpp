#include "tests/sampler/area_fixture.h"

namespace sample::capture {
namespace {

using collector::TestArea;

constexpr std::uint32_t kChunkWords = Chunk::kDataBytes / 8;

class ChunkWriter : public ::testing::Test {
protected:
    [[nodiscard]] Area& area() const { return test_.area(); }
    [[nodiscard]] ThreadSlot& slot(std::uint32_t index = 5) const {
        ThreadSlot& result = test_.slot(index);
        return result;
    }
    void SetUp() override { slot().chunk = kNoIndex; }

private:
    TestArea test_;
};

TEST_F(ChunkWriter, has_no_room_before_it_has_a_chunk) {
    EXPECT_EQ(reserve(area(), slot(), 1).words, nullptr);
}

TEST_F(ChunkWriter, labels_a_new_chunk_with_its_owner) {
    ASSERT_TRUE(change_chunk(area(), slot()));
    EXPECT_EQ(slot().chunk, 0U);
    EXPECT_EQ(area().chunks[0].slot, 5U);
    EXPECT_EQ(area().chunks[0].sequence, 0U);
    ASSERT_TRUE(change_chunk(area(), slot()));
    EXPECT_EQ(slot().chunk, 1U);
    EXPECT_EQ(area().chunks[1].sequence, 1U);
}

TEST_F(ChunkWriter, fills_a_chunk_to_its_last_word) {
    ASSERT_TRUE(change_chunk(area(), slot()));
    const Reservation most = reserve(area(), slot(), kChunkWords - 1);
    ASSERT_NE(most.words, nullptr);
    commit(area(), slot(), most);
    EXPECT_EQ(reserve(area(), slot(), 2).words, nullptr);
    const Reservation last = reserve(area(), slot(), 1);
    ASSERT_NE(last.words, nullptr);
    EXPECT_EQ(reinterpret_cast<std::byte*>(last.words + 1), area().chunks[0].data.end());
    commit(area(), slot(), last);
    EXPECT_EQ(area().chunks[0].committed.load(), Chunk::kDataBytes);
    EXPECT_EQ(reserve(area(), slot(), 1).words, nullptr);
}

TEST_F(ChunkWriter, shows_nothing_before_the_commit) {
    ASSERT_TRUE(change_chunk(area(), slot()));
    const Reservation room = reserve(area(), slot(), 4);
    EXPECT_EQ(area().chunks[0].committed.load(), 0U);
    commit(area(), slot(), room);
    EXPECT_EQ(area().chunks[0].committed.load(), 32U);
}

TEST_F(ChunkWriter, leaves_the_old_chunk_as_full) {
    ASSERT_TRUE(change_chunk(area(), slot()));
    EXPECT_EQ(area().chunks[0].full.load(), 0U);
    ASSERT_TRUE(change_chunk(area(), slot()));
    EXPECT_EQ(area().chunks[0].full.load(), 1U);
    EXPECT_EQ(area().chunks[1].full.load(), 0U);
}

TEST_F(ChunkWriter, keeps_its_chunk_when_there_is_no_other) {
    ASSERT_TRUE(change_chunk(area(), slot()));
    for (auto& word : area().header.free_chunks) {
        word.store(0);
    }
    EXPECT_FALSE(change_chunk(area(), slot()));
    EXPECT_EQ(slot().chunk, 0U);
    EXPECT_EQ(area().chunks[0].full.load(), 0U);
    EXPECT_NE(reserve(area(), slot(), 1).words, nullptr);
}

TEST_F(ChunkWriter, forgets_the_last_stack_with_the_chunk) {
    ThreadRecord record;
    record.tid = 77;
    slot().unchanged = 9;
    ASSERT_TRUE(write_record(area(), slot(), record));
    EXPECT_EQ(slot().unchanged, 0U);
    slot().unchanged = 9;
    ASSERT_TRUE(write_record(area(), slot(), record));
    EXPECT_EQ(slot().unchanged, 9U) << "the same chunk";
    RecordHead head;
    std::memcpy(static_cast<void*>(&head), area().chunks[0].data.data(), sizeof head);
    EXPECT_EQ(head.size_words, sizeof(ThreadRecord) / 8);
}

TEST_F(ChunkWriter, says_when_a_record_has_no_room) {
    for (auto& word : area().header.free_chunks) {
        word.store(0);
    }
    EXPECT_FALSE(write_record(area(), slot(), ThreadRecord{}));
}

}  // namespace
}  // namespace sample::capture
