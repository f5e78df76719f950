// What `sample` inherits is meant for the command: signals that are ignored, those that wait,
// timers, the signal for the parent's death, the sockets of an activation, descriptors that are
// closed. The command has it as it was, and `sample` itself is not changed by it: a SIGCHLD that is
// ignored must not cost the command's exit code.
#pragma once

#include <sys/time.h>
#include <sys/types.h>

#include <array>
#include <csignal>
#include <vector>

namespace sample::cli {

/// What the kernel does not hand on from this process to a child, and what it leaves here, too.
class Inherited {
public:
    /// Takes the timers and the signals that wait from this process: they are the command's. Call
    /// it while no file of this process is open without O_CLOEXEC.
    Inherited();
    /// In the command's process, or in this one if it is to become the command.
    void hand_over() const noexcept;
    /// That part of it which is in `environ`.
    void hand_over_environment() const noexcept;
    /// In this process, once the command runs: who reads a pipe's other end, or waits for a lock,
    /// must not wait for us, too. Descriptor 2 stays, for errors; 0 and 1 become /dev/null.
    void let_go() const noexcept;

private:
    std::array<itimerval, 3> timers_{};
    int death_signal_ = 0;
    pid_t ours_;
    std::vector<siginfo_t> signals_;  ///< Blocked, and sent before the command was to begin.
    std::vector<int> descriptors_;    ///< But the standard ones, and those that no exec keeps.
};

/// From here on this process gets its children's exit status, and lives on when it is sent what its
/// whole process group is (`kill -USR1 0`) and nothing here waits for; files that outgrow `ulimit
/// -f` and closed pipes are errors of write(). Call it behind the command's fork.
void stand_by_the_command() noexcept;
/// As before, for who becomes the command.
void act_as_inherited() noexcept;

/// 0, 1 and 2 are open from here on: a file of ours would be taken for the output else. What was
/// closed is closed again in the command.
void fill_standard_descriptors() noexcept;

}  // namespace sample::cli
