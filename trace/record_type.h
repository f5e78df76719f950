// How a record looks as an event, said once beside the record (trace/records.h): its declaration in
// a file, its bytes and its reading all follow from that.
//
// A description is a specialisation of kType, made of one field for each member:
//
//   template <>
//   inline constexpr auto kType<Thread> = record_type(
//       36, "Thread", defined("ThreadId", &Thread::id), known("ProcessId", &Thread::process),
//       number("Tid", &Thread::tid), text("Name", &Thread::name));
//
// Fields of variable size come last (event_spec.h). A recording whose type lacks a field gives 0 or
// nothing, so a field may be added at any time; it is never renamed, nor given another meaning.
#pragma once

#include "core/ids.h"
#include "trace/event_encoder.h"
#include "trace/event_spec.h"
#include "trace/event_view.h"
#include "trace/text.h"
#include "trace/wire.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace sample::trace {

/// Specialised for each record.
template <class Record>
inline constexpr auto kType = nullptr;

/// Longer texts are cut, at the end of a character: an event has less than 64 KiB.
inline constexpr std::size_t kMaxTextBytes = 1024;

template <class Record, class Number>
struct NumberField {
    std::string_view name;
    Number Record::*member;
    static constexpr FieldType type =  // NOLINT(readability-identifier-naming): as other fields'
        std::is_same_v<Number, std::int32_t>   ? FieldType::i32
        : std::is_same_v<Number, std::int64_t> ? FieldType::i64
        : std::is_same_v<Number, double>       ? FieldType::f64
        : sizeof(Number) == 1                  ? FieldType::u8
        : sizeof(Number) == 2                  ? FieldType::u16
        : sizeof(Number) == 4                  ? FieldType::u32
                                               : FieldType::u64;

    void put(EventEncoder& event, const Record& record) const {
        if constexpr (std::is_same_v<Number, double>) {
            event.number(std::bit_cast<std::uint64_t>(record.*member));
        } else {
            event.number(static_cast<std::uint64_t>(record.*member));
        }
    }
    void take(const EventView& event, Record& record) const {
        if constexpr (std::is_same_v<Number, double>) {
            record.*member = event.real(name);
        } else {
            record.*member = event.number<Number>(name);
        }
    }
};

/// An id, which the record defines (they count up from 1), or which was defined before it.
template <class Record, class Tag>
struct IdField {
    std::string_view name;
    Id<Tag> Record::*member;
    bool is_defined_here = false;
    FieldType type = FieldType::u32;

    void put(EventEncoder& event, const Record& record) const {
        event.number((record.*member).value);
    }
    void take(const EventView& event, Record& record) const {
        (record.*member).value = event.number<std::uint32_t>(name);
    }
};

/// An enumerator; one behind `last`, of a later version, is read as `otherwise`.
template <class Record, class Enum>
struct EnumField {
    std::string_view name;
    Enum Record::*member;
    Enum last;
    Enum otherwise;
    FieldType type = FieldType::u8;

    void put(EventEncoder& event, const Record& record) const {
        event.number(static_cast<std::uint8_t>(record.*member));
    }
    void take(const EventView& event, Record& record) const {
        const auto value = event.number<std::uint8_t>(name);
        record.*member =
            value <= static_cast<std::uint8_t>(last) ? static_cast<Enum>(value) : otherwise;
    }
};

template <class Record>
struct TextField {
    std::string_view name;
    std::string Record::*member;
    std::size_t limit;  ///< In bytes of UTF-8.
    FieldType type = FieldType::text;

    void put(EventEncoder& event, const Record& record) const {
        event.text(bounded_text(record.*member, limit));
    }
    void take(const EventView& event, Record& record) const { record.*member = event.text(name); }
};

/// Bytes of the record's own, or (`Bytes` is a span) those of the event, until its call ends.
template <class Record, class Bytes>
struct BytesField {
    std::string_view name;
    Bytes Record::*member;
    std::size_t limit;
    FieldType type = FieldType::bytes;

    void put(EventEncoder& event, const Record& record) const {
        const auto bytes = std::as_bytes(std::span{record.*member});
        event.bytes(bytes.first(std::min(bytes.size(), limit)));
    }
    void take(const EventView& event, Record& record) const {
        const std::span<const std::byte> bytes = event.bytes(name);
        if constexpr (std::is_same_v<Bytes, std::vector<std::uint8_t>>) {
            const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
            (record.*member).assign(first, first + bytes.size());
        } else {
            record.*member = bytes;
        }
    }
};

template <class Record, class Number>
constexpr auto number(std::string_view name, Number Record::*member) {
    return NumberField<Record, Number>{name, member};
}
template <class Record, class Tag>
constexpr auto defined(std::string_view name, Id<Tag> Record::*member) {
    return IdField<Record, Tag>{name, member, true};
}
template <class Record, class Tag>
constexpr auto known(std::string_view name, Id<Tag> Record::*member) {
    return IdField<Record, Tag>{name, member};
}
template <class Record, class Enum>
constexpr auto choice(std::string_view name, Enum Record::*member, Enum last, Enum otherwise) {
    return EnumField<Record, Enum>{name, member, last, otherwise};
}
template <class Record>
constexpr auto text(std::string_view name, std::string Record::*member,
                    std::size_t limit = kMaxTextBytes) {
    return TextField<Record>{name, member, limit};
}
template <class Record, class Bytes>
constexpr auto bytes(std::string_view name, Bytes Record::*member,
                     std::size_t limit = wire::kMaxPayloadBytes) {
    return BytesField<Record, Bytes>{name, member, limit};
}

