#include "export/functions_json.h"

#include "callgraph/label.h"
#include "export/json_string.h"

#include <string_view>

namespace sample::exports {

void write_function_objects(Writer& out, const callgraph::Profile& profile) {
    std::string_view before = "\n";
    for (const callgraph::Function& function : profile.functions) {
        out.text(before).text("{\"name\":").text(json_string(callgraph::label(function)));
        if (!function.source.empty()) {
            out.text(",\"file\":").text(json_string(function.source));
        }
        if (function.line != 0) {
            out.text(",\"line\":").number(function.line);
        }
        if (function.module != 0) {
            out.text(",\"module\":").number(function.module);
        }
        out.text("}");
        before = ",\n";
        if (!out.is_good()) {
            return;
        }
    }
}

}  // namespace sample::exports
