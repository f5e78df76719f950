/* What a program says of itself while `sample --trace` records it: zones, counters, frames,
 * regions, bookmarks, log messages, flows, memory. C11 and C++; sample/trace.hpp has scopes for
 * C++. docs/trace.md.
 *
 * Headers only: nothing is linked. Where libsample.so is not loaded, or the channel is off, each of
 * these costs one load and a branch. SAMPLE_TRACE_DISABLED: they are nothing. All may be used in
 * signal handlers, and by all threads at once.
 *
 * Names are literals, or texts that are never freed, except where it says "dynamic". */
#ifndef SAMPLE_TRACE_H
#define SAMPLE_TRACE_H

#include <stdint.h>  // NOLINT(modernize-deprecated-headers): C, too

#ifdef __cplusplus
#include <initializer_list>
#endif

#pragma GCC system_header

#define SAMPLE_TRACE_MAIN_FRAME 0
#define SAMPLE_TRACE_RENDER_FRAME 1

/* How much a log message matters. */
#define SAMPLE_TRACE_FATAL 1
#define SAMPLE_TRACE_ERROR 2
#define SAMPLE_TRACE_WARNING 3
#define SAMPLE_TRACE_DISPLAY 4
#define SAMPLE_TRACE_NORMAL 5
#define SAMPLE_TRACE_VERBOSE 6
#define SAMPLE_TRACE_VERY_VERBOSE 7

#if !defined(__linux__) || !defined(__x86_64__)
#ifndef SAMPLE_TRACE_DISABLED
#define SAMPLE_TRACE_DISABLED
#endif
#endif

#ifndef SAMPLE_TRACE_DISABLED

#include "sample/agent_note.h"
#include "sample/trace_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SAMPLE_TRACE_OF_MODULE_ SAMPLE_AGENT_OF_MODULE_

struct sample_trace_module_ {
    const struct sample_trace_functions* functions; /* Null: libsample.so is not loaded. */
    uint32_t users;
};
SAMPLE_TRACE_OF_MODULE_ struct sample_trace_module_ sample_trace_module = {0, 0};

/* A channel is a word that is 0 while it is on: `a | b` is on while both are. */
#define SAMPLE_TRACE_OFF_ 1U
SAMPLE_TRACE_OF_MODULE_ volatile uint32_t sample_trace_cpu = SAMPLE_TRACE_OFF_;
SAMPLE_TRACE_OF_MODULE_ volatile uint32_t sample_trace_frame = SAMPLE_TRACE_OFF_;
SAMPLE_TRACE_OF_MODULE_ volatile uint32_t sample_trace_bookmark = SAMPLE_TRACE_OFF_;
SAMPLE_TRACE_OF_MODULE_ volatile uint32_t sample_trace_region = SAMPLE_TRACE_OFF_;
SAMPLE_TRACE_OF_MODULE_ volatile uint32_t sample_trace_counter = SAMPLE_TRACE_OFF_;
SAMPLE_TRACE_OF_MODULE_ volatile uint32_t sample_trace_log = SAMPLE_TRACE_OFF_;
SAMPLE_TRACE_OF_MODULE_ volatile uint32_t sample_trace_memory = SAMPLE_TRACE_OFF_;

#define SAMPLE_TRACE_UNLIKELY_(condition) (__builtin_expect(!!(condition), 0) != 0)
#define SAMPLE_TRACE_IS_ON(channel) SAMPLE_TRACE_UNLIKELY_((channel) == 0)

static inline const struct sample_trace_functions* sample_trace_find_functions_(void) {
    const struct sample_trace_functions* found =
        (const struct sample_trace_functions*)sample_agent_find_table_(SAMPLE_TRACE_NOTE);
    return found != 0 && found->version == SAMPLE_TRACE_VERSION && found->bytes >= sizeof *found
               ? found
               : 0;
}

static inline void sample_trace_standard_channels_(int is_added) {
    const struct sample_trace_channel channels[] = {
        {"cpu", &sample_trace_cpu},           {"frame", &sample_trace_frame},
        {"bookmark", &sample_trace_bookmark}, {"region", &sample_trace_region},
        {"counter", &sample_trace_counter},   {"log", &sample_trace_log},
        {"memory", &sample_trace_memory}};
    const struct sample_trace_functions* functions = sample_trace_module.functions;
    size_t i;
    for (i = 0; i < sizeof channels / sizeof channels[0]; ++i) {
        (is_added ? functions->add_channel : functions->remove_channel)(&channels[i]);
    }
}

/* Each file of a module has both, and whichever is first or last does it. */
__attribute__((constructor(101), used)) static void sample_trace_join_(void) {
    if (sample_trace_module.users++ == 0) {
        sample_trace_module.functions = sample_trace_find_functions_();
        if (sample_trace_module.functions != 0) {
            sample_trace_standard_channels_(1);
        }
    }
}
__attribute__((destructor(101), used)) static void sample_trace_leave_(void) {
    if (--sample_trace_module.users == 0 && sample_trace_module.functions != 0) {
        sample_trace_standard_channels_(0);
    }
}

