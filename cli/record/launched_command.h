// The command as our child: forked early, held back until the session is ready, then exec'ed.
#pragma once

#include "core/fd.h"
#include "core/result.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace sample::cli {

class LaunchedCommand {
public:
    /// Forks. The child waits for start() or the end of this process. Call it while this process
    /// has one thread, and its signal mask is the command's.
    static Result<LaunchedCommand> fork(const std::vector<std::string>& command);

    [[nodiscard]] pid_t pid() const { return pid_; }

    /// Lets the child exec, with `preload` put first in LD_PRELOAD and SAMPLE_SESSION set.
    /// Errors: the exec failed, with its errno.
    Result<void> start(const std::string& preload, const std::string& session);

    /// It is not to be started: it ends, and is waited for.
    void give_up();

    /// Waits for its end and returns its wait status.
    [[nodiscard]] int wait() const;

private:
    LaunchedCommand(pid_t pid, Fd order, Fd failure)
        : pid_{pid}, order_{std::move(order)}, failure_{std::move(failure)} {}

    pid_t pid_;
    Fd order_;
    Fd failure_;
};

}  // namespace sample::cli
