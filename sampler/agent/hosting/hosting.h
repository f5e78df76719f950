// The host of profiler modules (libsample-modules.so, receivers/modules/): what it is told by the
// agent. What it calls is in hosting.cpp.
//
// The agent knows nothing of modules. Where there is no host, each place that would tell it
// something costs one load and a branch.
#pragma once

#include "sample/profiler_module_abi.h"

#include <cstdint>

namespace sample::agent {

/// Null: there is none that has a module. Async-signal-safe.
[[nodiscard]] const sample_module_listener* module_host() noexcept;

/// What the calling thread does with memory of malloc's, right behind call_stack(), whose answer
/// `stack` is. `before`: what it was, of realloc. Async-signal-safe.
struct Before {
    const void* block = nullptr;
    std::uint64_t bytes = 0;
};
void tell_allocated(const Before& before, const void* block, std::uint64_t bytes,
                    std::uint32_t stack) noexcept;
void tell_freed(const void* block, std::uint64_t bytes, std::uint32_t stack) noexcept;

/// The calling thread, of pthread_create or thrd_create, begins or ends.
void tell_thread_started() noexcept;
void tell_thread_stopped() noexcept;

/// The process is about to exec; nothing in a vfork child. Async-signal-safe.
void tell_exec(const char* path) noexcept;

}  // namespace sample::agent
