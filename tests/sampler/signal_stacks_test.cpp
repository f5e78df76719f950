// The pool of alternate signal stacks: who has which, and what the program is shown.
#include "sampler/capture/signal_stacks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <set>
#include <thread>
#include <vector>

namespace sample::capture {
namespace {

/// Thread ids that no thread has: beyond what pid_max may be.
constexpr std::uint32_t kNobody = 1U << 24U;

void add_slab() {
    const std::size_t slab = count_stack_slabs();
    const std::size_t bytes = stacks_in_slab(slab) * sizeof(SignalStack);
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    ASSERT_TRUE(add_stack_slab(slab, static_cast<SignalStack*>(memory)));
}

class SignalStacks : public testing::Test {
protected:
    SignalStacks() {
        if (count_stack_slabs() == 0) {
            EXPECT_EQ(claim_signal_stack(kNobody), nullptr) << "there is no slab yet";
            add_slab();
        }
    }
    ~SignalStacks() override { keep_one_signal_stack(nullptr, 0); }
};

TEST_F(SignalStacks, no_two_threads_share_one) {
    std::set<SignalStack*> stacks;
    std::uint32_t tid = kNobody;
    while (SignalStack* stack = claim_signal_stack(tid)) {
        EXPECT_TRUE(stacks.insert(stack).second);
        ++tid;
    }
    EXPECT_EQ(stacks.size() % kFirstSlabStacks, 0U) << "all of them were given";
    EXPECT_FALSE(has_spare_signal_stack());
    add_slab();
    SignalStack* more = claim_signal_stack(tid);
    ASSERT_NE(more, nullptr);
    EXPECT_FALSE(stacks.contains(more));
}

TEST_F(SignalStacks, a_thread_has_one_however_often_it_asks) {
    SignalStack* stack = claim_signal_stack(kNobody);
    EXPECT_EQ(claim_signal_stack(kNobody), stack);
    free_signal_stack(*stack);
    EXPECT_EQ(claim_signal_stack(kNobody + 1), stack);
}

TEST_F(SignalStacks, threads_that_race_get_different_ones) {
    std::vector<SignalStack*> got(8);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < got.size(); ++i) {
        threads.emplace_back([&got, i] {
            for (int round = 0; round < 2000; ++round) {
                SignalStack* stack =
                    claim_signal_stack(kNobody + static_cast<std::uint32_t>(i) + 1);
                stack->begin({nullptr, 0, i});
                if (stack->views[0].ss_size != i) {
                    return;
                }
                got[i] = stack;
                if (round + 1 < 2000) {
                    free_signal_stack(*stack);
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ((std::set<SignalStack*>{got.begin(), got.end()}.size()), got.size());
    EXPECT_FALSE(std::set<SignalStack*>(got.begin(), got.end()).contains(nullptr));
}

TEST_F(SignalStacks, those_of_threads_that_are_gone_are_free_again) {
    SignalStack* own = claim_signal_stack(static_cast<std::uint32_t>(::gettid()));
    SignalStack* others = claim_signal_stack(kNobody);
    free_stacks_of_gone_threads();
    EXPECT_EQ(claim_signal_stack(static_cast<std::uint32_t>(::gettid())), own);
    EXPECT_EQ(claim_signal_stack(kNobody + 1), others);
}

TEST_F(SignalStacks, a_forked_child_keeps_its_own_alone) {
    SignalStack* first = claim_signal_stack(kNobody);
    SignalStack* own = claim_signal_stack(kNobody + 1);
    keep_one_signal_stack(own, kNobody + 2);
    EXPECT_EQ(claim_signal_stack(kNobody + 2), own);
    EXPECT_EQ(claim_signal_stack(kNobody + 3), first);
}

TEST_F(SignalStacks, the_kernels_size_tells_what_the_program_sees) {
    SignalStack* stack = claim_signal_stack(kNobody);
    for (std::size_t view = 0; view < kStackViews; ++view) {
        const stack_t kernels = stack->as_kernels(view);
        EXPECT_EQ(find_signal_stack(kernels), stack);
        EXPECT_EQ(stack->view_index(kernels), view);
    }
}

TEST_F(SignalStacks, what_is_not_ours_is_not_taken_for_ours) {
    SignalStack* stack = claim_signal_stack(kNobody);
    char other = 0;
    const std::size_t size = stack->stack.size();
    EXPECT_EQ(find_signal_stack({}), nullptr);
    EXPECT_EQ(find_signal_stack({&other, 0, size}), nullptr);
    EXPECT_EQ(find_signal_stack({stack->stack.data() + 16, 0, size - 16}), nullptr)
        << "the program's own, within ours";
    EXPECT_EQ(find_signal_stack({stack->stack.data(), 0, size - kStackViews}), nullptr);
    EXPECT_EQ(find_signal_stack({stack->stack.data(), 0, size + 1}), nullptr);
}

TEST_F(SignalStacks, an_interrupted_thread_is_given_a_free_one) {
    stack_t kernels{};
    adopt_interrupted_thread(kernels);
    SignalStack* stack = find_signal_stack(kernels);
    ASSERT_NE(stack, nullptr);
    EXPECT_EQ(stack->view_of(kernels).ss_size, 0U) << "the program sees none";
    EXPECT_EQ(claim_signal_stack(static_cast<std::uint32_t>(::gettid())), stack);
}

}  // namespace
}  // namespace sample::capture
