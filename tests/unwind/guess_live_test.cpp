// Stacks through code without unwind tables: hand-written assembly, called in every way, and code
// made at run time. The whole stack is asserted, and which frames were guessed.
#include "tests/unwind/walk_fixture.h"

#include <alloca.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <csignal>
#include <cstring>

// Every function stops at an int3, in the state that its name says; where a nop follows, the code
// does not say how the function is left.
asm(R"(
    .text
    .type guess_at_entry, @function
guess_at_entry:
    int3
    nop
    ret
    .type guess_jumps_on, @function
guess_jumps_on:
    .cfi_startproc
    nop
    jmp *%rdi
    .cfi_endproc
    .size guess_jumps_on, . - guess_jumps_on
    .type guess_with_frame, @function
guess_with_frame:
    push %rbx
    push %r12
    push %r13
    sub $64, %rsp
    movq $0, (%rsp)
    movq $-1, 8(%rsp)
    mov %rsp, 16(%rsp)
    movq $0x1234567, 24(%rsp)
    movabs $0x7ffff7ff7ff7, %rax
    mov %rax, 32(%rsp)
    lea guess_with_frame(%rip), %rax
    mov %rax, 40(%rsp)
    mov %rax, 48(%rsp)
    mov %rax, 56(%rsp)
    int3
    nop
    add $64, %rsp
    pop %r13
    pop %r12
    pop %rbx
    ret
    .type guess_with_saved_bp, @function
guess_with_saved_bp:
    endbr64
    xor %eax, %eax
    push %r12
    lea -24(%rdx, %rcx, 8), %r12
    push %rbp
    push %rbx
    mov $1, %ebp
    int3
    nop
    pop %rbx
    pop %rbp
    pop %r12
    ret
    .type guess_with_stale_words, @function
guess_with_stale_words:
    push %rbx
    sub $64, %rsp
    mov g_stale_direct(%rip), %rax
    mov %rax, (%rsp)
    mov %rax, 24(%rsp)
    mov %rax, 48(%rsp)
    mov g_stale_computed(%rip), %rax
    mov %rax, 8(%rsp)
    mov %rax, 32(%rsp)
    mov %rax, 56(%rsp)
    movq $0, 16(%rsp)
    movq $0, 40(%rsp)
    int3
    nop
    add $64, %rsp
    pop %rbx
    ret
    .type guess_calls_back, @function
guess_calls_back:
    push %rbx
    push %r12
    sub $40, %rsp
    call *%rdi
    add $40, %rsp
    pop %r12
    pop %rbx
    ret
)");

extern "C" {
void guess_at_entry();
void guess_jumps_on(void (*function)());
void guess_with_frame();
void guess_with_saved_bp();
void guess_with_stale_words();
void guess_calls_back(void (*function)());
void guess_in_library();

// What a call left behind: return addresses after a direct call to a function that has rules, and
// after one through a register.
[[gnu::visibility("hidden")]] std::uint64_t g_stale_direct = 0;
[[gnu::visibility("hidden")]] std::uint64_t g_stale_computed = 0;
}

namespace sample::unwind::testing {
namespace {

#define SAMPLE_FRAME [[gnu::noinline]]

Tables* g_tables = nullptr;
StackBounds g_bounds;
Walked g_above;  ///< The stack of who calls code without tables.
std::array<FrameAddress, 256> g_frames;
WalkResult g_result;
volatile int g_sink = 0;

void on_trap(int /*signal*/, siginfo_t* /*info*/, void* context) {
    // As the handler does: a PLT stub's slot is no word of the stack.
    StackMemory memory = StackMemory::live(g_bounds, StackMemory::Outside::probe);
    g_result =
        g_tables->walk(registers_of(*static_cast<const ucontext_t*>(context)), memory, g_frames);
}

class GuessLive : public ::testing::Test {
protected:
    void SetUp() override {
        tables_ = std::make_unique<Tables>();
        g_tables = tables_.get();
        g_bounds = stack_bounds();
        g_above = Walked{};
        g_result = WalkResult{};
        struct sigaction action {};
        action.sa_sigaction = on_trap;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGTRAP, &action, nullptr);
    }
    void TearDown() override { std::signal(SIGTRAP, SIG_DFL); }

