/* What a C compiler makes of the same. */
#include "tests/receivers/unity/unity_layout.inc"

#include "sample/unity/IUnityLog.h"
#include "sample/unity/IUnityMemoryManager.h"
#include "sample/unity/IUnityProfiler.h"
#include "sample/unity/IUnityProfilerCallbacks.h"

#include <stddef.h>

extern const size_t unity_layout_of_c[];
extern const size_t unity_layout_of_c_count;
const size_t unity_layout_of_c[] = {UNITY_LAYOUT_ACTUAL};
const size_t unity_layout_of_c_count = sizeof unity_layout_of_c / sizeof unity_layout_of_c[0];
