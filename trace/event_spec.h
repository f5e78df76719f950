// What a writer declares about an event type, and the declaration's bytes.
//
// A stream describes itself: every type is declared (an event "NewEvent" in stream 0) before its
// first event. Fixed-size fields come first and lie without gaps; fields of variable size follow
// them, in the order of declaration.
#pragma once

#include "trace/wire.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sample::trace {

/// The container's type byte: low 2 bits log2 of the element's size, 0x10 signed, 0x08 text, 0x40
/// floating point, 0x80 array (of variable size when the field's size is 0).
enum class FieldType : std::uint8_t {
    u8 = 0x00,
    u16 = 0x01,
    u32 = 0x02,
    u64 = 0x03,
    i32 = 0x12,
    i64 = 0x13,
    f64 = 0x43,
    text = 0x88,       ///< Bytes; ours are UTF-8.
    wide_text = 0x89,  ///< UTF-16.
    bytes = 0x80,
    u32_array = 0x82,
    u64_array = 0x83,
};

[[nodiscard]] constexpr bool is_variable(FieldType type) noexcept {
    return (static_cast<unsigned>(type) & 0x80U) != 0;
}
[[nodiscard]] constexpr std::size_t element_bytes(FieldType type) noexcept {
    return std::size_t{1} << (static_cast<unsigned>(type) & 3U);
}
[[nodiscard]] constexpr std::size_t fixed_bytes(FieldType type) noexcept {
    return is_variable(type) ? 0 : element_bytes(type);
}

struct FieldSpec {
    std::string_view name;
    FieldType type;
};

/// A type of event that we write. At most 32 fields; names have at most 255 bytes.
struct EventSpec {
    std::uint16_t uid;
    std::uint8_t flags;  ///< wire::kImportant and its kin.
    std::string_view logger;
    std::string_view name;
    std::span<const FieldSpec> fields;

    [[nodiscard]] constexpr bool is_important() const noexcept {
        return (flags & wire::kImportant) != 0;
    }
    [[nodiscard]] constexpr bool has_serial() const noexcept {
        return (flags & wire::kNoSync) == 0;
    }
    [[nodiscard]] constexpr bool has_aux() const noexcept {
        return (flags & wire::kMaybeHasAux) != 0;
    }
};

/// Appends the declaration of `spec`, as it stands in stream 0.
void append_declaration(std::vector<std::byte>& out, const EventSpec& spec);

}  // namespace sample::trace
