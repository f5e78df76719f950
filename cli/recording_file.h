// The recording's file: its name from a pattern, and opened so that nothing is lost by accident.
#pragma once

#include "core/fd.h"
#include "core/result.h"

#include <sys/types.h>

#include <string>

namespace sample::cli {

/// Fills %p (pid), %n (the executable's file name), %t (local time, YYYYMMDD-HHMMSS) and %% in.
[[nodiscard]] std::string expand_pattern(const std::string& pattern, const std::string& executable,
                                         pid_t pid);

/// The default pattern: sample-<exe>-<pid>.utrace.
inline constexpr const char* kDefaultOutput = "sample-%n-%p.utrace";

/// Opens `path` for a new recording, mode 0600. Errors: already_exists unless `force`; system.
[[nodiscard]] Result<Fd> open_recording(const std::string& path, bool force);

[[nodiscard]] bool is_regular_file(const std::string& path);

}  // namespace sample::cli
