// Stacks that do not reach their root: why, which library is to blame, and what to do about it.
#pragma once

#include "callgraph/profile.h"
#include "cli/views/json.h"
#include "cli/views/terminal.h"

#include <string>

namespace sample::cli {

/// "no unwind tables in libfoo.so": the heaviest cause of incomplete stacks. Empty if there is
/// none, or if no more than 0.1 % of the samples are incomplete: so few are no news.
[[nodiscard]] std::string main_break(const callgraph::Stats& stats);

/// A table by reason and module, heaviest first, with what to do about the heaviest; empty if every
/// stack is whole.
[[nodiscard]] std::string broken_stacks_text(const callgraph::Profile& profile,
                                             const Terminal& terminal);

/// An array: reason, module (null: none), samples, us (count of an event); each with a hint in
/// words.
[[nodiscard]] Json broken_stacks_json(const callgraph::Profile& profile);
/// The same, the modules added up: an object of reason to samples and us (count).
[[nodiscard]] Json break_reasons_json(const callgraph::Profile& profile);

}  // namespace sample::cli
