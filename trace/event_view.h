// One event being read: typed access to its fields, by name.
#pragma once

#include "trace/event_type.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sample::trace {

/// A piece of a field of variable size.
struct AuxBlock {
    std::size_t field = 0;  ///< Index in the type.
    std::span<const std::byte> data;
};

/// Valid only during the call that it is handed to. A field that the recording's type lacks, or
/// that has another kind of type, reads as 0 or as empty, so that old and new recordings can be
/// read by one analyzer.
class EventView {
public:
    EventView(const EventType& type, std::span<const std::byte> fixed,
              std::span<const AuxBlock> aux, std::vector<std::byte>& scratch) noexcept
        : type_{type}, fixed_{fixed}, aux_{aux}, scratch_{scratch} {}

    [[nodiscard]] const EventType& type() const noexcept { return type_; }
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

private:
    [[nodiscard]] std::uint64_t integer(std::string_view field) const;
    [[nodiscard]] std::span<const std::byte> bytes_of(std::size_t index) const;

    const EventType& type_;
    std::span<const std::byte> fixed_;
    std::span<const AuxBlock> aux_;
    std::vector<std::byte>& scratch_;
};

}  // namespace sample::trace