static inline uint32_t sample_trace_define_(struct sample_trace_place* place) {
    uint32_t id = __atomic_load_n(&place->id, __ATOMIC_RELAXED);
    if (SAMPLE_TRACE_UNLIKELY_(id == 0)) {
        id = sample_trace_module.functions->define(place);
        __atomic_store_n(&place->id, id, __ATOMIC_RELAXED);
    }
    return id;
}

/* One that is not kept. */
static inline uint32_t sample_trace_define_dynamic_(uint8_t kind, const char* name,
                                                    const char* category, uint32_t number) {
    struct sample_trace_place place = {name, category, 0, 0, 0, 0, 0, 0, 0};
    place.kind = kind;
    place.number = number;
    return sample_trace_module.functions->define(&place);
}

/* What began, for its end: 0, nothing did. */
typedef uint32_t sample_trace_zone;

static inline sample_trace_zone sample_trace_begin_zone_(struct sample_trace_place* place) {
    sample_trace_module.functions->begin_zone(sample_trace_define_(place));
    return 1;
}
static inline sample_trace_zone sample_trace_begin_dynamic_zone_(const char* name,
                                                                 const char* category,
                                                                 uint32_t colour) {
    sample_trace_module.functions->begin_zone(
        sample_trace_define_dynamic_(SAMPLE_TRACE_KIND_ZONE, name, category, colour));
    return 1;
}
static inline sample_trace_zone sample_trace_begin_noted_zone_(
    struct sample_trace_place* place, const struct sample_trace_value* values, size_t count) {
    sample_trace_module.functions->begin_noted_zone(sample_trace_define_(place), values, count);
    return 1;
}
static inline void sample_trace_end_zone_(const sample_trace_zone* zone) {
    if (*zone != 0) {
        sample_trace_module.functions->end_zone();
    }
}

static inline struct sample_trace_value sample_trace_integer(const char* key, int64_t value) {
    struct sample_trace_value made = {key, SAMPLE_TRACE_VALUE_INTEGER, {0}};
    made.as.integer = value;
    return made;
}
static inline struct sample_trace_value sample_trace_real(const char* key, double value) {
    struct sample_trace_value made = {key, SAMPLE_TRACE_VALUE_REAL, {0}};
    made.as.real = value;
    return made;
}
static inline struct sample_trace_value sample_trace_text(const char* key, const char* value) {
    struct sample_trace_value made = {key, SAMPLE_TRACE_VALUE_TEXT, {0}};
    made.as.text = value;
    return made;
}

/* A counter keeps its value, also while its channel is off. */
struct sample_trace_counter_ {
    struct sample_trace_place place;
    volatile uint32_t* channel;
    uint64_t value; /* The bits of an int64_t or a double. */
    uint32_t only_if_changed;
    uint32_t is_told; /* There is a value that was written, `told`. */
    uint64_t told;    /* Of those that are written only if changed, which are one file's. */
};

static inline int sample_trace_is_known_(struct sample_trace_counter_* counter, uint64_t value) {
    if (__atomic_load_n(&counter->is_told, __ATOMIC_RELAXED) != 0 &&
        __atomic_load_n(&counter->told, __ATOMIC_RELAXED) == value) {
        return 1;
    }
    __atomic_store_n(&counter->told, value, __ATOMIC_RELAXED);
    __atomic_store_n(&counter->is_told, 1, __ATOMIC_RELAXED);
    return 0;
}
static inline void sample_trace_tell_(struct sample_trace_counter_* counter, uint64_t value) {
    if (*counter->channel == 0 &&
        (counter->only_if_changed == 0 || sample_trace_is_known_(counter, value) == 0)) {
        sample_trace_module.functions->count(sample_trace_define_(&counter->place), value);
    }
}
static inline void sample_trace_set_integer_(struct sample_trace_counter_* counter, int64_t value) {
    if (SAMPLE_TRACE_UNLIKELY_(sample_trace_module.functions != 0)) {
        __atomic_store_n(&counter->value, (uint64_t)value, __ATOMIC_RELAXED);
        sample_trace_tell_(counter, (uint64_t)value);
    }
}
static inline void sample_trace_add_integer_(struct sample_trace_counter_* counter,
                                             int64_t amount) {
    if (SAMPLE_TRACE_UNLIKELY_(sample_trace_module.functions != 0)) {
        const uint64_t before =
            __atomic_fetch_add(&counter->value, (uint64_t)amount, __ATOMIC_RELAXED);
        sample_trace_tell_(counter, before + (uint64_t)amount);
    }
}
static inline void sample_trace_set_real_(struct sample_trace_counter_* counter, double value) {
    if (SAMPLE_TRACE_UNLIKELY_(sample_trace_module.functions != 0)) {
        uint64_t bits;
        __builtin_memcpy(&bits, &value, sizeof bits);
        __atomic_store_n(&counter->value, bits, __ATOMIC_RELAXED);
        sample_trace_tell_(counter, bits);
    }
}
static inline void sample_trace_add_real_(struct sample_trace_counter_* counter, double amount) {
    if (SAMPLE_TRACE_UNLIKELY_(sample_trace_module.functions != 0)) {
        uint64_t before = __atomic_load_n(&counter->value, __ATOMIC_RELAXED);
        uint64_t after;
        do {
            double value;
            __builtin_memcpy(&value, &before, sizeof value);
            value += amount;
            __builtin_memcpy(&after, &value, sizeof after);
        } while (!__atomic_compare_exchange_n(&counter->value, &before, after, 1, __ATOMIC_RELAXED,
                                              __ATOMIC_RELAXED));
        sample_trace_tell_(counter, after);
    }
}

