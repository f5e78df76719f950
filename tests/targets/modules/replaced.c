/* A profiler module whose callbacks are replaced all the time, by two threads, while a program of
 * many threads makes events of each kind. Each callback knows which user pointer it was set with:
 * at the end it says whether one was ever called with another one's, and that each was called. */
#include "sample/profiler_module.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static int user_data;
static atomic_ulong calls[2];
static atomic_ulong wrong;
static atomic_int is_over;
static sample_profiler_handle handle;
static pthread_t threads[2];

static void note(void* user, int which) {
    if (user != &user_data) {
        atomic_fetch_add(&wrong, 1);
    }
    atomic_fetch_add(&calls[which], 1);
}

#define BOTH(event, ...)                             \
    static void event##_0(void* user, __VA_ARGS__) { \
        note(user, 0);                               \
    }                                                \
    static void event##_1(void* user, __VA_ARGS__) { \
        note(user, 1);                               \
    }

#pragma GCC diagnostic ignored "-Wunused-parameter"
BOTH(sample_hit, uintptr_t pc, const void* context)
BOTH(contention, const void* object, sample_profiler_monitor kind)
BOTH(contention_acquired, const void* object, sample_profiler_monitor kind)
BOTH(thread_started, uintptr_t thread)
BOTH(exception_thrown, const void* exception, const char* type)
BOTH(exception_caught, const void* exception)

#define SET(event)                                                              \
    sample_profiler_set_##event##_callback(handle, round % 3 == 0   ? event##_0 \
                                                   : round % 3 == 1 ? event##_1 \
                                                                    : 0)

static void* replace(void* unused) {
    for (unsigned round = 0; !is_over; ++round) {
        SET(sample_hit);
        SET(contention);
        SET(contention_acquired);
        SET(thread_started);
        SET(exception_thrown);
        SET(exception_caught);
    }
    return unused;
}

static void on_start(void* user) {
    (void)user;
    for (int i = 0; i < 2; ++i) {
        pthread_create(&threads[i], 0, replace, 0);
    }
}

static void on_end(void* user) {
    (void)user;
    is_over = 1;
    for (int i = 0; i < 2; ++i) {
        pthread_join(threads[i], 0);
    }
    printf("wrong %lu called %d %d\n", (unsigned long)wrong, calls[0] > 10, calls[1] > 10);
    fflush(stdout);
}

SAMPLE_PROFILER_EXPORT void sample_profiler_init_replaced(const char* description) {
    (void)description;
    handle = sample_profiler_create(&user_data);
    printf("enabled %d %d %d\n", sample_profiler_enable_sampling(handle),
           sample_profiler_enable_contention(), sample_profiler_enable_exceptions());
    sample_profiler_set_session_started_callback(handle, on_start);
    sample_profiler_set_session_ended_callback(handle, on_end);
}
