/* makecontext and swapcontext; musl has none. */
#include "scenes.h"

#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef __GLIBC__

enum { kStackBytes = 65536, kGuardBytes = 4096 };

static ucontext_t main_context;
static ucontext_t other_context;

static NOINLINE void swap_back(unsigned depth) {
    if (depth == 0) {
        swapcontext(&other_context, &main_context);
    } else {
        swap_back(depth - 1);
    }
    sink += depth;
}

static void other(void) {
    swap_back(1);
    sink += leaf(1);
}

void play_contexts(void) {
    char* memory =
        mmap(NULL, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, kGuardBytes, PROT_NONE) != 0) {
        fail();
    }
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = memory + kGuardBytes;
    other_context.uc_stack.ss_size = kStackBytes - kGuardBytes;
    other_context.uc_link = &main_context;
    makecontext(&other_context, other, 0);
    swapcontext(&main_context, &other_context);
    swapcontext(&main_context, &other_context);
}

#endif
