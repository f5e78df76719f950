// `sample record -a`: every process of the machine, from outside.
#pragma once

#include "cli/options/options.h"
#include "core/result.h"

namespace sample::cli {

/// Until the time is over or a signal ends it; then prints the summary. Returns the exit code.
/// Errors say what to do.
[[nodiscard]] Result<int> record_machine(RecordOptions options);

}  // namespace sample::cli
