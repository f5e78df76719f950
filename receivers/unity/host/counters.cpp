#include "receivers/unity/host/counters.h"

#include "receivers/unity/host/events.h"
#include "receivers/unity/host/permanent.h"
#include "receivers/unity/host/recording.h"
#include "receivers/unity/recorded_values.h"

#include <cstring>

namespace sample::unity {
namespace {

constexpr std::size_t kMostCounters = 4096;

struct Counter {
    std::uint64_t value = 0;  ///< The plug-in's; the first member.
    const Counter* self = nullptr;
    CounterRequest request{};
    Marker* marker = nullptr;
    std::atomic<bool> has_ended{true};  ///< Nobody writes to it.
};

constinit std::array<std::atomic<Counter*>, kMostCounters> g_counters{};
constinit std::atomic<std::uint32_t> g_count{0};
constinit std::atomic<bool> g_has_counters_of_frame{false};

bool is_of_frame(const Counter& counter) noexcept {
    constexpr unsigned kWanted =
        kUnityProfilerCounterFlushOnEndOfFrame | kUnityProfilerCounterFlagGetter;
    return (counter.request.counter_flags & kWanted) != 0;
}

/// A counter of the recording, by the marker's name.
void record_number(Marker& marker, const Number& number,
                   UnityProfilerMarkerDataUnit unit) noexcept {
    if (!records_counters()) {
        return;
    }
    const int kind = number.is_real                              ? SAMPLE_TRACE_KIND_REAL
                     : unit == kUnityProfilerMarkerDataUnitBytes ? SAMPLE_TRACE_KIND_MEMORY
                                                                 : SAMPLE_TRACE_KIND_INTEGER;
    std::uint32_t counter = marker.zone.load(std::memory_order_relaxed);
    if (counter == 0) {
        counter = sample_trace_define_dynamic_(static_cast<std::uint8_t>(kind), marker.desc.name,
                                               nullptr, 0);
        marker.zone.store(counter, std::memory_order_relaxed);
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits,
                number.is_real ? static_cast<const void*>(&number.real)
                               : static_cast<const void*>(&number.integer),
                sizeof bits);
    recording()->count(counter, bits);
}

std::uint64_t take_value(Counter& counter) noexcept {
    const unsigned flags = counter.request.counter_flags;
    if ((flags & kUnityProfilerCounterFlagResetToZeroOnFlush) == 0) {
        return __atomic_load_n(&counter.value, __ATOMIC_RELAXED);
    }
    return __atomic_exchange_n(&counter.value, 0, __ATOMIC_RELAXED);
}

void flush(ThreadRecord& thread, Counter& counter) {
    const std::uint64_t value = take_value(counter);
    const UnityProfilerMarkerData data{counter.request.type, 0, 0,
                                       static_cast<std::uint32_t>(counter.request.bytes), &value};
    single_program_event(thread, *counter.marker, {&data, 1});
    Number number;
    if (counter.marker->is_available() && read_number(data, number)) {
        record_number(*counter.marker, number, counter.request.unit);
    }
}

/// One that has ended and is alike, if there is one: the plug-in was loaded again. Else a new one,
/// which has ended, too. Under the lock. Null: there is no room.
Counter* ended_counter(const CounterRequest& request, Marker* marker) noexcept {
    const std::uint32_t count = g_count.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < count; ++i) {
        Counter* const each = g_counters[i].load(std::memory_order_relaxed);
        // Whoever flushes it reads no more than these of a request.
        if (each->has_ended.load(std::memory_order_acquire) && each->marker == marker &&
            each->request.type == request.type && each->request.unit == request.unit &&
            each->request.counter_flags == request.counter_flags) {
            return each;
        }
    }
    auto* const made = count < kMostCounters ? keep<Counter>() : nullptr;
    if (made != nullptr) {
        made->self = made;
        made->request = request;
        made->request.name = marker->desc.name;
        made->marker = marker;
        g_counters[count].store(made, std::memory_order_relaxed);
        g_count.store(count + 1, std::memory_order_release);
    }
    return made;
}

std::size_t bytes_of(UnityProfilerMarkerDataType type) noexcept {
    switch (type) {
        case kUnityProfilerMarkerDataTypeInt32:
        case kUnityProfilerMarkerDataTypeUInt32:
        case kUnityProfilerMarkerDataTypeFloat:
            return 4;
        case kUnityProfilerMarkerDataTypeInt64:
        case kUnityProfilerMarkerDataTypeUInt64:
        case kUnityProfilerMarkerDataTypeDouble:
            return 8;
        default:
            return 0;
    }
}

}  // namespace

void* make_counter(const CounterRequest& request) noexcept {
    if (request.name == nullptr || request.bytes == 0 || bytes_of(request.type) != request.bytes) {
        return nullptr;
    }
    Marker* const marker = find_marker(
        request.name, request.category,
        static_cast<UnityProfilerMarkerFlags>(request.flags | kUnityProfilerMarkerFlagCounter));
    Counter* made = nullptr;
    {
        const RegistryLock lock;
        made = marker == nullptr ? nullptr : ended_counter(request, marker);
        if (made == nullptr) {
            return nullptr;
        }
        made->request.activate = request.activate;
        made->request.deactivate = request.deactivate;
        made->request.user = request.user;
        made->request.owner = request.owner;
        __atomic_store_n(&made->value, 0, __ATOMIC_RELAXED);
        made->has_ended.store(false, std::memory_order_release);
    }
    if (is_of_frame(*made)) {
        g_has_counters_of_frame.store(true, std::memory_order_relaxed);
    }
    if (request.activate != nullptr) {
        request.activate(request.user);
    }
    return &made->value;
}

void flush_counter(void* value) {
    auto* const counter = static_cast<Counter*>(value);
    ThreadRecord* const thread = ThreadRecord::current();
    if (counter != nullptr && counter->self == counter && thread != nullptr) {
        flush(*thread, *counter);
    }
}

void flush_counters_of_frame(ThreadRecord& thread) {
    if (!has_counters_of_frame()) {
        return;
    }
    const std::uint32_t count = g_count.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
        Counter& each = *g_counters[i].load(std::memory_order_relaxed);
        if (is_of_frame(each) && !each.has_ended.load(std::memory_order_relaxed)) {
            flush(thread, each);
        }
    }
}

bool has_counters_of_frame() noexcept {
    return g_has_counters_of_frame.load(std::memory_order_relaxed);
}

void end_counters(const void* code_begin, const void* code_end) {
    const auto is_there = [=](const void* code) { return code >= code_begin && code < code_end; };
    const std::uint32_t count = g_count.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
        Counter& each = *g_counters[i].load(std::memory_order_relaxed);
        if (each.has_ended.load(std::memory_order_acquire)) {
            continue;
        }
        const CounterRequest request = each.request;
        if (is_there(request.owner) ||
            is_there(reinterpret_cast<const void*>(request.deactivate))) {
            each.has_ended.store(true, std::memory_order_release);
            if (request.deactivate != nullptr) {
                request.deactivate(request.user);
            }
        }
    }
}

void record_counter_event(Marker& marker, const UnityProfilerMarkerData& value) noexcept {
    const ValueName* const named = marker.value_names[0].load(std::memory_order_acquire);
    Number number;
    if (read_number(value, number)) {
        record_number(marker, number,
                      named != nullptr ? named->unit : UnityProfilerMarkerDataUnit{});
    }
}

}  // namespace sample::unity
