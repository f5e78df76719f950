/* What both plug-ins that say something do, the one in C and the one in C++. */
#ifndef SAMPLE_TESTS_UNITY_SAYS_H
#define SAMPLE_TESTS_UNITY_SAYS_H

#include "sample/unity/IUnityLog.h"
#include "sample/unity/IUnityMemoryManager.h"
#include "sample/unity/IUnityProfiler.h"

enum { kSaysCalls = 100 };

#endif
