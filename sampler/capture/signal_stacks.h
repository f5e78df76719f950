// The alternate signal stacks that samples are taken on: ours, one for each thread.
//
// The kernel writes a signal's frame before any of our code runs: 3.6 KiB with AVX-512 state. Where
// the program's own stack has no room for it (a coroutine's of 2 KiB, an alternate stack whose
// memory serves something else by now), it overwrites what lies below. So the kernel's alternate
// stack of every thread is one of these, and what the program set is kept beside it.
//
// Which of the kept answers is the thread's is told by the size that the kernel holds: the whole
// size less the index of a view. So whatever restores the kernel's alternate stack (a handler's
// return, fork) restores the program's with it, and nothing depends on thread-local storage, which
// two threads may share.
//
// Blocks belong to thread ids. They lie in slabs, each twice as large as the one before; slabs are
// made by the agent, outside of handlers, and stay. Everything here is async-signal-safe.
// Source: sigaltstack(2); Linux kernel/signal.c, do_sigaltstack; arch/x86/kernel/signal.c.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::capture {

/// The program's alternate stacks that one thread's handlers may still return to.
inline constexpr std::size_t kStackViews = 64;

struct SignalStack {
    static constexpr std::size_t kBytes = std::size_t{32} * 1024;
    static constexpr std::size_t kGuardBytes = 4096;

    std::array<char, kGuardBytes>
        guard;  ///< Not accessible where the agent gave it, but in late slabs.
    std::array<char, kBytes - kGuardBytes - kStackViews * sizeof(stack_t) - 64> stack;
    /// As sigaltstack(2) shows them, without SS_ONSTACK and SS_DISABLE; a size of 0: none.
    std::array<stack_t, kStackViews> views;
    std::size_t used_views;
    std::array<std::size_t, 7> unused;

    /// Whose program sees `view`. Not while a signal may be delivered to the thread.
    void begin(const stack_t& view) noexcept {
        views[0] = view;
        used_views = 1;
    }

    [[nodiscard]] bool holds(const void* address) const noexcept {
        const auto* byte = static_cast<const char*>(address);
        return byte >= stack.data() && byte < stack.data() + stack.size();
    }
    /// What the kernel is told, so that `views[view]` is what the program sees.
    [[nodiscard]] stack_t as_kernels(std::size_t view) noexcept {
        return {stack.data(), 0, stack.size() - view};
    }
    [[nodiscard]] std::size_t view_index(const stack_t& kernels) const noexcept {
        return stack.size() - kernels.ss_size;
    }
    [[nodiscard]] const stack_t& view_of(const stack_t& kernels) const noexcept {
        return views[view_index(kernels)];
    }
};
static_assert(sizeof(SignalStack) == SignalStack::kBytes);

inline constexpr std::size_t kFirstSlabStacks = 16;  // 512 KiB
inline constexpr std::size_t kStackSlabs = 10;
/// 8176: more than threads can be sampled at once.
inline constexpr std::size_t kMaxSignalStacks = kFirstSlabStacks * ((1U << kStackSlabs) - 1);

/// Of slab `slab`.
[[nodiscard]] constexpr std::size_t stacks_in_slab(std::size_t slab) noexcept {
    return kFirstSlabStacks << slab;
}

/// How many slabs there are.
[[nodiscard]] std::size_t count_stack_slabs() noexcept;
/// Of slab `slab`, one that is there.
[[nodiscard]] std::span<const std::byte> stack_slab(std::size_t slab) noexcept;
/// Calls `use` with the memory of each.
template <class Use>
void for_each_stack_slab(const Use& use) noexcept {
    for (std::size_t slab = 0; slab < count_stack_slabs(); ++slab) {
        use(stack_slab(slab));
    }
}
/// Adds the memory of slab `slab`, the first that is not there. False: another thread was faster.
[[nodiscard]] bool add_stack_slab(std::size_t slab, SignalStack* stacks) noexcept;

/// The one that `kernels`, an alternate stack as the kernel told it, is. Null: not ours.
[[nodiscard]] SignalStack* find_signal_stack(const stack_t& kernels) noexcept;

/// One for the thread `tid`: its own, or a free one. Null: there is none.
[[nodiscard]] SignalStack* claim_signal_stack(std::uint32_t tid) noexcept;
/// Whether there seems to be a free one.
[[nodiscard]] bool has_spare_signal_stack() noexcept;
void free_signal_stack(const SignalStack& stack) noexcept;
/// Frees those of threads whose end nobody told us.
void free_stacks_of_gone_threads() noexcept;
/// In a forked child, whose only thread is `tid`: `own`, or null, is its stack.
void keep_one_signal_stack(const SignalStack* own, std::uint32_t tid) noexcept;

/// In the handler: a thread that we did not see beginning, and that has no alternate stack, has one
/// of ours from the return of the handler on, if there is a free one.
void adopt_interrupted_thread(stack_t& kernels) noexcept;

}  // namespace sample::capture
