#include "sampler/capture/weight.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <memory>

namespace sample::capture {
namespace {

constexpr std::uint64_t kPeriod = 3;
constexpr std::size_t kPage = 4096;

/// That many page faults of the calling thread, and maybe some more.
void fault(std::size_t pages) {
    void* const made =
        ::mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(made, MAP_FAILED);
    ::madvise(made, pages * kPage, MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < pages; ++i) {
        static_cast<volatile char*>(made)[i * kPage] = 1;
    }
    ::munmap(made, pages * kPage);
}

TEST(Weight, what_happened_while_sampling_was_off_is_in_no_sample) {
    const auto header = std::make_unique<AreaHeader>();
    header->gap_ticks.store(kCountsEvents);
    header->kernel_count = KernelCount::faults;
    header->period_ns.store(kPeriod);
    const auto thread = std::make_unique<ThreadState>();
    const auto sampled = [&] {
        const Weight weight = weigh(*header, *thread, 1);
        thread->last_ticks = 1;
        thread->accounted_ns = weight.accounted_ns;
        thread->pace = weight.pace;
        return weight.seen_ns;
    };
    EXPECT_EQ(sampled(), kPeriod) << "the first one";
    fault(100);
    EXPECT_GE(sampled(), 100U);
    header->pace.fetch_add(1);
    fault(100);
    header->pace.fetch_add(1);
    EXPECT_EQ(sampled(), kPeriod) << "the first one behind a stop and a start";
    fault(100);
    EXPECT_GE(sampled(), 100U);
}

TEST(Weight, samples_anywhere_in_their_periods_stand_for_a_period_each) {
    constexpr std::uint64_t kLook = 1'000'000;
    // By turns late and early in the periods: what passes in between is not even.
    std::uint64_t accounted = 0;
    for (std::uint64_t period = 1; period < 10; ++period) {
        const std::uint64_t place = period % 2 == 0 ? kLook / 10 : kLook * 9 / 10;
        const std::uint64_t paid = in_periods(period * kLook + place - accounted, kLook);
        EXPECT_EQ(paid, kLook) << period;
        accounted += paid;
    }
}

TEST(Weight, a_sample_that_comes_late_in_the_next_period_stands_for_its_own) {
    EXPECT_EQ(in_periods(2'050, 1'000), 1'000U);
}

TEST(Weight, a_thread_that_missed_periods_is_given_them_and_the_rest_stays_for_the_next_sample) {
    EXPECT_EQ(in_periods(5'300, 1'000), 5'000U);
}

TEST(Weight, a_thread_that_had_less_than_a_period_is_given_all_of_it) {
    EXPECT_EQ(in_periods(300, 1'000), 300U);
}

}  // namespace
}  // namespace sample::capture
