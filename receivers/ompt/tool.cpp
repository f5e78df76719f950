// libsample-ompt.so: what an OpenMP runtime does for a program, as zones on its threads: parallel
// regions, tasks, worksharing loops, and the time at barriers and other waits.
//
// OMP_TOOL_LIBRARIES names it; the runtime loads it when it starts. Without the agent, or while
// `--trace` does not name the channel `openmp`, ompt_start_tool() refuses, and the runtime is as
// without a tool.
//
// Zones go by the runtime's own pairs of begin and end. Each explicit task has its address of code
// in the word that the runtime keeps for us.
#include "receivers/ompt/abi.h"
#include "receivers/ompt/zones.h"

#include <array>
#include <cstddef>

namespace sample::ompt {
namespace {

/// In the word of an explicit task, above the address of its code.
constexpr std::uint64_t kIsExplicit = std::uint64_t{1} << 63U;

template <std::size_t kCount>
const char* name_in(const std::array<const char*, kCount>& names, int number) noexcept {
    return number > 0 && static_cast<std::size_t>(number) < kCount
               ? names[static_cast<std::size_t>(number)]
               : names[0];
}

/// Either end, or both at once. Zones of a kind nest; by the runtime's words they could not be told
/// apart, as their addresses are others at the end.
void say(int endpoint, ZoneKind kind, const char* name, const void* code) noexcept {
    if (endpoint == kBegin || endpoint == kBeginEnd) {
        begin_zone(kind, nullptr, name, code);
    }
    if (endpoint == kEnd || endpoint == kBeginEnd) {
        end_zone(kind, nullptr);
    }
}

void on_thread_begin(int type, Data* /*thread*/) noexcept {
    if (type == kWorkerThread && SAMPLE_TRACE_IS_ON(::openmp)) {
        sample_trace_module.functions->name_thread("OpenMP worker");
    }
}

void on_parallel_begin(Data* /*task*/, const void* /*frame*/, Data* /*parallel*/,
                       unsigned /*requested*/, int /*flags*/, const void* code) noexcept {
    begin_zone(ZoneKind::parallel, nullptr, "parallel", code);
}
void on_parallel_end(Data* /*parallel*/, Data* /*task*/, int /*flags*/,
                     const void* /*code*/) noexcept {
    end_zone(ZoneKind::parallel, nullptr);
}

/// The task of a program's serial part is as long as the program: it is no zone.
void on_implicit_task(int endpoint, Data* /*parallel*/, Data* /*task*/, unsigned /*threads*/,
                      unsigned /*index*/, int flags) noexcept {
    if ((static_cast<unsigned>(flags) & kInitialTask) == 0) {
        say(endpoint, ZoneKind::implicit_task, "implicit task", nullptr);
    }
}

void on_task_create(Data* /*encountering*/, const void* /*frame*/, Data* task, int flags,
                    int /*has_dependences*/, const void* code) noexcept {
    if (task != nullptr && (static_cast<unsigned>(flags) & kExplicitTask) != 0) {
        task->value = reinterpret_cast<std::uintptr_t>(code) | kIsExplicit;
    }
}

bool is_explicit(const Data* task) noexcept {
    return task != nullptr && (task->value & kIsExplicit) != 0;
}

/// The thread goes from one task to another. One that waits for its children has them inside it; it
/// goes on when they are over.
void on_task_schedule(Data* prior, int status, Data* next) noexcept {
    const bool is_next_open = next != nullptr && is_open(ZoneKind::explicit_task, next);
    const bool is_over = status == kTaskComplete || status == kTaskCancel || status == kTaskDetach;
    const bool has_left = next != nullptr && (is_next_open || !is_explicit(next));
    if (is_explicit(prior) && (is_over || has_left)) {
        end_zone(ZoneKind::explicit_task, prior);
    }
    if (is_explicit(next) && !is_next_open) {
        begin_zone(ZoneKind::explicit_task, next, "task",
                   reinterpret_cast<const void*>(next->value & ~kIsExplicit));
    }
}

constexpr std::array<const char*, 11> kSyncNames = {
    "synchronization",   "barrier",          "implicit barrier", "barrier",
    "runtime's barrier", "taskwait",         "taskgroup",        "reduction",
    "implicit barrier",  "implicit barrier", "teams barrier"};
constexpr std::array<const char*, 11> kWaitNames = {
    "wait synchronization",   "wait barrier",          "wait implicit barrier", "wait barrier",
    "wait runtime's barrier", "wait taskwait",         "wait taskgroup",        "wait reduction",
    "wait implicit barrier",  "wait implicit barrier", "wait teams barrier"};

void on_sync_region(int kind, int endpoint, Data* /*parallel*/, Data* /*task*/,
                    const void* code) noexcept {
    say(endpoint, ZoneKind::sync, name_in(kSyncNames, kind), code);
}
void on_sync_region_wait(int kind, int endpoint, Data* /*parallel*/, Data* /*task*/,
                         const void* code) noexcept {
    say(endpoint, ZoneKind::wait, name_in(kWaitNames, kind), code);
}
void on_reduction(int /*kind*/, int endpoint, Data* /*parallel*/, Data* /*task*/,
                  const void* code) noexcept {
    say(endpoint, ZoneKind::reduction, "reduction", code);
}

void on_work(int kind, int endpoint, Data* /*parallel*/, Data* /*task*/, std::uint64_t /*count*/,
             const void* code) noexcept {
    // From 10 on loops by how they are divided, which OpenMP 5.2 tells apart; 9 is nothing's.
    constexpr std::array<const char*, 14> kNames = {
        "work",      "loop",       "sections", "single", "single of another",
        "workshare", "distribute", "taskloop", "scope",  "work",
        "loop",      "loop",       "loop",     "loop"};
    // What single gives to the other threads is of no length.
    constexpr int kSingleOther = 4;
    if (kind != kSingleOther) {
        say(endpoint, ZoneKind::work, name_in(kNames, kind), code);
    }
}

void on_masked(int endpoint, Data* /*parallel*/, Data* /*task*/, const void* code) noexcept {
    say(endpoint, ZoneKind::masked, "masked", code);
}

/// A test of a lock waits for nothing, and tells nothing if it fails.
void on_mutex_acquire(int kind, unsigned /*hint*/, unsigned /*implementation*/,
                      std::uint64_t /*id*/, const void* code) noexcept {
    constexpr std::array<const char*, 8> kNames = {"wait mutex",  "wait lock",   "wait lock",
                                                   "wait lock",   "wait lock",   "wait critical",
                                                   "wait atomic", "wait ordered"};
    if (kind != kTestLock && kind != kTestNestLock) {
        begin_zone(ZoneKind::mutex, nullptr, name_in(kNames, kind), code);
    }
}
void on_mutex_acquired(int kind, std::uint64_t /*id*/, const void* /*code*/) noexcept {
    if (kind != kTestLock && kind != kTestNestLock) {
        end_zone(ZoneKind::mutex, nullptr);
    }
}

/// A thread has got a nested lock that it holds already: there is no mutex_acquired then.
void on_nest_lock(int endpoint, std::uint64_t /*id*/, const void* /*code*/) noexcept {
    if (endpoint == kBegin) {
        end_zone(ZoneKind::mutex, nullptr);
    }
}

/// Callbacks that the runtime does not know stay away: it says so, and nothing else happens.
int initialize(Lookup lookup, int /*device*/, Data* /*tool*/) noexcept {
    const auto set = reinterpret_cast<SetCallback>(lookup("ompt_set_callback"));
    if (set == nullptr) {
        return 0;
    }
    const auto listen = [set](Callback event, auto* callback) {
        static_cast<void>(set(event, reinterpret_cast<Function>(callback)));
    };
    listen(Callback::thread_begin, on_thread_begin);
    listen(Callback::parallel_begin, on_parallel_begin);
    listen(Callback::parallel_end, on_parallel_end);
    listen(Callback::implicit_task, on_implicit_task);
    listen(Callback::task_create, on_task_create);
    listen(Callback::task_schedule, on_task_schedule);
    listen(Callback::sync_region, on_sync_region);
    listen(Callback::sync_region_wait, on_sync_region_wait);
    listen(Callback::reduction, on_reduction);
    listen(Callback::work, on_work);
    listen(Callback::masked, on_masked);
    listen(Callback::mutex_acquire, on_mutex_acquire);
    listen(Callback::mutex_acquired, on_mutex_acquired);
    listen(Callback::nest_lock, on_nest_lock);
    return 1;
}

void finalize(Data* /*tool*/) noexcept {}

}  // namespace
}  // namespace sample::ompt

/// Null: there is no tool.
// NOLINTNEXTLINE(readability-identifier-naming): OMPT's name.
extern "C" __attribute__((visibility("default"))) sample::ompt::StartResult* ompt_start_tool(
    unsigned /*omp_version*/, const char* /*runtime_version*/) {
    static sample::ompt::StartResult result{sample::ompt::initialize, sample::ompt::finalize, {0}};
    return SAMPLE_TRACE_IS_ON(::openmp) ? &result : nullptr;
}