    /// `below` frames without a doubt, then `guessed` of them, then what the caller of all saw
    /// above itself.
    static void expect_stack(std::size_t below, std::size_t guessed) {
        EXPECT_EQ(g_result.reason, StopReason::root);
        EXPECT_EQ(g_result.guessed, guessed);
        ASSERT_EQ(g_result.depth, below + guessed + g_above.frames.size() - 1);
        for (std::size_t i = 0; i < below; ++i) {
            EXPECT_FALSE(g_frames[i].is_guessed()) << i;
        }
        for (std::size_t i = below; i < below + guessed; ++i) {
            EXPECT_TRUE(g_frames[i].is_guessed()) << i;
        }
        EXPECT_EQ(function_of(g_tables->modules(), g_frames[below + guessed - 1]),
                  function_of(g_tables->modules(), g_above.frames[0]));
        for (std::size_t i = 1; i < g_above.frames.size(); ++i) {
            EXPECT_EQ(g_frames[below + guessed - 1 + i], g_above.frames[i]) << i;
        }
    }

private:
    std::unique_ptr<Tables> tables_;
};

SAMPLE_FRAME void calls_directly() {
    SAMPLE_WALK_HERE(g_above, *g_tables);
    guess_at_entry();
    g_sink = g_sink + 1;
}

TEST_F(GuessLive, finds_the_caller_of_a_function_that_was_just_called) {
    calls_directly();
    // The call before the word at rsp leads to this function, which has made no frame.
    expect_stack(2, 0);
}

SAMPLE_FRAME void calls_what_jumps_on() {
    SAMPLE_WALK_HERE(g_above, *g_tables);
    guess_jumps_on(guess_at_entry);
    g_sink = g_sink + 1;
}

TEST_F(GuessLive, finds_the_caller_of_a_function_that_has_jumped_on) {
    calls_what_jumps_on();
    expect_stack(1, 1);
}

SAMPLE_FRAME void calls_a_frame() {
    SAMPLE_WALK_HERE(g_above, *g_tables);
    guess_with_frame();
    g_sink = g_sink + 1;
}

TEST_F(GuessLive, passes_saved_registers_and_words_that_are_no_return_addresses) {
    calls_a_frame();
    expect_stack(1, 1);
}

/// Its own caller is found by rbp, as its frame's size is known only at run time.
SAMPLE_FRAME void calls_with_a_frame_pointer() {
    void* bytes = alloca(g_above.frames.capacity() % 8 + 16);
    asm volatile("" : : "r"(bytes) : "memory");
    SAMPLE_WALK_HERE(g_above, *g_tables);
    guess_with_saved_bp();
    g_sink = g_sink + 1;
}

TEST_F(GuessLive, takes_the_frame_pointer_that_assembly_has_pushed) {
    calls_with_a_frame_pointer();
    expect_stack(1, 1);
}

SAMPLE_FRAME void calls_through_the_plt() {
    SAMPLE_WALK_HERE(g_above, *g_tables);
    guess_in_library();
    g_sink = g_sink + 1;
}

TEST_F(GuessLive, finds_a_caller_through_a_plt_stub) {
    calls_through_the_plt();
    expect_stack(1, 1);
}

SAMPLE_FRAME void calls_a_pointer() {
    SAMPLE_WALK_HERE(g_above, *g_tables);
    void (*volatile function)() = guess_with_frame;
    function();
    g_sink = g_sink + 1;
}

TEST_F(GuessLive, finds_a_caller_through_a_pointer) {
    calls_a_pointer();
    expect_stack(1, 1);
}

SAMPLE_FRAME void note_direct() {
    g_stale_direct = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}
SAMPLE_FRAME void note_computed() {
    g_stale_computed = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}
SAMPLE_FRAME void leave_words_behind() {
    note_direct();
    void (*volatile function)() = note_computed;
    function();
    g_sink = g_sink + 1;
}

SAMPLE_FRAME void calls_with_stale_words() {
    SAMPLE_WALK_HERE(g_above, *g_tables);
    guess_with_stale_words();
    g_sink = g_sink + 1;
}

TEST_F(GuessLive, takes_no_return_address_that_a_call_left_behind) {
    leave_words_behind();
    ASSERT_NE(function_of(g_tables->modules(), FrameAddress{ReturnAddress{g_stale_direct}}), 0U);
    ASSERT_NE(function_of(g_tables->modules(), FrameAddress{ReturnAddress{g_stale_computed}}), 0U);
    calls_with_stale_words();
    expect_stack(1, 1);
}

/// The frames below are this one's and its caller's, by rules.
SAMPLE_FRAME void stops() {
    asm volatile("int3" : : : "memory");
    g_sink = g_sink + 1;
}

SAMPLE_FRAME void is_called_back() {
    SAMPLE_WALK_HERE(g_above, *g_tables);
    stops();
    g_sink = g_sink + 1;
}

SAMPLE_FRAME void lets_call_back() {
    SAMPLE_WALK_HERE(g_above, *g_tables);
    guess_calls_back(stops);
    g_sink = g_sink + 1;
}

TEST_F(GuessLive, passes_assembly_that_calls_back) {
    lets_call_back();
    // stops, guess_calls_back, which says how it is left, and its caller.
    expect_stack(3, 0);
}

/// Machine code with a frame pointer, made at run time.
class MadeCode {
public:
    MadeCode(std::initializer_list<unsigned char> bytes)
        : pages_{
              ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)} {
        std::memcpy(pages_, std::data(bytes), bytes.size());
        ::mprotect(pages_, kPage, PROT_READ | PROT_EXEC);
    }
    MadeCode(const MadeCode&) = delete;
    MadeCode& operator=(const MadeCode&) = delete;
    ~MadeCode() { ::munmap(pages_, kPage); }

