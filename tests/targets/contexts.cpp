// Stacks that are no thread's: two of them, changed between all the time.
//
//     contexts ucontext|assembly SECONDS
//
// ucontext: makecontext and swapcontext. assembly: a switch written by hand, as coroutine libraries
// have it, whose first frame returns to nowhere (a zero return address).
//
// Stats: all work is done in first_job() or second_job(), equally, below coroutine_body() on a
// stack of 64 KiB of its own. By hand every stack ends at its coroutine's beginning; libc's is
// entered at the first byte of a function, where no unwind table says that it is the end.
#include "switch_stacks.h"
#include "work.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <string_view>

namespace {

constexpr std::size_t kStackBytes = std::size_t{64} * 1024;
constexpr std::uint64_t kSliceNs = 200'000;

std::uint64_t end_ns = 0;

char* map_stack() {
    return static_cast<char*>(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0));
}

}  // namespace

TARGET_KEEP void first_job() {
    targets::burn(kSliceNs);
}

TARGET_KEEP void second_job() {
    targets::burn(kSliceNs);
}

namespace {

ucontext_t main_context;
ucontext_t contexts[2];
void* main_stack = nullptr;
void* stacks[2] = {};
bool by_hand = false;
int running = 0;

void change() {
    const int from = running;
    running = 1 - from;
    if (by_hand) {
        switch_stacks(&stacks[from], stacks[running]);
    } else {
        swapcontext(&contexts[from], &contexts[running]);
    }
}

void leave() {
    if (by_hand) {
        switch_stacks(&stacks[running], main_stack);
    } else {
        setcontext(&main_context);
    }
}

}  // namespace

TARGET_KEEP void coroutine_body() {
    const int self = running;
    while (targets::thread_cpu_ns() < end_ns) {
        if (self == 0) {
            first_job();
        } else {
            second_job();
        }
        change();
    }
    leave();
}

namespace {

void run_contexts() {
    for (ucontext_t& context : contexts) {
        getcontext(&context);
        context.uc_stack.ss_sp = map_stack();
        context.uc_stack.ss_size = kStackBytes;
        makecontext(&context, coroutine_body, 0);
    }
    swapcontext(&main_context, &contexts[0]);
}

void run_by_hand() {
    by_hand = true;
    for (void*& stack : stacks) {
        auto* top = reinterpret_cast<void**>(map_stack() + kStackBytes) - 1;
        // Where coroutine_body would return to: nowhere.
        *top = nullptr;
        *--top = reinterpret_cast<void*>(coroutine_body);
        stack = top - 6;  // six registers
    }
    switch_stacks(&main_stack, stacks[0]);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("ucontext|assembly SECONDS");
    }
    end_ns = targets::thread_cpu_ns() + targets::seconds_to_ns(argv[2]);
    if (std::string_view{argv[1]} == "ucontext") {
        run_contexts();
    } else {
        run_by_hand();
    }
    targets::tell("process_cpu_us", targets::process_cpu_us());
}
