#include "server/access.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cstddef>
#include <utility>

namespace sample::server {
namespace {

constexpr std::size_t kTokenBytes = 16;
constexpr std::uint16_t kUsualPort = 80;

/// In a time that does not tell how much of them is equal.
bool is_same_secret(std::string_view left, std::string_view right) {
    if (left.size() != right.size()) {
        return false;
    }
    unsigned difference = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
        difference |= static_cast<unsigned char>(left[i]) ^ static_cast<unsigned char>(right[i]);
        asm volatile("" : "+r"(difference));  // no early end: the compiler does not know it
    }
    return difference == 0;
}

}  // namespace

Result<std::string> make_token() {
    std::array<unsigned char, kTokenBytes> bits{};
    if (::getrandom(bits.data(), bits.size(), 0) != static_cast<ssize_t>(bits.size())) {
        return unexpected(Error::from_errno("cannot make a random token"));
    }
    return fmt::format("{:02x}", fmt::join(bits, ""));
}

Access::Access(std::string token, std::uint16_t port) : token_{std::move(token)}, port_{port} {}

std::string Access::address() const {
    return fmt::format("http://127.0.0.1:{}/{}/", port_, token_);
}

bool Access::is_our_name(std::string_view host) const {
    for (const std::string_view name : {"127.0.0.1", "localhost"}) {
        // A browser leaves the usual port out.
        if (host == fmt::format("{}:{}", name, port_) || (port_ == kUsualPort && host == name)) {
            return true;
        }
    }
    return false;
}

Verdict Access::judge(const Request& request) const {
    const std::string_view path = std::string_view{request.target}.substr(1);
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos || !is_same_secret(path.substr(0, slash), token_)) {
        return {kNotFound};
    }
    if (!is_our_name(request.host) ||
        (request.origin && *request.origin != "http://" + request.host)) {
        return {kForbidden};
    }
    const std::string_view name = path.substr(slash + 1);
    const Page page = name.empty()         ? Page::index
                      : name == "snapshot" ? Page::snapshot
                      : name == "events"   ? Page::events
                                           : Page::none;
    if (page == Page::none) {
        return {kNotFound};
    }
    return request.method == "GET" ? Verdict{kOk, page} : Verdict{kMethodNotAllowed};
}

}  // namespace sample::server
