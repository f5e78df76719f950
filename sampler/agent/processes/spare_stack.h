// Room for what a wrapper does, where the caller's stack may have none.
//
// Coroutines, clone's children and handlers on alternate stacks call exec, posix_spawn and fork
// with a few KiB of stack, and libc needs no more for it. What we do around them takes up to 100
// KiB: it is done on the caller's stack only where that is known to be large, else on a mapping of
// our own. The call itself is always made on the caller's stack.
//
// A child that shares its parent's memory never returns from a successful exec, so it cannot give a
// mapping back: its parent's thread, which waits for it, keeps one for all such children.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sample::agent {

class SpareStack {
public:
    /// Async-signal-safe.
    SpareStack() noexcept;
    ~SpareStack();
    SpareStack(const SpareStack&) = delete;
    SpareStack& operator=(const SpareStack&) = delete;

    /// The caller's stack will do, or there is nothing else.
    [[nodiscard]] bool uses_callers_stack() const noexcept { return mapping_ == nullptr; }
    /// kMemoryBytes, unless it is the caller's; aligned for everything.
    [[nodiscard]] char* memory() const noexcept { return mapping_; }

    /// Calls `work` where there is room. While it is elsewhere all signals are blocked: the kernel
    /// would take an alternate stack that the caller is on for free.
    template <class Work>
    void run(Work work) noexcept {
        call(call_work<Work>, &work);
    }

    /// As run(), but signals arrive: not where the caller may be on an alternate stack.
    template <class Work>
    void run_with_signals(Work work) noexcept {
        call_with_signals(call_work<Work>, &work);
    }

    static constexpr std::size_t kMemoryBytes = std::size_t{68} * 1024;

private:
    using Function = void (*)(void*) noexcept;

    template <class Work>
    static void call_work(void* work) noexcept {
        (*static_cast<Work*>(work))();
    }
    // By a pointer: what the work needs of the stack is not its caller's.
    void call(Function function, void* argument) const noexcept;
    void call_with_signals(Function function, void* argument) const noexcept;

    char* mapping_ = nullptr;
    bool is_kept_ = false;
};

/// Whether the calling thread's stack is known, and large enough for all that a wrapper does.
/// Async-signal-safe.
[[nodiscard]] bool has_room_here() noexcept;

/// The calling thread runs on its alternate stack. Async-signal-safe.
[[nodiscard]] bool is_on_alternate_stack() noexcept;

/// The calling thread ends. Async-signal-safe.
void free_spare_stack_of_children() noexcept;

}  // namespace sample::agent
