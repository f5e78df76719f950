// What the program believes about our signal: its action, which other handlers' masks held it, and
// whether one of its own is pending. Process-wide.
#pragma once

#include "sampler/source/futex_lock.h"

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

class ProgramView {
public:
    /// `lock`: in a forked child it is free, or reset, before it is used.
    constexpr explicit ProgramView(source::FutexLock& lock) noexcept : lock_{lock} {}

    [[nodiscard]] struct sigaction action() noexcept {
        const source::Locked locked{lock_};
        return action_;
    }

    struct sigaction set_action(const struct sigaction& action) noexcept {
        const source::Locked locked{lock_};
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
        const source::Locked locked{lock_};
        if (!std::exchange(pending_, true)) {
            pending_info_ = info;
        }
    }
    [[nodiscard]] bool is_pending() noexcept {
        const source::Locked locked{lock_};
        return pending_;
    }
    bool take_pending(siginfo_t* info) noexcept {
        const source::Locked locked{lock_};
        if (pending_ && info != nullptr) {
            *info = pending_info_;
        }
        return std::exchange(pending_, false);
    }

private:
    source::FutexLock& lock_;
    struct sigaction action_ {};
    siginfo_t pending_info_{};
    bool pending_ = false;
    std::atomic<std::uint64_t> masks_held_{0};
};

[[nodiscard]] ProgramView& program_view() noexcept;

/// The program unblocked our signal: a pending one of its own is delivered now.
void deliver_pending() noexcept;

}  // namespace sample::agent
