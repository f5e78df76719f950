// What an OpenMP runtime and its tool have in common: OMPT, of OpenMP 5.0 to 5.2.
// Source: OpenMP API specification 5.2, chapter 19.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sample::ompt {

/// A word of the tool's own: of a thread, a parallel region, a task.
union Data {
    std::uint64_t value;
    void* pointer;
};

using Function = void (*)();
using Lookup = Function (*)(const char* name);

/// What ompt_start_tool() returns.
struct StartResult {
    int (*initialize)(Lookup lookup, int device, Data* tool);  ///< Not 0: go on.
    void (*finalize)(Data* tool);
    Data tool;
};

enum class Callback : int {
    thread_begin = 1,
    parallel_begin = 3,
    parallel_end = 4,
    task_create = 5,
    task_schedule = 6,
    implicit_task = 7,
    sync_region_wait = 16,
    work = 20,
    masked = 21,
    sync_region = 23,
    mutex_acquire = 26,
    mutex_acquired = 27,
    nest_lock = 28,
    reduction = 31
};
using SetCallback = int (*)(Callback event, Function callback);

// Of threads, of the ends of what lasts, of tasks' flags, of why a thread leaves a task, of
// mutexes.
inline constexpr int kWorkerThread = 2;
inline constexpr int kBegin = 1;
inline constexpr int kEnd = 2;
inline constexpr int kBeginEnd = 3;
inline constexpr unsigned kInitialTask = 1;
inline constexpr unsigned kExplicitTask = 4;
inline constexpr int kTaskComplete = 1;
inline constexpr int kTaskCancel = 3;
inline constexpr int kTaskDetach = 4;
inline constexpr int kTestLock = 2;
inline constexpr int kTestNestLock = 4;

}  // namespace sample::ompt
