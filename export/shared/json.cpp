#include "export/shared/json.h"

#include "callgraph/label.h"

#include <nlohmann/json.hpp>

namespace sample::exports {

std::string json_string(std::string_view text) {
    constexpr int kNoIndent = -1;
    return nlohmann::json(text).dump(kNoIndent, ' ', false,
                                     nlohmann::json::error_handler_t::replace);
}

void json_known(Writer& out, std::string_view key, std::uint64_t value) {
    if (value != 0) {
        out.put(",\"", key, "\":", value);
    }
}

void write_functions(Writer& out, const callgraph::Profile& profile) {
    out.put("[");
    json_list(out, profile.functions.size(), "\n", ",\n", [&](std::size_t i) {
        const callgraph::Function& function = profile.functions[i];
        out.put("{\"name\":", json_string(callgraph::label(function)));
        if (!function.source.empty()) {
            out.put(",\"file\":", json_string(function.source));
        }
        json_known(out, "line", function.line);
        json_known(out, "module", function.module);
        out.put("}");
    });
}

}  // namespace sample::exports
