#include "sampler/capture/area.h"

#include "sampler/capture/thread_slots.h"
#include "tests/sampler/area_fixture.h"

#include <sys/mman.h>

#include <fstream>
#include <thread>

namespace sample::capture {
namespace {

using collector::TestArea;

/// The number of kilobytes that /proc/self/smaps has under `key` for the mapping that `address`
/// lies in; -1 if there is none.
long kilobytes_of(const void* address, const std::string& key) {
    std::ifstream maps{"/proc/self/smaps"};
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t first = 0;
        std::uintptr_t last = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2) {
            inside = wanted >= first && wanted < last;
        } else if (inside && line.rfind(key + ":", 0) == 0) {
            return std::stol(line.substr(key.size() + 1));
        }
    }
    return -1;
}

class AreaMemory : public ::testing::Test {
protected:
    [[nodiscard]] Area& area() const { return test_.area(); }
    [[nodiscard]] ThreadState& thread() const { return test_.thread(0); }
    /// Takes chunks until there are `count` in use.
    void use_chunks(std::uint32_t count) const {
        for (std::uint32_t i = 0; i < count; ++i) {
            ASSERT_TRUE(change_chunk(area(), thread()));
        }
    }
    /// The same file as another process would have it.
    [[nodiscard]] Area other_view() const {
        void* address = ::mmap(nullptr, Area::kFirstBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                               test_.mapping()->fd(), 0);
        return Area{*static_cast<AreaStart*>(address), kMaxGroups};
    }
    TestArea test_;
};

TEST_F(AreaMemory, is_small_at_first_and_grows_by_need) {
    EXPECT_LE(Area::kFirstBytes, std::size_t{2} << 20U);
    EXPECT_EQ(area().mapped_chunks(), kChunksPerGroup);
    EXPECT_EQ(area().chunk(kChunksPerGroup), nullptr);
    EXPECT_EQ(area().slot(kChunksPerGroup), nullptr);
    use_chunks(kChunksPerGroup);
    EXPECT_EQ(area().mapped_chunks(), kChunksPerGroup);
    use_chunks(1);
    EXPECT_EQ(area().mapped_chunks(), 2 * kChunksPerGroup);
}

TEST_F(AreaMemory, is_the_same_to_both_sides_wherever_it_has_grown) {
    use_chunks(5 * kChunksPerGroup);
    Area other = other_view();
    for (std::uint32_t i = 0; i < 5 * kChunksPerGroup; ++i) {
        area().chunk(i)->sequence = 1000 + i;
        ASSERT_NE(other.reach_chunk(i), nullptr);
        EXPECT_EQ(other.chunk(i)->sequence, 1000 + i);
        area().slot(i)->tid = 2000 + i;
        EXPECT_EQ(other.slot(i)->tid, 2000 + i);
    }
}

TEST_F(AreaMemory, ends_where_the_file_ends) {
    EXPECT_NE(area().reach_chunk(kMaxChunks - 1), nullptr);
    EXPECT_NE(area().reach_slot(kMaxThreads - 1), nullptr);
    EXPECT_EQ(area().reach_chunk(kMaxChunks), nullptr);
    EXPECT_EQ(area().reach_slot(kMaxThreads), nullptr);
    EXPECT_FALSE(area().grow());
}

TEST_F(AreaMemory, grows_once_for_many_threads_at_once) {
    constexpr std::uint32_t kThreads = 4;
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([this] {
            for (std::uint32_t chunk = 0; chunk < 64 * kChunksPerGroup; ++chunk) {
                if (Chunk* reached = area().reach_chunk(chunk); reached != nullptr) {
                    reached->committed.fetch_add(1);
                }
            }
        });
    }
    for (std::thread& one : threads) {
        one.join();
    }
    for (std::uint32_t chunk = 0; chunk < 64 * kChunksPerGroup; ++chunk) {
        ASSERT_EQ(area().chunk(chunk)->committed.load(), kThreads) << chunk;
    }
}

TEST_F(AreaMemory, takes_no_more_addresses_than_it_may) {
    area().limit_growth(2);
    use_chunks(3 * kChunksPerGroup);
    EXPECT_FALSE(change_chunk(area(), thread()));
    area().limit_growth(9);
    EXPECT_FALSE(change_chunk(area(), thread())) << "a limit is never raised";
}

TEST_F(AreaMemory, is_locked_by_nothing_that_the_program_locks) {
    if (::mlockall(MCL_FUTURE) != 0) {
        GTEST_FAIL() << "mlockall: errno " << errno;
    }
    use_chunks(2 * kChunksPerGroup);
    EXPECT_EQ(kilobytes_of(area().chunk(kChunksPerGroup), "Locked"), 0);
    ThreadState* const state = thread_states().claim(900);
    ASSERT_NE(state, nullptr);
    EXPECT_EQ(kilobytes_of(state, "Locked"), 0);
    EXPECT_EQ(kilobytes_of(state, "Rss"), 0) << "nor is it filled";
    ::munlockall();
    thread_states().forget();
}

TEST_F(AreaMemory, of_thread_states_comes_a_few_at_a_time_and_no_more_than_it_may) {
    ThreadStates& states = thread_states();
    ThreadState* const first = states.claim(0);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(states.claim(1), first + 1);
    EXPECT_EQ(states.claimed(ThreadStates::kTogether), nullptr);
    states.limit_growth(1);
    EXPECT_NE(states.claim(ThreadStates::kTogether), nullptr);
    EXPECT_EQ(states.claim(2 * ThreadStates::kTogether), nullptr);
    EXPECT_NE(states.claim(2), nullptr) << "what is mapped stays";
    states.forget();
}

}  // namespace
}  // namespace sample::capture
