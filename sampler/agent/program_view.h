// What the program believes about our signal: its action, which other handlers' masks held it, and
// whether one of its own is pending. Process-wide; guarded by a spin lock that is only taken with
// all signals blocked, so that a handler on the same thread cannot wait for its own thread.
#pragma once

#include "sampler/capture/raw_syscall.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>

namespace sample::agent {

/// sigaction(2) past our own wrapper.
int real_sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept;

inline bool has_handler(const struct sigaction& action) noexcept {
    return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

/// All signals blocked while it lives. Async-signal-safe.
class BlockedSignals {
public:
    BlockedSignals() noexcept {
        const std::uint64_t all = ~std::uint64_t{0};
        capture::raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, capture::as_argument(&all),
                             capture::as_argument(&old_), 8);
    }
    ~BlockedSignals() {
        capture::raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, capture::as_argument(&old_), 0, 8);
    }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

private:
    std::uint64_t old_ = 0;
};

/// A spin lock for a few loads and stores. Async-signal-safe while all signals are blocked.
class SpinLock {
public:
    void lock() noexcept {
        while (held_.exchange(true, std::memory_order_acquire)) {
            capture::raw_syscall(SYS_sched_yield);
        }
    }
    void unlock() noexcept { held_.store(false, std::memory_order_release); }
    /// In a forked child: whoever held it does not exist.
    void reset() noexcept { held_.store(false, std::memory_order_relaxed); }

private:
    std::atomic<bool> held_{false};
};

class Locked {
public:
    explicit Locked(SpinLock& lock) noexcept : lock_{lock} { lock_.lock(); }
    ~Locked() { lock_.unlock(); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

private:
    BlockedSignals blocked_;
    SpinLock& lock_;
};

class ProgramView {
public:
    [[nodiscard]] struct sigaction action() noexcept {
        const Locked locked{lock_};
        return action_;
    }

    struct sigaction set_action(const struct sigaction& action) noexcept {
        const Locked locked{lock_};
        const struct sigaction old = action_;
        action_ = action;
        return old;
    }

    /// Remembers whether the program's mask for `signal`'s handler held our signal; returns what
    /// was before.
    bool set_mask_held(int signal, bool held) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << (signal - 1);
        const std::uint64_t old = held ? masks_held_.fetch_or(bit) : masks_held_.fetch_and(~bit);
        return (old & bit) != 0;
    }
    [[nodiscard]] bool mask_held(int signal) const noexcept {
        return ((masks_held_.load() >> (signal - 1)) & 1) != 0;
    }

    /// Standard signals do not queue: the first one stays.
    void pend(const siginfo_t& info) noexcept {
        const Locked locked{lock_};
        if (!std::exchange(pending_, true)) {
            pending_info_ = info;
        }
    }
    [[nodiscard]] bool is_pending() noexcept {
        const Locked locked{lock_};
        return pending_;
    }
    bool take_pending(siginfo_t* info) noexcept {
        const Locked locked{lock_};
        if (pending_ && info != nullptr) {
            *info = pending_info_;
        }
        return std::exchange(pending_, false);
    }

    void reset_lock() noexcept { lock_.reset(); }

private:
    SpinLock lock_;
    struct sigaction action_ {};
    siginfo_t pending_info_{};
    bool pending_ = false;
    std::atomic<std::uint64_t> masks_held_{0};
};

[[nodiscard]] ProgramView& program_view() noexcept;

/// The program unblocked our signal: a pending one of its own is delivered now.
void deliver_pending() noexcept;

}  // namespace sample::agent
