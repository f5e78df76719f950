/* Says everything that sample/trace.h can say, in C11, once and in one order. As `says_nothing` it
 * is compiled with SAMPLE_TRACE_DISABLED. */
#include "sample/trace.h"

#include <stddef.h>

SAMPLE_TRACE_CHANNEL_DEFINE(physics);
SAMPLE_TRACE_CHANNEL_DEFINE(never_on);
SAMPLE_TRACE_CHANNEL_EXTERN(physics);

SAMPLE_TRACE_COUNTER(items, "items", INTEGER);
SAMPLE_TRACE_COUNTER(load, "load", REAL);
SAMPLE_TRACE_COUNTER_IF_CHANGED(heap, "heap", MEMORY);
SAMPLE_TRACE_COUNTER_EXTERN(shared_items);
SAMPLE_TRACE_COUNTER_DEFINE(shared_items, "shared", INTEGER);

void count_elsewhere(void);

static void zones(void) {
    SAMPLE_TRACE_FUNCTION();
    SAMPLE_TRACE_ZONE_COLOURED("painted", "art", 0x102030);
    {
        SAMPLE_TRACE_ZONE_ON(physics, "on physics");
        SAMPLE_TRACE_ZONE_ON(physics | sample_trace_cpu, "on both");
        SAMPLE_TRACE_ZONE_ON(physics | never_on, "never");
    }
    SAMPLE_TRACE_ZONE_IF(1, "if so");
    SAMPLE_TRACE_ZONE_IF(0, "if not");
    SAMPLE_TRACE_ZONE_NOTED("noted", sample_trace_integer("a", -5), sample_trace_real("b", 0.5),
                            sample_trace_text("c", "text"));
    {
        char name[] = "dynamic 7";
        SAMPLE_TRACE_ZONE_DYNAMIC(name);
        SAMPLE_TRACE_ZONE_DYNAMIC_ON(physics, name);
        name[0] = 'D';
    }
}

static void begun_and_ended(void) {
    sample_trace_zone zone;
    sample_trace_zone other;
    SAMPLE_TRACE_ZONE_BEGIN(zone, "from here");
    SAMPLE_TRACE_ZONE_BEGIN_ON(never_on, other, "to there");
    SAMPLE_TRACE_ZONE_END(other);
    SAMPLE_TRACE_ZONE_END(zone);
}

static void coroutines(void) {
    struct sample_trace_coroutine coroutine = {0, 0};
    sample_trace_zone outer;
    sample_trace_zone inner;
    SAMPLE_TRACE_ZONE_BEGIN(outer, "outer");
    SAMPLE_TRACE_ZONE_BEGIN(inner, "inner");
    SAMPLE_TRACE_SUSPEND(coroutine, "coroutine", 1);
    SAMPLE_TRACE_ZONE_END(outer);
    SAMPLE_TRACE_RESUME(coroutine);
    SAMPLE_TRACE_ZONE_END(inner);
}

static void counters(void) {
    SAMPLE_TRACE_SET(items, 10);
    SAMPLE_TRACE_ADD(items, 5);
    SAMPLE_TRACE_SUBTRACT(items, 3);
    SAMPLE_TRACE_INCREMENT(items);
    SAMPLE_TRACE_DECREMENT(items);
    SAMPLE_TRACE_SET(items, 12);
    SAMPLE_TRACE_SET_REAL(load, 0.25);
    SAMPLE_TRACE_ADD_REAL(load, 0.5);
    SAMPLE_TRACE_SET(heap, 4096);
    SAMPLE_TRACE_SET(heap, 4096);
    SAMPLE_TRACE_ADD(heap, 0);
    SAMPLE_TRACE_ADD(heap, 1);
    SAMPLE_TRACE_INCREMENT(shared_items);
    count_elsewhere();
}

static void words(void) {
    SAMPLE_TRACE_BOOKMARK("plain");
    SAMPLE_TRACE_BOOKMARK("level %s of %d", "one", 3);
    SAMPLE_TRACE_LOG("net", SAMPLE_TRACE_WARNING, "%5.1f %% of %zu, %.*s, %ls, %c %lld %p", 99.5,
                     (size_t)7, 2, "abc", L"w\u00e9", 'x', -1LL, (void*)0);
    SAMPLE_TRACE_LOG("net", SAMPLE_TRACE_WARNING, "%hhx %hu", (signed char)-128, (short)-1);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
    SAMPLE_TRACE_LOG("net", SAMPLE_TRACE_WARNING, "%Ld %lc %S", 1LL << 40, 0x20acU, L"w");
#pragma GCC diagnostic pop
}

int main(void) {
    sample_trace_region_handle region;
    uint64_t flow;
    SAMPLE_TRACE_THREAD_NAME("speaker");
    SAMPLE_TRACE_THREAD_GROUP("speakers");
    SAMPLE_TRACE_FRAME_KIND(7, "audio");
    SAMPLE_TRACE_FRAME_BEGIN(SAMPLE_TRACE_MAIN_FRAME);
    zones();
    begun_and_ended();
    coroutines();
    SAMPLE_TRACE_FRAME_END(SAMPLE_TRACE_MAIN_FRAME);
    SAMPLE_TRACE_FRAME_BEGIN(7);
    SAMPLE_TRACE_FRAME_END(7);
    counters();
    words();
    region = SAMPLE_TRACE_REGION_BEGIN("loading", "io");
    SAMPLE_TRACE_REGION_END(region);
    flow = SAMPLE_TRACE_NEW_FLOW();
    SAMPLE_TRACE_FLOW_BEGIN(flow);
    SAMPLE_TRACE_FLOW_STEP(flow);
    SAMPLE_TRACE_FLOW_END(flow);
    (void)flow;
    return SAMPLE_TRACE_IS_ON(never_on);
}
