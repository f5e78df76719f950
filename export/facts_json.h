// What to know of a profile besides its stacks, as one JSON object: for formats that have room for
// members that their readers skip. The same in words: export/recording_facts.h.
#pragma once

#include "callgraph/profile.h"

#include <string>

namespace sample::exports {

/// {"command": …, "clock": …, "samples": …, "lost": …, …, "processes": […], "modules": […]}: how
/// the profile was made, how far it can be trusted, and its modules, by Function::module. What was
/// not measured is null. Names of durations end in _ns, or in _count where an event was counted.
/// docs/format-speedscope.md lists the members.
[[nodiscard]] std::string facts_json(const callgraph::Profile& profile);

}  // namespace sample::exports
