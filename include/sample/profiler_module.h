/* Profiler modules: shared libraries that are loaded into a profiled program by name, and told of
 * its samples, allocations, threads, locks and exceptions. C11 and C++. docs/modules.md.
 *
 *     #include "sample/profiler_module.h"
 *
 *     static void on_sample(void* user, uintptr_t pc, const void* context) { ... }
 *
 *     SAMPLE_PROFILER_EXPORT void sample_profiler_init_example(const char* description) {
 *         sample_profiler_handle handle = sample_profiler_create(0);
 *         sample_profiler_enable_sampling(handle);
 *         sample_profiler_set_sample_hit_callback(handle, on_sample);
 *     }
 *
 *     gcc -shared -fPIC -o libsample-profiler-example.so example.c
 *     LD_LIBRARY_PATH=. sample --module example -- ./app
 *
 * Headers only: nothing is linked. A program that calls these functions itself (an embedder) runs
 * the same without libsample.so: then each costs one load and a branch, and answers 0.
 *
 * "Async-signal-safe" functions may be called in a signal handler, and in every callback. The
 * others may be called in a module's init function, or by an embedder at any time outside of signal
 * handlers and callbacks. All are thread-safe. None throws. */
#ifndef SAMPLE_PROFILER_MODULE_H
#define SAMPLE_PROFILER_MODULE_H

#include "sample/agent_note.h"
#include "sample/profiler_module_abi.h"

#include <stdint.h>  // NOLINT(modernize-deprecated-headers): C, too

#pragma GCC system_header

/* SAMPLE_PROFILER_API_VERSION, a number, changes when a module that was compiled before would not
 * run any more. Modules of another version are rejected when they are loaded. */

