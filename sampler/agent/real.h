// The function that a wrapper stands before: the next definition in the loader's search order.
//
// Resolved once, at the first call, which may be before our constructor ran (another library's
// constructor). Two threads may resolve at once and store the same pointer.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace sample::agent {

template <class Function>
class Real {
public:
    constexpr explicit Real(const char* name) noexcept : name_{name} {}

    /// Not async-signal-safe at the first call (dlsym), afterwards it is.
    Function* get() noexcept {
        Function* function = function_.load(std::memory_order_relaxed);
        if (function == nullptr) {
            function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
            function_.store(function, std::memory_order_relaxed);
        }
        return function;
    }

private:
    const char* name_;
    std::atomic<Function*> function_{nullptr};
};

}  // namespace sample::agent
