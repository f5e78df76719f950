// What `sample record` and the collector of a preloaded program do with signals while they record.
//
//   Ctrl-C, Ctrl-\    the terminal sends them to the command, too: the first one is the command's,
//                     the second ends the profiling, later ones are ours as usual
//   SIGTERM, SIGHUP   sent to us alone by timeout, a supervisor, …: passed on to the command;
//                     likewise a terminal's end, where we lead the session
//   SIGCHLD           as process 1, of a container say, we are the parent of whoever lost his
//
// A thread of its own takes them, so that each works whatever the others wait for: a disk, a pipe
// that nobody reads. It waits for these alone: who polls a signalfd is woken by each signal of this
// process, also by those that tell what a sample costs.
//
// Once the profiling is to end, or the command has ended of a signal that was passed on, what is
// left to do has ten seconds; then the signal ends us.
#pragma once

#include "core/fd.h"

#include <sys/types.h>

#include <atomic>
#include <csignal>
#include <initializer_list>
#include <optional>
#include <span>
#include <thread>

namespace sample::cli {

/// Ends this process as the signal ends one that does not handle it.
[[noreturn]] void end_by(int signal);
/// Ends this process by the signal that ended the child whose wait `status` it is, or returns that
/// child's exit code, to be ours.
[[nodiscard]] int end_like(int status);

/// Passes a signal that has come to us, with siginfo_t's `code` and `sender`, on to the command,
/// unless that has got it, too. Async-signal-safe.
void pass_on(pid_t command, int signal, int code, pid_t sender);

/// Waits for the child `command`, passes on what is sent to us of `signals`, and reaps what else
/// ends. The third Ctrl-C ends us; there were `interrupts` before. Returns the command's wait
/// status; none: there is no such child.
[[nodiscard]] std::optional<int> outlast(pid_t command, std::span<const int> signals,
                                         int interrupts);

class RecordSignals {
public:
    /// The command's, and ours.
    static constexpr std::initializer_list<int> kOfACommand{SIGINT, SIGQUIT, SIGTERM, SIGHUP};

    /// Blocks `signals` in this thread, and those that it makes; takes them. `command`: whose end
    /// is looked at; `passes_on`: it gets what is sent to us.
    RecordSignals(std::initializer_list<int> signals, pid_t command, bool passes_on);
    ~RecordSignals();
    RecordSignals(const RecordSignals&) = delete;
    RecordSignals& operator=(const RecordSignals&) = delete;

    /// Readable when the profiling is to end.
    [[nodiscard]] int stop_fd() const { return stop_.get(); }

    /// The profiling is over, the command may not be: from here on signals end us, as they would
    /// anybody, until outlast().
    void command_goes_on();
    /// Behind that: how often Ctrl-C came.
    [[nodiscard]] int interrupts() const { return interrupts_; }

private:
    void watch();
    void take(int signal, const siginfo_t& info);
    [[nodiscard]] bool has_command_ended() const;
    void reap_orphans() const;

    sigset_t ours_{};
    sigset_t before_{};
    pid_t command_;
    bool passes_on_;
    Fd command_end_;  ///< A pidfd.
    Fd stop_;
    int interrupts_ = 0;
    int ending_ = 0;                    ///< The signal after which all is to end; 0: none yet.
    std::atomic<bool> is_over_{false};  ///< The thread is to end.
    std::thread thread_;
};

}  // namespace sample::cli
