/* What sample/trace.h and libsample.so have in common. Programs include sample/trace.h.
 *
 * libsample.so carries an ELF note: name "sample", type SAMPLE_TRACE_NOTE, and as its contents the
 * distance, 8 bytes, from their own address to a struct sample_trace_functions. It only grows, and
 * `version` changes when what was there means something else. */
#ifndef SAMPLE_TRACE_ABI_H
#define SAMPLE_TRACE_ABI_H

/* C, too: NOLINTBEGIN(modernize-deprecated-headers,readability-identifier-naming) */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLE_TRACE_NOTE 1
#define SAMPLE_TRACE_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* sample_trace_place.kind */
enum {
    SAMPLE_TRACE_KIND_ZONE = 1,
    SAMPLE_TRACE_KIND_INTEGER = 2,
    SAMPLE_TRACE_KIND_REAL = 3,
    SAMPLE_TRACE_KIND_MEMORY = 4,
    SAMPLE_TRACE_KIND_REGION = 5,
    SAMPLE_TRACE_KIND_BOOKMARK = 6,
    SAMPLE_TRACE_KIND_LOG = 7,
    SAMPLE_TRACE_KIND_FRAME = 8,
    SAMPLE_TRACE_KIND_MEMORY_HEAP = 12,
    SAMPLE_TRACE_KIND_MEMORY_TAG = 13
};

/* Something that a program says once, in a static variable. */
struct sample_trace_place {
    const char* name; /* A message's format. */
    const char* category;
    const char* file;
    uint32_t line;
    uint32_t number; /* A zone's colour, 0xRRGGBB, or SAMPLE_TRACE_NO_COLOUR. A heap's or a tag's
                        parent, or 0. */
    uint8_t kind;
    uint8_t flags; /* Of a log message: its verbosity. */
    uint16_t reserved;
    uint32_t id; /* 0: libsample.so does not know it yet. */
};

#define SAMPLE_TRACE_NO_COLOUR 0xffffffffU

struct sample_trace_channel {
    const char* name;
    volatile uint32_t* word; /* 0: on. */
};

enum { SAMPLE_TRACE_VALUE_INTEGER = 1, SAMPLE_TRACE_VALUE_REAL = 2, SAMPLE_TRACE_VALUE_TEXT = 3 };

struct sample_trace_value {
    const char* key;
    uint32_t kind;
    union {
        int64_t integer;
        double real;
        const char* text;
    } as;
};

/* A type of events of the program's own. Its fields' types are the container's type bytes: the low
 * 2 bits log2 of an element's bytes, 0x10 signed, 0x08 text, 0x40 floating point, 0x80 any number.
 */
struct sample_trace_field {
    const char* name;
    uint8_t type;
};
#define SAMPLE_TRACE_IMPORTANT 1U
#define SAMPLE_TRACE_NO_SYNC 4U
struct sample_trace_event_type {
    const char* logger;
    const char* name;
    const struct sample_trace_field* fields;
    uint32_t field_count;
    uint32_t flags; /* SAMPLE_TRACE_IMPORTANT, SAMPLE_TRACE_NO_SYNC. */
};

/* sample_trace_part.how */
enum {
    SAMPLE_TRACE_COPIED = 0,
    SAMPLE_TRACE_NARROWED = 1, /* The low 7 bits of each element. */
    SAMPLE_TRACE_UTF16 = 2     /* From UTF-32. */
};
/* A field of variable size. */
struct sample_trace_part {
    const void* data;
    uint64_t count; /* Elements; 0: it is not set. */
    uint8_t element_bytes;
    uint8_t how;
    uint8_t field; /* Its index in the type. */
};

enum {
    SAMPLE_TRACE_NO_SCOPE = 0,
    SAMPLE_TRACE_SCOPE_BEGINS = 1,
    SAMPLE_TRACE_TIMED_SCOPE_BEGINS = 2
};
struct sample_trace_event {
    uint32_t type;
    uint32_t flags; /* The type's. */
    uint32_t scope;
    uint32_t fixed_bytes; /* The fields of fixed size, without gaps. */
    const void* fixed;
    const struct sample_trace_part* parts;
    uint64_t part_count;
    uint64_t stated_bytes; /* Of an Important one: what its parts have at most. */
};

