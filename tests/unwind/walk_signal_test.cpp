// Walks inside signal handlers and across them.
#include "tests/unwind/walk_fixture.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

namespace sample::unwind::testing {
namespace {

constexpr std::size_t kAlternateStack = std::size_t{64} << 10;

struct State {
    Tables* tables = nullptr;
    StackBounds bounds;
    StackMemory::Outside outside = StackMemory::Outside::fail;
    std::array<FrameAddress, 256> frames;
    WalkResult result;
    std::uint32_t probes = 0;
    int nested = 0;
};
State state;

void walk_from(const Registers& registers) {
    StackMemory memory = StackMemory::live(state.bounds, state.outside);
    state.result = state.tables->walk(registers, memory, state.frames);
    state.probes = memory.probes();
}

void raise_here(int number) {
    syscall(SYS_tgkill, getpid(), gettid(), number);
}

/// Walks what was interrupted, as a profiler does.
void on_sample(int /*signal*/, siginfo_t* /*info*/, void* context) {
    walk_from(registers_of(*static_cast<const ucontext_t*>(context)));
}

/// Interrupts itself, so that the walk crosses this handler's frame.
void on_outer(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {
    if (state.nested-- > 0) {
        raise_here(SIGUSR2);
    } else {
        raise_here(SIGUSR1);
    }
    asm volatile("" : : : "memory");
}

[[gnu::noinline]] void interrupted(int number) {
    raise_here(number);
    asm volatile("" : : : "memory");
}

class WalkSignal : public ::testing::Test {
protected:
    void SetUp() override {
        tables_ = std::make_unique<Tables>();
        state = State{};
        state.tables = tables_.get();
        state.bounds = stack_bounds();
    }
    void TearDown() override {
        std::signal(SIGUSR1, SIG_DFL);
        std::signal(SIGUSR2, SIG_DFL);
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        sigaltstack(&none, nullptr);
    }
    static void handle(int number, void (*handler)(int, siginfo_t*, void*), int flags = 0) {
        struct sigaction action {};
        action.sa_sigaction = handler;
        action.sa_flags = SA_SIGINFO | SA_NODEFER | flags;
        sigaction(number, &action, nullptr);
    }
    void use_alternate_stack() {
        stack_t stack{};
        stack.ss_sp = alternate_.data();
        stack.ss_size = alternate_.size();
        sigaltstack(&stack, nullptr);
    }
    [[nodiscard]] std::size_t count(const void* function) const {
        std::size_t count = 0;
        for (std::uint32_t i = 0; i < state.result.depth; ++i) {
            count += function_of(tables_->modules(), state.frames[i]) ==
                             reinterpret_cast<std::uint64_t>(function)
                         ? 1
                         : 0;
        }
        return count;
    }
    static std::size_t exact_frames() {
        std::size_t count = 0;
        for (std::uint32_t i = 0; i < state.result.depth; ++i) {
            count += state.frames[i].is_exact() ? 1 : 0;
        }
        return count;
    }

    std::vector<unsigned char> alternate_ = std::vector<unsigned char>(kAlternateStack);
    std::unique_ptr<Tables> tables_;
};

TEST_F(WalkSignal, walks_what_the_signal_interrupted) {
    handle(SIGUSR1, on_sample);
    interrupted(SIGUSR1);
    EXPECT_EQ(state.result.reason, StopReason::root);
    EXPECT_EQ(count(reinterpret_cast<const void*>(&interrupted)), 1U);
    EXPECT_EQ(count(reinterpret_cast<const void*>(&on_sample)), 0U);
    EXPECT_EQ(state.probes, 0U);
    EXPECT_EQ(exact_frames(), 1U);
}

TEST_F(WalkSignal, crosses_the_frame_of_another_handler) {
    handle(SIGUSR1, on_sample);
    handle(SIGUSR2, on_outer);
    interrupted(SIGUSR2);
    EXPECT_EQ(state.result.reason, StopReason::root);
    EXPECT_EQ(count(reinterpret_cast<const void*>(&on_outer)), 1U);
    EXPECT_EQ(count(reinterpret_cast<const void*>(&interrupted)), 1U);
    // The leaf, the trampoline, and the pc that the outer signal interrupted.
    EXPECT_EQ(exact_frames(), 3U);
    EXPECT_FALSE(state.result.restored_all);
}

TEST_F(WalkSignal, crosses_three_handlers_on_one_stack) {
    handle(SIGUSR1, on_sample);
    handle(SIGUSR2, on_outer);
    state.nested = 2;
    interrupted(SIGUSR2);
    EXPECT_EQ(state.result.reason, StopReason::root);
    EXPECT_EQ(count(reinterpret_cast<const void*>(&on_outer)), 3U);
    EXPECT_EQ(exact_frames(), 7U);
}

TEST_F(WalkSignal, leaves_an_alternate_stack) {
    use_alternate_stack();
    handle(SIGUSR1, on_sample);
    handle(SIGUSR2, on_outer, SA_ONSTACK);
    // The alternate stack lies outside of the bounds: the kernel is asked about it.
    state.outside = StackMemory::Outside::probe;
    interrupted(SIGUSR2);
    EXPECT_EQ(state.result.reason, StopReason::root);
    EXPECT_EQ(count(reinterpret_cast<const void*>(&interrupted)), 1U);
    EXPECT_GT(state.probes, 0U);
}

/// A call through a null pointer, caught: the leaf pc is in no module.
TEST_F(WalkSignal, says_that_a_leaf_is_in_no_module) {
    Registers registers{};
    registers.value[Registers::kSp] = state.bounds.high - 4096;
    walk_from(registers);
    EXPECT_EQ(state.result.reason, StopReason::no_module);
    EXPECT_EQ(state.result.depth, 1U);
}

#if !defined(SAMPLE_SANITIZED)
constexpr unsigned char kPaint = 0xa5;

void on_nothing(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {}

class WalkSignalStack : public WalkSignal {
protected:
    /// How many bytes of the alternate stack a handler touched.
    std::size_t bytes_used(void (*handler)(int, siginfo_t*, void*)) {
        std::memset(alternate_.data(), kPaint, alternate_.size());
        handle(SIGUSR1, handler, SA_ONSTACK);
        interrupted(SIGUSR1);
        std::size_t untouched = 0;
        while (untouched < alternate_.size() && alternate_[untouched] == kPaint) {
            ++untouched;
        }
        return alternate_.size() - untouched;
    }
};

TEST_F(WalkSignalStack, needs_at_most_two_kib_and_a_half_for_a_cold_walk) {
    use_alternate_stack();
    on_sample(0, nullptr, [] {
        static ucontext_t context;
        getcontext(&context);
        return static_cast<void*>(&context);
    }());  // The lazily bound symbols are bound now.
    tables_ = std::make_unique<Tables>();
    state.tables = tables_.get();
    const std::size_t empty = bytes_used(on_nothing);
    const std::size_t walking = bytes_used(on_sample);
    EXPECT_EQ(state.result.reason, StopReason::root);
    EXPECT_GT(state.result.rows_compiled, 3U);
    RecordProperty("walk_stack_bytes", static_cast<int>(walking - empty));
    EXPECT_LE(walking - empty, 2560U);
    EXPECT_GT(walking, empty + 256);
}
#endif

}  // namespace
}  // namespace sample::unwind::testing
