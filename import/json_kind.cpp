#include "import/json_kind.h"

#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <string>
#include <utility>

namespace sample::imports {

namespace {

using nlohmann::json;

/// Fields of the root that say it all by being there.
constexpr std::array<std::pair<std::string_view, JsonKind>, 6> kTellingFields{{
    {"profiles", JsonKind::speedscope},
    {"traceEvents", JsonKind::chrome},
    {"timeDeltas", JsonKind::chrome},
    {"meta", JsonKind::firefox},
    {"threads", JsonKind::firefox},
    {"libs", JsonKind::firefox},
}};

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

struct KindFinder : Faults {
    bool found(JsonKind what) {
        kind = what;
        return false;
    }
    bool number_unsigned(std::uint64_t value) {
        const bool is_version = depth == 1 && last_key == "Version";
        return !is_version ||
               found(value == 1 ? JsonKind::script_profiler_1 : JsonKind::script_profiler_2);
    }
    bool string(const std::string& value) {
        return depth != 1 || last_key != "$schema" ||
               value.find("speedscope") == std::string::npos || found(JsonKind::speedscope);
    }
    bool key(const std::string& key) {
        if (depth != 1) {
            return true;
        }
        last_key = key;
        for (const auto& [name, its_kind] : kTellingFields) {
            if (key == name) {
                return found(its_kind);
            }
        }
        return true;
    }
    // The other form of a trace for Chrome is an array of events.
    bool start_array(std::size_t /*size*/) { return depth++ != 0 || found(JsonKind::chrome); }
    bool end_array() { return depth-- != 0; }
    bool start_object(std::size_t /*size*/) { return ++depth != 0; }
    bool end_object() { return depth-- != 0; }

    std::size_t depth = 0;
    std::string last_key;
    std::optional<JsonKind> kind;
};

}  // namespace

Result<JsonKind> kind_of_json(std::string_view text) {
    KindFinder finder;
    if (json::sax_parse(text, &finder)) {
        return JsonKind::unknown;
    }
    return finder.kind ? Result<JsonKind>{*finder.kind}
                       : unexpected(ErrorCode::corrupt, finder.fault);
}

Unexpected malformed_json(std::string_view text, std::string_view what) {
    Faults faults;
    return unexpected(ErrorCode::corrupt, json::sax_parse(text, &faults)
                                              ? std::string{"malformed JSON: "}.append(what)
                                              : faults.fault);
}

}  // namespace sample::imports
