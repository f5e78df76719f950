// Profile in, Profile out: what --hide, --average, --focus and --search do.
//
// Each takes nothing away from stats, threads' and processes' facts, which describe the recording;
// nodes, categories, functions and their totals are made anew and agree with each other. A function
// that is on no path any more is left out, and so is a node without time and samples. Each is
// O(nodes log children), without recursion. Profiles are taken by value: move in what you don't
// need.
#pragma once

#include "callgraph/profile.h"

#include <string_view>
#include <vector>

namespace sample::callgraph {

/// Without the GC nodes: their time is subtracted from every ancestor, and what lies below them
/// from the functions' totals. Unchanged if the profile has no GC.
[[nodiscard]] Profile hide_gc(Profile profile);

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

/// The callgraph rooted at the functions that `name` names: the subtrees of every outermost such
/// node, merged, under one category called `name`. A function is named by its whole name, by its
/// name without arguments, or by that without its scope ("run" for "pool::Worker::run(int)"); if
/// that names none, by any part of its label. No match gives a profile without categories.
[[nodiscard]] Profile focus(Profile profile, std::string_view name);

/// Exactly the stacks that contain a match: a node (or category) whose label contains `text`. Keeps
/// the ancestors of matches, with the matches' time only, and the whole subtree of a match.
[[nodiscard]] Profile search(Profile profile, std::string_view text);

/// The functions whose label or source contains `text`, in the profile's order: search for a list
/// of functions.
[[nodiscard]] std::vector<FunctionId> find_functions(const Profile& profile, std::string_view text);

/// The most self time first, then the most total time, then by name: equal profiles give equal
/// lists.
void sort_by_self(const Profile& profile, std::vector<FunctionId>& ids);

}  // namespace sample::callgraph
