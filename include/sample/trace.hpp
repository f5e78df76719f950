// sample/trace.h for C++17: what ends with its scope, values of any type, and events of the
// program's own. docs/trace.md.
//
// The macros of sample/trace.h end with their scope in C++, too, also by an exception. With
// SAMPLE_TRACE_DISABLED all of this is empty.
#ifndef SAMPLE_TRACE_HPP
#define SAMPLE_TRACE_HPP

#include "sample/trace.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#pragma GCC system_header

namespace sample::trace {

/// Types of an event's fields that are texts: bytes, and UTF-16.
struct AnsiString;
struct WideString;

#ifndef SAMPLE_TRACE_DISABLED

/// A value of a zone's note: SAMPLE_TRACE_ZONE_NOTED("load", value("bytes", n), value("file",
/// name)). Texts have to live until the zone has begun.
template <class T>
[[nodiscard]] sample_trace_value value(const char* key, const T& what) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
        return sample_trace_real(key, static_cast<double>(what));
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
        return sample_trace_integer(key, static_cast<std::int64_t>(what));
    } else if constexpr (std::is_same_v<T, std::string>) {
        return sample_trace_text(key, what.c_str());
    } else {
        static_assert(std::is_convertible_v<const T&, const char*>,
                      "a number, an enumeration, a const char* or a std::string");
        return sample_trace_text(key, what);
    }
}

/// A zone whose name is made at run time: dearer than SAMPLE_TRACE_ZONE by a hash of it.
class Zone {
public:
    explicit Zone(const char* name, const char* category = nullptr,
                  std::uint32_t colour = SAMPLE_TRACE_NO_COLOUR) noexcept
        : zone_{SAMPLE_TRACE_IS_ON(sample_trace_cpu)
                    ? sample_trace_begin_dynamic_zone_(name, category, colour)
                    : 0} {}
    explicit Zone(const std::string& name) noexcept : Zone{name.c_str()} {}
    Zone(const Zone&) = delete;
    Zone& operator=(const Zone&) = delete;
    ~Zone() { sample_trace_end_zone_(&zone_); }

private:
    sample_trace_zone zone_;
};

/// A frame of a kind.
class Frame {
public:
    explicit Frame(std::uint8_t kind = SAMPLE_TRACE_MAIN_FRAME) noexcept
        : kind_{kind}, has_begun_{SAMPLE_TRACE_IS_ON(sample_trace_frame) != 0} {
        if (has_begun_) {
            sample_trace_module.functions->frame(kind_, 1);
        }
    }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    ~Frame() {
        if (has_begun_) {
            sample_trace_module.functions->frame(kind_, 0);
        }
    }

private:
    std::uint8_t kind_;
    bool has_begun_;
};

/// A region, which another thread may end.
class Region {
public:
    explicit Region(const char* name, const char* category = nullptr) noexcept
        : region_{SAMPLE_TRACE_REGION_BEGIN(name, category)} {}
    Region(Region&& other) noexcept
        : region_{std::exchange(other.region_, sample_trace_region_handle{0, 0})} {}
    Region& operator=(Region&& other) noexcept {
        std::swap(region_, other.region_);
        return *this;
    }
    ~Region() { sample_trace_end_region_(region_); }

private:
    sample_trace_region_handle region_;
};

/// What the thread allocates while it lives has the tag: SAMPLE_TRACE_MEMORY_TAG(tag, "name", 0).
class MemoryScope {
public:
    explicit MemoryScope(sample_trace_memory_& tag) noexcept
        : scope_{SAMPLE_TRACE_IS_ON(sample_trace_memory) ? sample_trace_begin_memory_scope_(&tag)
                                                         : sample_trace_memory_scope_{0, 0}} {}
    MemoryScope(const MemoryScope&) = delete;
    MemoryScope& operator=(const MemoryScope&) = delete;
    ~MemoryScope() { sample_trace_end_memory_scope_(&scope_); }

private:
    sample_trace_memory_scope_ scope_;
};

