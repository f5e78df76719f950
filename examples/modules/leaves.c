/* A profiler module that counts in which functions the samples are, while the program runs: a
 * histogram that a thread of its own prints once a second, and once more at the end.
 *
 * on_sample() runs in the sampling handler, so it only counts addresses, in a table of atomic
 * words. Names are looked up when the table is printed: by dladdr(3), for functions that the
 * program exports (link it with -rdynamic).
 *
 *     sample --freq 1k --module leaves -- ./app
 *     sample --module leaves:quiet -- ./app           the end alone
 */
#define _GNU_SOURCE
#include "sample/profiler_module.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLACES 4096 /* Different addresses. */
#define FUNCTIONS 256
#define SHOWN 5

static struct {
    atomic_uintptr_t pc;
    atomic_ulong samples;
} places[PLACES];
static atomic_ulong without_place;
static atomic_int is_over;

static void on_sample(void* user, uintptr_t pc, const void* context) {
    const uintptr_t home = (pc * 0x9e3779b97f4a7c15U) >> 52;
    (void)user;
    (void)context;
    for (uintptr_t probe = 0; probe < 32; ++probe) {
        uintptr_t nobody = 0;
        const uintptr_t at = (home + probe) % PLACES;
        if (atomic_compare_exchange_strong(&places[at].pc, &nobody, pc) || nobody == pc) {
            atomic_fetch_add(&places[at].samples, 1);
            return;
        }
    }
    atomic_fetch_add(&without_place, 1);
}

struct function {
    const char* name;
    unsigned long samples;
};

static const char* name_of(uintptr_t pc) {
    Dl_info info;
    if (dladdr((void*)pc, &info) == 0 || info.dli_fname == NULL) {
        return "(unknown)";
    }
    return info.dli_sname != NULL ? info.dli_sname : info.dli_fname;
}

static void print(void) {
    struct function functions[FUNCTIONS];
    int count = 0;
    unsigned long all = atomic_load(&without_place);
    for (int place = 0; place < PLACES; ++place) {
        const unsigned long samples = atomic_load(&places[place].samples);
        int i = 0;
        if (samples == 0) {
            continue;
        }
        const char* name = name_of(atomic_load(&places[place].pc));
        all += samples;
        while (i < count && strcmp(functions[i].name, name) != 0) {
            ++i;
        }
        if (i == FUNCTIONS) {
            continue;
        }
        if (i == count) {
            functions[count].name = name;
            functions[count++].samples = 0;
        }
        functions[i].samples += samples;
    }
    fprintf(stderr, "leaves: %lu samples\n", all);
    for (int shown = 0; shown < SHOWN && shown < count; ++shown) {
        int most = shown;
        for (int i = shown + 1; i < count; ++i) {
            most = functions[i].samples > functions[most].samples ? i : most;
        }
        const struct function next = functions[most];
        functions[most] = functions[shown];
        functions[shown] = next;
        fprintf(stderr, "  %5.1f %%  %s\n", 100.0 * (double)next.samples / (double)all, next.name);
    }
}

static void* print_each_second(void* unused) {
    (void)unused;
    while (!is_over) {
        sleep(1);
        print();
    }
    return NULL;
}

static void on_start(void* user) {
    pthread_t thread;
    (void)user;
    if (pthread_create(&thread, NULL, print_each_second, NULL) == 0) {
        pthread_detach(thread);
    }
}

static void on_end(void* user) {
    (void)user;
    is_over = 1;
    print();
}

SAMPLE_PROFILER_EXPORT void sample_profiler_init_leaves(const char* description) {
    sample_profiler_handle handle = sample_profiler_create(NULL);
    if (!sample_profiler_enable_sampling(handle)) {
        fprintf(stderr, "leaves: the program is not sampled\n");
        return;
    }
    sample_profiler_set_sample_hit_callback(handle, on_sample);
    sample_profiler_set_session_ended_callback(handle, on_end);
    if (strcmp(description, "leaves:quiet") != 0) {
        sample_profiler_set_session_started_callback(handle, on_start);
    }
}
