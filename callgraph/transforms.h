// Profile in, Profile out: what --hide, --average, --focus, --search, --names and --fold do.
//
// Each takes nothing away from stats, threads' and processes' facts, which describe the recording;
// nodes, categories, functions and their totals are made anew and agree with each other. A function
// that is on no path any more is left out, and so is a node without time and samples. Each is
// O(nodes log children), without recursion. Profiles are taken by value: move in what you don't
// need.
#pragma once

#include "callgraph/profile.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sample::callgraph {

/// Without the nodes of Profile::memory: their weight is subtracted from every ancestor, and what
/// lies below them from the functions' totals. Unchanged if there are none.
[[nodiscard]] Profile hide_memory(Profile profile);

/// Without the topmost plug-in node of each path and what it calls.
[[nodiscard]] Profile hide_plugins(Profile profile);

/// Durations as if the session had lasted `seconds`: scaled by seconds / session length, also up.
/// Sets Profile::scale. Scales nodes, functions and threads' times; not samples, not stats. Average
/// of an averaged profile is that of the recorded one. Unchanged if the session's length is not
/// known, `seconds` is not positive, or the result would overflow.
[[nodiscard]] Profile average(Profile profile, double seconds);

/// Without the nodes that were inlined at every call: their time is their callers' own, and what
/// they call is called by those.
[[nodiscard]] Profile fold_inlined(Profile profile);

/// With a function at most once on each path: a call of it by itself, or by what it calls, becomes
/// one with the first, as does what is called then.
[[nodiscard]] Profile fold_recursion(Profile profile);

/// The callgraph rooted at the functions that `name` names: the subtrees of every outermost such
/// node, merged, under one category called `name`. A function is named by its whole name, by its
/// name without arguments, or by that without its scope ("run" for "pool::Worker::run(int)"); if
/// that names none, by any part of its label. A module that is no file, "[kernel]" or "[jit]",
/// names all its functions. No match gives a profile without categories.
[[nodiscard]] Profile focus(Profile profile, std::string_view name);

/// Every stack upside down: functions under the root, below each its callers, and at the end of
/// each path the category. Of a stack only what lies above the outermost of `focused` counts, with
/// that function's total; if there are none, above its leaf, with the leaf's self time. A caller
/// has the part of it that came through it as its total, and no self: that is the function's under
/// the root. What lies below a node of less than `least_percent` of the root is left out: the whole
/// may be as large as the profile times the depth of its stacks. Where there are `most_nodes`, it
/// grows no more, and a note says so. Functions stay as they are; further metrics and timelines go.
[[nodiscard]] Profile invert(Profile profile, const std::vector<FunctionId>& focused,
                             double least_percent, std::size_t most_nodes = kMostNodes);

/// The functions that focus() takes for `name`, in their order.
[[nodiscard]] std::vector<FunctionId> find_focused(const Profile& profile, std::string_view name);

/// The same of functions without their modules: by their names alone.
[[nodiscard]] std::vector<FunctionId> find_named(const std::vector<Function>& functions,
                                                 std::string_view name);

/// Exactly the stacks that contain a match: a node (or category) whose label contains `text`. Keeps
/// the ancestors of matches, with the matches' time only, and the whole subtree of a match.
[[nodiscard]] Profile search(Profile profile, std::string_view text);

/// Functions that become equal (name, source, module and flags) become one, at the smallest of
/// their lines; so do nodes under one parent that become the same function. The function that
/// stands for memory management keeps its name and stays apart. How names are shortened is for the
/// caller to say: that knowledge lives in symbolize/. `new_name` is asked once for each function;
/// empty: it keeps its name.
[[nodiscard]] Profile rename(Profile profile,
                             const std::function<std::string(const Function&)>& new_name);

/// The function that another is a part or a copy of.
struct Whole {
    std::string name;             ///< As `new_name` of rename().
    bool calls_its_part = false;  ///< The part is run by a call, not by a jump or in its place.
};

/// Renames functions as `whole_of` says. A called part right below its function, which would be a
/// function that calls itself, becomes one node with it; a part below itself stays: that is
/// recursion.
[[nodiscard]] Profile fold_parts(Profile profile,
                                 const std::function<Whole(const Function&)>& whole_of);

/// The functions whose label or source contains `text`, in the profile's order: search for a list
/// of functions.
[[nodiscard]] std::vector<FunctionId> find_functions(const Profile& profile, std::string_view text);

/// The most self time first, then the most total time, then by name: equal profiles give equal
/// lists.
void sort_by_self(const Profile& profile, std::vector<FunctionId>& ids);

}  // namespace sample::callgraph