/// What SAMPLE_TRACE_EVENT and its kin are made of.
namespace detail {

struct EventFlags {
    enum : std::uint32_t { Important = SAMPLE_TRACE_IMPORTANT, NoSync = SAMPLE_TRACE_NO_SYNC };
};

template <class T>
constexpr std::uint8_t type_code() noexcept {
    if constexpr (std::is_same_v<T, AnsiString>) {
        return 0x88;
    } else if constexpr (std::is_same_v<T, WideString>) {
        return 0x89;
    } else if constexpr (std::is_array_v<T>) {
        static_assert(std::is_arithmetic_v<std::remove_extent_t<T>>, "an array of numbers");
        return 0x80 | type_code<std::remove_extent_t<T>>();
    } else {
        static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "a number, a text or an array");
        const int size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return static_cast<std::uint8_t>(size | (std::is_floating_point_v<T> ? 0x40
                                                 : std::is_signed_v<T>       ? 0x10
                                                                             : 0));
    }
}

/// Before the first field of a type. Each field knows the one before it.
struct NoField {
    static constexpr std::uint32_t kFields = 0;
    static constexpr std::uint32_t kFixedBytes = 0;
    static constexpr std::uint32_t kParts = 0;
};
template <class Previous, class T>
struct Field {
    using Before = Previous;
    using Type = T;
    static constexpr std::uint8_t kType = type_code<T>();
    static constexpr bool kIsPart = (kType & 0x80) != 0;
    static constexpr std::uint32_t kIndex = Previous::kFields;
    static constexpr std::uint32_t kFixedAt = Previous::kFixedBytes;
    static constexpr std::uint32_t kPart = Previous::kParts;
    static constexpr std::uint32_t kElementBytes = 1U << (kType & 3);
    static constexpr std::uint32_t kFields = kIndex + 1;
    static constexpr std::uint32_t kFixedBytes = kFixedAt + (kIsPart ? 0 : kElementBytes);
    static constexpr std::uint32_t kParts = kPart + (kIsPart ? 1 : 0);
    static_assert(kFields <= 32, "an event has at most 32 fields");
};
/// Behind the last one.
template <class Previous>
struct Field<Previous, void> {
    using Last = Previous;
};

template <class F>
struct Value {
    typename F::Type value;
};
template <class F>
struct Part {
    sample_trace_part part;
};

template <class F, class C>
Part<F> text(const C* data, std::size_t count) noexcept {
    constexpr bool kIsWide = std::is_same_v<typename F::Type, WideString>;
    static_assert(!kIsWide || sizeof(C) > 1, "a text of wide characters");
    constexpr int kHow = kIsWide ? (sizeof(C) == 4 ? SAMPLE_TRACE_UTF16 : SAMPLE_TRACE_COPIED)
                                 : (sizeof(C) == 1 ? SAMPLE_TRACE_COPIED : SAMPLE_TRACE_NARROWED);
    return {{data, data == nullptr ? 0 : count, sizeof(C), kHow, F::kIndex}};
}

/// A field's value: a number; a pointer and how many; of a text also without, up to its 0.
template <class F, class T>
auto set(const T& value) noexcept {
    if constexpr (!F::kIsPart) {
        return Value<F>{static_cast<typename F::Type>(value)};
    } else {
        static_assert(F::kType == 0x88 || F::kType == 0x89, "an array: a pointer and how many");
        if constexpr (std::is_pointer_v<std::decay_t<T>>) {
            using Character = std::remove_cv_t<std::remove_pointer_t<std::decay_t<T>>>;
            const Character* const data = value;
            return text<F>(data, data == nullptr ? 0 : std::char_traits<Character>::length(data));
        } else {
            return text<F>(value.data(), value.size());
        }
    }
}
template <class F, class T, class Count>
Part<F> set(const T& data, const Count& count) noexcept {
    static_assert(F::kIsPart, "a number has one value");
    using Element = std::remove_cv_t<std::remove_pointer_t<std::decay_t<T>>>;
    const Element* const first = data;
    if constexpr (std::is_array_v<typename F::Type>) {
        static_assert((0x80 | type_code<Element>()) == F::kType, "the array's type");
        return {{first, first == nullptr ? 0 : static_cast<std::uint64_t>(count), sizeof(Element),
                 SAMPLE_TRACE_COPIED, F::kIndex}};
    } else {
        return text<F>(first, static_cast<std::size_t>(count));
    }
}

