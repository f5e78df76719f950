// `sample attach` to a process whose agent sleeps, by SAMPLE_START=off or --start off: it is woken
// instead of looked at from outside.
#pragma once

#include "cli/options/options.h"
#include "cli/record/recording.h"
#include "cli/session_client.h"
#include "core/result.h"

#include <sys/types.h>

#include <optional>
#include <string>

namespace sample::cli {

struct Sleeper {
    pid_t pid = 0;
    pid_t collector = 0;
    std::string recording;  ///< The session's own.
    SessionClient session;
};

/// The session of the one process that options.targets name, if it sleeps; nothing otherwise.
/// Waits as find_targets(), whose errors it has.
[[nodiscard]] Result<std::optional<Sleeper>> find_sleeper(const AttachOptions& options,
                                                          int stop_fd);

/// Samples are taken until options.time is over, `stop_fd` is readable, somebody stops them, or the
/// process ends. Then what the session has recorded so far is written to the file that `options`
/// name. Errors: of the session; those of prepare_recording(); system.
[[nodiscard]] Result<PreparedRecording> record_woken(Sleeper& sleeper, RecordOptions& options,
                                                     int stop_fd);

}  // namespace sample::cli
