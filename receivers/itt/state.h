// Whether what comes is written, and what each thread has open.
#pragma once

#include "receivers/shared/key_table.h"
#include "receivers/shared/names.h"
#include "receivers/shared/thread_state.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

// clang-tidy 14 does not see constinit.
// NOLINTBEGIN(bugprone-dynamic-static-initializers)

// The channel `itt`.
SAMPLE_TRACE_CHANNEL_EXTERN(itt);

namespace sample::itt {

extern constinit std::atomic<bool> g_is_paused;
extern constinit std::atomic<bool> g_is_detached;
extern constinit receivers::Unmatched g_unmatched;

/// By the hash of what ends it: see begin_region().
extern constinit receivers::KeyTable<8192> g_regions;
// NOLINTEND(bugprone-dynamic-static-initializers)

/// The agent is there, and what the thread says now is to be recorded.
[[nodiscard]] inline bool is_on() noexcept {
    if (!SAMPLE_TRACE_IS_ON(::itt) || g_is_paused.load(std::memory_order_relaxed)) {
        return false;
    }
    const receivers::ThreadState* const thread = receivers::thread_state();
    return thread != nullptr && !thread->is_ignored;
}

[[nodiscard]] inline const sample_trace_functions& agent() noexcept {
    return *sample_trace_module.functions;
}

/// A zone that end_zone() of the same key ends, on the same thread.
void begin_zone(std::uint64_t key, const receivers::Name& name,
                const receivers::Name& category) noexcept;
/// False: there is none.
bool end_zone_if_any(std::uint64_t key) noexcept;
/// The same, and what has none is counted.
void end_zone(std::uint64_t key) noexcept;
/// A zone of no length.
void note(const char* name, const receivers::Name& category, const sample_trace_value* values,
          std::size_t count) noexcept;

/// A region that end_region() of the same key ends, on any thread. One of the same key that is open
/// ends before.
void begin_region(std::uint64_t key, const receivers::Name& name,
                  const receivers::Name& category) noexcept;
/// Nothing, if there is none.
void end_region(std::uint64_t key) noexcept;

}  // namespace sample::itt
