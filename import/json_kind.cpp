#include "import/json_kind.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace sample::imports {

namespace {

using nlohmann::json;

/// Receives nlohmann-json's events, and keeps what is wrong. Returning false stops the parser.
struct Faults : nlohmann::detail::json_sax_acceptor<json> {
    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const nlohmann::detail::exception& exception) {
        // "[json.exception.parse_error.101] parse error at line …": the part in brackets helps
        // nobody.
        std::string_view what{exception.what()};
        const std::size_t end = what.find(']');
        what.remove_prefix(end == std::string_view::npos ? 0 : end + 2);
        fault = "malformed JSON at byte " + std::to_string(position) + ": ";
        fault += what;
        return false;
    }

    std::string fault;
};

struct FieldFinder : Faults {
    explicit FieldFinder(std::span<const RootField> wanted) : fields{wanted} {}

    /// A value begins, which is a scalar of this text, or none.
    bool value(const std::string& scalar, bool is_text = false) {
        const std::string_view key = depth == 0 ? kArrayRoot : std::string_view{last_key};
        for (std::size_t i = 0; i < fields.size() && depth <= 1; ++i) {
            const std::string_view asked = fields[i].value;
            const bool is_value = asked.empty() || scalar == asked ||
                                  (is_text && scalar.find(asked) != std::string::npos);
            if (fields[i].key == key && is_value) {
                found = i;
                return false;
            }
        }
        return true;
    }
    bool null() { return value({}); }
    bool boolean(bool /*value*/) { return value({}); }
    bool number_integer(std::int64_t /*value*/) { return value({}); }
    bool number_unsigned(std::uint64_t number) { return value(std::to_string(number)); }
    bool number_float(double /*value*/, const std::string& /*text*/) { return value({}); }
    bool string(const std::string& text) { return value(text, true); }
    bool key(const std::string& key) {
        if (depth == 1) {
            last_key = key;
        }
        return true;
    }
    bool start_array(std::size_t /*size*/) { return value({}) && ++depth != 0; }
    bool end_array() { return depth-- != 0; }
    bool start_object(std::size_t /*size*/) { return (depth == 0 || value({})) && ++depth != 0; }
    bool end_object() { return depth-- != 0; }

    std::span<const RootField> fields;
    std::size_t depth = 0;
    std::string last_key;
    std::optional<std::size_t> found;
};

}  // namespace

bool is_like_json(std::string_view text) {
    const auto skip = [&text](std::string_view what) {
        text.remove_prefix(std::min(text.find_first_not_of(what), text.size()));
    };
    constexpr std::string_view kSpaces = " \t\r\n";
    skip(kSpaces);
    const bool is_array = text.starts_with('[');
    skip("[ \t\r\n");
    const bool is_object = text.starts_with('{');
    text.remove_prefix(is_object ? 1 : 0);
    skip(kSpaces);
    const std::string_view may_follow = is_object ? "\"}" : "\"]";
    return (is_array || is_object) &&
           (text.empty() || may_follow.find(text.front()) != std::string_view::npos);
}

Result<std::optional<std::size_t>> find_root_field(std::string_view text,
                                                   std::span<const RootField> fields) {
    FieldFinder finder{fields};
    if (json::sax_parse(text, &finder) || finder.found) {
        return finder.found;
    }
    return unexpected(ErrorCode::corrupt, finder.fault);
}

Unexpected malformed_json(std::string_view text, std::string_view what) {
    Faults faults;
    return unexpected(ErrorCode::corrupt, json::sax_parse(text, &faults)
                                              ? std::string{"malformed JSON: "}.append(what)
                                              : faults.fault);
}

}  // namespace sample::imports