/// The values of one event. What they point to lives until the full expression ends.
template <class Type>
class EventValues {
    using Last = typename Type::sample_trace_end::Last;

public:
    template <class F>
    EventValues& operator<<(const Value<F>& field) noexcept {
        __builtin_memcpy(fixed_.data() + F::kFixedAt, &field.value, sizeof field.value);
        return *this;
    }
    template <class F>
    EventValues& operator<<(const Part<F>& field) noexcept {
        parts_[F::kPart] = field.part;
        return *this;
    }
    [[nodiscard]] std::uint32_t raise(std::uint32_t& id, std::uint32_t scope,
                                      std::uint64_t stated) const noexcept {
        std::uint32_t type = __atomic_load_n(&id, __ATOMIC_RELAXED);
        if (SAMPLE_TRACE_UNLIKELY_(type == 0)) {
            type = define();
            __atomic_store_n(&id, type, __ATOMIC_RELAXED);
        }
        const sample_trace_event event = {type,          Type::sample_trace_flags,
                                          scope,         Last::kFixedBytes,
                                          fixed_.data(), parts_.data(),
                                          Last::kParts,  stated};
        return sample_trace_module.functions->raise_event(&event);
    }

private:
    template <class F>
    static void describe(sample_trace_field* fields) noexcept {
        if constexpr (F::kFields != 0) {
            fields[F::kIndex] = {F::name(), F::kType};
            describe<typename F::Before>(fields);
        }
    }
    [[gnu::cold, gnu::noinline]] static std::uint32_t define() noexcept {
        std::array<sample_trace_field, Last::kFields + 1> fields{};
        describe<Last>(fields.data());
        const sample_trace_event_type type = {Type::sample_trace_logger(),
                                              Type::sample_trace_name(), fields.data(),
                                              Last::kFields, Type::sample_trace_flags};
        return sample_trace_module.functions->define_event_type(&type);
    }

    // One more, so that there is one.
    std::array<unsigned char, Last::kFixedBytes + 1> fixed_{};
    std::array<sample_trace_part, Last::kParts + 1> parts_{};
};

/// Ends the scope that an event has begun.
class EventScope {
public:
    EventScope() = default;
    EventScope(const EventScope&) = delete;
    EventScope& operator=(const EventScope&) = delete;
    ~EventScope() {
        if (has_begun_ != 0) {
            sample_trace_module.functions->end_scope();
        }
    }
    void begin(std::uint32_t has_begun) noexcept { has_begun_ = has_begun; }

private:
    std::uint32_t has_begun_ = 0;
};

/// Raiser{…} & EventValues{} << …: once all fields are set, and while what they point to lives.
template <class Type>
struct Raiser {
    std::uint32_t& id;
    std::uint64_t stated_bytes = 0;
    void operator&(const EventValues<Type>& values) const noexcept {
        static_cast<void>(values.raise(id, SAMPLE_TRACE_NO_SCOPE, stated_bytes));
    }
};
template <class Type>
struct ScopeRaiser {
    static_assert((Type::sample_trace_flags & SAMPLE_TRACE_IMPORTANT) == 0,
                  "an Important event belongs to no thread, and is no scope");
    std::uint32_t& id;
    std::uint32_t kind;
    EventScope& scope;
    void operator&(const EventValues<Type>& values) const noexcept {
        scope.begin(values.raise(id, kind, 0));
    }
};

}  // namespace detail

