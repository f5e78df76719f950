/* Two profiler modules in one library's source: OWNER is first or second. Each says what it is
 * answered, call by call: the first one that enables sampling owns it. */
#include "sample/profiler_module.h"

#include <stdio.h>
#include <unistd.h>

#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#define QUOTED_(a) #a
#define QUOTED(a) QUOTED_(a)

static sample_profiler_handle handle;

static void say(const char* call, int answer) {
    char line[128];
    const int size = snprintf(line, sizeof line, QUOTED(OWNER) ": %s %d\n", call, answer);
    if (write(STDOUT_FILENO, line, (size_t)size) != size) {
        _exit(9);
    }
}

static void get(void) {
    sample_profiler_sample_mode mode = SAMPLE_PROFILER_SAMPLE_MODE_WALL;
    uint32_t hz = 7;
    say("get", sample_profiler_get_sample_mode(handle, &mode, &hz));
    say("mode", (int)mode);
    say("frequency", (int)hz);
    say("get nothing", sample_profiler_get_sample_mode(handle, 0, 0));
}

/* Until the collector has done what was asked for: at most ten seconds. */
static void await(sample_profiler_sample_mode wanted, uint32_t wanted_hz) {
    for (int look = 0; look < 1000; ++look) {
        sample_profiler_sample_mode mode;
        uint32_t hz = 0;
        (void)sample_profiler_get_sample_mode(handle, &mode, &hz);
        if (mode == wanted && (wanted_hz == 0 || hz == wanted_hz)) {
            return;
        }
        usleep(10000);
    }
    say("waited in vain", (int)wanted);
}

static void on_started(void* user) {
    (void)user;
    get();
    const int is_set =
        sample_profiler_set_sample_mode(handle, SAMPLE_PROFILER_SAMPLE_MODE_CPU, 500);
    say("set 500", is_set);
    if (is_set) {
        await(SAMPLE_PROFILER_SAMPLE_MODE_CPU, 500);
        get();
        say("set none",
            sample_profiler_set_sample_mode(handle, SAMPLE_PROFILER_SAMPLE_MODE_NONE, 0));
        await(SAMPLE_PROFILER_SAMPLE_MODE_NONE, 0);
        say("set 2000",
            sample_profiler_set_sample_mode(handle, SAMPLE_PROFILER_SAMPLE_MODE_CPU, 2000));
        await(SAMPLE_PROFILER_SAMPLE_MODE_CPU, 2000);
        get();
    }
}

SAMPLE_PROFILER_EXPORT void JOINED(sample_profiler_init_, OWNER)(const char* description) {
    (void)description;
    handle = sample_profiler_create(0);
    say("set before", sample_profiler_set_sample_mode(handle, SAMPLE_PROFILER_SAMPLE_MODE_CPU, 99));
    say("enable", sample_profiler_enable_sampling(handle));
    say("enable again", sample_profiler_enable_sampling(handle));
    say("set wall", sample_profiler_set_sample_mode(handle, SAMPLE_PROFILER_SAMPLE_MODE_WALL, 99));
    say("set 0", sample_profiler_set_sample_mode(handle, SAMPLE_PROFILER_SAMPLE_MODE_CPU, 0));
    say("set 10001",
        sample_profiler_set_sample_mode(handle, SAMPLE_PROFILER_SAMPLE_MODE_CPU, 10001));
    say("set of nobody", sample_profiler_set_sample_mode(0, SAMPLE_PROFILER_SAMPLE_MODE_CPU, 99));
    say("enable of nobody", sample_profiler_enable_sampling(0));
    sample_profiler_set_session_started_callback(handle, on_started);
}
