// Which slot of the area is the calling thread's.
//
// Its place in thread-local storage says so. A thread that shares another one's storage (a raw
// clone without CLONE_SETTLS) is a guest there, and is known by its number: two producers on one
// buffer would destroy it. Async-signal-safe.
#pragma once

#include "sampler/capture/thread_state.h"

#include <atomic>
#include <cstdint>

namespace sample::capture {

/// ThreadLocal::busy once the thread has said its last word.
inline constexpr std::uint32_t kEnding = 2;

struct ThreadLocal {
    ThreadState* state = nullptr;
    std::uint64_t stack_low = 0;
    std::uint64_t stack_high = 0;
    std::uint32_t busy = 0;
    /// Of its CPU time, what AreaHeader::slotless_weight has, as it had no slot.
    std::uint64_t slotless_ns = 0;
    std::uint32_t pace = 0;  ///< AreaHeader::pace as the thread's timer goes, if it has one.
    std::uint32_t timer_signals = 0;  ///< That it has sent.
    /// Of the sample that a SampleHit is called with; null: none is.
    const unwind::StackMemo* hit = nullptr;
    bool awaits_foreign = false;  ///< See await_foreign().
};

// NOLINTBEGIN(bugprone-dynamic-static-initializers): constinit is not seen by clang-tidy 14.
extern constinit thread_local ThreadLocal t_thread;

/// There may be guests on stacks that are taken for their hosts'.
extern constinit std::atomic<bool> g_shares_locals;
// NOLINTEND(bugprone-dynamic-static-initializers)

/// Gives the calling thread a slot and its state. Null: all are in use, or no memory is to be had.
[[nodiscard, gnu::cold]] ThreadState* claim_thread(Area& area, std::uint64_t ticks,
                                                   bool is_observer = false) noexcept;

/// The same for the calling thread, unless it has one. Its samples are lost while it does this.
[[gnu::cold]] void claim_own_slot(Area& area, bool is_observer = false) noexcept;

/// What the calling thread has used, or done, since it last did this goes to the area's sum for
/// threads without a slot. `is_sample`: as it would have been sampled; not so at its end.
[[gnu::cold]] void count_slotless(Area& area, bool is_sample) noexcept;

/// A new thread's, or a guest's: asks the kernel who runs.
[[nodiscard, gnu::cold]] ThreadState* look_up_own_thread(Area& area, std::uint64_t ticks) noexcept;

/// The calling thread's state, where its stack pointer is `sp`. On the known stack nobody is asked.
/// Null: as claim_thread().
inline ThreadState* own_thread(Area& area, std::uint64_t sp, std::uint64_t ticks) noexcept {
    const ThreadLocal& self = t_thread;
    const bool on_known_stack = sp >= self.stack_low && sp < self.stack_high;
    if (self.state != nullptr && on_known_stack &&
        !g_shares_locals.load(std::memory_order_relaxed)) {
        return self.state;
    }
    return look_up_own_thread(area, ticks);
}

/// What of the calling thread's stack is read without asking the kernel: from `sp`, and as much of
/// the red zone as is on its page, up to where the stack begins. Below, there may be pages that it
/// never had; where it has left the stack for another one, the program may have taken all of it.
[[nodiscard]] inline unwind::StackBounds stack_in_use(std::uint64_t sp) noexcept {
    constexpr std::uint64_t kPage = 4096;
    constexpr std::uint64_t kRedZone = 128;
    const ThreadLocal& self = t_thread;
    if (sp < self.stack_low || sp >= self.stack_high) {
        return {};
    }
    const std::uint64_t in_page = sp % kPage;
    return {sp - (in_page < kRedZone ? in_page : kRedZone), self.stack_high};
}

/// In a forked child, whose only thread is the calling one: nobody has a slot.
void forget_threads() noexcept;

/// Of the process's threads.
[[nodiscard]] ThreadStates& thread_states() noexcept;

}  // namespace sample::capture
