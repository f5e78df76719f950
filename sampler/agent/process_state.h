// What this process is in the session, and its locks. Empty in every forked child until it joins
// (see capture/wiped_on_fork.h): whoever asks there finds a process that has joined nothing and
// locks that nobody holds, without a system call and whichever way the child was made.
#pragma once

#include "sampler/capture/wiped_on_fork.h"
#include "sampler/control/protocol.h"
#include "sampler/source/futex_lock.h"

#include <atomic>
#include <cstdint>

namespace sample::agent {

struct ProcessState {
    // The gate's, see gate.h.
    std::atomic<std::uint32_t> pid{0};
    bool gate_is_needed = false;

    // What samples come by, see arming.h.
    std::atomic<control::Source> source{control::Source::none};
    bool has_sampling_thread = false;

    /// Whose view of our signal it is (signals.h): a vfork child shares it, and must not change it.
    std::atomic<long> signals_owner{0};
    source::FutexLock view_lock;
    source::FutexLock actions_lock;  ///< Of signal_relay.h's table.

    source::FutexLock unload_lock;  ///< Of the modules' generation.
    source::FutexLock listen_lock;  ///< Of trace/listening.h's table.
};

/// Defined in agent.cpp.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit is not seen by clang-tidy 14.
extern constinit capture::WipedOnFork<ProcessState> g_process_state;

/// Async-signal-safe.
[[nodiscard]] constexpr ProcessState& process_state() noexcept {
    return *g_process_state;
}

}  // namespace sample::agent
