// The functions of a profile as a flat list.
#include "callgraph/transforms.h"
#include "cli/views/json.h"
#include "cli/views/text.h"

#include <fmt/format.h>

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
    std::string name = function_label(function);
    // Without a name, the label is the location.
    std::string location =
        function.name.empty() ? "" : location_text(function, terminal.width == 0);
    constexpr std::size_t kLeast = 24;
    if (const std::size_t room = room_beside(2 * column + kCountColumn + 4, terminal, kLeast);
        room != 0) {
        location = shorten_name(location, std::max<std::size_t>(room / 3, 1), terminal);
        const std::size_t beside = location.empty() ? 0 : display_width(location) + 2;
        name = shorten_name(name, room - beside, terminal);
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
                  fmt::format("{:>{}} {:>{}} {:>{}}  function", "total " + unit, column,
                              "self " + unit, column, "samples", kCountColumn)) +
           "\n";
    for (const FunctionId id : ids) {
        const callgraph::Function& function = profile.function(id);
        const auto cell = [&](std::uint64_t ns) {
            return pad_left(duration_cell(profile, ns, options.unit), column);
        };
        out += fmt::format(
            "{} {} {:>{}}  {}\n", cell(function.total_ns),
            styled(terminal, heat(percent_of(function.self_ns, root_total_ns(profile))),
                   cell(function.self_ns)),
            function.samples, kCountColumn, name_and_location(function, column, terminal));
    }
    if (profile.functions.empty()) {
        out += "no functions: no sample has a stack\n";
    }
    const std::size_t hidden = profile.functions.size() - ids.size();
    return out + footer(profile, terminal,
                        hidden == 0 ? ""
                                    : counted(hidden, "function") +
                                          " not shown because of --min or --search\n");
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
