// A path of a library that LD_PRELOAD takes. The loader splits the variable at blanks and colons,
// and replaces $ORIGIN and its like, without a way to quote (ld.so(8)): a library in such a folder
// is preloaded by a link.
#pragma once

#include "core/result.h"

#include <string>

namespace sample::cli {

/// `path` itself, or a link to it in a folder that only this user can write to, in $XDG_RUNTIME_DIR
/// or /tmp. The link stays: programs that outlive the session may start others. Errors: system, if
/// there can be no such folder or link.
[[nodiscard]] Result<std::string> preloadable(const std::string& path);

}  // namespace sample::cli
