/* A program that loads profiler modules itself, one of which it has inside. Says what it is
 * answered; it runs the same without an agent. "late": it brings the agent in itself. */
#include "sample/profiler.h"
#include "sample/profiler_module.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static volatile unsigned long samples;

static void on_sample(void* user, uintptr_t pc, const void* context) {
    (void)user;
    (void)pc;
    (void)context;
    ++samples;
}

SAMPLE_PROFILER_EXPORT void sample_profiler_init_inside(const char* description) {
    const sample_profiler_handle handle = sample_profiler_create(0);
    printf("init %s\n", description);
    printf("enabled %d\n", sample_profiler_enable_sampling(handle));
    sample_profiler_set_sample_hit_callback(handle, on_sample);
}

int main(int argc, char** argv) {
    sample_profiler_sample_mode mode = SAMPLE_PROFILER_SAMPLE_MODE_WALL;
    uint32_t hz = 7;
    uintptr_t pc = 0;
    if (argc > 1 && strcmp(argv[1], "late") == 0) {
        printf("too early %d\n", sample_profiler_load("inside"));
        printf("%s\n", sample_profiling_text(sample_agent_load(0)));
    }
    printf("load %d\n", sample_profiler_load("inside:with arguments"));
    printf("again %d\n", sample_profiler_load("inside"));
    printf("not there %d\n", sample_profiler_load("not_there"));
    printf("no name %d\n", sample_profiler_load("../evil"));
    while (clock() < CLOCKS_PER_SEC / 4) {
    }
    printf("sampled %d\n", samples > 10);
    printf("locks %d exceptions %d allocations %d\n", sample_profiler_enable_contention(),
           sample_profiler_enable_exceptions(), sample_profiler_enable_allocations());
    printf("get %d", sample_profiler_get_sample_mode(0, &mode, &hz));
    printf(" %d %u stack %u\n", (int)mode, hz, sample_profiler_stack(&pc, 1));
    printf("thread %d\n", sample_profiler_thread_id() != 0);
    return 0;
}
