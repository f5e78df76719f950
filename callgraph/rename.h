// Profile in, Profile out: what --names and --fold parts do. What is said of callgraph/transforms.h
// holds here.
//
// Functions that become equal (name, source, module and flags) become one, at the smallest of their
// lines; so do nodes under one parent that become the same function. The function that stands for
// memory management keeps its name and stays apart. How names are shortened is for the caller to
// say: that knowledge lives in symbolize/.
#pragma once

#include "callgraph/profile.h"

#include <functional>
#include <string>

namespace sample::callgraph {

/// `new_name` is asked once for each function; empty: it keeps its name.
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

}  // namespace sample::callgraph
