// The command that is recorded: what is known of it before it starts, what is preloaded into it,
// and its life as our child: forked early, held back until the session is ready, then exec'ed.
#pragma once

#include "cli/record/inherited.h"
#include "core/fd.h"
#include "core/result.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sample::cli {

inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;
inline constexpr const char* kNoRoom =
    "the command's arguments and environment leave no room for what sample adds to them";

struct CommandCheck {
    std::string path;  ///< The file that execvp would take.
    /// Why the agent cannot be loaded into it, for people; empty: it can.
    std::string cannot_profile;
    /// A library that has to come before the agent; empty: none.
    std::string runtime;
};

/// Looks `word` up as execvp(3) does and reads the file (behind "#!", the interpreter).
/// Errors: not_found (exit code 127), permission (126), with the shell's wording.
[[nodiscard]] Result<CommandCheck> check_command(const std::string& word);

/// Where libsample.so is: beside the program, or in the library folder of the same prefix.
/// Errors: not_found, with the places that were looked at.
/// `with_memory`: libsample-memory.so, which traces malloc as well.
[[nodiscard]] Result<std::string> find_agent_library(bool with_memory);

/// The host for Unity's plug-ins, libsample-unity-host.so, in the same places.
[[nodiscard]] Result<std::string> find_unity_host();
/// The host of profiler modules, libsample-modules.so, likewise.
[[nodiscard]] Result<std::string> find_module_host();

/// The environment as it is now; to be ended by a null pointer.
[[nodiscard]] std::vector<char*> environment_now();

/// Becomes `command`, looked up as execvp(3) does. Returns if that fails, with errno.
void exec_command(const std::vector<std::string>& command);

class LaunchedCommand {
public:
    /// Forks. The child waits for start() or the end of this process. Call it while this process
    /// has one thread, and its signal mask is the command's.
    /// `environment`: what the command gets where there is no room for more; its strings stay.
    /// `output`: the command is not to share our terminal. It gets a process group of its own, no
    /// input, this descriptor as its output, and SIGTERM if we end before it; -1: it gets ours.
    static Result<LaunchedCommand> fork(const std::vector<std::string>& command,
                                        const std::vector<char*>& environment, int output = -1);

    [[nodiscard]] pid_t pid() const { return pid_; }

    /// Lets the child exec, with `preload` put first in LD_PRELOAD and SAMPLE_SESSION set. False:
    /// with these, its arguments and environment are more than the kernel takes; it runs without.
    /// Errors: the exec failed, with its errno.
    Result<bool> start(const std::string& preload, const std::string& session);
    /// It runs: what this process inherited, but for descriptor 2, is the command's alone.
    void let_go() const noexcept { inherited_.let_go(); }

    /// It is not to be started: it ends, and is waited for. This process, which may become the
    /// command, has again what it inherited.
    void give_up();

    /// By another way: the child that waits at `order` execs as if we were not there.
    /// Async-signal-safe.
    static void start_unprofiled(int order) noexcept;
    [[nodiscard]] int order() const { return order_.get(); }

    /// Waits for its end and returns its wait status.
    [[nodiscard]] int wait() const;
    /// The same, for `milliseconds` at most; none: it goes on.
    [[nodiscard]] std::optional<int> wait_for(int milliseconds) const;

private:
    LaunchedCommand(pid_t pid, Inherited inherited, Fd order, Fd failure)
        : pid_{pid},
          inherited_{std::move(inherited)},
          order_{std::move(order)},
          failure_{std::move(failure)} {}

    pid_t pid_;
    Inherited inherited_;
    Fd order_;
    Fd failure_;
};

}  // namespace sample::cli
