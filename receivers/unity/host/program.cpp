#include "receivers/unity/host/program.h"

#include "receivers/unity/host/categories.h"
#include "receivers/unity/host/counters.h"
#include "receivers/unity/host/events.h"
#include "receivers/unity/host/permanent.h"
#include "receivers/unity/host/recording.h"
#include "receivers/unity/recorded_values.h"

#include <algorithm>
#include <cstring>

namespace sample::unity {
namespace {

constexpr std::uint32_t kMostDefinitions = 65536;

/// What one of the program's definitions is for plug-ins.
struct Meaning {
    Marker* marker = nullptr;
    /// Of a zone whose name is made at run time: Profiler.Default's values.
    std::span<const char16_t> text;
    std::uint32_t category = 0;
    bool is_real = false;  ///< A counter's values.
};

constinit std::array<std::atomic<const Meaning*>, kMostDefinitions> g_meanings{};
constinit const Meaning g_none{};

/// Raised when zones end to be listened to, as what is open will end unheard.
constinit std::atomic<std::uint32_t> g_generation{0};
constinit bool g_hears_events = false;  // Under the lock.

UnityProfilerCategoryId category_of_place(const sample_trace_place& place,
                                          UnityProfilerCategoryId unnamed) noexcept {
    const bool is_named = place.category != nullptr && *place.category != '\0';
    const bool is_zone = place.kind == SAMPLE_TRACE_KIND_ZONE;
    return is_named ? find_category(place.category, is_zone ? place.number : SAMPLE_TRACE_NO_COLOUR)
                    : unnamed;
}

std::span<const char16_t> keep_utf16(const char* text) noexcept {
    std::array<char16_t, 512> units{};
    const std::size_t count = to_utf16(text, units);
    void* const kept = keep_bytes(std::max<std::size_t>(count, 1) * sizeof(char16_t));
    if (kept == nullptr) {
        return {};
    }
    std::memcpy(kept, units.data(), count * sizeof(char16_t));
    return {static_cast<const char16_t*>(kept), count};
}

bool is_special(const char* name) noexcept {
    return std::strcmp(name, "GC.Alloc") == 0 || std::strcmp(name, "GC.Collect") == 0;
}

void understand_zone(const sample_trace_place& place, Meaning& meaning) noexcept {
    const bool is_dynamic = *place.file == '\0';
    if (is_special(place.name)) {
        meaning.marker = find_marker(place.name, kUnityProfilerCategoryGC, 0);
        return;
    }
    const UnityProfilerCategoryId category =
        category_of_place(place, kUnityProfilerCategoryScripts);
    if (is_dynamic) {
        meaning.marker = special_markers().default_marker;
        meaning.text = keep_utf16(place.name);
        meaning.category = category;
    } else {
        meaning.marker = find_marker(place.name, category, kUnityProfilerMarkerFlagScriptUser);
    }
}

void understand_counter(const sample_trace_place& place, Meaning& meaning) noexcept {
    const bool is_memory = place.kind == SAMPLE_TRACE_KIND_MEMORY;
    meaning.is_real = place.kind == SAMPLE_TRACE_KIND_REAL;
    meaning.marker =
        find_marker(place.name,
                    category_of_place(place, is_memory ? kUnityProfilerCategoryMemory
                                                       : kUnityProfilerCategoryScripts),
                    kUnityProfilerMarkerFlagScriptUser | kUnityProfilerMarkerFlagCounter);
}

/// Null: there is no such definition.
const Meaning* understand(std::uint32_t definition) noexcept {
    sample_trace_place place{};
    if (definition >= kMostDefinitions || recording() == nullptr ||
        recording()->describe(definition, &place) == 0) {
        return nullptr;
    }
    Meaning meaning;
    switch (place.kind) {
        case SAMPLE_TRACE_KIND_ZONE:
            understand_zone(place, meaning);
            break;
        case SAMPLE_TRACE_KIND_INTEGER:
        case SAMPLE_TRACE_KIND_REAL:
        case SAMPLE_TRACE_KIND_MEMORY:
            understand_counter(place, meaning);
            break;
        default:
            break;
    }
    const Meaning* kept = meaning.marker == nullptr ? &g_none : keep<Meaning>(meaning);
    const Meaning* before = nullptr;
    // Another thread may have come first: they mean the same.
    g_meanings[definition].compare_exchange_strong(before, kept, std::memory_order_acq_rel);
    return before != nullptr ? before : kept;
}

const Meaning& meaning_of(std::uint32_t definition) noexcept {
    const Meaning* found = definition < kMostDefinitions
                               ? g_meanings[definition].load(std::memory_order_acquire)
                               : nullptr;
    if (found == nullptr) [[unlikely]] {
        found = understand(definition);
    }
    return found != nullptr ? *found : g_none;
}

/// Who says something, and when: what is registered later is not told of it.
struct Speaker {
    ThreadRecord* thread = nullptr;  ///< Null: what it says now is told to nobody.
    std::uint64_t clock = 0;
};

[[gnu::always_inline]] inline Speaker speaker() noexcept {
    ThreadRecord* const thread = ThreadRecord::current();
    if (thread == nullptr || thread->is_in_callback()) {
        return {};
    }
    // First: if it is that of a registration, the generation is not older.
    const std::uint64_t clock = registration_clock();
    thread->enter(g_generation.load(std::memory_order_relaxed));
    return {thread, clock};
}

UnityProfilerMarkerData data_of(UnityProfilerMarkerDataType type, const void* bytes,
                                std::size_t size) noexcept {
    return {type, 0, 0, static_cast<std::uint32_t>(size), bytes};
}

/// What the document says that Profiler.Default has.
[[gnu::noinline]] void begin_dynamic(const Speaker& speaker, const Meaning& meaning) {
    constexpr std::int32_t kNoInstance = 0;
    const UnityProfilerMarkerData data[] = {
        data_of(kUnityProfilerMarkerDataTypeInstanceId, &kNoInstance, sizeof kNoInstance),
        data_of(kUnityProfilerMarkerDataTypeString16, meaning.text.data(),
                meaning.text.size_bytes()),
        data_of(kUnityProfilerMarkerDataTypeUInt32, &meaning.category, sizeof meaning.category)};
    begin_program_zone(*speaker.thread, meaning.marker, data, speaker.clock);
}

UnityProfilerMarkerData data_of(const sample_trace_value& value) noexcept {
    switch (value.kind) {
        case SAMPLE_TRACE_VALUE_INTEGER:
            return data_of(kUnityProfilerMarkerDataTypeInt64, &value.as.integer,
                           sizeof value.as.integer);
        case SAMPLE_TRACE_VALUE_REAL:
            return data_of(kUnityProfilerMarkerDataTypeDouble, &value.as.real,
                           sizeof value.as.real);
        default:
            return value.as.text == nullptr
                       ? data_of(kUnityProfilerMarkerDataTypeString, "", 1)
                       : data_of(kUnityProfilerMarkerDataTypeString, value.as.text,
                                 std::strlen(value.as.text) + 1);
    }
}

/// Apart, as it needs room on the stack.
[[gnu::noinline]] void begin_noted(const Speaker& speaker, const Meaning& meaning,
                                   std::span<const sample_trace_value> values) {
    std::array<UnityProfilerMarkerData, kMostValues> data;
    const std::size_t size = std::min(values.size(), data.size());
    for (std::size_t i = 0; i < size; ++i) {
        data[i] = data_of(values[i]);
    }
    begin_program_zone(*speaker.thread, meaning.marker, {data.data(), size}, speaker.clock);
}

void begin_zone(std::uint32_t zone, const sample_trace_value* values, std::size_t count) {
    const Meaning& meaning = meaning_of(zone);  // Before the clock: it may make somebody register.
    const Speaker who = speaker();
    if (who.thread == nullptr) {
        return;
    }
    if (meaning.text.data() != nullptr) {
        begin_dynamic(who, meaning);
    } else if (count != 0) {
        begin_noted(who, meaning, {values, count});
    } else {
        begin_program_zone(*who.thread, meaning.marker, {}, who.clock);
    }
}

void end_zone() {
    if (const Speaker who = speaker(); who.thread != nullptr) {
        end_program_zone(*who.thread);
    }
}

void suspend(std::uint32_t /*coroutine*/, std::uint32_t depth) {
    for (; depth != 0; --depth) {
        end_zone();
    }
}

void resume(std::uint32_t coroutine, std::uint32_t depth) {
    for (; depth != 0; --depth) {
        begin_zone(coroutine, nullptr, 0);
    }
}

void count(std::uint32_t counter, std::uint64_t bits) {
    const Meaning& meaning = meaning_of(counter);
    const Speaker who = speaker();
    if (who.thread == nullptr) {
        return;
    }
    if (meaning.marker != nullptr) {
        const UnityProfilerMarkerData data =
            data_of(meaning.is_real ? kUnityProfilerMarkerDataTypeDouble
                                    : kUnityProfilerMarkerDataTypeInt64,
                    &bits, sizeof bits);
        single_program_event(*who.thread, *meaning.marker, {&data, 1});
    }
}

void frame(std::uint32_t kind, std::uint32_t is_begin) {
    const Speaker who = speaker();
    if (who.thread != nullptr && kind == SAMPLE_TRACE_MAIN_FRAME && is_begin != 0) {
        begin_frame(*who.thread);
    }
}

void flow(std::uint64_t number, std::uint32_t step) {
    constexpr std::array<UnityProfilerFlowEventType, 3> kTypes{kUnityProfilerFlowEventTypeBegin,
                                                               kUnityProfilerFlowEventTypeNext,
                                                               kUnityProfilerFlowEventTypeEnd};
    const Speaker who = speaker();
    if (who.thread != nullptr && step < kTypes.size()) {
        flow_callbacks().tell(*who.thread, kAnyClock, kTypes[step],
                              static_cast<std::uint32_t>(number));
    }
}

void allocated(const sample_trace_allocation* allocation) {
    const Speaker who = speaker();
    if (who.thread != nullptr) {
        const auto bytes = static_cast<std::int64_t>(allocation->bytes);
        const UnityProfilerMarkerData data =
            data_of(kUnityProfilerMarkerDataTypeInt64, &bytes, sizeof bytes);
        single_program_event(*who.thread, *special_markers().gc_alloc, {&data, 1});
    }
}

void thread_named(const char* name) {
    if (ThreadRecord* const thread = ThreadRecord::current(); thread != nullptr) {
        name_thread(*thread, nullptr, name);
    }
}

void thread_grouped(const char* group) {
    if (ThreadRecord* const thread = ThreadRecord::current(); thread != nullptr) {
        name_thread(*thread, group, nullptr);
    }
}

/// What the program has defined while nobody listened.
void ask_for_definitions() noexcept {
    constexpr std::uint32_t kMostGaps = 256;  // Numbers that were taken and not used.
    std::uint32_t gaps = 0;
    for (std::uint32_t number = 1; number < kMostDefinitions && gaps < kMostGaps; ++number) {
        const bool is_known = g_meanings[number].load(std::memory_order_relaxed) != nullptr;
        gaps = is_known || understand(number) != nullptr ? 0 : gaps + 1;
    }
}

bool wants_events() noexcept {
    return awaited_events() != 0 || !markers().is_empty();
}

sample_trace_listener wanted_listener() noexcept {
    sample_trace_listener listener{};
    listener.name_thread = thread_named;
    listener.group_thread = thread_grouped;
    if (wants_events()) {
        listener.begin_zone = begin_zone;
        listener.end_zone = end_zone;
        listener.suspend = suspend;
        listener.resume = resume;
        listener.count = count;
        listener.memory_alloc = allocated;
    }
    if (!frame_callbacks().is_empty() || has_counters_of_frame()) {
        listener.frame = frame;
    }
    if (!flow_callbacks().is_empty()) {
        listener.flow = flow;
    }
    return listener;
}

}  // namespace

void listen_as_registered() noexcept {
    if (sample_trace_module.functions == nullptr) {
        return;
    }
    bool is_first = false;
    {
        const RegistryLock lock;
        const bool hears_events = wants_events();
        is_first = hears_events && !g_hears_events;
        g_hears_events = hears_events;
        listen_to_program(wanted_listener());
        if (!hears_events) {
            g_generation.fetch_add(1, std::memory_order_relaxed);
        }
    }
    if (is_first) {
        ask_for_definitions();
    }
}

}  // namespace sample::unity