struct sample_trace_region_ {
    uint32_t id;
    uint64_t number;
};
/* A region that has begun, or {0, 0}. */
typedef struct sample_trace_region_ sample_trace_region_handle;

static inline sample_trace_region_handle sample_trace_begin_region_(const char* name,
                                                                    const char* category) {
    sample_trace_region_handle region = {0, 0};
    region.id = sample_trace_define_dynamic_(SAMPLE_TRACE_KIND_REGION, name, category, 0);
    region.number = sample_trace_module.functions->new_number();
    sample_trace_module.functions->begin_region(region.id, region.number);
    return region;
}
static inline void sample_trace_end_region_(sample_trace_region_handle region) {
    if (region.number != 0) {
        sample_trace_module.functions->end_region(region.id, region.number);
    }
}

__attribute__((format(printf, 2, 3), noinline, unused)) static void sample_trace_say_(
    struct sample_trace_place* place, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    sample_trace_module.functions->message(sample_trace_define_(place), format, arguments);
    va_end(arguments);
}

/* A heap, or a tag, that may lie within another one. */
struct sample_trace_memory_ {
    struct sample_trace_place place;
    struct sample_trace_memory_* parent;
};

static inline uint32_t sample_trace_define_memory_(struct sample_trace_memory_* memory) {
    if (memory == 0) {
        return 0;
    }
    if (memory->parent != 0 && __atomic_load_n(&memory->place.id, __ATOMIC_RELAXED) == 0) {
        __atomic_store_n(&memory->place.number, sample_trace_define_memory_(memory->parent),
                         __ATOMIC_RELAXED);
    }
    return sample_trace_define_(&memory->place);
}
static inline void sample_trace_allocate_(struct sample_trace_memory_* heap, const void* address,
                                          uint64_t bytes, uint64_t alignment, uint32_t flags) {
    struct sample_trace_allocation allocation;
    allocation.heap = sample_trace_define_memory_(heap);
    allocation.flags = flags;
    allocation.address = (uint64_t)(uintptr_t)address;
    allocation.bytes = bytes;
    allocation.alignment = alignment;
    sample_trace_module.functions->memory_alloc(&allocation);
}
static inline void sample_trace_free_(struct sample_trace_memory_* heap, const void* address,
                                      uint32_t flags) {
    sample_trace_module.functions->memory_free(sample_trace_define_memory_(heap),
                                               (uint64_t)(uintptr_t)address, flags);
}
/* The tag that the thread had before, for the scope's end. */
struct sample_trace_memory_scope_ {
    uint32_t before;
    uint32_t has_begun;
};
static inline struct sample_trace_memory_scope_ sample_trace_begin_memory_scope_(
    struct sample_trace_memory_* tag) {
    struct sample_trace_memory_scope_ scope;
    scope.before = sample_trace_module.functions->set_memory_tag(sample_trace_define_memory_(tag));
    scope.has_begun = 1;
    return scope;
}
static inline void sample_trace_end_memory_scope_(const struct sample_trace_memory_scope_* scope) {
    if (scope->has_begun != 0) {
        (void)sample_trace_module.functions->set_memory_tag(scope->before);
    }
}

/* What a coroutine keeps between suspension and resumption. */
struct sample_trace_coroutine {
    uint32_t id;
    uint32_t depth; /* Zones that are to go on. */
};

static inline void sample_trace_suspend_(struct sample_trace_coroutine* coroutine, const char* name,
                                         uint32_t depth) {
    coroutine->id =
        sample_trace_define_dynamic_(SAMPLE_TRACE_KIND_ZONE, name, 0, SAMPLE_TRACE_NO_COLOUR);
    coroutine->depth = sample_trace_module.functions->suspend(coroutine->id, depth);
}

#ifdef __cplusplus
}
#endif

#define SAMPLE_TRACE_JOIN2_(a, b) a##b
#define SAMPLE_TRACE_JOIN_(a, b) SAMPLE_TRACE_JOIN2_(a, b)
#define SAMPLE_TRACE_PLACE_(variable, kind, flags, name, category, number)                   \
    static struct sample_trace_place variable = {name, category, __FILE__, __LINE__, number, \
                                                 kind, flags,    0,        0}

/* ---- Channels. A module that uses another's says EXTERN; exactly one file says DEFINE. */

#ifdef __cplusplus
#define SAMPLE_TRACE_C_ extern "C"
#else
#define SAMPLE_TRACE_C_ extern
#endif
#define SAMPLE_TRACE_CHANNEL_EXTERN(channel) SAMPLE_TRACE_C_ volatile uint32_t channel
#define SAMPLE_TRACE_CHANNEL_DEFINE(channel)                                                 \
    SAMPLE_TRACE_CHANNEL_EXTERN(channel);                                                    \
    volatile uint32_t channel = SAMPLE_TRACE_OFF_;                                           \
    static const struct sample_trace_channel sample_trace_channel_##channel = {#channel,     \
                                                                               &channel};    \
    __attribute__((constructor(102), used)) static void sample_trace_add_##channel(void) {   \
        if (sample_trace_module.functions != 0) {                                            \
            sample_trace_module.functions->add_channel(&sample_trace_channel_##channel);     \
        }                                                                                    \
    }                                                                                        \
    __attribute__((destructor(102), used)) static void sample_trace_remove_##channel(void) { \
        if (sample_trace_module.functions != 0) {                                            \
            sample_trace_module.functions->remove_channel(&sample_trace_channel_##channel);  \
        }                                                                                    \
    }                                                                                        \
    struct sample_trace_module_ /* so that a semicolon follows */

