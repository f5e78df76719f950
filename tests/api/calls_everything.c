/* Calls every function of sample/profiler.h, in C11 and in C++17, without an agent: each does
 * nothing and says so. Prints what does not. */
#include "sample/profiler.h"

static int g_wrong;

static void expect(const char* call, int result) {
    if (result != SAMPLE_PROFILING_NO_AGENT) {
        printf("%s: %s\n", call, sample_profiling_text(result));
        g_wrong = 1;
    }
}

static void on_data(void* context, const struct sample_profiling_data* data) {
    (void)context;
    (void)data;
    puts("there are data");
    g_wrong = 1;
}

static void call_all(const char* whose, struct sample_profiling* handle) {
    struct sample_profiling_state state;
    puts(whose);
    expect("start", sample_profiling_start(handle, 0));
    expect("stop", sample_profiling_stop(handle));
    expect("pause", sample_profiling_pause(handle));
    expect("resume", sample_profiling_resume(handle));
    expect("set_frequency", sample_profiling_set_frequency(handle, 10));
    expect("status", sample_profiling_status(handle, &state));
    expect("request_data", sample_profiling_request_data(handle, on_data, 0));
    expect("open", sample_profiling_open(handle));
    expect("close", sample_profiling_close(handle));
}

int main(void) {
    struct sample_profiling own;
    memset(&own, 0, sizeof own);
    call_all("the null handle", 0);
    call_all("a handle", &own);
    if (sample_profiling_find_name(&own, "a program that nobody records") !=
            SAMPLE_PROFILING_NO_SESSION ||
        sample_profiling_find_process(&own, 0) != SAMPLE_PROFILING_NO_SESSION) {
        puts("somebody was found");
        g_wrong = 1;
    }
    if (sample_agent_load("/nowhere/libsample.so") != SAMPLE_PROFILING_NO_LIBRARY) {
        puts("something was loaded");
        g_wrong = 1;
    }
    return g_wrong;
}