    using Function = void(void (*)(), std::uint64_t);
    [[nodiscard]] Function* function() const { return reinterpret_cast<Function*>(pages_); }
    [[nodiscard]] bool contains(FrameAddress frame) const {
        return frame.lookup_pc().value - reinterpret_cast<std::uint64_t>(pages_) < kPage;
    }

private:
    static constexpr std::size_t kPage = 4096;
    void* pages_;
};

/// Has a frame pointer, as its frame's size is known only at run time: or the chain would end in
/// whatever rbp was.
SAMPLE_FRAME void calls_made_code(MadeCode::Function* function, void (*argument)()) {
    void* bytes = alloca(g_above.frames.capacity() % 8 + 16);
    asm volatile("" : : "r"(bytes) : "memory");
    SAMPLE_WALK_HERE(g_above, *g_tables);
    function(argument, 0);
    g_sink = g_sink + 1;
}

TEST_F(GuessLive, follows_the_frame_pointer_of_code_made_at_run_time) {
    // push %rbp; mov %rsp, %rbp; sub $32, %rsp; int3; nop; leave; ret
    const MadeCode code{0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0xcc, 0x90, 0xc9, 0xc3};
    calls_made_code(code.function(), nullptr);
    expect_stack(2, 0);
    EXPECT_TRUE(code.contains(g_frames[0]));
}

TEST_F(GuessLive, follows_the_frame_pointer_above_functions_that_have_none) {
    // push %rbp; mov %rsp, %rbp; sub $32, %rsp; call *%rdi; nop; leave; ret
    const MadeCode code{0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec,
                        0x20, 0xff, 0xd7, 0x90, 0xc9, 0xc3};
    calls_made_code(code.function(), stops);
    expect_stack(3, 0);
    EXPECT_TRUE(code.contains(g_frames[1]));
}

