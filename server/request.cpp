#include "server/request.h"

#include <algorithm>
#include <cctype>

namespace sample::server {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

/// Takes the line at the front of `rest`, which has one.
std::string_view take_line(std::string_view& rest) {
    const std::size_t end = rest.find(kLineEnd);
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + kLineEnd.size());
    return line;
}

/// Source: RFC 9110, section 5.6.2.
bool is_token(std::string_view text) {
    static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return (c < 0x80 && std::isalnum(c) != 0) ||
               kMarks.find(static_cast<char>(c)) != std::string_view::npos;
    });
}

bool has_controls(std::string_view text) {
    return std::any_of(text.begin(), text.end(),
                       [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7f; });
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t";
    const std::size_t first = text.find_first_not_of(kBlanks);
    return first == std::string_view::npos
               ? std::string_view{}
               : text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

bool is_called(std::string_view name, std::string_view lower_case) {
    return std::equal(
        name.begin(), name.end(), lower_case.begin(), lower_case.end(),
        [](unsigned char c, char lower) { return std::tolower(c) == static_cast<int>(lower); });
}

Unexpected bad_request(const char* what) {
    return unexpected(ErrorCode::corrupt, what);
}

}  // namespace

std::size_t request_length(std::string_view bytes) {
    const std::size_t end = bytes.find("\r\n\r\n");
    return end == std::string_view::npos ? 0 : end + 4;
}

Result<Request> parse_request(std::string_view bytes) {
    const std::size_t length = request_length(bytes);
    if (length == 0) {
        return bad_request("the empty line is missing");
    }
    std::string_view rest = bytes.substr(0, length);
    const std::string_view first = take_line(rest);
    const std::size_t blank = first.find(' ');
    const std::size_t last_blank = first.rfind(' ');
    if (blank == std::string_view::npos || blank == last_blank) {
        return bad_request("the first line is no request");
    }
    Request request;
    request.method = first.substr(0, blank);
    request.target = first.substr(blank + 1, last_blank - blank - 1);
    const std::string_view version = first.substr(last_blank + 1);
    if (!is_token(request.method) || !request.target.starts_with('/') ||
        request.target.find_first_of(" \t") != std::string::npos || has_controls(request.target) ||
        (version != "HTTP/1.1" && version != "HTTP/1.0")) {
        return bad_request("the first line is no request");
    }
    bool has_host = false;
    for (std::string_view line = take_line(rest); !line.empty(); line = take_line(rest)) {
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) ||
            has_controls(line)) {
            return bad_request("a header is none");
        }
        const std::string_view name = line.substr(0, colon);
        const std::string_view value = trimmed(line.substr(colon + 1));
        if (is_called(name, "host")) {
            if (has_host) {
                return bad_request("there are two hosts");
            }
            has_host = true;
            request.host = value;
        } else if (is_called(name, "origin")) {
            if (request.origin) {
                return bad_request("there are two origins");
            }
            request.origin = value;
        }
    }
    return request;
}

}  // namespace sample::server
