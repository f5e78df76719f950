// One thread of another process, interrupted by ptrace: its registers, and system calls made in it.
//
// Nothing is sent to it that its process could see: it is seized, not attached to, and stops at
// system calls are told apart from signals. When this object goes, the thread goes on as if nothing
// was, with the system call that it was interrupted in; and so it does when our own thread ends, or
// is killed, at whatever request.
// Source: ptrace(2); Linux kernel/signal.c, do_jobctl_trap, and arch/x86/kernel/signal.c,
// arch_do_signal_or_restart.
//
// To be used by the thread that has made it.
#pragma once

#include "core/result.h"

#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace sample::inject {

/// In the libc of the process.
struct CallPlaces {
    std::uint64_t system_call = 0;    ///< An instruction that makes one, and behind it a return.
    std::uint64_t signal_return = 0;  ///< Where signal handlers return to.
};

class HeldThread {
public:
    using Clock = std::chrono::steady_clock;

    /// Interrupts it. Errors: permission (not ours to trace, or somebody else traces it), not_found
    /// (it has ended), unsupported (it does not stop within 5 s, or a signal of its own is on its
    /// way).
    static Result<HeldThread> seize(pid_t pid, pid_t tid);
    HeldThread(HeldThread&& other) noexcept;
    HeldThread& operator=(HeldThread&&) = delete;
    HeldThread(const HeldThread&) = delete;
    HeldThread& operator=(const HeldThread&) = delete;
    ~HeldThread();

    /// How long it has not done its program's work by now, but for what it had to wait for a
    /// processor.
    [[nodiscard]] std::chrono::nanoseconds stood_still() const;
    /// As it was interrupted.
    [[nodiscard]] const user_regs_struct& registers() const { return at_first_; }
    [[nodiscard]] std::uint64_t signal_mask() const { return mask_; }
    /// The system call that it waited in and was interrupted in; nothing: it was in none.
    [[nodiscard]] std::optional<long> interrupted_call() const;
    /// Whether it is inside one of its sequences that the kernel starts over. Source: rseq(2).
    [[nodiscard]] bool is_in_restartable_sequence() const;

    /// Makes a system call in it. Returns what the kernel does: -errno on failure.
    Result<long> call(const CallPlaces& libc, long number,
                      const std::array<std::uint64_t, 6>& arguments);
    /// Lets it run from `pc` on, with `stack` and `flags`, without signals, until this object goes.
    /// What it runs, and its stack, lie between the two. Errors: not_found (it has ended).
    Result<void> run(std::uint64_t pc, std::uint64_t stack, std::uint64_t flags);
    /// What its registers are, where they are to be those that it can go on with without us.
    [[nodiscard]] user_regs_struct to_start_over() const;

private:
    HeldThread(pid_t pid, pid_t tid) : pid_{pid}, tid_{tid} {}

    /// Its next stop, as waitpid() tells. Signals of its own that come before are let through.
    Result<int> await_stop(Clock::time_point deadline);
    Result<void> stop_at(int what, Clock::time_point deadline);
    Result<void> interrupt(Clock::time_point deadline);
    void go_on(int what, int signal);
    [[nodiscard]] bool set(const user_regs_struct& registers) const;
    [[nodiscard]] bool block_signals() const;
    /// What its registers are, for the kernel to go on with its system call.
    [[nodiscard]] user_regs_struct to_go_on() const;
    void let_go();

    pid_t pid_;
    pid_t tid_;  ///< 0: not ours any more.
    Clock::time_point since_;
    std::int64_t waited_ns_ = 0;
    user_regs_struct at_first_{};
    bool stands_ = false;
    std::uint64_t way_back_ = 0;  ///< Where its signal frame is; 0: it needs none yet.
    std::uint64_t ours_from_ = 0;
    std::uint64_t ours_to_ = 0;  ///< 0: it runs nothing of ours.
    std::uint64_t mask_ = 0;
    bool has_moved_ = false;
};

}  // namespace sample::inject
