// What would show more than a profile does: the package or option that brings the names of code
// that has none, and the setting that shows what the kernel hides.
#pragma once

#include "callgraph/profile.h"

#include <string>
#include <vector>

namespace sample::analysis {

/// Where dpkg keeps which files each package has; not there: no package is named.
inline constexpr const char* kDpkgInfo = "/var/lib/dpkg/info";

/// For people, what weighs most first; nothing of what weighs less than a tenth of the whole. Reads
/// `dpkg_info` if a module lacks names, some 30 ms for a thousand packages, and runs nothing.
[[nodiscard]] std::vector<std::string> advise(const callgraph::Profile& profile,
                                              const std::string& dpkg_info = kDpkgInfo);

}  // namespace sample::analysis
