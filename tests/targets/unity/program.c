/* A program that says a little of everything by sample/trace.h, for plug-ins to be told of. */
#include "sample/trace.h"

SAMPLE_TRACE_COUNTER(apples, "apples", INTEGER);
SAMPLE_TRACE_COUNTER(load, "load", REAL);
SAMPLE_TRACE_MEMORY_HEAP(arena, "arena", 0);

int main(void) {
    struct sample_trace_coroutine coroutine = {0, 0};
    uint64_t flow;
    sample_trace_zone zone;
    SAMPLE_TRACE_THREAD_GROUP("group");
    SAMPLE_TRACE_THREAD_NAME("speaker");
    SAMPLE_TRACE_FRAME_BEGIN(SAMPLE_TRACE_MAIN_FRAME);
    {
        SAMPLE_TRACE_ZONE("outer");
        { SAMPLE_TRACE_ZONE_COLOURED("inner", "Own category", 0x123456); }
        {
            SAMPLE_TRACE_ZONE_NOTED("noted", sample_trace_integer("n", 4),
                                    sample_trace_real("r", 0.5), sample_trace_text("t", "text"));
        }
        { SAMPLE_TRACE_ZONE_DYNAMIC("made"); }
        { SAMPLE_TRACE_ZONE("GC.Collect"); }
    }
    SAMPLE_TRACE_SET(apples, 5);
    SAMPLE_TRACE_SET_REAL(load, 0.25);
    SAMPLE_TRACE_MEMORY_ALLOC(arena, &arena, 48, 0);
    flow = 77;
    SAMPLE_TRACE_FLOW_BEGIN(flow);
    SAMPLE_TRACE_FLOW_STEP(flow);
    SAMPLE_TRACE_FLOW_END(flow);
    SAMPLE_TRACE_ZONE_BEGIN(zone, "waits");
    SAMPLE_TRACE_SUSPEND(coroutine, "coroutine", 1);
    SAMPLE_TRACE_RESUME(coroutine);
    SAMPLE_TRACE_ZONE_END(zone);
    SAMPLE_TRACE_FRAME_END(SAMPLE_TRACE_MAIN_FRAME);
    SAMPLE_TRACE_FRAME_BEGIN(SAMPLE_TRACE_MAIN_FRAME);
    SAMPLE_TRACE_FRAME_END(SAMPLE_TRACE_MAIN_FRAME);
    return 0;
}
