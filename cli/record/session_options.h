// What a session is told by the options of `sample record`, or by the SAMPLE_* variables that stand
// for them.
#pragma once

#include "cli/options/record.h"
#include "sampler/collector/session.h"

namespace sample::cli {

/// Everything that does not depend on who is recorded: all but the command line and what is asked
/// while it runs.
[[nodiscard]] collector::SessionOptions session_options_of(const RecordOptions& options);

/// Whether the event that is asked for can be sampled here. Errors say what to do. Forks, for a
/// tracepoint: call it while there is one thread.
[[nodiscard]] Result<void> check_event(const RecordOptions& options);

}  // namespace sample::cli
