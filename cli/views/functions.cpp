// The functions of a profile as a flat list.
#include "callgraph/transforms.h"
#include "cli/views/json.h"
#include "cli/views/text.h"
#include "cli/views/view_parts.h"
#include "cli/views/views.h"

#include <algorithm>
#include <vector>

namespace sample::cli {
namespace {

constexpr std::size_t kCountColumn = 10;

std::vector<FunctionId> shown_functions(const callgraph::Profile& profile,
                                        const ViewOptions& options) {
    const std::uint64_t least_ns = threshold_ns(profile, options, 0.0);
    std::vector<FunctionId> ids = callgraph::find_functions(profile, options.search);
    std::erase_if(ids, [&](FunctionId id) { return profile.function(id).total_ns < least_ns; });
    callgraph::sort_by_self(profile, ids);
    return ids;
}

/// Name and place in what is left of the line.
std::string name_and_location(const callgraph::Function& function, std::size_t column,
                              const Terminal& terminal) {
    const std::size_t used = 2 * column + kCountColumn + 4;
    constexpr std::size_t kLeast = 24;
    std::string name = function_label(function);
    std::string location = location_text(function, terminal.width == 0);
    if (function.name.empty()) {
        location.clear();  // The label is the location.
    }
    if (terminal.width != 0) {
        const std::size_t left = std::max(terminal.width, used + kLeast) - used;
        location = shorten_name(location, std::max<std::size_t>(left / 3, 1), terminal);
        const std::size_t beside = location.empty() ? 0 : display_width(location) + 2;
        name = shorten_name(name, left - beside, terminal);
    }
    if (!location.empty()) {
        name += "  " + styled(terminal, Style::dim, location);
    }
    return name;
}

}  // namespace

std::string functions_view(const callgraph::Profile& profile, const ViewOptions& options) {
    const Terminal& terminal = options.terminal;
    const std::string unit = unit_heading(profile, options);
    const std::size_t column = duration_column(profile, options);
    const std::vector<FunctionId> ids = shown_functions(profile, options);
    std::string out = session_line(profile, terminal) + "\n\n";
    out += styled(terminal, Style::bold,
                  pad_left("total " + unit, column) + " " + pad_left("self " + unit, column) + " " +
                      pad_left("samples", kCountColumn) + "  function") +
           "\n";
    for (const FunctionId id : ids) {
        const callgraph::Function& function = profile.function(id);
        const double percent = percent_of(function.self_ns, root_total_ns(profile));
        out += pad_left(duration_cell(profile, function.total_ns, options.unit), column) + " ";
        out += styled(terminal, heat(percent),
                      pad_left(duration_cell(profile, function.self_ns, options.unit), column));
        out += " " + pad_left(std::to_string(function.samples), kCountColumn) + "  ";
        out += name_and_location(function, column, terminal) + "\n";
    }
    if (profile.functions.empty()) {
        out += "no functions: no sample has a stack\n";
    }
    std::string footer;
    if (ids.size() < profile.functions.size()) {
        footer += counted(profile.functions.size() - ids.size(), "function") +
                  " not shown because of --min or --search\n";
    }
    for (const std::string& line : warnings(profile)) {
        footer += "note: " + line + "\n";
    }
    if (!footer.empty()) {
        out += "\n" + styled(terminal, Style::dim, footer);
    }
    return out;
}

std::string functions_json(const callgraph::Profile& profile, const ViewOptions& options) {
    Json functions = Json::array();
    for (const FunctionId id : shown_functions(profile, options)) {
        const callgraph::Function& function = profile.function(id);
        functions.push_back({{"id", id.value},
                             {"name", function.name},
                             {"source", function.source},
                             {"line", function.line},
                             {"module", profile.module_of(function).name},
                             {"flags", function.flags},
                             {weight_key(profile, "total"), weight(profile, function.total_ns)},
                             {weight_key(profile, "self"), weight(profile, function.self_ns)},
                             {"samples", function.samples},
                             {"self_samples", function.self_samples}});
    }
    Json out = session_json(profile);
    out["functions"] = std::move(functions);
    return dump(out);
}

}  // namespace sample::cli
