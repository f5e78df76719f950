// A small Profile with known figures, for the tests of the views.
#pragma once

#include "callgraph/profile.h"
#include "cli/views/views.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace sample::cli {

inline constexpr Terminal kPipe{false, true, 0};
inline constexpr Terminal kAsciiPipe{false, false, 0};
inline constexpr std::uint64_t kMs = 1'000'000;

/// 1 s in two categories:
///
///     <root> 1000.000
///       app 900.000
///         main 900.000 (self 0.500)
///           parse(…) 600.000
///             (unnamed, tree.cpp:7) 100.000, native and plugin
///           print 299.000
///           tiny 0.500
///       worker 100.000
///         (nothing known) 100.000
[[nodiscard]] callgraph::Profile made_up_profile();

[[nodiscard]] inline ViewOptions options_of(Terminal terminal) {
    return {terminal, Unit::milliseconds, {}};
}

/// In columns.
[[nodiscard]] std::size_t widest_line(const std::string& text);

/// What programs get of a view.
template <class View>
[[nodiscard]] std::string as_json(const View& view, const callgraph::Profile& profile,
                                  ViewOptions options = {}) {
    options.json = true;
    return view(profile, options);
}

}  // namespace sample::cli