/// Bytes that other people's readers expect as words.
template <class Record>
constexpr auto words(std::string_view name, std::vector<std::uint8_t> Record::*member) {
    return BytesField<Record, std::vector<std::uint8_t>>{name, member, wire::kMaxPayloadBytes,
                                                         FieldType::u32_array};
}

/// The same of eight bytes each.
template <class Record>
constexpr auto long_words(std::string_view name, std::vector<std::uint8_t> Record::*member) {
    return BytesField<Record, std::vector<std::uint8_t>>{name, member, wire::kMaxPayloadBytes,
                                                         FieldType::u64_array};
}

template <class... Fields>
struct RecordType {
    std::uint16_t uid;
    std::uint8_t flags;
    std::string_view logger;
    std::string_view name;
    std::tuple<Fields...> fields;
};

/// An event of any logger in the stream of important events.
template <class... Fields>
constexpr auto event_type(std::uint16_t uid, std::string_view logger, std::string_view name,
                          const Fields&... fields) {
    const bool has_aux = (is_variable(fields.type) || ...);
    const unsigned flags = wire::kImportant | wire::kNoSync | (has_aux ? wire::kMaybeHasAux : 0U);
    return RecordType<Fields...>{uid, static_cast<std::uint8_t>(flags), logger, name, {fields...}};
}
/// The same in a thread's stream.
template <class... Fields>
constexpr auto thread_event_type(std::uint16_t uid, std::string_view logger, std::string_view name,
                                 const Fields&... fields) {
    const bool has_aux = (is_variable(fields.type) || ...);
    const unsigned flags = wire::kNoSync | (has_aux ? wire::kMaybeHasAux : 0U);
    return RecordType<Fields...>{uid, static_cast<std::uint8_t>(flags), logger, name, {fields...}};
}
/// A record of ours.
template <class... Fields>
constexpr auto record_type(std::uint16_t uid, std::string_view name, const Fields&... fields) {
    return event_type(uid, "Sample", name, fields...);
}
/// A record of ours in a thread's stream: what there is much of.
template <class... Fields>
constexpr auto stream_type(std::uint16_t uid, std::string_view name, const Fields&... fields) {
    return thread_event_type(uid, "Sample", name, fields...);
}

/// The same with a serial number.
template <class Type>
constexpr Type ordered(Type type) {
    type.flags = static_cast<std::uint8_t>(type.flags & ~wire::kNoSync);
    return type;
}

template <class Record>
inline constexpr auto kFields = std::apply(
    [](const auto&... field) {
        return std::array<FieldSpec, sizeof...(field)>{FieldSpec{field.name, field.type}...};
    },
    kType<Record>.fields);

/// What a file declares of the record.
template <class Record>
inline constexpr EventSpec kSpec{kType<Record>.uid, kType<Record>.flags, kType<Record>.logger,
                                 kType<Record>.name, kFields<Record>};

/// Appends the record as an event of the type `spec`, which has kFields<Record>.
template <class Record>
void append_event(std::vector<std::byte>& out, const Record& record,
                  const EventSpec& spec = kSpec<Record>) {
    EventEncoder event{spec, out};
    std::apply([&](const auto&... field) { (field.put(event, record), ...); },
               kType<Record>.fields);
    event.finish();
}

template <class Record>
[[nodiscard]] Record read_event(const EventView& event) {
    Record record;
    std::apply([&](const auto&... field) { (field.take(event, record), ...); },
               kType<Record>.fields);
    return record;
}

/// Which ids are defined: the same check for who writes and for who reads.
class DefinedIds {
public:
    /// True, and the record's own id counts from now on, if all that it refers to is defined and
    /// its own id is the next.
    template <class Record>
    bool admit(const Record& record) {
        const auto& fields = kType<Record>.fields;
        const bool is_good =
            std::apply([&](const auto&... field) { return (check(field, record) && ...); }, fields);
        if (is_good) {
            std::apply([&](const auto&... field) { (count(field, record), ...); }, fields);
        }
        return is_good;
    }
    /// The ids up to this one are defined.
    template <class Tag>
    [[nodiscard]] std::uint32_t last() const {
        return std::get<Last<Tag>>(last_).value;
    }
    template <class Tag>
    [[nodiscard]] bool knows(Id<Tag> id) const {
        return !id.is_none() && id.value <= last<Tag>();
    }

private:
    template <class Tag>
    struct Last {
        std::uint32_t value = 0;
    };

    template <class Field, class Record>
    [[nodiscard]] bool check(const Field& /*field*/, const Record& /*record*/) const {
        return true;
    }
    template <class Record, class Tag>
    [[nodiscard]] bool check(const IdField<Record, Tag>& field, const Record& record) const {
        const Id<Tag> id = record.*field.member;
        return field.is_defined_here ? !id.is_none() && id.value == last<Tag>() + 1 : knows(id);
    }
    template <class Field, class Record>
    void count(const Field& /*field*/, const Record& /*record*/) {}
    template <class Record, class Tag>
    void count(const IdField<Record, Tag>& field, const Record& record) {
        if (field.is_defined_here) {
            std::get<Last<Tag>>(last_).value = (record.*field.member).value;
        }
    }

    /// The session's own metric is defined by the session.
    std::tuple<Last<ProcessTag>, Last<ThreadTag>, Last<ModuleTag>, Last<MetricTag>> last_{
        {}, {}, {}, {1}};
};

}  // namespace sample::trace
