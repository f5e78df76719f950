// Walks with a memory against walks without on this program's own stack, while it recurses at
// random through frames of every kind that compilers make, signals, and stacks of its own.
#include "tests/unwind/walk_fixture.h"

#include <alloca.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>

namespace sample::unwind::testing {
namespace {

#define SAMPLE_FRAME [[gnu::noinline]]

constexpr std::size_t kChecks = 20'000;
constexpr int kDeepest = 60;

std::mt19937 g_random{1};  // NOLINT(cert-msc51-cpp): the same walk every time
Tables* g_tables = nullptr;
StackMemo* g_memo = nullptr;
StackBounds g_bounds;
std::size_t g_checks = 0;
std::size_t g_joined = 0;
std::size_t g_differences = 0;
std::size_t g_broken = 0;
bool g_in_handler = false;
bool g_switched = false;  ///< On a stack that makecontext began: its outermost frame has no rule.
volatile int g_sink = 0;

std::size_t below(std::size_t n) {
    return g_random() % n;
}

void compare(const Registers& registers) {
    static std::array<FrameAddress, 1024> frames;
    StackMemory memory = StackMemory::live(g_bounds, StackMemory::Outside::probe);
    const WalkResult without = g_tables->walk(registers, memory, frames);
    StackMemory again = StackMemory::live(g_bounds, StackMemory::Outside::probe);
    const WalkResult with = unwind::walk(g_tables->modules(), g_tables->cache(), registers, again,
                                         *g_memo, StackMemo::kMaxFrames);
    std::reverse(frames.begin(), frames.begin() + without.depth);
    const auto found = g_memo->root_first();
    ++g_checks;
    g_joined += g_memo->joined() != 0 ? 1 : 0;
    if (g_switched && without.reason != StopReason::root) {
        // What follows is guessed from whatever lies beyond that stack, this array included.
        g_differences += with.reason == StopReason::root ? 1 : 0;
        return;
    }
    g_broken += without.reason == StopReason::root ? 0 : 1;
    g_differences +=
        with.reason == without.reason && std::equal(found.begin(), found.end(), frames.begin(),
                                                    frames.begin() + without.depth)
            ? 0
            : 1;
}

SAMPLE_FRAME void compare_here() {
    ucontext_t here;
    getcontext(&here);
    compare(registers_of(here));
}

SAMPLE_FRAME int wander(int depth);

SAMPLE_FRAME int plain(int depth) {
    const int result = wander(depth) + depth;
    compare_here();
    return result;
}

SAMPLE_FRAME int with_alloca(int depth) {
    const std::size_t size = 16 + below(500);
    auto* bytes = static_cast<unsigned char*>(alloca(size));
    std::memset(bytes, depth, size);
    const int result = wander(depth);
    return result + bytes[size / 2];
}

SAMPLE_FRAME int realigned(int depth) {
    alignas(64) std::array<unsigned char, 128> aligned{};
    auto* bytes = static_cast<unsigned char*>(alloca(16 + below(300)));
    bytes[0] = 1;
    asm volatile("" : : "r"(aligned.data()), "r"(bytes) : "memory");
    const int result = wander(depth);
    return result + aligned[3] + bytes[0];
}

SAMPLE_FRAME int throws(int depth) {
    const int result = wander(depth);
    if (below(3) == 0) {
        throw std::runtime_error{"on"};
    }
    return result;
}

SAMPLE_FRAME int catches(int depth) {
    try {
        return throws(depth);
    } catch (const std::runtime_error&) {
        compare_here();
        return wander(depth);
    }
}

int by_comparison(const void* left, const void* right) {
    static int levels = 0;
    if (levels == 0) {
        ++levels;
        g_sink = wander(kDeepest - 20);
        --levels;
    }
    return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

SAMPLE_FRAME int through_qsort(int depth) {
    std::array<int, 4> values{3, depth, 2, 0};
    std::qsort(values.data(), values.size(), sizeof(int), by_comparison);
    return values[0];
}

void handle(int /*signal*/) {
    g_sink = wander(kDeepest - 10);
    compare_here();
}

SAMPLE_FRAME int through_a_signal(int depth) {
    if (!g_in_handler) {
        g_in_handler = true;
        std::raise(below(2) == 0 ? SIGUSR1 : SIGUSR2);
        g_in_handler = false;
    }
    return depth;
}

ucontext_t g_outside;
ucontext_t g_inside;
alignas(16) std::array<unsigned char, std::size_t{256} * 1024> g_other_stack;

void run_inside() {
    g_sink = wander(kDeepest - 20);
    compare_here();
}

SAMPLE_FRAME int through_another_stack(int depth) {
    if (!g_switched) {
        g_switched = true;
        getcontext(&g_inside);
        g_inside.uc_stack.ss_sp = g_other_stack.data();
        g_inside.uc_stack.ss_size = g_other_stack.size();
        g_inside.uc_link = &g_outside;
        makecontext(&g_inside, run_inside, 0);
        swapcontext(&g_outside, &g_inside);
        g_switched = false;
    }
    compare_here();
    return depth;
}

SAMPLE_FRAME int wander(int depth) {
    compare_here();
    int result = 0;
    for (std::size_t calls = below(3); depth < kDeepest && calls > 0 && g_checks < kChecks;
         --calls) {
        switch (below(12)) {
            case 0:
            case 1:
                result += with_alloca(depth + 1);
                break;
            case 2:
            case 3:
                result += realigned(depth + 1);
                break;
            case 4:
                result += catches(depth + 1);
                break;
            case 5:
                result += through_qsort(depth + 1);
                break;
            case 6:
                result += through_a_signal(depth + 1);
                break;
            case 7:
                result += through_another_stack(depth + 1);
                break;
            default:
                result += plain(depth + 1);
        }
        compare_here();
    }
    return result;
}

TEST(MemoLive, finds_what_a_walk_without_it_finds) {
    Tables tables;
    const auto memo = std::make_unique<StackMemo>();
    g_tables = &tables;
    g_memo = memo.get();
    g_bounds = stack_bounds();
    static std::array<unsigned char, std::size_t{256} * 1024> signal_stack;
    const stack_t alternate{signal_stack.data(), 0, signal_stack.size()};
    ASSERT_EQ(sigaltstack(&alternate, nullptr), 0);
    struct sigaction action = {};
    action.sa_handler = handle;
    sigaction(SIGUSR1, &action, nullptr);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, nullptr);

    while (g_checks < kChecks) {
        try {
            g_sink = wander(0);
        } catch (const std::runtime_error&) {
            g_sink = 0;
        }
        g_in_handler = false;
        g_switched = false;
    }
    EXPECT_EQ(g_differences, 0U);
    EXPECT_EQ(g_broken, 0U);
    EXPECT_GT(g_joined, kChecks / 4);
    const stack_t none{nullptr, SS_DISABLE, 0};
    sigaltstack(&none, nullptr);
}

}  // namespace
}  // namespace sample::unwind::testing
