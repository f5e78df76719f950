// Named values as CBOR: how the container carries what is said of a zone. Source: RFC 8949.
#pragma once

#include "trace/instrumentation.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sample::trace {

/// A map from names to values.
[[nodiscard]] std::vector<std::uint8_t> cbor_from_values(std::span<const NamedValue> values);
/// An array of the values' names.
[[nodiscard]] std::vector<std::uint8_t> cbor_from_names(std::span<const NamedValue> values);

/// The values of a map with their names; of an array, or of one value, with `names` as far as there
/// are, else their places ("0", "1", …). A boolean is an integer; null and bytes are an empty text;
/// maps and arrays inside are read flat. nullopt: bytes that do not parse, or that go deeper
/// than 16.
[[nodiscard]] std::optional<std::vector<NamedValue>> values_from_cbor(
    std::span<const std::byte> cbor, std::span<const std::string> names = {});

/// The texts of an array; those of what is no such array are none.
[[nodiscard]] std::vector<std::string> names_from_cbor(std::span<const std::byte> cbor);

}  // namespace sample::trace