/* ---- Events of the program's own, at the scope of a file or namespace:
 *
 *     SAMPLE_TRACE_EVENT_BEGIN(Logger, Event[, flags])
 *         SAMPLE_TRACE_EVENT_FIELD(std::uint32_t, Number)
 *         SAMPLE_TRACE_EVENT_FIELD(sample::trace::WideString, Text)
 *         SAMPLE_TRACE_EVENT_FIELD(std::int64_t[], Values)
 *     SAMPLE_TRACE_EVENT_END()
 *
 * Flags: NoSync, no order across threads; Important, kept for the process's life. In a header
 * EVENT_BEGIN_EXTERN, and in one file SAMPLE_TRACE_EVENT_DEFINE(Logger, Event). */

#define SAMPLE_TRACE_EVENT_BEGIN(logger, ...) \
    SAMPLE_TRACE_EVENT_BEGIN_(static, logger, __VA_ARGS__, 0, 0)
#define SAMPLE_TRACE_EVENT_BEGIN_EXTERN(logger, ...) \
    SAMPLE_TRACE_EVENT_BEGIN_(extern, logger, __VA_ARGS__, 0, 0)
#define SAMPLE_TRACE_EVENT_DEFINE(logger, event) \
    std::uint32_t sample_trace_event_id_##logger##_##event = 0;
