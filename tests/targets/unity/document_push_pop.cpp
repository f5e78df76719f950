// The document's example of IUnityProfilerCallbacks, unchanged, with the other profiler that it
// tells: one that writes to stdout.
#include <cstdio>

static void MyProfilerPushMarker(const char* name) {
    std::printf("push %s\n", name);
    std::fflush(stdout);
}
static void MyProfilerPopMarker() {
    std::printf("pop\n");
    std::fflush(stdout);
}

#ifdef UNITY_TEST_2020
#include "document_push_pop_2020.inc"
#else
#include "document_push_pop.inc"
#endif
