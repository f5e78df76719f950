/* What sample/profiler_module.h, the host of profiler modules (libsample-modules.so) and
 * libsample.so have in common. Modules include sample/profiler_module.h.
 *
 * Both libraries carry a note (sample/agent_note.h) that leads to a table of functions: the host's
 * is called by modules and embedders, the agent's by the host. A table only grows, and `version`
 * changes when what was there means something else. */
#ifndef SAMPLE_PROFILER_MODULE_ABI_H
#define SAMPLE_PROFILER_MODULE_ABI_H

/* C, too: NOLINTBEGIN(modernize-deprecated-headers,modernize-use-using) */
/* NOLINTBEGIN(readability-identifier-naming) */

#include <stddef.h>
#include <stdint.h>

#define SAMPLE_PROFILER_API_VERSION 1

#define SAMPLE_MODULE_HOST_NOTE 3
#define SAMPLE_MODULE_AGENT_NOTE 4
#define SAMPLE_MODULE_AGENT_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* What a callback is set for. */
enum {
    SAMPLE_MODULE_CLEANUP = 0,
    SAMPLE_MODULE_SAMPLE_HIT = 1,
    SAMPLE_MODULE_ALLOCATED = 2,
    SAMPLE_MODULE_FREED = 3,
    SAMPLE_MODULE_REALLOCATED = 4,
    SAMPLE_MODULE_THREAD_STARTED = 5,
    SAMPLE_MODULE_THREAD_STOPPED = 6,
    SAMPLE_MODULE_THREAD_NAME = 7,
    SAMPLE_MODULE_LIBRARY_LOADED = 8,
    SAMPLE_MODULE_LIBRARY_UNLOADED = 9,
    SAMPLE_MODULE_FORKED = 10,
    SAMPLE_MODULE_EXEC = 11,
    SAMPLE_MODULE_SESSION_STARTED = 12,
    SAMPLE_MODULE_SESSION_ENDED = 13,
    SAMPLE_MODULE_CONTENTION = 14,
    SAMPLE_MODULE_CONTENTION_FAILED = 15,
    SAMPLE_MODULE_CONTENTION_ACQUIRED = 16,
    SAMPLE_MODULE_EXCEPTION_THROWN = 17,
    SAMPLE_MODULE_EXCEPTION_CAUGHT = 18,
    SAMPLE_MODULE_CODE_MADE = 19
};

/* What is enabled. */
enum {
    SAMPLE_MODULE_SAMPLING = 0,
    SAMPLE_MODULE_ALLOCATIONS = 1,
    SAMPLE_MODULE_CONTENTIONS = 2,
    SAMPLE_MODULE_EXCEPTIONS = 3
};

struct sample_profiler_installed; /* What a handle points to. */

/* What the host does for modules; its version is SAMPLE_PROFILER_API_VERSION. */
struct sample_module_functions {
    uint32_t version;
    uint32_t bytes;
    int (*load)(const char* description);
    /* `module`: an address of the library that calls. */
    struct sample_profiler_installed* (*create)(void* user, const void* module);
    void (*set_callback)(struct sample_profiler_installed* profiler, uint32_t event,
                         void (*callback)(void));
    int (*enable)(struct sample_profiler_installed* profiler, uint32_t what);
    int (*set_sample_mode)(struct sample_profiler_installed* profiler, uint32_t mode,
                           uint32_t frequency_hz);
    int (*get_sample_mode)(struct sample_profiler_installed* profiler, uint32_t* mode,
                           uint32_t* frequency_hz);
    uint32_t (*stack)(uintptr_t* pcs, uint32_t most);
    uint32_t (*thread_id)(void);
};

/* What the agent tells the host. All of them are set. */
struct sample_module_listener {
    void (*sample_hit)(uint64_t pc, const void* context); /* In the sampling handler. */
    /* `before`: the block that it was, of realloc, and its usable bytes; else null and 0. */
    void (*allocated)(const void* before, uint64_t before_bytes, const void* block, uint64_t bytes);
    void (*freed)(const void* block, uint64_t bytes); /* Before others can get it. */
    void (*thread_started)(void);
    void (*thread_stopped)(void);
    void (*exec)(const char* path); /* Wherever the program may exec: async-signal-safe. */
};

/* Of a module: its first letters, the rest zero. */
struct sample_module_name {
    char letters[24];
};

/* What the agent does for the host. */
struct sample_module_agent {
    uint32_t version;
    uint32_t bytes;
    uint32_t (*is_profiled)(void);
    uint32_t (*is_sampled)(void);
    /* The session wants every malloc, and the library that tells it is there. */
    uint32_t (*tells_allocations)(void);
    /* From now on `listener` is told, for as long as the process lives. */
    void (*listen)(const struct sample_module_listener* listener);
    /* Leaf first; in a sample_hit(), allocated() or freed() of the calling thread, else 0.
     * Async-signal-safe. */
    uint32_t (*stack)(uint64_t* pcs, uint32_t most);
    /* `name`: the module that is being set up, which `sample` names if that does not end well.
     * Null: none. */
    void (*set_up)(const char* name);
    /* Modes of sample/profiler_module.h. 0: the session does not have that mode, or there is none.
     * Async-signal-safe. */
    uint32_t (*set_sampling)(uint32_t mode, uint32_t frequency_hz);
    uint32_t (*sampling)(uint32_t* frequency_hz); /* Returns the mode. Async-signal-safe. */
    void (*load_host)(void); /* From libsample.so's folder, if it is not loaded. */
    /* From now on the calling thread is in a callback: which event's, and of a module whose name's
     * first letters these are. `sample` names it if the program dies there. Null: in none.
     * Async-signal-safe. */
    void (*note_callback)(const struct sample_module_name* module, uint32_t event);
};

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */
/* NOLINTEND(modernize-deprecated-headers,modernize-use-using) */

#endif
