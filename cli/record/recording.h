// A recording before and after the session that writes it: the names of its file and of its
// exports, made so that nothing is lost by accident; what the session is told; the names of
// functions, and what is made of them.
#pragma once

#include "analysis/symbolize_recording.h"
#include "callgraph/profile.h"
#include "cli/options/options.h"
#include "core/fd.h"
#include "core/result.h"
#include "sampler/collector/recorder.h"
#include "sampler/collector/session_options.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

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
    std::string older;  ///< Where the file is that had its name; empty: there is none.

    /// Whether another file has its name by now.
    [[nodiscard]] bool is_replaced() const;
    /// Whether nothing has.
    [[nodiscard]] bool is_gone() const;
    /// The session runs: removes the older file, beside, as a disk takes its time for a large one.
    void keep();
    /// Removes the file that was made, and nothing that has its name by now. The older one gets
    /// its name back.
    void discard() const;
};

/// Makes the file of a new recording, mode 0600; with `force` an older file of that name is moved
/// aside, until keep() or discard(). Something that is no regular file is taken as open_special()
/// opens it. Errors: already_exists unless `force`; those of open_special(); system.
[[nodiscard]] Result<NewRecording> open_recording(const std::string& path, bool force);

/// Fills the patterns in the exports' paths in, by the command that `executable` and `pid` are of,
/// and checks what must be right before it starts: the files may be made, and none is another's or
/// `recording`, the recording's file. Errors end with what to do.
[[nodiscard]] Result<void> name_exports(RecordOptions& options, const std::string& executable,
                                        pid_t pid, const std::string& recording);

/// The file of a recording that is about to be made.
struct PreparedRecording {
    std::string path;
    NewRecording file;
};

/// Names the recording and, in `options`, its exports, checks them, and makes the recording's file.
/// Errors: those of name_exports() and open_recording().
[[nodiscard]] Result<PreparedRecording> prepare_recording(RecordOptions& options,
                                                          const std::string& executable, pid_t pid);

/// Everything that does not depend on who is recorded: all but the command line and what is asked
/// while it runs.
[[nodiscard]] collector::SessionOptions session_options_of(const RecordOptions& options);

/// Whether the event that is asked for can be sampled here. Errors say what to do. Forks, for a
/// tracepoint: call it while there is one thread.
[[nodiscard]] Result<void> check_event(const RecordOptions& options);

/// What was made of a recording, and what was not.
struct FinishedRecording {
    /// To be shown; none: it is not to be, or cannot be read.
    std::optional<callgraph::Profile> profile;
    std::vector<std::string> advice;  ///< As analysis::advise() gives it for that.
    std::vector<Error> errors;
    std::vector<std::string> warnings;  ///< Of write_export().
};

/// Where a recording's modules can be read beside their own paths, and as whom.
struct ModuleSources {
    analysis::ModuleFiles files;
    analysis::ModuleReaders readers;
};
/// As long as `recorder` lives.
[[nodiscard]] ModuleSources sources_of(const collector::Recorder& recorder);

/// After the session: names the recording, whose modules are where `sources` says, if it is to be
/// shown, kept or exported, keeps the names in its file, as far as options ask for it and it
/// `is_whole`, and writes every export that it can. Nothing of that if its file was replaced: what
/// has its name is another session's; nor if it is gone. `copy`: what the file holds, unless it is
/// to be read.
[[nodiscard]] FinishedRecording finish_recording(const RecordOptions& options,
                                                 const PreparedRecording& recording,
                                                 const ModuleSources& sources, bool is_whole,
                                                 bool is_shown,
                                                 std::optional<callgraph::Recording> copy = {});

}  // namespace sample::cli
