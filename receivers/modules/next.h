// What the host stands before: the next definition of a function, looked up when it is needed.
//
// Constructors of other libraries may call before ours has run, so each may be looked up late. That
// takes the loader's lock, for each name once; two threads may do it at once and find the same.
#pragma once

#include <dlfcn.h>

#include <atomic>

/// The functions that programs call instead of libc's.
#define SAMPLE_STANDS_BEFORE extern "C" __attribute__((visibility("default"), used))

namespace sample::modules {

template <class Function>
class Next {
public:
    /// `version`: of the symbol that is wanted, where there is an older one, too.
    constexpr explicit Next(const char* name, const char* version = nullptr) noexcept
        : name_{name}, version_{version} {}

    /// Null: there is none.
    [[nodiscard]] Function* get() noexcept {
        Function* const known = function_.load(std::memory_order_relaxed);
        return known != nullptr ? known : find();
    }

private:
    [[gnu::noinline, gnu::cold]] Function* find() noexcept {
        void* found = version_ == nullptr ? nullptr : ::dlvsym(RTLD_NEXT, name_, version_);
        if (found == nullptr) {
            found = ::dlsym(RTLD_NEXT, name_);
        }
        function_.store(reinterpret_cast<Function*>(found), std::memory_order_relaxed);
        return reinterpret_cast<Function*>(found);
    }

    const char* name_;
    const char* version_;
    std::atomic<Function*> function_{nullptr};
};

/// Whether the program and the libraries that it was started with find `own` by that name.
[[nodiscard]] inline bool is_first(const char* name, const void* own) noexcept {
    void* const program = ::dlopen(nullptr, RTLD_LAZY);
    return ::dlsym(program, name) == own;
}

}  // namespace sample::modules
