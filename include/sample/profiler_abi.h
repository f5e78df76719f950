/* What sample/profiler.h and libsample.so have in common. Programs include sample/profiler.h.
 *
 * libsample.so carries a note (sample/agent_note.h) of type SAMPLE_PROFILER_NOTE, which leads to a
 * struct sample_profiler_functions. It only grows, and `version` changes when what was there means
 * something else. */
#ifndef SAMPLE_PROFILER_ABI_H
#define SAMPLE_PROFILER_ABI_H

/* C, too: NOLINTBEGIN(modernize-deprecated-headers,readability-identifier-naming) */

#include <stddef.h>
#include <stdint.h>

#define SAMPLE_PROFILER_NOTE 2
#define SAMPLE_PROFILER_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SAMPLE_PROFILER_START = 1,
    SAMPLE_PROFILER_STOP = 2,
    SAMPLE_PROFILER_PAUSE = 3,
    SAMPLE_PROFILER_RESUME = 4
};

/* What control() below may return: the session was begun to take no samples. */
#define SAMPLE_PROFILER_TAKES_NONE 2U

struct sample_profiler_sampling {
    uint32_t is_connected; /* The process belongs to a session whose collector lives. */
    uint32_t is_sampling;
    uint32_t frequency_hz; /* 0: samples have none. */
};

/* All of them: async-signal-safe, thread-safe, without a lock. */
struct sample_profiler_functions {
    uint32_t version;
    uint32_t bytes;
    /* SAMPLE_PROFILER_START and so on, to the whole session. Returns when the collector has done
     * it, 1; 0: it has not within `timeout_ms`, or there is none; SAMPLE_PROFILER_TAKES_NONE.
     * `frequency_hz` is START's; 0: what it was. */
    uint32_t (*control)(uint32_t command, uint32_t frequency_hz, uint32_t timeout_ms);
    void (*sampling)(struct sample_profiler_sampling* into);
    /* Where the collector listens, ended by a zero; 0: there is none, or no room for it. */
    uint32_t (*socket_path)(char* path, size_t bytes);
};

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-deprecated-headers,readability-identifier-naming) */

#endif
