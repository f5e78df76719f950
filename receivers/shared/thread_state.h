// What a receiver knows of each thread.
//
// Thread-local storage of a library that is loaded late is malloc's, and the program may be inside
// its own malloc when it calls us. So a thread has but a pointer, which fits into what the loader
// keeps for such libraries, and a thread that ends leaves its state to the next one.
#pragma once

#include "receivers/shared/thread_zones.h"

#include <cstdint>

namespace sample::receivers {

struct ThreadState {
    ThreadZones zones;
    bool is_ignored;           ///< The program does not want to hear of it.
    std::uint32_t names_seen;  ///< Of what other threads have named.
    ThreadState* next;         ///< While no thread has it.
};

namespace detail {
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): clang-tidy 14 does not see constinit.
extern constinit thread_local ThreadState* t_state [[gnu::tls_model("initial-exec")]];
[[nodiscard]] ThreadState* begin_thread() noexcept;
}  // namespace detail

/// The calling thread's. Null: there is no memory.
[[nodiscard]] inline ThreadState* thread_state() noexcept {
    ThreadState* const state = detail::t_state;
    return state != nullptr ? state : detail::begin_thread();
}

}  // namespace sample::receivers
