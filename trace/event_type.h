// An event type as a stream declares it: what a reader knows of events it has never heard of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sample::trace {

/// One field of a declared type. `type_code` is the container's type byte (event_spec.h).
struct DeclaredField {
    std::string name;
    std::uint16_t offset = 0;
    std::uint16_t size = 0;  ///< In the fixed part; 0: of variable size.
    std::uint8_t type_code = 0;

    [[nodiscard]] bool is_variable() const noexcept { return is_array() && size == 0; }
    [[nodiscard]] bool is_text() const noexcept { return is_array() && (type_code & 0x08U) != 0; }
    [[nodiscard]] bool is_array() const noexcept { return (type_code & 0x80U) != 0; }
    [[nodiscard]] bool is_signed() const noexcept { return (type_code & 0x10U) != 0; }
    [[nodiscard]] bool is_float() const noexcept { return (type_code & 0x40U) != 0; }
    [[nodiscard]] std::size_t element_bytes() const noexcept {
        return std::size_t{1} << (type_code & 3U);
    }
};

struct EventType {
    std::uint16_t uid = 0;
    std::uint8_t flags = 0;        ///< wire::kImportant and its kin.
    std::string name;              ///< "Logger.Event".
    std::size_t logger_bytes = 0;  ///< Of the name: the logger.
    std::vector<DeclaredField> fields;
    std::size_t fixed_bytes = 0;

    [[nodiscard]] bool has_variable_fields() const;
    /// The index of a field; nullopt if the stream's type lacks it.
    [[nodiscard]] std::optional<std::size_t> field(std::string_view field_name) const;
};

/// Reads a NewEvent payload as a protocol has it. nullopt: not a declaration.
[[nodiscard]] std::optional<EventType> parse_declaration(std::span<const std::byte> payload,
                                                         std::uint8_t protocol);

}  // namespace sample::trace
