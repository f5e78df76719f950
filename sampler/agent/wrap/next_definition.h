// What every wrapper of a libc function is made of: its own definition, which the library exports,
// and the next one in the loader's search order, which it stands before.
//
// All are looked up in our constructor; one that is called before that (by another library's
// constructor) is looked up then. Two threads may do so at once and store the same pointer.
#pragma once

#include <atomic>

/// Marks the libc functions that the agent stands before: the only symbols it exports
/// (exports.map).
#define SAMPLE_WRAPPER __attribute__((visibility("default"), used))

/// Defines `variable`, a NextDefinition of the function `name`, where find_next_definitions() finds
/// it. The function's type comes last.
#define SAMPLE_NEXT(variable, name, ...)                                                   \
    [[gnu::section("sample_next")]] constinit ::sample::agent::NextDefinition<__VA_ARGS__> \
        variable {                                                                         \
        name                                                                               \
    }

namespace sample::agent {

/// What `name` means behind us in the loader's search order; null: nothing. Not async-signal-safe.
[[nodiscard]] void* find_next(const char* name) noexcept;

class NextSymbol {
public:
    constexpr explicit NextSymbol(const char* name) noexcept : name_{name} {}
    [[nodiscard]] void* find() noexcept;

protected:
    [[nodiscard]] void* found() const noexcept { return function_.load(std::memory_order_relaxed); }

private:
    const char* name_;
    std::atomic<void*> function_{nullptr};
};

/// To be defined with SAMPLE_NEXT.
template <class Function>
class NextDefinition : public NextSymbol {
public:
    using NextSymbol::NextSymbol;

    [[nodiscard]] bool is_found() const noexcept { return found() != nullptr; }
    /// Async-signal-safe once our constructor has run; before that, dlsym may be called.
    Function* get() noexcept {
        void* function = found();
        return reinterpret_cast<Function*>(function != nullptr ? function : find());
    }
};

/// Looks up all of them: a child of a process with threads, or a handler, could wait for the
/// loader's lock for ever.
void find_next_definitions() noexcept;

// What single wrappers need, in the constructor too. Not async-signal-safe.
/// Makes the key whose destructor notices a thread's end. See wrap/threads.cpp.
void set_up_threads() noexcept;
/// quick_exit has handlers of its own.
void set_up_quick_exit() noexcept;
/// Of libsample-memory.so alone, and null in the other one: switches the tracing of malloc on if
/// the session wants it.
[[gnu::weak]] void set_up_heap() noexcept;
/// The same: whether it is on.
[[nodiscard, gnu::weak]] bool tells_heap() noexcept;

}  // namespace sample::agent
