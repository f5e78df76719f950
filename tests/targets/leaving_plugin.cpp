// A library that works when it goes: unloads loads two copies by turns, one where the other was,
// built with SAMPLE_COPY 1 and 2, for as many milliseconds. Their code is laid out alike.
#include "work.h"

#define SAMPLE_NAME_OF(name, copy) name##copy
#define SAMPLE_NAME(name, copy) SAMPLE_NAME_OF(name, copy)
#define SAMPLE_PLUGIN_LEAVES SAMPLE_NAME(plugin_leaves_, SAMPLE_COPY)

extern "C" TARGET_KEEP void SAMPLE_PLUGIN_LEAVES() {
    targets::burn(SAMPLE_COPY * 1'000'000);
}

__attribute__((destructor)) static void leave() {
    SAMPLE_PLUGIN_LEAVES();
}