/* ---- Zones, until the end of the block. */

#define SAMPLE_TRACE_SCOPE_(unique, begin)                                                         \
    __attribute__((cleanup(sample_trace_end_zone_), unused)) sample_trace_zone SAMPLE_TRACE_JOIN_( \
        sample_trace_zone_, unique) = begin
#define SAMPLE_TRACE_ZONE_AT_(unique, channel, name, category, colour)                           \
    SAMPLE_TRACE_PLACE_(SAMPLE_TRACE_JOIN_(sample_trace_place_, unique), SAMPLE_TRACE_KIND_ZONE, \
                        0, name, category, colour);                                              \
    SAMPLE_TRACE_SCOPE_(                                                                         \
        unique, SAMPLE_TRACE_IS_ON(channel)                                                      \
                    ? sample_trace_begin_zone_(&SAMPLE_TRACE_JOIN_(sample_trace_place_, unique)) \
                    : 0)

#define SAMPLE_TRACE_ZONE_COLOURED_ON(channel, name, category, colour) \
    SAMPLE_TRACE_ZONE_AT_(__COUNTER__, channel, name, category, colour)
#define SAMPLE_TRACE_ZONE_ON(channel, name) \
    SAMPLE_TRACE_ZONE_COLOURED_ON(channel, name, 0, SAMPLE_TRACE_NO_COLOUR)
#define SAMPLE_TRACE_ZONE(name) SAMPLE_TRACE_ZONE_ON(sample_trace_cpu, name)
#define SAMPLE_TRACE_ZONE_COLOURED(name, category, colour) \
    SAMPLE_TRACE_ZONE_COLOURED_ON(sample_trace_cpu, name, category, colour)
#define SAMPLE_TRACE_FUNCTION() SAMPLE_TRACE_ZONE(__func__)

/* Only if `condition`. */
#define SAMPLE_TRACE_ZONE_IF(condition, name) \
    SAMPLE_TRACE_ZONE_ON(((condition) ? sample_trace_cpu : SAMPLE_TRACE_OFF_), name)

/* A dynamic name: dearer by a hash of it. */
#define SAMPLE_TRACE_ZONE_DYNAMIC_ON(channel, name)                                             \
    SAMPLE_TRACE_SCOPE_(__COUNTER__,                                                            \
                        SAMPLE_TRACE_IS_ON(channel)                                             \
                            ? sample_trace_begin_dynamic_zone_(name, 0, SAMPLE_TRACE_NO_COLOUR) \
                            : 0)
#define SAMPLE_TRACE_ZONE_DYNAMIC(name) SAMPLE_TRACE_ZONE_DYNAMIC_ON(sample_trace_cpu, name)

/* With values: sample_trace_integer("key", 1), sample_trace_real(…), sample_trace_text(…). */
#ifdef __cplusplus
static inline sample_trace_zone sample_trace_begin_noted_zone_(
    struct sample_trace_place* place, std::initializer_list<sample_trace_value> values) {
    return sample_trace_begin_noted_zone_(place, values.begin(), values.size());
}
#define SAMPLE_TRACE_VALUES_(...) \
    { __VA_ARGS__ }
#else
#define SAMPLE_TRACE_VALUES_(...)                                  \
    (const struct sample_trace_value[]){__VA_ARGS__},              \
        sizeof((const struct sample_trace_value[]){__VA_ARGS__}) / \
            sizeof(struct sample_trace_value)
#endif
#define SAMPLE_TRACE_ZONE_NOTED_AT_(unique, name, ...)                                           \
    SAMPLE_TRACE_PLACE_(SAMPLE_TRACE_JOIN_(sample_trace_place_, unique), SAMPLE_TRACE_KIND_ZONE, \
                        0, name, 0, SAMPLE_TRACE_NO_COLOUR);                                     \
    SAMPLE_TRACE_SCOPE_(unique, SAMPLE_TRACE_IS_ON(sample_trace_cpu)                             \
                                    ? sample_trace_begin_noted_zone_(                            \
                                          &SAMPLE_TRACE_JOIN_(sample_trace_place_, unique),      \
                                          SAMPLE_TRACE_VALUES_(__VA_ARGS__))                     \
                                    : 0)
#define SAMPLE_TRACE_ZONE_NOTED(name, ...) \
    SAMPLE_TRACE_ZONE_NOTED_AT_(__COUNTER__, name, __VA_ARGS__)

/* From BEGIN to END: sample_trace_zone zone; SAMPLE_TRACE_ZONE_BEGIN(zone, "name"); …
 * SAMPLE_TRACE_ZONE_END(zone). A channel that is switched meanwhile changes nothing. */
