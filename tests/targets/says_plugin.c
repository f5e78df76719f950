/* A library that says something, and goes. */
#include "sample/trace.h"

SAMPLE_TRACE_CHANNEL_DEFINE(plugin);

void say(void) {
    SAMPLE_TRACE_ZONE("of the library");
    SAMPLE_TRACE_ZONE_ON(plugin, "on its channel");
    SAMPLE_TRACE_BOOKMARK("loaded %d", 1);
}
