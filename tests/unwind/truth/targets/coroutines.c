/* Stacks of their own: coroutines switched by assembly, as Boost.Context does it. */
#include "scenes.h"

#include <stddef.h>
#include <sys/mman.h>

enum { kStackBytes = 65536, kGuardBytes = 4096, kSavedRegisters = 6 };

static void* main_stack;
static void* coroutine_stack;

/* The end of a new stack with a guard page below. */
static NOINLINE void** new_stack(void) {
    char* memory =
        mmap(NULL, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, kGuardBytes, PROT_NONE) != 0) {
        fail();
    }
    return (void**)(void*)(memory + kStackBytes);
}

static NOINLINE void yield_from(unsigned depth) {
    if (depth != 0) {
        yield_from(depth - 1);
    } else {
        asm_switch(&coroutine_stack, main_stack);
    }
    sink += depth;
}

static void coroutine(void) {
    for (;;) {
        yield_from(2);
        sink += leaf(3);
    }
}

static NOINLINE void resume(void) {
    asm_switch(&main_stack, coroutine_stack);
    sink += 1;
}

void play_coroutines(void) {
    void** top = new_stack();
    /* As asm_switch leaves a stack: six registers, of which r12 is the third from below, and where
       to go on; behind it, the end of all frames. */
    top -= kSavedRegisters + 3;
    top[2] = (void*)coroutine;
    top[kSavedRegisters] = (char*)asm_coroutine_start + 1;
    coroutine_stack = top;
    resume();
    resume();
}
