// Domains, string handles and counters: the structs that programs hold, and what we know of each,
// which their `extra2` leads to. The static part makes some of them itself, before it knows us;
// what we know of those is made when they are first used.
//
// Thread-safe, without a lock.
#pragma once

#include "receivers/itt/abi.h"
#include "receivers/shared/names.h"

#include <atomic>
#include <cstdint>
#include <string_view>

namespace sample::itt {

using receivers::Name;

/// The same domain for the same name.
[[nodiscard]] Domain* domain(std::string_view name) noexcept;
/// The same handle for the same text.
[[nodiscard]] StringHandle* string_handle(std::string_view text) noexcept;

/// Null stands for "ITT".
[[nodiscard]] Name& name_of(const Domain* domain) noexcept;
/// Null stands for "unnamed".
[[nodiscard]] Name& name_of(const StringHandle* handle) noexcept;

struct Counter {
    Name* name;  ///< "domain: name", or the name alone.
    MetadataType type;
    /// An integer, or the bits of a double.
    std::atomic<std::uint64_t> value;
};

[[nodiscard]] CounterInfo* counter_info(std::string_view name, std::string_view domain,
                                        MetadataType type) noexcept;
/// Null: there is no memory.
[[nodiscard]] Counter* counter_of(CounterInfo* info) noexcept;
/// The counter that is named by domain and handle, of unsigned integers. Null: there is no room.
[[nodiscard]] Counter* counter_of(const Domain* domain, const StringHandle* handle) noexcept;

}  // namespace sample::itt
