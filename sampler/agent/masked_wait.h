// Calls that wait under a mask of their own: sigsuspend, ppoll, pselect, epoll_pwait.
#pragma once

#include "sampler/agent/signal_calls.h"
#include "sampler/agent/signal_relay.h"

#include <cerrno>
#include <csignal>

namespace sample::agent {

/// A signal that `mask` lets through waits for its handler. Async-signal-safe.
[[nodiscard]] bool is_one_unhandled(const sigset_t& mask) noexcept;

[[nodiscard]] inline bool was_interrupted(int libc_result) noexcept {
    return libc_result == -1 && errno == EINTR;
}
[[nodiscard]] inline bool was_interrupted(long kernel_result) noexcept {
    return kernel_result == -EINTR;
}

/// Makes `call`, which waits under the mask that it is given: `set` without our signal. Null: under
/// the thread's own. A sample on the call's way out gets its frame first, and with it goes the
/// thread's own mask: the signal that ended the wait is blocked again, unhandled. Then the call is
/// made once more, and handles it.
template <class Call>
[[gnu::always_inline]] inline auto wait_under(const sigset_t* set, Call call) {
    const WithoutOwn cleaned{set, WithoutOwn::Use::whole_mask};
    const TemporaryMask temporary{cleaned.get(), __builtin_frame_address(0)};
    auto result = call(cleaned.get());
    while (set != nullptr && was_interrupted(result) && is_one_unhandled(*cleaned.get())) {
        result = call(cleaned.get());
    }
    return result;
}

}  // namespace sample::agent
