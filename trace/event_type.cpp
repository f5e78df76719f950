#include "trace/event_type.h"

#include "trace/wire.h"

#include <algorithm>

namespace sample::trace {
namespace {

constexpr std::size_t kHeadBytes = 6;
constexpr std::size_t kFieldBytes = 8;
constexpr std::uint8_t kReferenceFamily = 1;

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

std::optional<EventType> parse_declaration(std::span<const std::byte> payload) {
    if (payload.size() < kHeadBytes) {
        return std::nullopt;
    }
    const auto byte_at = [payload](std::size_t at) {
        return std::to_integer<std::uint8_t>(payload[at]);
    };
    const std::size_t field_count = byte_at(2);
    const std::size_t names_at = kHeadBytes + field_count * kFieldBytes;
    EventType type;
    type.uid = wire::load<std::uint16_t>(payload.data());
    type.flags = byte_at(3);
    if (type.uid < wire::kFirstUserUid || names_at > payload.size()) {
        return std::nullopt;
    }
    bool ok = true;
    std::span<const std::byte> names = payload.subspan(names_at);
    type.name = take_name(names, byte_at(4), ok) + ".";
    type.name += take_name(names, byte_at(5), ok);
    type.fields.reserve(field_count);
    for (std::size_t i = 0; i < field_count; ++i) {
        const std::size_t at = kHeadBytes + i * kFieldBytes;
        DeclaredField field;
        field.offset = wire::load<std::uint16_t>(payload.data() + at + 2);
        field.size = wire::load<std::uint16_t>(payload.data() + at + 4);
        field.type_code = byte_at(at + 6);
        if (byte_at(at) == kReferenceFamily) {
            field.size = static_cast<std::uint16_t>(field.element_bytes());
        }
        ok = ok && (field.is_array() || field.size == field.element_bytes());
        field.name = take_name(names, byte_at(at + 7), ok);
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
