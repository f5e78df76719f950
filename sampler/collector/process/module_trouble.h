// Which profiler module a process was in when it ended, as its area says, which is not believed.
// docs/modules.md.
#pragma once

#include "sampler/capture/area.h"

#include <string>

namespace sample::collector {

/// The one that is being set up; empty: none.
[[nodiscard]] std::string module_in_set_up(const capture::AreaHeader& header);

/// The module, and the callback of it that a thread is in, or was in when it was killed; both
/// empty: none. Of several, one.
struct ModuleCallback {
    std::string module;
    std::string event;
};
[[nodiscard]] ModuleCallback module_callback(const capture::Area& area);

/// Signals by which a program ends for what its own code has done.
[[nodiscard]] bool is_crash(int signal);

}  // namespace sample::collector
