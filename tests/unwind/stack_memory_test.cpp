#include "unwind/walk/stack_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>

namespace sample::unwind {
namespace {

/// Three pages, of which only the middle one is readable.
class Island {
public:
    static constexpr std::uint64_t kPage = 4096;

    Island()
        : base_{reinterpret_cast<std::uint64_t>(
              mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))} {
        mprotect(reinterpret_cast<void*>(begin()), kPage, PROT_READ | PROT_WRITE);
    }
    ~Island() { munmap(reinterpret_cast<void*>(base_), 3 * kPage); }
    Island(const Island&) = delete;
    Island& operator=(const Island&) = delete;

    [[nodiscard]] std::uint64_t begin() const { return base_ + kPage; }
    [[nodiscard]] std::uint64_t end() const { return base_ + 2 * kPage; }

private:
    std::uint64_t base_;
};

TEST(StackMemory, reads_words_within_its_bounds_only) {
    const std::array<std::uint64_t, 3> words{1, 2, 3};
    const auto begin = reinterpret_cast<std::uint64_t>(words.data());
    StackMemory memory = StackMemory::live({begin, begin + 16}, StackMemory::Outside::fail);
    std::uint64_t value = 0;
    EXPECT_TRUE(memory.read(begin + 8, value));
    EXPECT_EQ(value, 2U);
    EXPECT_FALSE(memory.read(begin + 16, value));
    EXPECT_FALSE(memory.read(begin - 8, value));
    EXPECT_FALSE(memory.read(begin + 4, value)) << "misaligned";
    EXPECT_EQ(value, 2U);
    EXPECT_EQ(memory.probes(), 0U);
}

TEST(StackMemory, has_nothing_in_bounds_that_are_empty_or_upside_down) {
    const std::uint64_t word = 7;
    const auto at = reinterpret_cast<std::uint64_t>(&word);
    std::uint64_t value = 0;
    for (const StackBounds bounds : {StackBounds{at, at}, {at, at + 7}, {at + 8, at}, {0, 0}}) {
        StackMemory memory = StackMemory::live(bounds, StackMemory::Outside::fail);
        EXPECT_FALSE(memory.read(at, value));
    }
}

TEST(StackMemory, reads_a_copy_at_the_addresses_it_was_taken_from) {
    const std::array<std::uint64_t, 2> words{10, 20};
    StackMemory memory = StackMemory::recorded(0x7ffc0000, std::as_bytes(std::span{words}));
    std::uint64_t value = 0;
    EXPECT_TRUE(memory.read(0x7ffc0008, value));
    EXPECT_EQ(value, 20U);
    EXPECT_FALSE(memory.read(0x7ffc0010, value));
    EXPECT_FALSE(memory.read(reinterpret_cast<std::uint64_t>(words.data()), value));
}

TEST(StackMemory, asks_the_kernel_once_a_page_and_believes_it) {
    const Island island;
    StackMemory memory = StackMemory::live({}, StackMemory::Outside::probe);
    std::uint64_t value = 0;
    errno = 77;
    EXPECT_TRUE(memory.read(island.begin(), value));
    EXPECT_TRUE(memory.read(island.end() - 8, value));
    EXPECT_EQ(memory.probes(), 1U);
    EXPECT_FALSE(memory.read(island.end(), value));
    EXPECT_FALSE(memory.read(island.begin() - 8, value));
    EXPECT_EQ(memory.probes(), 3U);
    EXPECT_EQ(errno, 77);
}

TEST(StackMemory, never_asks_about_what_no_stack_can_be) {
    StackMemory memory = StackMemory::live({}, StackMemory::Outside::probe);
    std::uint64_t value = 0;
    EXPECT_FALSE(memory.read(0, value));
    EXPECT_FALSE(memory.read(std::uint64_t{1} << 47, value));
    EXPECT_FALSE(memory.read(~std::uint64_t{7}, value));
    EXPECT_EQ(memory.probes(), 0U);
}

TEST(StackMemory, keeps_what_it_was_told_of_pages_here_and_there) {
    const Island first;
    const Island second;
    StackMemory memory = StackMemory::live({}, StackMemory::Outside::probe);
    std::uint64_t value = 0;
    for (int time = 0; time < 3; ++time) {
        EXPECT_TRUE(memory.read(first.begin(), value));
        EXPECT_TRUE(memory.read(second.begin(), value));
        EXPECT_FALSE(memory.read(second.end(), value));
    }
    EXPECT_EQ(memory.probes(), 3U);
}

TEST(StackMemory, stops_asking_at_its_limit) {
    // More in turn than are kept.
    const std::array<Island, 24> islands;
    StackMemory memory = StackMemory::live({}, StackMemory::Outside::probe);
    std::uint64_t value = 0;
    for (std::uint32_t i = 0; i < StackMemory::kMaxProbes; ++i) {
        EXPECT_TRUE(memory.read(islands[i % islands.size()].begin(), value));
    }
    EXPECT_FALSE(memory.read(islands[StackMemory::kMaxProbes % islands.size()].begin(), value));
    EXPECT_EQ(memory.probes(), StackMemory::kMaxProbes);
}

}  // namespace
}  // namespace sample::unwind
