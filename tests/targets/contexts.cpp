// Stacks that are no thread's: some of them (2), one after the other all the time.
//
//     contexts ucontext|assembly|written SECONDS [STACKS]
//
// ucontext: makecontext and swapcontext. assembly: a switch written by hand, as coroutine libraries
// have it, whose first frame returns to nowhere (a zero return address). written: a switch and a
// beginning without unwind tables, as Boost.Context has them: the first frame returns to code that
// nothing called.
//
// Stats: all work is done in first_job() or second_job(), equally if the number of stacks is even,
// in slices of 50 to 150 microseconds at random, so that no sampling period falls into step, below
// coroutine_body() on a stack of 64 KiB of its own, which is complete there.
#include "switch_stacks.h"
#include "work.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdlib>
#include <string_view>
#include <vector>

// A stack that waits has its six registers at its top, and above them where it goes on. A new one
// goes on at the beginning, which makes rbp its function's return address and jumps to rbx.
extern "C" void switch_without_tables(void** from, void* to);
extern "C" void begin_without_tables();
extern "C" void context_ended();
asm(R"(
    .text
    .globl switch_without_tables
    .type switch_without_tables, @function
switch_without_tables:
    lea -0x30(%rsp), %rsp
    mov %r12, (%rsp)
    mov %r13, 8(%rsp)
    mov %r14, 0x10(%rsp)
    mov %r15, 0x18(%rsp)
    mov %rbx, 0x20(%rsp)
    mov %rbp, 0x28(%rsp)
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    mov 0x30(%rsp), %r8
    mov (%rsp), %r12
    mov 8(%rsp), %r13
    mov 0x10(%rsp), %r14
    mov 0x18(%rsp), %r15
    mov 0x20(%rsp), %rbx
    mov 0x28(%rsp), %rbp
    lea 0x38(%rsp), %rsp
    jmp *%r8
    .size switch_without_tables, . - switch_without_tables
    .globl begin_without_tables
    .type begin_without_tables, @function
begin_without_tables:
    push %rbp
    jmp *%rbx
    .globl context_ended
context_ended:
    ud2
    .size begin_without_tables, . - begin_without_tables
)");

namespace {

constexpr std::size_t kStackBytes = std::size_t{64} * 1024;

std::uint64_t budget_ns = 0;
std::uint64_t end_ns = 0;

/// The stacks are there: the work begins now.
void start_clock() {
    end_ns = targets::thread_cpu_ns() + budget_ns;
}

std::uint64_t slice_ns() {
    static std::uint64_t state = 88172645463325252U;
    state = state * 6364136223846793005U + 1442695040888963407U;
    return 50'000 + (state >> 33U) % 100'000;
}

}  // namespace

TARGET_KEEP void first_job() {
    targets::burn(slice_ns());
}

TARGET_KEEP void second_job() {
    targets::burn(slice_ns());
}

namespace {

using Switch = void(void** from, void* to);

ucontext_t main_context;
std::vector<ucontext_t> contexts;
void* main_stack = nullptr;
std::vector<void*> stacks;
Switch* by_hand = nullptr;  ///< Or by libc.
std::size_t running = 0;

void change() {
    const std::size_t from = running;
    running = (from + 1) % stacks.size();
    if (by_hand != nullptr) {
        by_hand(&stacks[from], stacks[running]);
    } else {
        swapcontext(&contexts[from], &contexts[running]);
    }
}

void leave() {
    if (by_hand != nullptr) {
        by_hand(&stacks[running], main_stack);
    } else {
        setcontext(&main_context);
    }
}

}  // namespace

TARGET_KEEP void coroutine_body() {
    const std::size_t self = running;
    while (targets::thread_cpu_ns() < end_ns) {
        if (self % 2 == 0) {
            first_job();
        } else {
            second_job();
        }
        change();
    }
    leave();
}

namespace {

void run_contexts(char* memory) {
    contexts.resize(stacks.size());
    for (ucontext_t& context : contexts) {
        getcontext(&context);
        context.uc_stack.ss_sp = memory;
        context.uc_stack.ss_size = kStackBytes;
        makecontext(&context, coroutine_body, 0);
        memory += kStackBytes;
    }
    start_clock();
    swapcontext(&main_context, &contexts[0]);
}

void run_by_hand(char* memory, bool has_tables) {
    by_hand = has_tables ? switch_stacks : switch_without_tables;
    const auto address = [](void (*code)()) { return reinterpret_cast<void*>(code); };
    for (void*& stack : stacks) {
        memory += kStackBytes;
        auto** top = reinterpret_cast<void**>(memory) - 2;
        if (has_tables) {
            // Where coroutine_body would return to: nowhere.
            *--top = nullptr;
            *--top = address(coroutine_body);
        } else {
            *--top = address(begin_without_tables);
            top[-1] = address(context_ended);   // rbp
            top[-2] = address(coroutine_body);  // rbx
        }
        stack = top - 6;  // six registers
    }
    start_clock();
    by_hand(&main_stack, stacks[0]);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3 && argc != 4) {
        return targets::usage("ucontext|assembly|written SECONDS [STACKS]");
    }
    stacks.resize(argc == 4 ? std::strtoul(argv[3], nullptr, 10) : 2);
    auto* memory =
        static_cast<char*>(mmap(nullptr, stacks.size() * kStackBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    const std::string_view kind{argv[1]};
    budget_ns = targets::seconds_to_ns(argv[2]);
    if (kind == "ucontext") {
        run_contexts(memory);
    } else {
        run_by_hand(memory, kind == "assembly");
    }
    targets::tell("process_cpu_us", targets::process_cpu_us());
}
