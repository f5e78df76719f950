// The functions of a profile as a flat list.
#include "callgraph/label.h"
#include "callgraph/transforms.h"
#include "cli/views/table.h"
#include "cli/views/views.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sample::cli {

using callgraph::Function;

namespace {

void sort_by(const callgraph::Profile& profile, SortKey key, std::vector<FunctionId>& ids) {
    callgraph::sort_by_self(profile, ids);
    const auto sort = [&](auto is_before) {
        std::stable_sort(ids.begin(), ids.end(), [&](FunctionId a, FunctionId b) {
            return is_before(profile.function(a), profile.function(b));
        });
    };
    if (key == SortKey::total) {
        sort([](const Function& a, const Function& b) { return a.total > b.total; });
    } else if (key == SortKey::samples) {
        sort([](const Function& a, const Function& b) { return a.samples > b.samples; });
    } else if (key == SortKey::name) {
        sort([](const Function& a, const Function& b) { return a.name < b.name; });
    }
}

}  // namespace

std::string functions_view(const callgraph::Profile& profile, const ViewOptions& options) {
    const std::uint64_t least = threshold(root_total(profile), options, 0.0);
    std::vector<FunctionId> ids = callgraph::find_functions(profile, options.search);
    std::erase_if(ids, [&](FunctionId id) { return profile.function(id).total < least; });
    const std::size_t hidden = profile.functions.size() - ids.size();
    sort_by(profile, options.sort, ids);
    if (!options.json) {
        std::erase_if(ids, [&](FunctionId id) { return is_start(profile.function(id)); });
        std::stable_partition(ids.begin(), ids.end(), [&](FunctionId id) {
            return !callgraph::is_without_stack(profile.function(id));
        });
    }
    const auto id = values_of(ids);
    const auto function = [&](auto get) {
        return id(
            [&profile, get](FunctionId of) { return std::invoke(get, profile.function(of)); });
    };
    Table table;
    table.measure = measure_of(profile, options.unit);
    table.rows = ids.size();
    const std::string shares = options.unit == Unit::weight ? "share" : "";
    const auto known_samples = [&](std::uint64_t samples) {
        return or_null(profile.stats.known_samples(samples));
    };
    table.columns = {
        {"id", "", Kind::id, id(&FunctionId::value)},
        {"name", "", Kind::word, function(&Function::name)},
        {"source", "", Kind::word, function(&Function::source)},
        {"line", "", Kind::id, function(&Function::line)},
        {"module", "", Kind::word,
         function([&](const Function& of) { return profile.module_of(of).name; })},
        {"flags", "", Kind::id, function(&Function::flags)},
        {table.measure.key("total"), "total", Kind::weight, function(&Function::total)},
        {"", shares, Kind::share, function(&Function::total), table.measure.whole},
        {table.measure.key("self"), "self", Kind::weight, function(&Function::self),
         table.measure.whole},
        {"", shares, Kind::share, function(&Function::self), table.measure.whole},
        {"samples", is_narrow(options.terminal) ? "" : "samples", Kind::count,
         function([&](const Function& of) { return known_samples(of.samples); })},
        {"self_samples", "", Kind::count,
         function([&](const Function& of) { return known_samples(of.self_samples); })}};
    table.name_heading = "function";
    table.name = [&](std::size_t row, std::size_t room) {
        return name_and_place(profile.function(ids[row]), room, options.terminal);
    };
    table.empty = profile.functions.empty() ? "no functions: no sample has a stack" : "";
    std::string below = start_text(profile, table.measure);
    below += below.empty() ? "" : "\n";
    below += hidden == 0
                 ? ""
                 : counted(hidden, "function") + " not shown because of --min or --search\n";
    return print(profile, options, "functions", table, std::move(below));
}

}  // namespace sample::cli
