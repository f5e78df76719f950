/* A library that allocates, with a heap and a tag of its own, and goes. */
#include "sample/trace.h"

#include <stdlib.h>

SAMPLE_TRACE_MEMORY_HEAP(pool, "pool", NULL);
SAMPLE_TRACE_MEMORY_TAG(of_plugin, "of plugin", NULL);

static char g_pool[64];
static void* volatile g_block;

__attribute__((noinline)) static void plugin_keeps(void) {
    g_block = malloc(100);
}

void plugin_allocates(void) {
    SAMPLE_TRACE_MEMORY_SCOPE(of_plugin);
    plugin_keeps();
    SAMPLE_TRACE_MEMORY_ALLOC_STACK(pool, g_pool, 64, 0);
    SAMPLE_TRACE_MEMORY_FREE(pool, g_pool);
}
