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

struct NewRecording {
    Fd fd;
    std::string created;  ///< The file that was made; empty if `fd` is something else.
    dev_t device = 0;
    ino_t inode = 0;

    /// Removes the file that was made, and nothing that has its name by now.
    void discard() const;
};

/// Makes the file of a new recording, mode 0600; with `force` an older file of that name is
/// removed. Something that is no regular file is taken as open_special() opens it.
/// Errors: already_exists unless `force`; those of open_special(); system.
[[nodiscard]] Result<NewRecording> open_recording(const std::string& path, bool force);

[[nodiscard]] bool is_regular_file(const std::string& path);

}  // namespace sample::cli
