// What tests' tables and messages call a reason why a walk stopped.
#pragma once

#include "unwind/walk/walk.h"

namespace sample::unwind::testing {

[[nodiscard]] inline const char* name_of(StopReason reason) noexcept {
    switch (reason) {
        case StopReason::root:
            return "root";
        case StopReason::depth_limit:
            return "depth_limit";
        case StopReason::no_module:
            return "no_module";
        case StopReason::no_cfi:
            return "no_cfi";
        case StopReason::unsupported_rule:
            return "unsupported_rule";
        case StopReason::unreadable_memory:
            return "unreadable_memory";
        case StopReason::no_progress:
            return "no_progress";
    }
    return "unknown";
}

}  // namespace sample::unwind::testing
