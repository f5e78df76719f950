// The document's example of IUnityProfiler, unchanged, and somebody who calls it.
#ifdef UNITY_TEST_2020
#include "document_markers_2020.inc"
#else
#include "document_markers.inc"
#endif

extern "C" UNITY_INTERFACE_EXPORT void work_of_plugin() {
    MyPluginWorkMethod();
}
