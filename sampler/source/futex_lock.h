// A lock for a few loads and stores, or for one thread's end. Whoever waits sleeps, so that a
// thread with real-time priority does not keep off the one that holds it.
//
// Taken with all signals blocked, so that a handler cannot wait for its own thread; async-signal-
// safe by that. A forked child resets it: whoever held it does not exist there.
// Source: futex(2); U. Drepper, Futexes Are Tricky, mutex 2.
#pragma once

#include "sampler/capture/raw_syscall.h"

#include <linux/futex.h>

#include <atomic>
#include <csignal>
#include <cstdint>

namespace sample::source {

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

class FutexLock {
public:
    void lock() noexcept {
        std::uint32_t seen = is_free;
        if (state_.compare_exchange_strong(seen, is_held, std::memory_order_acquire)) {
            return;
        }
        while (state_.exchange(is_awaited, std::memory_order_acquire) != is_free) {
            capture::raw_syscall(SYS_futex, capture::as_argument(&state_), FUTEX_WAIT_PRIVATE,
                                 is_awaited, 0);
        }
    }
    void unlock() noexcept {
        if (state_.exchange(is_free, std::memory_order_release) == is_awaited) {
            capture::raw_syscall(SYS_futex, capture::as_argument(&state_), FUTEX_WAKE_PRIVATE, 1);
        }
    }
    void reset() noexcept { state_.store(is_free, std::memory_order_relaxed); }

private:
    enum : std::uint32_t { is_free, is_held, is_awaited };
    std::atomic<std::uint32_t> state_{is_free};
};

class Locked {
public:
    explicit Locked(FutexLock& lock) noexcept : lock_{lock} { lock_.lock(); }
    ~Locked() { lock_.unlock(); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

private:
    BlockedSignals blocked_;
    FutexLock& lock_;
};

}  // namespace sample::source