/* A block of memory that was given out. */
struct sample_trace_allocation {
    uint32_t heap; /* Its definition; 0: malloc's. */
    uint32_t flags;
    uint64_t address;
    uint64_t bytes;
    uint64_t alignment; /* 0: not known. */
};
#define SAMPLE_TRACE_REALLOCATED 1U /* The same block as before, mostly elsewhere. */
#define SAMPLE_TRACE_WITH_STACK 2U  /* With the stack of who calls. */

/* What is to be told of everything that the process says: null, it is not told of that. Called by
 * the thread that speaks, right before what it says is recorded, or behind it where something ends;
 * in signal handlers, too. The functions stay callable as long as the process lives. What they
 * themselves say by the table is told to them as well: by what listen() returns it is not. */
struct sample_trace_listener {
    void (*begin_zone)(uint32_t zone, const struct sample_trace_value* values, size_t count);
    void (*end_zone)(void);
    void (*suspend)(uint32_t coroutine, uint32_t depth);
    void (*resume)(uint32_t coroutine, uint32_t depth);
    void (*count)(uint32_t counter, uint64_t bits);
    void (*frame)(uint32_t kind, uint32_t is_begin);
    void (*flow)(uint64_t number, uint32_t step);
    void (*name_thread)(const char* name);
    void (*group_thread)(const char* group);
    void (*memory_alloc)(const struct sample_trace_allocation* allocation);
};

/* All of them but listen, add_channel and remove_channel: async-signal-safe, without a lock. All
 * are thread-safe. */
struct sample_trace_functions {
    uint32_t version;
    uint32_t bytes;
    /* 0: there is no room for it; or nobody listens, in a forked child before it has joined. */
    uint32_t (*define)(const struct sample_trace_place* place);
    void (*begin_zone)(uint32_t zone);
    void (*end_zone)(void);
    void (*begin_noted_zone)(uint32_t zone, const struct sample_trace_value* values, size_t count);
    uint32_t (*suspend)(uint32_t coroutine, uint32_t depth);
    void (*resume)(uint32_t coroutine, uint32_t depth);
    void (*count)(uint32_t counter, uint64_t bits);
    void (*frame)(uint32_t kind, uint32_t is_begin);
    uint64_t (*new_number)(void); /* For regions and flows; not 0. */
    void (*begin_region)(uint32_t region, uint64_t number);
    void (*end_region)(uint32_t region, uint64_t number);
    void (*message)(uint32_t message, const char* format, va_list arguments);
    void (*name_thread)(const char* name);
    void (*group_thread)(const char* group);
    void (*flow)(uint64_t number, uint32_t step);
    void (*add_channel)(const struct sample_trace_channel* channel);
    void (*remove_channel)(const struct sample_trace_channel* channel);
    uint32_t (*define_event_type)(const struct sample_trace_event_type* type); /* As define(). */
    uint32_t (*raise_event)(const struct sample_trace_event* event);           /* 0: it is lost. */
    void (*end_scope)(void); /* That an event of the thread has begun, which was not lost. */
    void (*memory_alloc)(const struct sample_trace_allocation* allocation);
    /* `flags`: SAMPLE_TRACE_REALLOCATED. */
    void (*memory_free)(uint32_t heap, uint64_t address, uint32_t flags);
    /* What the thread allocates from now on has this tag, or none, 0. Returns what it had. */
    uint32_t (*set_memory_tag)(uint32_t tag);
    /* What a definition says, by its number: 0, there is none. The texts stay until the process
     * forks. */
    uint32_t (*describe)(uint32_t definition, struct sample_trace_place* place);
    /* From now on `listener`, which is copied, is told and no other one; null: nobody. What nobody
     * listens to costs nothing more than before. A zone that has begun before it was listened to
     * may end afterwards, and the other way round. Returns functions that are told to nobody; null:
     * the process may not change the table. Thread-safe, not async-signal-safe: system calls. */
    const struct sample_trace_functions* (*listen)(const struct sample_trace_listener* listener);
};

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-deprecated-headers,readability-identifier-naming) */

#endif