#define SAMPLE_TRACE_ZONE_BEGIN_ON(channel, zone, name)                                            \
    do {                                                                                           \
        SAMPLE_TRACE_PLACE_(sample_trace_place_, SAMPLE_TRACE_KIND_ZONE, 0, name, 0,               \
                            SAMPLE_TRACE_NO_COLOUR);                                               \
        (zone) = SAMPLE_TRACE_IS_ON(channel) ? sample_trace_begin_zone_(&sample_trace_place_) : 0; \
    } while (0)
#define SAMPLE_TRACE_ZONE_BEGIN(zone, name) SAMPLE_TRACE_ZONE_BEGIN_ON(sample_trace_cpu, zone, name)
#define SAMPLE_TRACE_ZONE_END(zone) sample_trace_end_zone_(&(zone))

/* The innermost `zones` zones of the thread go on where the coroutine is resumed, on any thread:
 * struct sample_trace_coroutine coroutine = {0, 0}; `name` is dynamic. */
#define SAMPLE_TRACE_SUSPEND(coroutine, name, zones)              \
    do {                                                          \
        if (sample_trace_module.functions != 0) {                 \
            sample_trace_suspend_(&(coroutine), (name), (zones)); \
        }                                                         \
    } while (0)
#define SAMPLE_TRACE_RESUME(coroutine)                                                \
    do {                                                                              \
        if ((coroutine).depth != 0) {                                                 \
            sample_trace_module.functions->resume((coroutine).id, (coroutine).depth); \
            (coroutine).depth = 0;                                                    \
        }                                                                             \
    } while (0)

/* ---- Counters, in one file: INTEGER, REAL or MEMORY, which counts bytes. */

#define SAMPLE_TRACE_COUNTER_(variable, channel, name, kind, only_if_changed) \
    struct sample_trace_counter_ variable = {                                 \
        {name, 0, __FILE__, __LINE__, 0, kind, 0, 0, 0}, &channel, 0, only_if_changed, 0, 0}
