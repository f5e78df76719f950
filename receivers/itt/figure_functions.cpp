// Counters, by handle or by domain and name; and frames, of a kind a domain.
#include "receivers/itt/functions.h"
#include "receivers/itt/handles.h"
#include "receivers/itt/state.h"
#include "receivers/shared/text.h"

#include <bit>
#include <cstring>

namespace sample::itt {
namespace {

using receivers::Text;

bool is_real(MetadataType type) noexcept {
    return type == MetadataType::real32 || type == MetadataType::real64;
}

void write(const Counter& counter, std::uint64_t value) noexcept {
    if (is_on()) {
        const std::uint8_t kind =
            is_real(counter.type) ? SAMPLE_TRACE_KIND_REAL : SAMPLE_TRACE_KIND_INTEGER;
        agent().count(receivers::definition_of(kind, *counter.name, nullptr), value);
    }
}

template <class Value>
Value read(const void* value) noexcept {
    Value read;
    std::memcpy(&read, value, sizeof read);
    return read;
}

/// As a counter keeps it.
std::uint64_t bits_of(MetadataType type, const void* value) noexcept {
    switch (type) {
        case MetadataType::u32:
            return read<std::uint32_t>(value);
        case MetadataType::s32:
            return static_cast<std::uint64_t>(std::int64_t{read<std::int32_t>(value)});
        case MetadataType::u16:
            return read<std::uint16_t>(value);
        case MetadataType::s16:
            return static_cast<std::uint64_t>(std::int64_t{read<std::int16_t>(value)});
        case MetadataType::real32:
            return std::bit_cast<std::uint64_t>(double{read<float>(value)});
        default:
            return read<std::uint64_t>(value);
    }
}

template <class Letter>
CounterInfo* counter_create_typed(const Letter* name, const Letter* domain, int type) noexcept {
    return counter_info(Text{name}.view(), Text{domain}.view(), static_cast<MetadataType>(type));
}
template <class Letter>
CounterInfo* counter_create(const Letter* name, const Letter* domain) noexcept {
    return counter_create_typed(name, domain, static_cast<int>(MetadataType::u64));
}
template <class Letter>
CounterInfo* counter_create_v3(const Domain* domain, const Letter* name, int type) noexcept {
    return counter_info(Text{name}.view(), name_of(domain).text(), static_cast<MetadataType>(type));
}

void set(CounterInfo* info, const void* value) noexcept {
    Counter* const counter = counter_of(info);
    if (counter != nullptr && value != nullptr) {
        const std::uint64_t bits = bits_of(counter->type, value);
        counter->value.store(bits, std::memory_order_relaxed);
        write(*counter, bits);
    }
}
void set_ex(CounterInfo* info, void* /*clock*/, std::uint64_t /*time*/,
            const void* value) noexcept {
    set(info, value);
}

void add(Counter* counter, std::uint64_t amount, bool is_less) noexcept {
    if (counter == nullptr) {
        return;
    }
    std::uint64_t before = counter->value.load(std::memory_order_relaxed);
    std::uint64_t after = 0;
    do {
        if (is_real(counter->type)) {
            const double change = static_cast<double>(amount);
            after = std::bit_cast<std::uint64_t>(std::bit_cast<double>(before) +
                                                 (is_less ? -change : change));
        } else {
            after = is_less ? before - amount : before + amount;
        }
    } while (!counter->value.compare_exchange_weak(before, after, std::memory_order_relaxed));
    write(*counter, after);
}

void counter_inc(CounterInfo* info) noexcept {
    add(counter_of(info), 1, false);
}
void counter_inc_delta(CounterInfo* info, std::uint64_t amount) noexcept {
    add(counter_of(info), amount, false);
}
void counter_dec(CounterInfo* info) noexcept {
    add(counter_of(info), 1, true);
}
void counter_dec_delta(CounterInfo* info, std::uint64_t amount) noexcept {
    add(counter_of(info), amount, true);
}
void counter_inc_v3(const Domain* domain, const StringHandle* name) noexcept {
    add(counter_of(domain, name), 1, false);
}
void counter_inc_delta_v3(const Domain* domain, const StringHandle* name,
                          std::uint64_t amount) noexcept {
    add(counter_of(domain, name), amount, false);
}
void counter_dec_v3(const Domain* domain, const StringHandle* name) noexcept {
    add(counter_of(domain, name), 1, true);
}
void counter_dec_delta_v3(const Domain* domain, const StringHandle* name,
                          std::uint64_t amount) noexcept {
    add(counter_of(domain, name), amount, true);
}

// Kinds of frames are numbers up to 255, of which the program itself may use some, mostly small
// ones: domains get theirs from the top.
constexpr std::uint32_t kLastKind = 255;
constexpr std::uint32_t kSharedKind = 128;
std::atomic<std::uint32_t> g_next_kind{kLastKind};

std::uint32_t frame_kind(Name& domain) noexcept {
    std::uint32_t kind = domain.frame_kind.load(std::memory_order_relaxed);
    if (kind == 0) {
        kind = g_next_kind.load(std::memory_order_relaxed);
        while (kind > kSharedKind &&
               !g_next_kind.compare_exchange_weak(kind, kind - 1, std::memory_order_relaxed)) {
        }
        const char* const name = kind == kSharedKind ? "ITT domains beyond 127" : domain.text();
        if (sample_trace_define_dynamic_(SAMPLE_TRACE_KIND_FRAME, name, nullptr, kind) != 0) {
            domain.frame_kind.store(kind, std::memory_order_relaxed);
        }
    }
    return kind;
}

void say_frame(const Domain* domain, std::uint32_t is_begin) noexcept {
    if (is_on()) {
        agent().frame(frame_kind(name_of(domain)), is_begin);
    }
}
/// A frame of the older form is a domain, too.
void frame_begin(const Domain* domain) noexcept {
    say_frame(domain, 1);
}
void frame_end(const Domain* domain) noexcept {
    say_frame(domain, 0);
}
template <class Letter>
Domain* frame_create(const Letter* name) noexcept {
    return domain(Text{name}.view());
}

/// One that is told once it is over: how long it was, in nanoseconds, is a counter, as a recording
/// is written in the order of time. Without a time its end is now; without that of its beginning
/// nobody knows how long it was.
void frame_submit(const Domain* domain, const Id* /*id*/, std::uint64_t begin,
                  std::uint64_t end) noexcept {
    constexpr std::uint64_t kNoTime = ~std::uint64_t{0};
    if (end == kNoTime) {
        end = get_timestamp();
    }
    if (!is_on() || begin == kNoTime || end < begin) {
        return;
    }
    static StringHandle frame_time{"frame, ns", nullptr, 0, nullptr, nullptr};
    if (Counter* const counter = counter_of(domain, &frame_time); counter != nullptr) {
        write(*counter, end - begin);
    }
}

}  // namespace

std::span<const Function> figure_functions() noexcept {
    static const Function functions[] = {
        entry("counter_create", counter_create<char>, counter_create<wchar_t>),
        entry("counter_create_typed", counter_create_typed<char>, counter_create_typed<wchar_t>),
        entry("counter_create_v3", counter_create_v3<char>),
        entry("counter_createA_v3", counter_create_v3<char>),
        entry("counter_createW_v3", counter_create_v3<wchar_t>),
        entry("counter_set_value", set),
        entry("counter_set_value_v3", set),
        entry("counter_set_value_ex", set_ex),
        entry("counter_inc", counter_inc),
        entry("counter_inc_delta", counter_inc_delta),
        entry("counter_dec", counter_dec),
        entry("counter_dec_delta", counter_dec_delta),
        entry("counter_inc_v3", counter_inc_v3),
        entry("counter_inc_delta_v3", counter_inc_delta_v3),
        entry("counter_dec_v3", counter_dec_v3),
        entry("counter_dec_delta_v3", counter_dec_delta_v3),
        entry("frame_create", frame_create<char>, frame_create<wchar_t>),
        entry("frame_begin", frame_begin),
        entry("frame_end", frame_end),
        entry("frame_begin_v3", frame_begin),
        entry("frame_end_v3", frame_end),
        entry("frame_submit_v3", frame_submit)};
    return functions;
}

}  // namespace sample::itt
