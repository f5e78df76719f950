/* A profiler module that counts: how often threads had to wait for locks and conditions, and which
 * C++ exceptions were thrown and caught. Prints the sums when the program ends, or writes them to
 * the file that its argument names.
 *
 *     sample --module waits_and_throws -- ./app
 *     sample --module waits_and_throws:waits.txt -- ./app
 */
#include "sample/profiler_module.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define KINDS 5 /* sample_profiler_monitor begins with 1. */
#define TYPES 64

static atomic_ulong waits[KINDS];
static atomic_ulong failed[KINDS];
static atomic_ulong thrown;
static atomic_ulong caught;

/* Types of exceptions, by their name's address: a type has one name in a library. */
static struct {
    _Atomic(const char*) name;
    atomic_ulong thrown;
} types[TYPES];

static char output[256]; /* Empty: standard error. */

static void on_contention(void* user, const void* object, sample_profiler_monitor kind) {
    (void)user;
    (void)object;
    atomic_fetch_add(&waits[kind], 1);
}

static void on_failed(void* user, const void* object, sample_profiler_monitor kind, int error) {
    (void)user;
    (void)object;
    (void)error;
    atomic_fetch_add(&failed[kind], 1);
}

static void on_thrown(void* user, const void* exception, const char* type) {
    (void)user;
    (void)exception;
    atomic_fetch_add(&thrown, 1);
    for (int i = 0; type != NULL && i < TYPES; ++i) {
        const char* nobody = NULL;
        if (atomic_compare_exchange_strong(&types[i].name, &nobody, type) || nobody == type) {
            atomic_fetch_add(&types[i].thrown, 1);
            return;
        }
    }
}

static void on_caught(void* user, const void* exception) {
    (void)user;
    (void)exception;
    atomic_fetch_add(&caught, 1);
}

static void on_end(void* user) {
    static const char* const names[KINDS] = {"", "mutex", "read lock", "write lock", "condition"};
    FILE* file = output[0] != '\0' ? fopen(output, "w") : stderr;
    (void)user;
    if (file == NULL) {
        perror(output);
        return;
    }
    for (int kind = 1; kind < KINDS; ++kind) {
        fprintf(file, "%s: waited %lu times, %lu in vain\n", names[kind], waits[kind],
                failed[kind]);
    }
    fprintf(file, "exceptions: %lu thrown, %lu caught\n", thrown, caught);
    for (int i = 0; i < TYPES && types[i].name != NULL; ++i) {
        fprintf(file, "  %s: %lu\n", types[i].name, types[i].thrown);
    }
    if (file != stderr) {
        fclose(file);
    }
}

SAMPLE_PROFILER_EXPORT void sample_profiler_init_waits_and_throws(const char* description) {
    const char* colon = strchr(description, ':');
    sample_profiler_handle handle = sample_profiler_create(NULL);
    snprintf(output, sizeof output, "%s", colon != NULL ? colon + 1 : "");
    if (!sample_profiler_enable_contention() || !sample_profiler_enable_exceptions()) {
        fprintf(stderr, "waits_and_throws: loaded too late: use sample --module\n");
        return;
    }
    sample_profiler_set_contention_callback(handle, on_contention);
    sample_profiler_set_contention_failed_callback(handle, on_failed);
    sample_profiler_set_exception_thrown_callback(handle, on_thrown);
    sample_profiler_set_exception_caught_callback(handle, on_caught);
    sample_profiler_set_session_ended_callback(handle, on_end);
}
