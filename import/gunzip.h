// Unpacking gzip, within bounds.
#pragma once

#include "core/result.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace sample::imports {

[[nodiscard]] bool is_gzip(std::string_view bytes);

/// All members of a gzip file, joined. Errors: corrupt or truncated, with the byte; unsupported for
/// what unpacks to more than `max_bytes`, of which no more memory is taken. Source: RFC 1952.
[[nodiscard]] Result<std::string> gunzip(std::string_view bytes, std::size_t max_bytes);

}  // namespace sample::imports
