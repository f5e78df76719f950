/* A profiler module that keeps what it was told of samples and allocations, and says at the end
 * whether each was as it should be. */
#include "sample/profiler_module.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ucontext.h>
#include <ucontext.h>
#include <unistd.h>

static atomic_ulong samples, wrong_leaves, shallow, main_found;
static atomic_ulong allocated, freed, reallocated, with_stack;
static uintptr_t main_address;

#define MOST 256

static int is_of_main(uintptr_t pc) {
    return main_address != 0 && pc >= main_address && pc < main_address + 4096;
}

static void on_sample(void* user, uintptr_t pc, const void* context) {
    uintptr_t pcs[MOST];
    uintptr_t three[3] = {0, 0, 7};
    const uint32_t count = sample_profiler_stack(pcs, MOST);
    const uintptr_t told = (uintptr_t)((const ucontext_t*)context)->uc_mcontext.gregs[16]; /* RIP */
    (void)user;
    atomic_fetch_add(&samples, 1);
    if (count < 2) {
        atomic_fetch_add(&shallow, 1);
    }
    if (pc != told || (count != 0 && pcs[0] != pc) ||
        (count >= 2 &&
         (sample_profiler_stack(three, 2) != 2 || three[1] != pcs[1] || three[2] != 7))) {
        atomic_fetch_add(&wrong_leaves, 1);
    }
    for (uint32_t i = 0; i < count; ++i) {
        if (is_of_main(pcs[i])) {
            atomic_fetch_add(&main_found, 1);
            break;
        }
    }
}

static void note_stack(void) {
    uintptr_t pcs[MOST];
    const uint32_t count = sample_profiler_stack(pcs, MOST);
    for (uint32_t i = 0; i < count; ++i) {
        if (is_of_main(pcs[i])) {
            atomic_fetch_add(&with_stack, 1);
            return;
        }
    }
}

/* The program's blocks alone are of these sizes. */
static void on_allocated(void* user, const void* block, uint64_t bytes) {
    (void)user;
    if (bytes == 54321 && block != 0) {
        atomic_fetch_add(&allocated, 1);
        note_stack();
    }
}
static void on_freed(void* user, const void* block, uint64_t bytes) {
    (void)user;
    if (bytes >= 65432 && bytes < 65432 + 64 && block != 0) {
        atomic_fetch_add(&freed, 1);
        note_stack();
    }
}
static void on_reallocated(void* user, const void* before, uint64_t before_bytes, const void* block,
                           uint64_t bytes) {
    (void)user;
    if (bytes == 65432 && before != 0 && before_bytes >= 54321 && block != 0) {
        atomic_fetch_add(&reallocated, 1);
        note_stack();
    }
}

static void on_end(void* user) {
    uintptr_t pcs[1];
    (void)user;
    printf("samples %d wrong %lu shallow %d main %d outside %u\n", samples >= 50,
           (unsigned long)wrong_leaves, shallow * 10 > samples, main_found * 10 > samples * 5,
           sample_profiler_stack(pcs, 1));
    printf("allocated %lu freed %lu reallocated %lu stacks %lu\n", (unsigned long)allocated,
           (unsigned long)freed, (unsigned long)reallocated, (unsigned long)with_stack);
    fflush(stdout);
}

void* dlsym(void*, const char*);

SAMPLE_PROFILER_EXPORT void sample_profiler_init_sampled(const char* description) {
    const sample_profiler_handle handle = sample_profiler_create(0);
    (void)description;
    main_address = (uintptr_t)dlsym(0, "works");
    printf("sampling %d allocations %d\n", sample_profiler_enable_sampling(handle),
           sample_profiler_enable_allocations());
    sample_profiler_set_sample_hit_callback(handle, on_sample);
    sample_profiler_set_allocated_callback(handle, on_allocated);
    sample_profiler_set_freed_callback(handle, on_freed);
    sample_profiler_set_reallocated_callback(handle, on_reallocated);
    sample_profiler_set_session_ended_callback(handle, on_end);
}
