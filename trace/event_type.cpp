#include "trace/event_type.h"

#include "trace/wire.h"

#include <algorithm>

namespace sample::trace {
namespace {

constexpr std::size_t kHeadBytes = 6;
constexpr std::size_t kFamilyBytes = 2;
constexpr std::size_t kFieldBytes = 6;
constexpr std::uint8_t kFirstProtocolWithFamilies = 6;
constexpr unsigned kReferenceFamily = 1;
constexpr unsigned kDefinitionIdFamily = 2;

/// Takes `size` bytes of names off the front of `names`; an empty name if there are not so many.
std::string take_name(std::span<const std::byte>& names, std::size_t size, bool& ok) {
    if (size > names.size()) {
        ok = false;
        return {};
    }
    std::string name(reinterpret_cast<const char*>(names.data()), size);
    names = names.subspan(size);
    return name;
}

/// All of a field but its name: {u16 offset, u16 size, u8 type, u8 length of the name}.
DeclaredField parse_field(const std::byte* at, unsigned family) {
    DeclaredField field;
    field.offset = wire::load<std::uint16_t>(at);
    field.size = wire::load<std::uint16_t>(at + 2);
    field.type_code = std::to_integer<std::uint8_t>(at[4]);
    if (family == kDefinitionIdFamily) {
        // It has no name. Most parsers find the type where that one's length would be, one where
        // the type is otherwise; only an unsigned integer makes sense.
        const auto last = std::to_integer<std::uint8_t>(at[5]);
        field.type_code = last <= 3 && last != 0 ? last : field.type_code & 3U;
        field.name = "DefinitionId";
    }
    if (family == kReferenceFamily || family == kDefinitionIdFamily) {
        field.size = static_cast<std::uint16_t>(field.element_bytes());
    }
    return field;
}

}  // namespace

std::optional<std::size_t> EventType::field(std::string_view field_name) const {
    const auto found = std::find_if(
        fields.begin(), fields.end(),
        [field_name](const DeclaredField& candidate) { return candidate.name == field_name; });
    if (found == fields.end()) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(found - fields.begin());
}

bool EventType::has_variable_fields() const {
    return std::any_of(fields.begin(), fields.end(),
                       [](const DeclaredField& field) { return field.is_variable(); });
}

std::optional<EventType> parse_declaration(std::span<const std::byte> payload,
                                           std::uint8_t protocol) {
    if (payload.size() < kHeadBytes) {
        return std::nullopt;
    }
    const auto byte_at = [payload](std::size_t at) {
        return std::to_integer<std::uint8_t>(payload[at]);
    };
    const std::size_t family_bytes = protocol >= kFirstProtocolWithFamilies ? kFamilyBytes : 0;
    const std::size_t field_bytes = family_bytes + kFieldBytes;
    const std::size_t field_count = byte_at(2);
    const std::size_t names_at = kHeadBytes + field_count * field_bytes;
    EventType type;
    type.uid = wire::load<std::uint16_t>(payload.data());
    type.flags = byte_at(3);
    if (type.uid < wire::kFirstUserUid || names_at > payload.size()) {
        return std::nullopt;
    }
    bool ok = true;
    std::span<const std::byte> names = payload.subspan(names_at);
    type.name = take_name(names, byte_at(4), ok) + ".";
    type.logger_bytes = type.name.size() - 1;
    type.name += take_name(names, byte_at(5), ok);
    type.fields.reserve(field_count);
    for (std::size_t i = 0; i < field_count; ++i) {
        const std::size_t at = kHeadBytes + i * field_bytes;
        const unsigned family = family_bytes != 0 ? byte_at(at) : 0;
        DeclaredField field = parse_field(payload.data() + at + family_bytes, family);
        ok = ok && (field.is_array() || field.size == field.element_bytes());
        if (family != kDefinitionIdFamily) {
            field.name = take_name(names, byte_at(at + family_bytes + 5), ok);
        }
        type.fixed_bytes = std::max(
            type.fixed_bytes, std::size_t{field.offset} + (field.size != 0 ? field.size : 0U));
        type.fields.push_back(std::move(field));
    }
    if (!ok) {
        return std::nullopt;
    }
    return type;
}

}  // namespace sample::trace
