// Who may read live data: whoever knows the address that `sample` has printed.
//
// The address has a random token. It keeps other users of the machine out, who can reach the port
// as well as we. The checks of Host and Origin keep pages of the web out, which a browser of ours
// shows: one that gave its own name this machine's address (DNS rebinding), or that asks across.
#pragma once

#include "core/result.h"
#include "server/request.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sample::server {

inline constexpr int kOk = 200;
inline constexpr int kBadRequest = 400;
inline constexpr int kForbidden = 403;
inline constexpr int kNotFound = 404;
inline constexpr int kMethodNotAllowed = 405;

enum class Page : std::uint8_t { none, index, snapshot, events };

/// What a request is answered: `page` if `status` is kOk.
struct Verdict {
    int status = 0;
    Page page = Page::none;
};

/// 128 random bits in hexadecimal. Errors: system.
[[nodiscard]] Result<std::string> make_token();

/// Thread-safe.
class Access {
public:
    Access(std::string token, std::uint16_t port);

    /// http://127.0.0.1:PORT/TOKEN/
    [[nodiscard]] std::string address() const;
    /// 404 without the token, whatever else is wrong: who does not know it learns nothing.
    [[nodiscard]] Verdict judge(const Request& request) const;

private:
    [[nodiscard]] bool is_our_name(std::string_view host) const;

    std::string token_;
    std::uint16_t port_;
};

}  // namespace sample::server
