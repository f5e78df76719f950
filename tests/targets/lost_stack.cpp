// A thread that has left its stack for another one, and has made the old one unreadable, while rbp
// still points there.
//
//     lost_stack TURNS [default]
//
// `default`: the old stack is libc's, of a size that has been made the default since the start, and
// the new one lies below.
#include "work.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static constexpr std::size_t kStackBytes = std::size_t{512} * 1024;
// Of the thread's stack; above lies what libc keeps of the thread.
static constexpr std::size_t kLostBytes = kStackBytes / 2;

static char* new_stack = nullptr;
static char* old_stack = nullptr;
static std::uint64_t turns = 0;

extern "C" void turn_by_frame(const char* frame, std::uint64_t turns);

// Its rules say that `frame` is its frame.
asm(R"(
    .text
    .type turn_by_frame, @function
turn_by_frame:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rdi, %rbp
    .cfi_def_cfa_register %rbp
1:  dec %rsi
    jne 1b
    pop %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size turn_by_frame, . - turn_by_frame
)");

static void on_new_stack() {
    if (mprotect(old_stack, kLostBytes, PROT_NONE) != 0) {
        _exit(2);
    }
    turn_by_frame(old_stack + kLostBytes / 2, turns);
    std::puts("worked on");
    std::fflush(stdout);
    _exit(0);
}

/// The thread's own one, and a new one below it.
static void find_stacks() {
    pthread_attr_t attributes;
    void* low = nullptr;
    std::size_t bytes = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    old_stack = static_cast<char*>(low);
    // As near as there is room, and not so far that it would not lie in a stack of the usual 8 MiB.
    constexpr std::size_t kGuardBytes = 4096;
    constexpr std::size_t kFarthest = std::size_t{7} << 20U;
    void* found = MAP_FAILED;
    for (std::size_t away = kGuardBytes + kStackBytes; found == MAP_FAILED && away < kFarthest;
         away += std::size_t{64} * 1024) {
        found = mmap(old_stack - away, kStackBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    }
    if (found == MAP_FAILED) {
        std::perror("mmap");
        _exit(2);
    }
    new_stack = static_cast<char*>(found);
}

static void* leave_stack(void* /*unused*/) {
    if (new_stack == nullptr) {
        find_stacks();
    }
    static ucontext_t here;
    static ucontext_t there;
    getcontext(&there);
    there.uc_stack.ss_sp = new_stack;
    there.uc_stack.ss_size = kStackBytes;
    makecontext(&there, on_new_stack, 0);
    swapcontext(&here, &there);
    return nullptr;
}

int main(int argc, char** argv) {
    if (argc < 2) {
        return targets::usage("TURNS [default]");
    }
    turns = targets::number(argv[1]);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (argc > 2) {
        pthread_attr_setstacksize(&attributes, kStackBytes);
        pthread_setattr_default_np(&attributes);
        pthread_t thread{};
        pthread_create(&thread, nullptr, leave_stack, nullptr);
        pthread_join(thread, nullptr);
        return 2;
    }
    void* const both =
        mmap(nullptr, 2 * kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (both == MAP_FAILED) {
        return 2;
    }
    new_stack = static_cast<char*>(both);
    old_stack = new_stack + kStackBytes;
    pthread_attr_setstack(&attributes, old_stack, kStackBytes);
    pthread_t thread{};
    if (pthread_create(&thread, &attributes, leave_stack, nullptr) != 0) {
        return 2;
    }
    pthread_join(thread, nullptr);
    return 2;
}