#define SAMPLE_TRACE_EVENT_BEGIN_(storage, logger, event, flags, ...)                          \
    [[maybe_unused]] storage std::uint32_t sample_trace_event_id_##logger##_##event;           \
    struct sample_trace_event_##logger##_##event : ::sample::trace::detail::EventFlags {       \
        static constexpr std::uint32_t sample_trace_flags = static_cast<std::uint32_t>(flags); \
        static constexpr const char* sample_trace_logger() noexcept { return #logger; }        \
        static constexpr const char* sample_trace_name() noexcept { return #event; }           \
        typedef ::sample::trace::detail::Field < ::sample::trace::detail::NoField,
#define SAMPLE_TRACE_EVENT_FIELD(type, field)                                   \
    type > sample_trace_type_of_##field;                                        \
    struct sample_trace_field_##field : sample_trace_type_of_##field {          \
        static constexpr const char* name() noexcept { return #field; }         \
    };                                                                          \
    template <class... SampleTraceT>                                            \
    [[nodiscard]] auto field(const SampleTraceT&... of) const noexcept {        \
        return ::sample::trace::detail::set<sample_trace_field_##field>(of...); \
    }                                                                           \
    typedef ::sample::trace::detail::Field < sample_trace_field_##field,
#define SAMPLE_TRACE_EVENT_END() \
    void > sample_trace_end;     \
    }                            \
    ;

/* SAMPLE_TRACE_EVENT(Logger, Event, channels[, bytes]) << Event.Number(1) << Event.Text(L"…");
 * `channels`: as `a | b`. Fields in any order; one that is not set is 0 or empty. An array is a
 * pointer and how many, a text a pointer and its length if that is known. `bytes`, of an Important
 * event: those of all its texts and arrays together; one with more is lost. */

#define SAMPLE_TRACE_EVENT(logger, event, ...) SAMPLE_TRACE_EVENT_(logger, event, __VA_ARGS__, 0, 0)
#define SAMPLE_TRACE_EVENT_(logger, event, channel, bytes, ...)             \
    SAMPLE_TRACE_EVENT_IF_(logger, event, channel)                          \
    ::sample::trace::detail::Raiser<sample_trace_event_##logger##_##event>{ \
        sample_trace_event_id_##logger##_##event, (bytes)} &                \
        ::sample::trace::detail::EventValues<sample_trace_event_##logger##_##event> {}
#define SAMPLE_TRACE_EVENT_IF_(logger, event, channel)                                        \
    if (!SAMPLE_TRACE_IS_ON(channel)) {                                                       \
    } else if ([[maybe_unused]] const sample_trace_event_##logger##_##event event{}; false) { \
    } else /* NOLINT */

/* The same where a scope begins that ends with the block: what is said inside belongs to it. The
 * second one has times. */

#define SAMPLE_TRACE_EVENT_SCOPE(logger, event, channel)                            \
    SAMPLE_TRACE_EVENT_SCOPE_(SAMPLE_TRACE_JOIN_(sample_trace_scope_, __COUNTER__), \
                              SAMPLE_TRACE_SCOPE_BEGINS, logger, event, channel)
#define SAMPLE_TRACE_EVENT_TIMED_SCOPE(logger, event, channel)                      \
    SAMPLE_TRACE_EVENT_SCOPE_(SAMPLE_TRACE_JOIN_(sample_trace_scope_, __COUNTER__), \
                              SAMPLE_TRACE_TIMED_SCOPE_BEGINS, logger, event, channel)
#define SAMPLE_TRACE_EVENT_SCOPE_(variable, kind, logger, event, channel)        \
    ::sample::trace::detail::EventScope variable;                                \
    SAMPLE_TRACE_EVENT_IF_(logger, event, channel)                               \
    ::sample::trace::detail::ScopeRaiser<sample_trace_event_##logger##_##event>{ \
        sample_trace_event_id_##logger##_##event, kind, variable} &              \
        ::sample::trace::detail::EventValues<sample_trace_event_##logger##_##event> {}

#else

template <class T>
[[nodiscard]] int value(const char* /*key*/, const T& /*what*/) noexcept {
    return 0;
}
struct Zone {
    template <class... T>
    explicit Zone(const T&... /*unused*/) noexcept {}
    ~Zone() {}  // NOLINT(modernize-use-equals-default): else it is an unused variable
};
struct Frame {
    explicit Frame(std::uint8_t /*kind*/ = SAMPLE_TRACE_MAIN_FRAME) noexcept {}
    ~Frame() {}  // NOLINT(modernize-use-equals-default)
};
struct Region {
    explicit Region(const char* /*name*/, const char* /*category*/ = nullptr) noexcept {}
    Region(Region&& /*other*/) noexcept {}
    Region& operator=(Region&& /*other*/) noexcept { return *this; }
    ~Region() {}  // NOLINT(modernize-use-equals-default)
};

struct MemoryScope {
    template <class T>
    explicit MemoryScope(const T& /*tag*/) noexcept {}
    ~MemoryScope() {}  // NOLINT(modernize-use-equals-default)
};

/// What compiles, and is never evaluated.
struct Nothing {
    const Nothing& operator<<(const Nothing& /*field*/) const noexcept { return *this; }
};

#define SAMPLE_TRACE_EVENT_BEGIN(logger, ...) SAMPLE_TRACE_EVENT_BEGIN_(logger, __VA_ARGS__, 0)
#define SAMPLE_TRACE_EVENT_BEGIN_EXTERN(logger, ...) \
    SAMPLE_TRACE_EVENT_BEGIN_(logger, __VA_ARGS__, 0)
#define SAMPLE_TRACE_EVENT_BEGIN_(logger, event, ...) struct sample_trace_event_##logger##_##event {
#define SAMPLE_TRACE_EVENT_FIELD(type, field)                                      \
    template <class... SampleTraceT>                                               \
    ::sample::trace::Nothing field(const SampleTraceT&... /*of*/) const noexcept { \
        return {};                                                                 \
    }
#define SAMPLE_TRACE_EVENT_END() \
    }                            \
    ;
#define SAMPLE_TRACE_EVENT_DEFINE(logger, event)
#define SAMPLE_TRACE_EVENT(logger, event, ...)                                                \
    if constexpr (true) {                                                                     \
    } else if ([[maybe_unused]] const sample_trace_event_##logger##_##event event{}; false) { \
    } else                                                                                    \
        ::sample::trace::Nothing {}
#define SAMPLE_TRACE_EVENT_SCOPE(logger, event, channel) SAMPLE_TRACE_EVENT(logger, event, channel)
#define SAMPLE_TRACE_EVENT_TIMED_SCOPE(logger, event, channel) \
    SAMPLE_TRACE_EVENT(logger, event, channel)

#endif

}  // namespace sample::trace

#endif