#ifdef __cplusplus
#define SAMPLE_PROFILER_EXPORT extern "C" __attribute__((visibility("default")))
extern "C" {
#else
#define SAMPLE_PROFILER_EXPORT __attribute__((visibility("default")))
#endif

/* What the host checks. One of each module, however many of its files include this. */
extern const uint32_t sample_profiler_api_version __attribute__((weak, visibility("default")));
const uint32_t sample_profiler_api_version = SAMPLE_PROFILER_API_VERSION;

/* A profiler that has been installed. Null: none; every function accepts it and does nothing. */
typedef struct sample_profiler_installed* sample_profiler_handle;

struct sample_module_link_ {
    const struct sample_module_functions* functions; /* Null: there is no host. */
};
SAMPLE_AGENT_OF_MODULE_ struct sample_module_link_ sample_module_link_ = {0};

static inline void sample_module_find_host_(void) {
    const struct sample_module_functions* found =
        (const struct sample_module_functions*)sample_agent_find_table_(SAMPLE_MODULE_HOST_NOTE);
    if (found != 0 && found->version == SAMPLE_PROFILER_API_VERSION &&
        found->bytes >= sizeof *found) {
        sample_module_link_.functions = found;
    }
}
static inline const struct sample_module_agent* sample_module_find_agent_(void) {
    return (const struct sample_module_agent*)sample_agent_find_table_(SAMPLE_MODULE_AGENT_NOTE);
}
__attribute__((constructor(101), used)) static void sample_module_join_(void) {
    if (sample_module_link_.functions == 0) {
        sample_module_find_host_();
    }
    if (sample_module_link_.functions == 0) {
        sample_module_find_agent_();
    }
}

/* ---- Loading and installing ---- */

/* Loads a module. `description`: "NAME" or "NAME:ARGUMENTS"; the whole of it is passed to the
 * module's sample_profiler_init_NAME(). Where it is looked for: docs/modules.md. One that is loaded
 * already is not loaded again, which is no error. Returns 1; 0: it could not be loaded, and a line
 * on standard error says why, or the program is not profiled.
 *
 * For embedders: a function sample_profiler_init_NAME that the program itself exports (-rdynamic)
 * is found first. Loaded this late, a module is told neither of contention nor of exceptions,
 * unless `sample --module` has loaded another one at the start. In a program that brings the agent
 * in with sample_agent_load() (sample/profiler.h), the caller's own library has called that before.
 *
 * Not async-signal-safe. */
static inline int sample_profiler_load(const char* description) {
    if (sample_module_link_.functions == 0 &&
        __atomic_load_n(&sample_agent_was_found_, __ATOMIC_RELAXED)) {
        const struct sample_module_agent* agent = sample_module_find_agent_();
        if (agent != 0 && agent->version == SAMPLE_MODULE_AGENT_VERSION &&
            agent->bytes >= sizeof *agent) {
            agent->load_host();
            sample_module_find_host_();
        }
    }
    return sample_module_link_.functions != 0 ? sample_module_link_.functions->load(description)
                                              : 0;
}

/* Installs a profiler. `user`, which may be null, is passed to all of its callbacks. Returns the
 * handle for the other functions; null: the program is not profiled, or 32 are installed. The
 * library that calls this is never unloaded.
 *
 * Not async-signal-safe. */
static inline sample_profiler_handle sample_profiler_create(void* user) {
    return sample_module_link_.functions != 0
               ? sample_module_link_.functions->create(user, &sample_module_link_)
               : 0;
}

/* ---- Sampling ---- */

typedef enum {
    SAMPLE_PROFILER_SAMPLE_MODE_NONE = 0, /* No samples. */
    SAMPLE_PROFILER_SAMPLE_MODE_CPU = 1,  /* By CPU time. */
    SAMPLE_PROFILER_SAMPLE_MODE_WALL = 2  /* By wall time, also while threads wait. */
} sample_profiler_sample_mode;

/* The profiler is told of samples from now on (sample_profiler_set_sample_hit_callback). The first
 * one that calls this owns the mode and the frequency: no other one can change them. Returns 1, for
 * those that do not own them, too; 0: it is too late, as the program is not sampled.
 *
 * Not async-signal-safe. */
static inline int sample_profiler_enable_sampling(sample_profiler_handle handle) {
    return sample_module_link_.functions != 0
               ? sample_module_link_.functions->enable(handle, SAMPLE_MODULE_SAMPLING)
               : 0;
}

/* Sets the mode and the frequency, 1 to 10000 a second, of the whole session: of its other
 * processes, too. MODE_NONE pauses sampling; the frequency is not looked at then. They change
 * within some tens of milliseconds. Until somebody calls this they are what the command line says.
 * Returns 1; 0, and nothing has changed: the profiler does not own them, the frequency is none, or
 * the session has another clock (MODE_WALL needs `sample --clock wall`, MODE_CPU a session without
 * it; an --event has no mode).
 *
 * Async-signal-safe. */
static inline int sample_profiler_set_sample_mode(sample_profiler_handle handle,
                                                  sample_profiler_sample_mode mode,
                                                  uint32_t frequency_hz) {
    return sample_module_link_.functions != 0 ? sample_module_link_.functions->set_sample_mode(
                                                    handle, (uint32_t)mode, frequency_hz)
                                              : 0;
}

/* What the mode and the frequency are; either pointer may be null. Returns 1 if the profiler may
 * change them, else 0.
 *
 * Async-signal-safe. */
static inline int sample_profiler_get_sample_mode(sample_profiler_handle handle,
                                                  sample_profiler_sample_mode* mode,
                                                  uint32_t* frequency_hz) {
    uint32_t now = SAMPLE_PROFILER_SAMPLE_MODE_NONE;
    uint32_t hz = 0;
    int owns = 0;
    if (sample_module_link_.functions != 0) {
        owns = sample_module_link_.functions->get_sample_mode(handle, &now, &hz);
    }
    if (mode != 0) {
        *mode = (sample_profiler_sample_mode)now;
    }
    if (frequency_hz != 0) {
        *frequency_hz = hz;
    }
    return owns;
}

/* ---- What else is enabled ---- */

/* The profilers are told of malloc and its kin from now on. Returns 1; 0: it is too late, as the
 * program was not started with `sample --trace memory`.
 *
 * Not async-signal-safe. */
static inline int sample_profiler_enable_allocations(void) {
    return sample_module_link_.functions != 0
               ? sample_module_link_.functions->enable(0, SAMPLE_MODULE_ALLOCATIONS)
               : 0;
}

/* The same of threads that wait for locks and conditions. 0: it is too late, as the program was not
 * started with a module.
 *
 * Not async-signal-safe. */
static inline int sample_profiler_enable_contention(void) {
    return sample_module_link_.functions != 0
               ? sample_module_link_.functions->enable(0, SAMPLE_MODULE_CONTENTIONS)
               : 0;
}

/* The same of C++ exceptions.
 *
 * Not async-signal-safe. */
static inline int sample_profiler_enable_exceptions(void) {
    return sample_module_link_.functions != 0
               ? sample_module_link_.functions->enable(0, SAMPLE_MODULE_EXCEPTIONS)
               : 0;
}

/* ---- In callbacks ---- */

/* The stack of what the callback is told of, as the agent has walked it: at most `most` addresses,
 * the leaf's first. Those of callers are return addresses; 0 stands for frames that were left out
 * of the middle of a deep stack. Returns how many; 0 outside of the callbacks sample_hit,
 * allocated, freed and reallocated, or if there is none. Nothing is walked once more: the cost is
 * that of a copy.
 *
 * Async-signal-safe. */
static inline uint32_t sample_profiler_stack(uintptr_t* pcs, uint32_t most) {
    return sample_module_link_.functions != 0 ? sample_module_link_.functions->stack(pcs, most) : 0;
}

/* The calling thread's id, as gettid(2); 0: the program is not profiled. A system call.
 *
 * Async-signal-safe. */
static inline uint32_t sample_profiler_thread_id(void) {
    return sample_module_link_.functions != 0 ? sample_module_link_.functions->thread_id() : 0;
}

/* ---- Callbacks ----
 *
 * Each of the functions below is async-signal-safe, and may be called by several threads at once:
 * the callback is replaced in one step, null takes it out. A thread that is inside the callback
 * before goes on with it.
 *
 * While a thread is in a callback, it is told of nothing but samples. A callback returns: it does
 * not throw, jump out of it (longjmp) or end its thread. */
#define SAMPLE_PROFILER_CALLBACK_(name, number, ...)                                               \
    typedef void (*sample_profiler_##name##_callback)(__VA_ARGS__);                                \
    static inline void sample_profiler_set_##name##_callback(                                      \
        sample_profiler_handle handle, sample_profiler_##name##_callback callback) {               \
        if (sample_module_link_.functions != 0) {                                                  \
            sample_module_link_.functions->set_callback(handle, number, (void (*)(void))callback); \
        }                                                                                          \
    }

/* At the program's end, behind its exit handlers: no callback of the profiler is called after it.
 * Mostly to free `user`. Not called where the program ends by a signal, _exit() or exec. */
SAMPLE_PROFILER_CALLBACK_(cleanup, SAMPLE_MODULE_CLEANUP, void* user)

/* A sample was taken of the calling thread (of one that runs: with `--clock wall`, those that wait
 * are recorded without being interrupted), which was about to execute the instruction at `pc`;
 * `context` is the handler's ucontext_t. In the sampling handler: nothing but async-signal-safe
 * functions, atomic variables without a lock, and sample_profiler_stack(); at most 4 KiB of stack.
 * All signals are blocked, and a fault ends the program. */
SAMPLE_PROFILER_CALLBACK_(sample_hit, SAMPLE_MODULE_SAMPLE_HIT, void* user, uintptr_t pc,
                          const void* context)

/* The thread was given memory; is about to give it back, of so many usable bytes; has changed
 * `before`, which had so many usable bytes, into `block`, which may be the same. They come wherever
 * memory is allocated, in the loader, with locks of the program held: what allocates in them is not
 * told, and no lock is waited for that somebody holds who allocates. */
SAMPLE_PROFILER_CALLBACK_(allocated, SAMPLE_MODULE_ALLOCATED, void* user, const void* block,
                          uint64_t bytes)
SAMPLE_PROFILER_CALLBACK_(freed, SAMPLE_MODULE_FREED, void* user, const void* block, uint64_t bytes)
SAMPLE_PROFILER_CALLBACK_(reallocated, SAMPLE_MODULE_REALLOCATED, void* user, const void* before,
                          uint64_t before_bytes, const void* block, uint64_t bytes)

/* A thread of pthread_create() or thrd_create() begins, or ends: `thread` is its pthread_t, and it
 * is the calling one. Neither the first thread nor those of a bare clone(2) are told. */
SAMPLE_PROFILER_CALLBACK_(thread_started, SAMPLE_MODULE_THREAD_STARTED, void* user,
                          uintptr_t thread)
SAMPLE_PROFILER_CALLBACK_(thread_stopped, SAMPLE_MODULE_THREAD_STOPPED, void* user,
                          uintptr_t thread)
/* By pthread_setname_np(), which any thread may call; prctl(2) is not told. */
SAMPLE_PROFILER_CALLBACK_(thread_name, SAMPLE_MODULE_THREAD_NAME, void* user, uintptr_t thread,
                          const char* name)

/* A library was loaded at `start`, or unloaded: those that come or go after the start. It is
 * noticed right behind the dlopen() of a path, and behind every dlclose(); a dlopen() of a bare
 * name is noticed at the next dlopen(), dlclose() or end of a thread. The first 512 libraries. */
SAMPLE_PROFILER_CALLBACK_(library_loaded, SAMPLE_MODULE_LIBRARY_LOADED, void* user,
                          const char* path, uintptr_t start)
SAMPLE_PROFILER_CALLBACK_(library_unloaded, SAMPLE_MODULE_LIBRARY_UNLOADED, void* user,
                          const char* path, uintptr_t start)

/* The program has made memory executable, which is where code that is made at run time lies: by
 * mmap(), mprotect() or pkey_mprotect(); what the loader maps for libraries is not told. The code
 * may be written later, where it may be written still. Programs do so in signal handlers and with
 * locks held: nothing but async-signal-safe functions. */
SAMPLE_PROFILER_CALLBACK_(code_made, SAMPLE_MODULE_CODE_MADE, void* user, const void* start,
                          uint64_t bytes)

/* fork() has returned: in the parent, and, with `is_child` 1, in the child, which has the modules
 * as they were. Not _Fork(), nor vfork(). */
SAMPLE_PROFILER_CALLBACK_(forked, SAMPLE_MODULE_FORKED, void* user, int is_child)

/* The process is about to become another program; `path` is as it was asked for, "" for a
 * descriptor. If that fails, it goes on. Nothing but async-signal-safe functions: programs do so in
 * signal handlers. */
SAMPLE_PROFILER_CALLBACK_(exec, SAMPLE_MODULE_EXEC, void* user, const char* path)

/* Before main(), when all modules are set up, and at the end of the program, behind its exit
 * handlers and before the cleanup. */
SAMPLE_PROFILER_CALLBACK_(session_started, SAMPLE_MODULE_SESSION_STARTED, void* user)
SAMPLE_PROFILER_CALLBACK_(session_ended, SAMPLE_MODULE_SESSION_ENDED, void* user)

typedef enum {
    SAMPLE_PROFILER_MUTEX = 1,     /* pthread_mutex_t, and what is made of it: std::mutex, ... */
    SAMPLE_PROFILER_READ = 2,      /* pthread_rwlock_t, for reading. */
    SAMPLE_PROFILER_WRITE = 3,     /* The same, for writing. */
    SAMPLE_PROFILER_CONDITION = 4, /* pthread_cond_t. */
} sample_profiler_monitor;

/* The calling thread begins to wait: another one has the lock, or it waits for a condition. Then
 * one of the two follows: it waited in vain (a time has run out, or `error` is another one of
 * errno's), or it has what it waited for. A lock that is free, and a try that fails, are not told.
 * A condition: contention as the wait begins, acquired when the thread was woken and has the mutex
 * again. A wait that is cancelled has no end. */
SAMPLE_PROFILER_CALLBACK_(contention, SAMPLE_MODULE_CONTENTION, void* user, const void* object,
                          sample_profiler_monitor kind)
SAMPLE_PROFILER_CALLBACK_(contention_failed, SAMPLE_MODULE_CONTENTION_FAILED, void* user,
                          const void* object, sample_profiler_monitor kind, int error)
SAMPLE_PROFILER_CALLBACK_(contention_acquired, SAMPLE_MODULE_CONTENTION_ACQUIRED, void* user,
                          const void* object, sample_profiler_monitor kind)

/* A C++ exception is about to be thrown; `type` is its type's name as the compiler writes it (see
 * abi::__cxa_demangle), null: it is thrown once more (`throw;`), then `exception` is null, too.
 * A handler has caught one: `exception` is what was thrown. Programs that have the C++ runtime
 * linked into them are not told of. */
SAMPLE_PROFILER_CALLBACK_(exception_thrown, SAMPLE_MODULE_EXCEPTION_THROWN, void* user,
                          const void* exception, const char* type)
SAMPLE_PROFILER_CALLBACK_(exception_caught, SAMPLE_MODULE_EXCEPTION_CAUGHT, void* user,
                          const void* exception)

#ifdef __cplusplus
}
#endif

#endif
