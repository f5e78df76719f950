/* A profiler module that prints what it is told, a line each, on standard output. C and C++; the
 * name comes from the compiler's command line: TOLD_NAME. */
#include "sample/profiler_module.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)

static int user_data;

static void say(const char* format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    line[size++] = '\n';
    if (write(STDOUT_FILENO, line, (size_t)size) != size) {
        _exit(9);
    }
}

static const char* file_of(const char* path) {
    const char* slash = strrchr(path, '/');
    return slash != 0 ? slash + 1 : path;
}

static const char* kind_of(sample_profiler_monitor kind) {
    switch (kind) {
        case SAMPLE_PROFILER_MUTEX:
            return "mutex";
        case SAMPLE_PROFILER_READ:
            return "read";
        case SAMPLE_PROFILER_WRITE:
            return "write";
        case SAMPLE_PROFILER_CONDITION:
            return "condition";
    }
    return "?";
}

static const char* own(void* user) {
    return user == &user_data ? "" : "NOT OURS ";
}

static void on_cleanup(void* user) {
    say("%scleanup", own(user));
}
static void on_thread_started(void* user, uintptr_t thread) {
    say("%sthread started %d", own(user), thread != 0 && sample_profiler_thread_id() != 0);
}
static void on_thread_stopped(void* user, uintptr_t thread) {
    say("%sthread stopped %d", own(user), thread != 0);
}
static void on_thread_name(void* user, uintptr_t thread, const char* name) {
    say("%sthread named %s %d", own(user), name, thread != 0);
}
static void on_library_loaded(void* user, const char* path, uintptr_t start) {
    say("%sloaded %s %d", own(user), file_of(path), start != 0);
}
static void on_library_unloaded(void* user, const char* path, uintptr_t start) {
    say("%sunloaded %s %d", own(user), file_of(path), start != 0);
}
static void on_code_made(void* user, const void* start, uint64_t bytes) {
    say("%scode %d %llu", own(user), start != 0, (unsigned long long)bytes);
}
static void on_forked(void* user, int is_child) {
    say("%sforked %s", own(user), is_child != 0 ? "child" : "parent");
}
static void on_exec(void* user, const char* path) {
    say("%sexec %s", own(user), path);
}
static void on_session_started(void* user) {
    say("%sstarted", own(user));
}
static void on_session_ended(void* user) {
    say("%sended", own(user));
}
static void on_contention(void* user, const void* object, sample_profiler_monitor kind) {
    say("%swaits for %s %d", own(user), kind_of(kind), object != 0);
}
static void on_failed(void* user, const void* object, sample_profiler_monitor kind, int error) {
    say("%swaited in vain for %s %d %d", own(user), kind_of(kind), object != 0, error);
}
static void on_acquired(void* user, const void* object, sample_profiler_monitor kind) {
    say("%sgot %s %d", own(user), kind_of(kind), object != 0);
}
static void on_thrown(void* user, const void* exception, const char* type) {
    say("%sthrown %s %d", own(user), type != 0 ? type : "again", exception != 0);
}
static void on_caught(void* user, const void* exception) {
    say("%scaught %d", own(user), exception != 0);
}

SAMPLE_PROFILER_EXPORT void JOINED(sample_profiler_init_, TOLD_NAME)(const char* description) {
    const sample_profiler_handle handle = sample_profiler_create(&user_data);
    say("init %s", description);
    say("enabled %d %d", sample_profiler_enable_contention(), sample_profiler_enable_exceptions());
    sample_profiler_set_cleanup_callback(handle, on_cleanup);
    sample_profiler_set_thread_started_callback(handle, on_thread_started);
    sample_profiler_set_thread_stopped_callback(handle, on_thread_stopped);
    sample_profiler_set_thread_name_callback(handle, on_thread_name);
    sample_profiler_set_library_loaded_callback(handle, on_library_loaded);
    sample_profiler_set_library_unloaded_callback(handle, on_library_unloaded);
    sample_profiler_set_code_made_callback(handle, on_code_made);
    sample_profiler_set_forked_callback(handle, on_forked);
    sample_profiler_set_exec_callback(handle, on_exec);
    sample_profiler_set_session_started_callback(handle, on_session_started);
    sample_profiler_set_session_ended_callback(handle, on_session_ended);
    sample_profiler_set_contention_callback(handle, on_contention);
    sample_profiler_set_contention_failed_callback(handle, on_failed);
    sample_profiler_set_contention_acquired_callback(handle, on_acquired);
    sample_profiler_set_exception_thrown_callback(handle, on_thrown);
    sample_profiler_set_exception_caught_callback(handle, on_caught);
}
