// One event being read: typed access to its fields, by name.
#pragma once

#include "trace/event_type.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sample::trace {

/// A piece of a field of variable size.
struct AuxBlock {
    std::size_t field = 0;  ///< Index in the type; beyond its fields: the attachment.
    std::span<const std::byte> data;
};

enum class EventStyle : std::uint8_t {
    plain,
    enter,  ///< A scope begins with it.
    leave,  ///< The scope that it began ends. It has no fields: all read as 0 or empty.
};

/// What a stream says of one event beside its fields.
struct Occurrence {
    EventStyle style = EventStyle::plain;
    std::optional<std::uint64_t> cycle;   ///< Of scopes with times, in the stream's own clock.
    std::optional<std::uint32_t> serial;  ///< 24 bits; none: NoSync, or a leave.
};

/// Valid only during the call that it is handed to. A field that the recording's type lacks, or
/// that has another kind of type, reads as 0 or as empty, so that old and new recordings can be
/// read by one analyzer.
class EventView {
public:
    EventView(const EventType& type, std::uint16_t stream, std::span<const std::byte> fixed,
              std::span<const AuxBlock> aux, std::vector<std::byte>& scratch,
              const Occurrence& occurrence = {}) noexcept
        : type_{type},
          stream_{stream},
          fixed_{fixed},
          aux_{aux},
          scratch_{scratch},
          occurrence_{occurrence} {}

    [[nodiscard]] const EventType& type() const noexcept { return type_; }
    /// The tid of the packets that it came in: who said it, from wire::kFirstThreadStream on.
    [[nodiscard]] std::uint16_t stream() const noexcept { return stream_; }
    [[nodiscard]] EventStyle style() const noexcept { return occurrence_.style; }
    [[nodiscard]] const Occurrence& occurrence() const noexcept { return occurrence_; }
    /// An integer field, widened or cut to T.
    template <class T>
    [[nodiscard]] T number(std::string_view field) const {
        return static_cast<T>(integer(field));
    }
    /// A floating-point field.
    [[nodiscard]] double real(std::string_view field) const;
    /// A text field, narrow (as it stands) or wide (made UTF-8).
    [[nodiscard]] std::string text(std::string_view field) const;
    /// An array's bytes. Valid until the next call on this event.
    [[nodiscard]] std::span<const std::byte> bytes(std::string_view field) const;
    /// The raw bytes that old writers put behind the fields. Valid as bytes() is.
    [[nodiscard]] std::span<const std::byte> attachment() const;

private:
    [[nodiscard]] std::uint64_t integer(std::string_view field) const;
    [[nodiscard]] std::span<const std::byte> bytes_of(std::size_t index) const;
    /// The blocks of one field, or of all beyond the last one.
    [[nodiscard]] std::span<const std::byte> joined(std::size_t first, std::size_t last) const;
    [[nodiscard]] bool has(const DeclaredField& field) const noexcept {
        return std::size_t{field.offset} + field.size <= fixed_.size();
    }

    const EventType& type_;
    std::uint16_t stream_;
    std::span<const std::byte> fixed_;
    std::span<const AuxBlock> aux_;
    std::vector<std::byte>& scratch_;
    Occurrence occurrence_;
};

}  // namespace sample::trace
