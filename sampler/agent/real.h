// The function that a wrapper stands before: the next definition in the loader's search order.
//
// All are looked up in our constructor; one that is called before that (by another library's
// constructor) is looked up then. Two threads may do so at once and store the same pointer.
#pragma once

#include <atomic>

namespace sample::agent {

class RealFunction {
public:
    constexpr explicit RealFunction(const char* name) noexcept : name_{name} {}
    [[nodiscard]] void* find() noexcept;

protected:
    [[nodiscard]] void* found() const noexcept { return function_.load(std::memory_order_relaxed); }

private:
    const char* name_;
    std::atomic<void*> function_{nullptr};
};

/// To be defined with SAMPLE_REAL.
template <class Function>
class Real : public RealFunction {
public:
    using RealFunction::RealFunction;

    /// Async-signal-safe once our constructor has run; before that, dlsym may be called.
    Function* get() noexcept {
        void* function = found();
        return reinterpret_cast<Function*>(function != nullptr ? function : find());
    }
};

/// Looks up all of them: a child of a process with threads, or a handler, could wait for the
/// loader's lock for ever.
void find_real_functions() noexcept;

}  // namespace sample::agent

/// Puts a Real where find_real_functions() finds it.
#define SAMPLE_REAL [[gnu::section("sample_reals")]]
