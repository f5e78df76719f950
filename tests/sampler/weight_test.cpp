#include "sampler/capture/weight.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>

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

constexpr std::uint64_t kLook = 1'000'000;

/// A thread that never pauses, so that its clock is the wall's, and the sampling thread. The
/// signal of a look inside a call of the kernel comes at the call's end, and one waits at most.
class LookedAt {
public:
    /// The thread is at `part` until its clock says `end_ns`.
    void run(std::size_t part, std::uint64_t end_ns, bool is_call = false) {
        for (; next_look_ns() <= end_ns; ++looks_) {
            look(next_look_ns());
            if (!is_call) {
                sample(next_look_ns(), part);
            }
        }
        if (is_call) {
            sample(end_ns, part);
        }
    }
    [[nodiscard]] double percent(std::size_t part) const {
        return 100.0 * static_cast<double>(found_ns_[part]) /
               static_cast<double>(found_ns_[0] + found_ns_[1] + found_ns_[2]);
    }
    [[nodiscard]] std::uint64_t most_ns() const { return most_ns_; }
    [[nodiscard]] std::uint64_t least_ns() const { return least_ns_; }

private:
    /// Steps of the golden ratio, as the sampling thread's.
    [[nodiscard]] std::uint64_t into_ns() const {
        return kLook * (static_cast<std::uint32_t>(looks_) * 0x9e3779b9U) >> 32U;
    }
    [[nodiscard]] std::uint64_t next_look_ns() const { return looks_ * kLook + into_ns(); }
    void look(std::uint64_t now_ns) {
        thread_->looked_ns.store(looked_until(now_ns, now_ns - last_look_ns_, into_ns()));
        last_look_ns_ = now_ns;
        is_asked_ = true;
    }
    void sample(std::uint64_t now_ns, std::size_t part) {
        if (!is_asked_) {
            return;
        }
        is_asked_ = false;
        const Weight weight = weigh_gap(*header_, *thread_, now_ns, kLook, true);
        thread_->accounted_ns = weight.accounted_ns;
        found_ns_[part] += weight.seen_ns;
        if (looks_ > 1) {
            most_ns_ = std::max(most_ns_, weight.seen_ns);
            least_ns_ = std::min(least_ns_, weight.seen_ns);
        }
    }

    std::unique_ptr<AreaHeader> header_ = std::make_unique<AreaHeader>();
    std::unique_ptr<ThreadState> thread_ = std::make_unique<ThreadState>();
    std::uint64_t looks_ = 1;
    std::uint64_t last_look_ns_ = 0;
    bool is_asked_ = false;
    std::array<std::uint64_t, 3> found_ns_{};
    std::uint64_t most_ns_ = 0;
    std::uint64_t least_ns_ = UINT64_MAX;
};

TEST(Weight, a_look_stands_for_a_period_wherever_in_it_it_comes) {
    LookedAt thread;
    thread.run(0, 1000 * kLook);
    EXPECT_EQ(thread.least_ns(), kLook);
    EXPECT_EQ(thread.most_ns(), kLook);
}

TEST(Weight, work_in_step_with_the_looks_has_its_shares) {
    for (const std::uint64_t turn_ns : {kLook / 2, kLook, 2 * kLook, 5 * kLook}) {
        LookedAt thread;
        for (std::uint64_t turn = 0; turn < 2000; ++turn) {
            thread.run(0, turn * turn_ns + turn_ns * 5 / 10);
            thread.run(1, turn * turn_ns + turn_ns * 8 / 10);
            thread.run(2, turn * turn_ns + turn_ns);
        }
        EXPECT_NEAR(thread.percent(0), 50, 0.5) << turn_ns;
        EXPECT_NEAR(thread.percent(1), 30, 0.5) << turn_ns;
        EXPECT_NEAR(thread.percent(2), 20, 0.5) << turn_ns;
    }
}

TEST(Weight, a_sample_at_the_end_of_a_long_call_stands_for_the_looks_in_it) {
    for (const std::uint64_t call_ns : {kLook / 3, 2 * kLook, 7 * kLook}) {
        LookedAt thread;
        std::minstd_rand random{1};
        std::uint64_t now_ns = 0;
        std::uint64_t calls_ns = 0;
        for (int turn = 0; turn < 50'000; ++turn) {
            now_ns += std::uniform_int_distribution<std::uint64_t>{1, 2 * call_ns}(random);
            thread.run(0, now_ns);
            now_ns += call_ns;
            thread.run(1, now_ns, true);
            calls_ns += call_ns;
        }
        const double truth = 100.0 * static_cast<double>(calls_ns) / static_cast<double>(now_ns);
        EXPECT_NEAR(thread.percent(1), truth, 0.5) << call_ns;
    }
}

TEST(Weight, a_thread_that_paused_is_not_given_time_that_it_has_not_used) {
    // It ran for less than the look is in its period: what it used before the last look is due.
    EXPECT_EQ(looked_until(5'000, 300, 700), 4'700U);
    EXPECT_EQ(looked_until(5'000, 700, 300), 4'700U);
}

TEST(Weight, the_looks_at_a_slots_last_thread_are_not_its_next_ones) {
    const auto header = std::make_unique<AreaHeader>();
    const auto thread = std::make_unique<ThreadState>();
    thread->accounted_ns = 1'000;
    thread->looked_ns.store(50'000);
    EXPECT_EQ(weigh_gap(*header, *thread, 3'000, kLook, true).seen_ns, 2'000U);
}

TEST(Weight, what_the_sampling_thread_did_not_ask_for_stands_for_all_that_was_used) {
    const auto header = std::make_unique<AreaHeader>();
    const auto thread = std::make_unique<ThreadState>();
    thread->looked_ns.store(1'000);
    EXPECT_EQ(weigh_gap(*header, *thread, 3'000, kLook, false).seen_ns, 3'000U);
    EXPECT_EQ(weigh_gap(*header, *thread, 3'000, kLook, true).seen_ns, 1'000U);
    thread->looked_ns.store(0);
    EXPECT_EQ(weigh_gap(*header, *thread, 3'000, kLook, true).seen_ns, 3'000U);
}

}  // namespace
}  // namespace sample::capture
