#include "import/json_kind.h"

#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <string>
#include <utility>

namespace sample::imports {

namespace {

/// Fields of the root that say it all by being there.
constexpr std::array<std::pair<std::string_view, JsonKind>, 6> kTellingFields{{
    {"profiles", JsonKind::speedscope},
    {"traceEvents", JsonKind::chrome_trace},
    {"timeDeltas", JsonKind::chrome_cpu},
    {"meta", JsonKind::firefox},
    {"threads", JsonKind::firefox},
    {"libs", JsonKind::firefox},
}};

/// Receives nlohmann-json's events. Returning false stops the parser.
class Handler {
public:
    bool null() { return true; }
    bool boolean(bool /*value*/) { return true; }
    bool number_integer(std::int64_t /*value*/) { return true; }
    bool number_unsigned(std::uint64_t value) {
        const bool is_version = depth_ == 1 && key_ == "Version";
        return !is_version ||
               found(value == 1 ? JsonKind::script_profiler_1 : JsonKind::script_profiler_2);
    }
    bool number_float(double /*value*/, const std::string& /*text*/) { return true; }
    bool string(const std::string& value) {
        return depth_ != 1 || key_ != "$schema" || value.find("speedscope") == std::string::npos ||
               found(JsonKind::speedscope);
    }
    bool binary(const nlohmann::json::binary_t& /*value*/) { return true; }
    bool start_object(std::size_t /*size*/) {
        ++depth_;
        return true;
    }
    bool key(const std::string& key) {
        if (depth_ != 1) {
            return true;
        }
        key_ = key;
        for (const auto& [name, kind] : kTellingFields) {
            if (key == name) {
                return found(kind);
            }
        }
        return true;
    }
    bool end_object() {
        --depth_;
        return true;
    }
    bool start_array(std::size_t /*size*/) {
        // The other form of a trace for Chrome is an array of events.
        return depth_++ != 0 || found(JsonKind::chrome_trace);
    }
    bool end_array() {
        --depth_;
        return true;
    }
    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const nlohmann::detail::exception& exception) {
        error_ = malformed_json(position, exception.what()).error;
        return false;
    }

    [[nodiscard]] std::optional<JsonKind> kind() const { return kind_; }
    [[nodiscard]] const Error& error() const { return error_; }

private:
    bool found(JsonKind kind) {
        kind_ = kind;
        return false;
    }

    std::size_t depth_ = 0;
    std::string key_;
    std::optional<JsonKind> kind_;
    Error error_;
};

}  // namespace

Result<JsonKind> kind_of_json(std::string_view text) {
    Handler handler;
    if (nlohmann::json::sax_parse(text, &handler)) {
        return JsonKind::unknown;
    }
    if (handler.kind()) {
        return *handler.kind();
    }
    return unexpected(handler.error());
}

Unexpected malformed_json(std::size_t position, std::string_view what) {
    // "[json.exception.parse_error.101] parse error at line …": the part in brackets helps nobody.
    const std::size_t end = what.find(']');
    what.remove_prefix(end == std::string_view::npos ? 0 : end + 2);
    return unexpected(ErrorCode::corrupt, std::string{"malformed JSON at byte "}
                                              .append(std::to_string(position))
                                              .append(": ")
                                              .append(what));
}

}  // namespace sample::imports