#define SAMPLE_TRACE_COUNTER_ON(channel, variable, name, kind) \
    static SAMPLE_TRACE_COUNTER_(variable, channel, name, SAMPLE_TRACE_KIND_##kind, 0)
#define SAMPLE_TRACE_COUNTER(variable, name, kind) \
    SAMPLE_TRACE_COUNTER_ON(sample_trace_counter, variable, name, kind)
/* Written only when it has changed. */
#define SAMPLE_TRACE_COUNTER_IF_CHANGED(variable, name, kind) \
    static SAMPLE_TRACE_COUNTER_(variable, sample_trace_counter, name, SAMPLE_TRACE_KIND_##kind, 1)
#define SAMPLE_TRACE_COUNTER_EXTERN(variable) extern struct sample_trace_counter_ variable
#define SAMPLE_TRACE_COUNTER_DEFINE(variable, name, kind) \
    SAMPLE_TRACE_COUNTER_(variable, sample_trace_counter, name, SAMPLE_TRACE_KIND_##kind, 0)

#define SAMPLE_TRACE_SET(variable, value) sample_trace_set_integer_(&(variable), (value))
#define SAMPLE_TRACE_ADD(variable, amount) sample_trace_add_integer_(&(variable), (amount))
#define SAMPLE_TRACE_SUBTRACT(variable, amount) \
    sample_trace_add_integer_(&(variable), -(int64_t)(amount))
#define SAMPLE_TRACE_INCREMENT(variable) sample_trace_add_integer_(&(variable), 1)
#define SAMPLE_TRACE_DECREMENT(variable) sample_trace_add_integer_(&(variable), -1)
#define SAMPLE_TRACE_SET_REAL(variable, value) sample_trace_set_real_(&(variable), (value))
#define SAMPLE_TRACE_ADD_REAL(variable, amount) sample_trace_add_real_(&(variable), (amount))

/* ---- Frames: SAMPLE_TRACE_MAIN_FRAME, SAMPLE_TRACE_RENDER_FRAME, or a number up to 255 that
 * SAMPLE_TRACE_FRAME_KIND has named. */

#define SAMPLE_TRACE_IF_ON_(channel, call)             \
    do {                                               \
        if (SAMPLE_TRACE_IS_ON(channel)) {             \
            (void)sample_trace_module.functions->call; \
        }                                              \
    } while (0)
#define SAMPLE_TRACE_FRAME_BEGIN(kind) SAMPLE_TRACE_IF_ON_(sample_trace_frame, frame((kind), 1))
#define SAMPLE_TRACE_FRAME_END(kind) SAMPLE_TRACE_IF_ON_(sample_trace_frame, frame((kind), 0))
#define SAMPLE_TRACE_FRAME_KIND(kind, name)                                               \
    do {                                                                                  \
        if (sample_trace_module.functions != 0) {                                         \
            (void)sample_trace_define_dynamic_(SAMPLE_TRACE_KIND_FRAME, name, 0, (kind)); \
        }                                                                                 \
    } while (0)

/* ---- Regions: may overlap, and end on another thread. Names are dynamic.
 * sample_trace_region_handle region = SAMPLE_TRACE_REGION_BEGIN("name", "category"). */

#define SAMPLE_TRACE_REGION_BEGIN(name, category)                                         \
    (SAMPLE_TRACE_IS_ON(sample_trace_region) ? sample_trace_begin_region_(name, category) \
                                             : sample_trace_no_region_())
#define SAMPLE_TRACE_REGION_END(region) sample_trace_end_region_(region)
static inline sample_trace_region_handle sample_trace_no_region_(void) {
    const sample_trace_region_handle none = {0, 0};
    return none;
}

/* ---- Words: SAMPLE_TRACE_BOOKMARK(format, …) and SAMPLE_TRACE_LOG("category", verbosity, format,
 * …), with a format and arguments as printf's. These are copied; the text is made when it is read.
 */

#define SAMPLE_TRACE_FIRST_(first, ...) first
#define SAMPLE_TRACE_MESSAGE_(channel, kind, verbosity, category, ...)             \
    do {                                                                           \
        if (SAMPLE_TRACE_IS_ON(channel)) {                                         \
            SAMPLE_TRACE_PLACE_(sample_trace_place_, kind, verbosity,              \
                                SAMPLE_TRACE_FIRST_(__VA_ARGS__, 0), category, 0); \
            sample_trace_say_(&sample_trace_place_, __VA_ARGS__);                  \
        }                                                                          \
    } while (0)
#define SAMPLE_TRACE_BOOKMARK(...) \
    SAMPLE_TRACE_MESSAGE_(sample_trace_bookmark, SAMPLE_TRACE_KIND_BOOKMARK, 0, 0, __VA_ARGS__)
#define SAMPLE_TRACE_LOG(category, verbosity, ...) \
    SAMPLE_TRACE_MESSAGE_(sample_trace_log, SAMPLE_TRACE_KIND_LOG, verbosity, category, __VA_ARGS__)

/* ---- The calling thread's name, and the group that it belongs to. Dynamic. */

#define SAMPLE_TRACE_IF_THERE_(call)              \
    do {                                          \
        if (sample_trace_module.functions != 0) { \
            sample_trace_module.functions->call;  \
        }                                         \
    } while (0)
#define SAMPLE_TRACE_THREAD_NAME(name) SAMPLE_TRACE_IF_THERE_(name_thread(name))
#define SAMPLE_TRACE_THREAD_GROUP(group) SAMPLE_TRACE_IF_THERE_(group_thread(group))

/* ---- Flows: arrows from the zone that is open at one step to that of the next. A number of the
 * program's own, or SAMPLE_TRACE_NEW_FLOW(). */

#define SAMPLE_TRACE_NEW_FLOW() \
    (SAMPLE_TRACE_IS_ON(sample_trace_cpu) ? sample_trace_module.functions->new_number() : 0)
#define SAMPLE_TRACE_FLOW_BEGIN(number) SAMPLE_TRACE_IF_ON_(sample_trace_cpu, flow((number), 0))
#define SAMPLE_TRACE_FLOW_STEP(number) SAMPLE_TRACE_IF_ON_(sample_trace_cpu, flow((number), 1))
#define SAMPLE_TRACE_FLOW_END(number) SAMPLE_TRACE_IF_ON_(sample_trace_cpu, flow((number), 2))

/* ---- Memory, of allocators of the program's own: what malloc gives out, libsample-memory.so sees
 * itself. On the channel `memory`.
 *
 * HEAP(pool, "pool", 0); HEAP(textures, "textures", &pool): the memory of `textures` is a part of
 * what `pool` has given out. A tag is given to all that the thread allocates until the block ends,
 * also to what malloc gives out; threads that are made inside begin with it. EXTERN and DEFINE as
 * for counters. */

#define SAMPLE_TRACE_MEMORY_(variable, name, parent, kind) \
    struct sample_trace_memory_ variable = {{name, 0, __FILE__, __LINE__, 0, kind, 0, 0, 0}, parent}
#define SAMPLE_TRACE_MEMORY_HEAP(variable, name, parent) \
    static SAMPLE_TRACE_MEMORY_(variable, name, parent, SAMPLE_TRACE_KIND_MEMORY_HEAP)
#define SAMPLE_TRACE_MEMORY_TAG(variable, name, parent) \
    static SAMPLE_TRACE_MEMORY_(variable, name, parent, SAMPLE_TRACE_KIND_MEMORY_TAG)
#define SAMPLE_TRACE_MEMORY_EXTERN(variable) extern struct sample_trace_memory_ variable
#define SAMPLE_TRACE_MEMORY_HEAP_DEFINE(variable, name, parent) \
    SAMPLE_TRACE_MEMORY_(variable, name, parent, SAMPLE_TRACE_KIND_MEMORY_HEAP)
#define SAMPLE_TRACE_MEMORY_TAG_DEFINE(variable, name, parent) \
    SAMPLE_TRACE_MEMORY_(variable, name, parent, SAMPLE_TRACE_KIND_MEMORY_TAG)

#define SAMPLE_TRACE_IF_MEMORY_(call)                  \
    do {                                               \
        if (SAMPLE_TRACE_IS_ON(sample_trace_memory)) { \
            call;                                      \
        }                                              \
    } while (0)
/* Once the block is given out. `alignment`: 0, not known. With the stack: dearer. */
#define SAMPLE_TRACE_MEMORY_ALLOC(heap, address, bytes, alignment) \
    SAMPLE_TRACE_IF_MEMORY_(sample_trace_allocate_(&(heap), (address), (bytes), (alignment), 0))
#define SAMPLE_TRACE_MEMORY_ALLOC_STACK(heap, address, bytes, alignment) \
    SAMPLE_TRACE_IF_MEMORY_(                                             \
        sample_trace_allocate_(&(heap), (address), (bytes), (alignment), SAMPLE_TRACE_WITH_STACK))
/* Before the block is taken back, as another thread may get it then. */
#define SAMPLE_TRACE_MEMORY_FREE(heap, address) \
    SAMPLE_TRACE_IF_MEMORY_(sample_trace_free_(&(heap), (address), 0))
/* A block has become another one: a free and an allocation. While no other thread can get `old`. */
#define SAMPLE_TRACE_MEMORY_REALLOC_(heap, old, address, bytes, alignment, flags)            \
    SAMPLE_TRACE_IF_MEMORY_(sample_trace_free_(&(heap), (old), SAMPLE_TRACE_REALLOCATED);    \
                            sample_trace_allocate_(&(heap), (address), (bytes), (alignment), \
                                                   SAMPLE_TRACE_REALLOCATED | (flags)))
#define SAMPLE_TRACE_MEMORY_REALLOC(heap, old, address, bytes, alignment) \
    SAMPLE_TRACE_MEMORY_REALLOC_(heap, old, address, bytes, alignment, 0)
#define SAMPLE_TRACE_MEMORY_REALLOC_STACK(heap, old, address, bytes, alignment) \
    SAMPLE_TRACE_MEMORY_REALLOC_(heap, old, address, bytes, alignment, SAMPLE_TRACE_WITH_STACK)

#define SAMPLE_TRACE_MEMORY_SCOPE_AT_(unique, tag)                                                \
    __attribute__((                                                                               \
        cleanup(sample_trace_end_memory_scope_),                                                  \
        unused)) struct sample_trace_memory_scope_ SAMPLE_TRACE_JOIN_(sample_trace_memory_scope_, \
                                                                      unique) = {0, 0};           \
    if (SAMPLE_TRACE_IS_ON(sample_trace_memory))                                                  \
    SAMPLE_TRACE_JOIN_(sample_trace_memory_scope_, unique) =                                      \
        sample_trace_begin_memory_scope_(&(tag))
/* Until the end of the block. */
#define SAMPLE_TRACE_MEMORY_SCOPE(tag) SAMPLE_TRACE_MEMORY_SCOPE_AT_(__COUNTER__, tag)

#else /* SAMPLE_TRACE_DISABLED */

typedef uint32_t sample_trace_zone;
typedef uint32_t sample_trace_region_handle;
struct sample_trace_coroutine {
    uint32_t id;
    uint32_t depth;
};
struct sample_trace_nothing_;

/* Not evaluated, and no unused variable. */
#define SAMPLE_TRACE_UNUSED_(what) (0 ? (void)(what) : (void)0)
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static inline void
sample_trace_unsaid_(const char* format, ...) {
    (void)format;
}
static inline void sample_trace_unnoted_(int first, ...) {
    (void)first;
}
static inline int sample_trace_integer(const char* key, int64_t value) {
    (void)key;
    (void)value;
    return 0;
}
static inline int sample_trace_real(const char* key, double value) {
    (void)key;
    (void)value;
    return 0;
}
static inline int sample_trace_text(const char* key, const char* value) {
    (void)key;
    (void)value;
    return 0;
}

#define SAMPLE_TRACE_IS_ON(channel) 0
#define SAMPLE_TRACE_CHANNEL_EXTERN(channel) struct sample_trace_nothing_
#define SAMPLE_TRACE_CHANNEL_DEFINE(channel) struct sample_trace_nothing_
#define SAMPLE_TRACE_ZONE(name) ((void)0)
#define SAMPLE_TRACE_ZONE_ON(channel, name) ((void)0)
#define SAMPLE_TRACE_ZONE_COLOURED(name, category, colour) ((void)0)
#define SAMPLE_TRACE_ZONE_COLOURED_ON(channel, name, category, colour) ((void)0)
#define SAMPLE_TRACE_FUNCTION() ((void)0)
#define SAMPLE_TRACE_ZONE_IF(condition, name) SAMPLE_TRACE_UNUSED_(condition)
#define SAMPLE_TRACE_ZONE_DYNAMIC(name) SAMPLE_TRACE_UNUSED_(name)
#define SAMPLE_TRACE_ZONE_DYNAMIC_ON(channel, name) SAMPLE_TRACE_UNUSED_(name)
#define SAMPLE_TRACE_ZONE_NOTED(name, ...) \
    SAMPLE_TRACE_UNUSED_(sample_trace_unnoted_(0, __VA_ARGS__))
#define SAMPLE_TRACE_ZONE_BEGIN(zone, name) ((void)((zone) = 0))
#define SAMPLE_TRACE_ZONE_BEGIN_ON(channel, zone, name) ((void)((zone) = 0))
#define SAMPLE_TRACE_ZONE_END(zone) SAMPLE_TRACE_UNUSED_(zone)
#define SAMPLE_TRACE_SUSPEND(coroutine, name, zones) SAMPLE_TRACE_UNUSED_((coroutine).depth)
#define SAMPLE_TRACE_RESUME(coroutine) SAMPLE_TRACE_UNUSED_((coroutine).depth)
#define SAMPLE_TRACE_COUNTER(variable, name, kind) struct sample_trace_nothing_
#define SAMPLE_TRACE_COUNTER_ON(channel, variable, name, kind) struct sample_trace_nothing_
#define SAMPLE_TRACE_COUNTER_IF_CHANGED(variable, name, kind) struct sample_trace_nothing_
#define SAMPLE_TRACE_COUNTER_EXTERN(variable) struct sample_trace_nothing_
#define SAMPLE_TRACE_COUNTER_DEFINE(variable, name, kind) struct sample_trace_nothing_
#define SAMPLE_TRACE_SET(variable, value) SAMPLE_TRACE_UNUSED_(value)
#define SAMPLE_TRACE_ADD(variable, amount) SAMPLE_TRACE_UNUSED_(amount)
#define SAMPLE_TRACE_SUBTRACT(variable, amount) SAMPLE_TRACE_UNUSED_(amount)
#define SAMPLE_TRACE_INCREMENT(variable) ((void)0)
#define SAMPLE_TRACE_DECREMENT(variable) ((void)0)
#define SAMPLE_TRACE_SET_REAL(variable, value) SAMPLE_TRACE_UNUSED_(value)
#define SAMPLE_TRACE_ADD_REAL(variable, amount) SAMPLE_TRACE_UNUSED_(amount)
#define SAMPLE_TRACE_FRAME_BEGIN(kind) SAMPLE_TRACE_UNUSED_(kind)
#define SAMPLE_TRACE_FRAME_END(kind) SAMPLE_TRACE_UNUSED_(kind)
#define SAMPLE_TRACE_FRAME_KIND(kind, name) SAMPLE_TRACE_UNUSED_(((void)(kind), (void)(name)))
#define SAMPLE_TRACE_REGION_BEGIN(name, category) (0 ? ((void)(name), (void)(category), 0U) : 0U)
#define SAMPLE_TRACE_REGION_END(region) ((void)(region))
#define SAMPLE_TRACE_BOOKMARK(...) SAMPLE_TRACE_UNUSED_(sample_trace_unsaid_(__VA_ARGS__))
#define SAMPLE_TRACE_LOG(category, verbosity, ...) \
    SAMPLE_TRACE_UNUSED_(((void)(category), (void)(verbosity), sample_trace_unsaid_(__VA_ARGS__)))
#define SAMPLE_TRACE_THREAD_NAME(name) SAMPLE_TRACE_UNUSED_(name)
#define SAMPLE_TRACE_THREAD_GROUP(group) SAMPLE_TRACE_UNUSED_(group)
#define SAMPLE_TRACE_NEW_FLOW() 0
#define SAMPLE_TRACE_FLOW_BEGIN(number) SAMPLE_TRACE_UNUSED_(number)
#define SAMPLE_TRACE_FLOW_STEP(number) SAMPLE_TRACE_UNUSED_(number)
#define SAMPLE_TRACE_FLOW_END(number) SAMPLE_TRACE_UNUSED_(number)
#define SAMPLE_TRACE_MEMORY_HEAP(variable, name, parent) struct sample_trace_nothing_
/* A name for MemoryScope, and no storage. */
#define SAMPLE_TRACE_MEMORY_TAG(variable, name, parent) \
    enum sample_trace_no_tag_##variable {               \
        variable                                        \
    }
/* The same for several files: a byte, under a name that no file with instrumentation has. */
#define SAMPLE_TRACE_MEMORY_EXTERN(variable) \
    extern char variable __asm__("sample_trace_no_memory_" #variable)
#define SAMPLE_TRACE_MEMORY_HEAP_DEFINE(variable, name, parent) \
    SAMPLE_TRACE_MEMORY_EXTERN(variable);                       \
    __attribute__((weak)) char variable = 0
#define SAMPLE_TRACE_MEMORY_TAG_DEFINE(variable, name, parent) \
    SAMPLE_TRACE_MEMORY_HEAP_DEFINE(variable, name, parent)
#define SAMPLE_TRACE_MEMORY_ALLOC(heap, address, bytes, alignment) \
    SAMPLE_TRACE_UNUSED_(((void)(address), (void)(bytes), (void)(alignment)))
#define SAMPLE_TRACE_MEMORY_ALLOC_STACK(heap, address, bytes, alignment) \
    SAMPLE_TRACE_MEMORY_ALLOC(heap, address, bytes, alignment)
#define SAMPLE_TRACE_MEMORY_FREE(heap, address) SAMPLE_TRACE_UNUSED_(address)
#define SAMPLE_TRACE_MEMORY_REALLOC(heap, old, address, bytes, alignment) \
    SAMPLE_TRACE_UNUSED_(((void)(old), (void)(address), (void)(bytes), (void)(alignment)))
#define SAMPLE_TRACE_MEMORY_REALLOC_STACK(heap, old, address, bytes, alignment) \
    SAMPLE_TRACE_MEMORY_REALLOC(heap, old, address, bytes, alignment)
#define SAMPLE_TRACE_MEMORY_SCOPE(tag) ((void)0)

#endif
#endif
