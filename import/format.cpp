#include "import/format.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sample::imports {

namespace {

constexpr std::array<std::pair<Format, std::string_view>, 7> kNames{{
    {Format::json, "json"},
    {Format::speedscope, "speedscope"},
    {Format::pprof, "pprof"},
    {Format::perf_script, "perf-script"},
    {Format::folded, "folded"},
    {Format::folded_threads, "folded-threads"},
    {Format::luau, "luau"},
}};

}  // namespace

std::string_view name_of(Format format) {
    return kNames[static_cast<std::size_t>(format)].second;
}

std::string format_names() {
    std::string list;
    for (const auto& [format, name] : kNames) {
        list += list.empty() ? "" : ", ";
        list += name;
    }
    return list;
}

Result<Format> find_format(std::string_view name) {
    const auto* found = std::find_if(kNames.begin(), kNames.end(),
                                     [&](const auto& each) { return each.second == name; });
    if (found == kNames.end()) {
        std::string message = "--from cannot be '";
        message += name;
        message += "': choose one of " + format_names();
        return unexpected(ErrorCode::invalid_argument, std::move(message));
    }
    return found->first;
}

}  // namespace sample::imports
