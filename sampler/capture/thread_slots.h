// Which slot of the area is the calling thread's.
//
// Its place in thread-local storage says so. A thread that shares another one's storage (a raw
// clone without CLONE_SETTLS) is a guest there, and is known by its number: two producers on one
// buffer would destroy it. Async-signal-safe.
#pragma once

#include "sampler/capture/shared_area.h"

#include <atomic>
#include <cstdint>

namespace sample::capture {

/// ThreadLocal::busy once the thread has said its last word.
inline constexpr std::uint32_t kEnding = 2;

struct ThreadLocal {
    ThreadSlot* slot = nullptr;
    std::uint64_t stack_low = 0;
    std::uint64_t stack_high = 0;
    std::uint32_t busy = 0;
};

// NOLINTBEGIN(bugprone-dynamic-static-initializers): constinit is not seen by clang-tidy 14.
extern constinit thread_local ThreadLocal t_thread;

/// There may be guests on stacks that are taken for their hosts'.
extern constinit std::atomic<bool> g_shares_locals;
// NOLINTEND(bugprone-dynamic-static-initializers)

/// Gives the calling thread a slot. Null: all are in use.
[[nodiscard]] ThreadSlot* claim_slot(Area& area, std::uint64_t ticks) noexcept;

/// A new thread's, or a guest's: asks the kernel who runs.
[[nodiscard, gnu::cold]] ThreadSlot* look_up_own_slot(Area& area, std::uint64_t ticks) noexcept;

/// The calling thread's slot, where its stack pointer is `sp`. On the known stack nobody is asked.
/// Null: all are in use.
inline ThreadSlot* own_slot(Area& area, std::uint64_t sp, std::uint64_t ticks) noexcept {
    const ThreadLocal& self = t_thread;
    const bool on_known_stack = sp >= self.stack_low && sp < self.stack_high;
    if (self.slot != nullptr && on_known_stack &&
        !g_shares_locals.load(std::memory_order_relaxed)) {
        return self.slot;
    }
    return look_up_own_slot(area, ticks);
}

/// In a forked child, whose only thread is the calling one: nobody has a slot.
void forget_threads() noexcept;

}  // namespace sample::capture
