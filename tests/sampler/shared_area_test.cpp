#include "sampler/capture/shared_area.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace sample::capture {
namespace {

void set_all(Bitmap& bitmap) {
    for (auto& word : bitmap) {
        word.store(~std::uint64_t{0});
    }
}

TEST(ClaimBit, gives_each_index_once_lowest_first) {
    const auto bitmap = std::make_unique<Bitmap>();
    set_all(*bitmap);
    for (std::uint32_t expected = 0; expected < kMaxChunks; ++expected) {
        ASSERT_EQ(claim_bit(*bitmap), expected);
    }
    EXPECT_EQ(claim_bit(*bitmap), kNoIndex);
}

TEST(ClaimBit, gives_a_returned_index_again) {
    const auto bitmap = std::make_unique<Bitmap>();
    set_all(*bitmap);
    for (std::uint32_t i = 0; i < kMaxChunks; ++i) {
        ASSERT_NE(claim_bit(*bitmap), kNoIndex);
    }
    for (const std::uint32_t index : {0U, 63U, 64U, 4095U}) {
        return_bit(*bitmap, index);
        EXPECT_EQ(claim_bit(*bitmap), index);
        EXPECT_EQ(claim_bit(*bitmap), kNoIndex);
    }
}

TEST(ClaimBit, gives_no_index_to_two_threads_at_once) {
    constexpr int kThreads = 4;
    constexpr int kRounds = 20'000;
    const auto bitmap = std::make_unique<Bitmap>();
    // Few bits, so that threads meet.
    (*bitmap)[0].store(0b1011);
    (*bitmap)[1].store(0b1);
    std::array<std::atomic<bool>, 128> owned{};
    std::atomic<int> taken_twice{0};
    std::atomic<int> claimed{0};
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < kRounds; ++round) {
                const std::uint32_t index = claim_bit(*bitmap);
                if (index == kNoIndex) {
                    continue;
                }
                claimed.fetch_add(1);
                taken_twice.fetch_add(owned[index].exchange(true) ? 1 : 0);
                owned[index].store(false);
                return_bit(*bitmap, index);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(taken_twice.load(), 0);
    EXPECT_GT(claimed.load(), kRounds / 2);
    EXPECT_EQ((*bitmap)[0].load(), 0b1011U);
    EXPECT_EQ((*bitmap)[1].load(), 0b1U);
}

void expect_in_its_class(std::uint64_t ticks) {
    const std::size_t index = histogram_class(ticks);
    ASSERT_LT(index, kHistogramClasses);
    EXPECT_LE(histogram_floor(index), ticks);
    if (index + 1 < kHistogramClasses) {
        EXPECT_LT(ticks, histogram_floor(index + 1)) << index;
    }
}

TEST(HistogramClass, holds_its_durations) {
    for (std::uint64_t ticks = 0; ticks < 5'000; ++ticks) {
        expect_in_its_class(ticks);
    }
    for (int bit = 0; bit < 64; ++bit) {
        const std::uint64_t power = std::uint64_t{1} << bit;
        expect_in_its_class(power - 1);
        expect_in_its_class(power);
        expect_in_its_class(power + 1);
    }
    std::mt19937_64 random{1};
    for (int i = 0; i < 10'000; ++i) {
        expect_in_its_class(random() >> (random() % 64));
    }
}

TEST(HistogramClass, is_a_quarter_octave_wide) {
    for (std::size_t index = 8; index + 1 < kHistogramClasses; ++index) {
        const std::uint64_t width = histogram_floor(index + 1) - histogram_floor(index);
        EXPECT_LE(width * 4, histogram_floor(index)) << index;
        EXPECT_GT(width, 0U) << index;
    }
}

TEST(HistogramClass, keeps_what_is_too_long_in_the_last) {
    EXPECT_EQ(histogram_class(~std::uint64_t{0}), kHistogramClasses - 1);
}

}  // namespace
}  // namespace sample::capture
