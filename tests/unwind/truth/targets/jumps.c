/* setjmp and longjmp, and signals: in the same stack, nested, on a stack of their own, left by a
 * jump. */
#include "scenes.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static jmp_buf target;
static sigjmp_buf signal_target;

static NOINLINE void jump_from(unsigned depth) {
    if (depth == 0) {
        longjmp(target, 1);
    }
    jump_from(depth - 1);
    sink += depth;
}

static NOINLINE __attribute__((noreturn)) void never_returns(void) {
    sink += 1;
    longjmp(target, 2);
}

/* Its last instruction may be the call: the return address is then past its end. */
static NOINLINE void ends_with_a_call(unsigned x) {
    if (x != 0) {
        never_returns();
    }
    sink += leaf(x);
}

void play_jumps(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sink += (unsigned)now.tv_nsec & 1;
    if (setjmp(target) == 0) {
        jump_from(2);
    }
    if (setjmp(target) == 0) {
        ends_with_a_call(0);
        ends_with_a_call(1);
    }
}

static void count_signal(int signal) {
    sink += leaf((unsigned)signal);
}

static void raise_another(int signal, siginfo_t* info, void* context) {
    (void)info;
    (void)context;
    sink += leaf((unsigned)signal);
    kill(getpid(), SIGUSR1);
}

static void skip_two_bytes(int signal, siginfo_t* info, void* context) {
    ucontext_t* interrupted = context;
    (void)signal;
    (void)info;
    interrupted->uc_mcontext.gregs[16] += 2; /* REG_RIP */
}

static void jump_out(int signal) {
    (void)signal;
    siglongjmp(signal_target, 1);
}

static NOINLINE void set_handler(int signal, void (*plain)(int),
                                 void (*full)(int, siginfo_t*, void*), int flags) {
    struct sigaction action = {0};
    action.sa_flags = flags;
    if (plain != NULL) {
        action.sa_handler = plain;
    } else {
        action.sa_sigaction = full;
        action.sa_flags |= SA_SIGINFO;
    }
    if (sigaction(signal, &action, NULL) != 0) {
        fail();
    }
}

static NOINLINE unsigned faults_in_a_leaf(volatile unsigned* nowhere) {
    volatile unsigned words[6];
    words[2] = 1;
    return *nowhere + words[2];
}

void play_signals(void) {
    const size_t size = 65536;
    char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, 4096, PROT_NONE) != 0) {
        fail();
    }
    stack_t alternate = {.ss_sp = memory + 4096, .ss_size = size - 4096};
    if (sigaltstack(&alternate, NULL) != 0) {
        fail();
    }
    set_handler(SIGUSR1, count_signal, NULL, 0);
    set_handler(SIGUSR2, NULL, raise_another, SA_ONSTACK);
    set_handler(SIGILL, NULL, skip_two_bytes, 0);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    asm_fault();
    for (int flags = 0; flags <= SA_ONSTACK; flags += SA_ONSTACK) {
        set_handler(SIGSEGV, jump_out, NULL, flags);
        if (sigsetjmp(signal_target, 1) == 0) {
            sink += faults_in_a_leaf(NULL);
        }
    }
}
