// A request of HTTP/1.1, as far as live data needs it: one line, and the two headers that say whom
// a browser takes this server for.
//
// Bytes are a stranger's. Nothing but GET without a body is served, so nothing else is understood;
// whatever is not plain is refused rather than guessed at. Source: RFC 9112, sections 2 to 5.
#pragma once

#include "core/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sample::server {

inline constexpr std::size_t kMostRequestBytes = 8192;

struct Request {
    std::string method;
    std::string target;  ///< Begins with a slash.
    std::string host;
    std::optional<std::string> origin;  ///< What a browser says of the page that asks.
};

/// How long the request at the front of `bytes` is, with the empty line that ends it; 0: the end is
/// missing.
[[nodiscard]] std::size_t request_length(std::string_view bytes);

/// Errors: corrupt.
[[nodiscard]] Result<Request> parse_request(std::string_view bytes);

}  // namespace sample::server
