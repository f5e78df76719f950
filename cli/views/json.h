// JSON for the views and the doctor. Included by .cpp files only: it is costly to compile.
#pragma once

#include "callgraph/profile.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace sample::cli {

using Json = nlohmann::ordered_json;

/// `value` with an indentation of 2 and a line break at the end. ASCII, as a terminal may obey
/// other characters. Broken UTF-8 becomes U+FFFD; throws nothing.
[[nodiscard]] inline std::string dump(const Json& value) {
    constexpr int kIndent = 2;
    return value.dump(kIndent, ' ', true, Json::error_handler_t::replace) + "\n";
}

[[nodiscard]] constexpr std::uint64_t microseconds(std::uint64_t ns) noexcept {
    return ns / 1'000;
}

/// What was not measured is null.
template <class T>
[[nodiscard]] Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json{};
}

/// Nor is what is empty, or 0, where that stands for not known.
template <class T>
[[nodiscard]] Json known(const T& value) {
    return value == T{} ? Json{} : Json(value);
}

/// The members that every view's object begins with.
[[nodiscard]] Json session_json(const callgraph::Profile& profile);
/// Those of the view stats, which the summary has, too.
[[nodiscard]] Json stats_members(const callgraph::Profile& profile);

}  // namespace sample::cli
