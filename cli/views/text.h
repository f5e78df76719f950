// Functions, nodes and scales of a profile as people read them; numbers and words: core/text.h.
#pragma once

#include "callgraph/profile.h"
#include "cli/views/terminal.h"
#include "core/text.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace sample::cli {

/// "×5", "x5" in ASCII; empty for 1.
[[nodiscard]] std::string scale_text(double scale, const Terminal& terminal);

/// A C++ or Rust name in at most `width` columns (0: as it is). What says least goes first: the
/// contents of template arguments, then of argument lists, then the middle.
[[nodiscard]] std::string shorten_name(std::string_view name, std::size_t width,
                                       const Terminal& terminal);

/// The name, else source:line, else "<anonymous>"; then " <native>" and " <plugin>". Printable.
[[nodiscard]] std::string function_label(const callgraph::Function& function);
/// function_label(), the category's name, or "<root>". Printable.
[[nodiscard]] std::string node_name(const callgraph::Profile& profile, NodeId id);
/// node_name(), then ":12" in a profile by lines, then " <inlined at line 22>". Printable.
[[nodiscard]] std::string node_label(const callgraph::Profile& profile, NodeId id);
/// "app.cpp:12", "app.cpp", or empty; with the folders only if `full`. Printable.
[[nodiscard]] std::string location_text(const callgraph::Function& function, bool full);

}  // namespace sample::cli