TEST_F(GuessLive, passes_a_return_address_in_a_frame_of_known_size) {
    // …; mov 8(%rbp), %rax; mov %rax, (%rsp); call *%rdi; nop; leave; ret
    const MadeCode code{0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x48, 0x8b, 0x45,
                        0x08, 0x48, 0x89, 0x04, 0x24, 0xff, 0xd7, 0x90, 0xc9, 0xc3};
    calls_made_code(code.function(), stops);
    expect_stack(3, 0);
}

TEST_F(GuessLive, only_guesses_past_a_return_address_in_a_frame_of_another_size) {
    // …; push 8(%rbp); push 8(%rbp); call *%rdi; nop; leave; ret
    const MadeCode code{0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0xff, 0x75,
                        0x08, 0xff, 0x75, 0x08, 0xff, 0xd7, 0x90, 0xc9, 0xc3};
    calls_made_code(code.function(), stops);
    expect_stack(2, 1);
}

TEST_F(GuessLive, passes_over_no_caller_where_the_frame_pointer_is_the_callers) {
    // sub $8, %rsp; call *%rdi; nop; add $8, %rsp; ret
    const MadeCode code{0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x90, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    calls_made_code(code.function(), stops);
    // The frame pointer leads to its caller's caller, whose call leads to another function.
    EXPECT_EQ(g_result.reason, StopReason::no_module);
    EXPECT_EQ(g_result.depth, 2U);
}

TEST_F(GuessLive, passes_the_trampolines_of_python) {
    // sub $8, %rsp; call *%rdi; add $8, %rsp; ret
    const MadeCode code{0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    calls_made_code(code.function(), stops);
    expect_stack(3, 0);
    EXPECT_TRUE(code.contains(g_frames[1]));
}

TEST_F(GuessLive, knows_the_caller_of_code_that_is_being_left) {
    // push %rbp; mov %rsp, %rbp; push %rbx; int3; pop %rbx; pop %rbp; ret, and by mov %rbp, %rsp.
    for (const MadeCode& code :
         {MadeCode{0x55, 0x48, 0x89, 0xe5, 0x53, 0xcc, 0x5b, 0x5d, 0xc3},
          MadeCode{0x55, 0x48, 0x89, 0xe5, 0x53, 0xcc, 0x48, 0x89, 0xec, 0x5d, 0xc3}}) {
        calls_made_code(code.function(), nullptr);
        expect_stack(2, 0);
    }
}

SAMPLE_FRAME void between() {
    guess_calls_back(stops);
    g_sink = g_sink + 1;
}

TEST_F(GuessLive, passes_both_kinds_on_one_stack) {
    static const MadeCode code{0x55, 0x48, 0x89, 0xe5, 0x48, 0x83,
                               0xec, 0x20, 0xff, 0xd7, 0xc9, 0xc3};
    calls_made_code(code.function(), between);
    // stops, the assembly, between, made code, calls_made_code.
    EXPECT_EQ(g_result.reason, StopReason::root);
    EXPECT_EQ(g_result.guessed, 0U);
    ASSERT_EQ(g_result.depth, 4 + g_above.frames.size());
    EXPECT_TRUE(code.contains(g_frames[3]));
    for (std::size_t i = 1; i < g_above.frames.size(); ++i) {
        EXPECT_EQ(g_frames[4 + i], g_above.frames[i]);
    }
}

TEST_F(GuessLive, guesses_nothing_where_tables_cover_all) {
    is_called_back();
    EXPECT_EQ(g_result.guessed, 0U);
    EXPECT_EQ(g_result.reason, StopReason::root);
}

}  // namespace
}  // namespace sample::unwind::testing
