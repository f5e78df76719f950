/* How sample/trace.h and sample/profiler.h find libsample.so in the calling process: by an ELF note
 * of its own, owner "sample". A note's contents are the distance, 8 bytes, from their own address
 * to a table of functions; its type says which table. Nothing is linked, nothing is loaded. */
#ifndef SAMPLE_AGENT_NOTE_H
#define SAMPLE_AGENT_NOTE_H

/* C, too: NOLINTBEGIN(modernize-deprecated-headers,readability-identifier-naming) */

#include <stddef.h>
#include <stdint.h>

#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

/* One of each a module, however many of its files include this. */
#define SAMPLE_AGENT_OF_MODULE_ __attribute__((weak, visibility("hidden")))

/* <link.h> needs _GNU_SOURCE. Source: elf(5), dl_iterate_phdr(3). */
struct sample_agent_segment_ {
    uint32_t type;
    uint32_t flags;
    uint64_t offset;
    uint64_t address;
    uint64_t physical;
    uint64_t file_bytes;
    uint64_t bytes;
    uint64_t alignment;
};
struct sample_agent_object_ {
    uint64_t bias;
    const char* name;
    const struct sample_agent_segment_* segments;
    uint16_t segment_count;
};
extern int sample_agent_for_each_object_(int (*visit)(struct sample_agent_object_*, size_t, void*),
                                         void* data) __asm__("dl_iterate_phdr");

/* 1: this module has found a table. Until then a call need not look for one. */
SAMPLE_AGENT_OF_MODULE_ int sample_agent_was_found_ = 0;

struct sample_agent_search_ {
    uint32_t note;
    const void* found;
};

static inline const void* sample_agent_table_in_notes_(const char* notes, uint64_t bytes,
                                                       uint32_t note) {
    static const char owner[8] = "sample";
    uint64_t at = 0;
    while (at + 12 <= bytes) {
        uint32_t head[3]; /* Bytes of the owner's name and of the contents, type. */
        uint64_t contents;
        __builtin_memcpy(head, notes + at, sizeof head);
        contents = at + 12 + (((uint64_t)head[0] + 3) & ~(uint64_t)3);
        if (head[0] == 7 && head[1] == 8 && head[2] == note && contents + 8 <= bytes &&
            __builtin_memcmp(notes + at + 12, owner, 7) == 0) {
            int64_t distance;
            __builtin_memcpy(&distance, notes + contents, sizeof distance);
            return notes + contents + distance;
        }
        at = contents + (((uint64_t)head[1] + 3) & ~(uint64_t)3);
    }
    return 0;
}

static inline int sample_agent_look_into_(struct sample_agent_object_* object, size_t bytes,
                                          void* data) {
    struct sample_agent_search_* search = (struct sample_agent_search_*)data;
    uint16_t i;
    (void)bytes;
    for (i = 0; i < object->segment_count && search->found == 0; ++i) {
        const struct sample_agent_segment_* segment = &object->segments[i];
        if (segment->type == 4) { /* PT_NOTE */
            search->found = sample_agent_table_in_notes_(
                (const char*)(object->bias + segment->address), segment->bytes, search->note);
        }
    }
    return search->found != 0;
}

/* The table of that note, or null: libsample.so is not loaded, or is of a version without it. A
 * walk over the loaded modules. Thread-safe; not async-signal-safe: it takes the loader's lock. */
static inline const void* sample_agent_find_table_(uint32_t note) {
    struct sample_agent_search_ search = {0, 0};
    search.note = note;
    sample_agent_for_each_object_(sample_agent_look_into_, &search);
    if (search.found != 0) {
        __atomic_store_n(&sample_agent_was_found_, 1, __ATOMIC_RELAXED);
    }
    return search.found;
}

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-deprecated-headers,readability-identifier-naming) */

#endif
