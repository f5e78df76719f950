// What a program does to its signals and sees of them, whichever way it calls: the kernel is given
// all of it but our signal, and our signal is put back into what the program is shown.
//
// `real` is the call itself, past our wrappers: libc's function, or the system call by number. Each
// answers as that does.
#pragma once

#include "sampler/agent/signals/signal_relay.h"
#include "sampler/agent/signals/signals.h"
#include "sampler/capture/interrupted_call.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace sample::agent {

/// A copy of a set without our signal, or the set itself where it does not hold it. Of what becomes
/// a thread's whole mask, the other way round where the thread is not sampled.
class WithoutOwn {
public:
    enum class Use : std::uint8_t { any, whole_mask };

    explicit WithoutOwn(const sigset_t* set, Use use = Use::any) noexcept : set_{set} {
        const int own = own_signal();
        if (set == nullptr || own == 0) {
            return;
        }
        held_ = sigismember(set, own) == 1;
        const bool is_wanted = use == Use::whole_mask && is_left_unsampled();
        if (held_ != is_wanted) {
            // Of libc's set the kernel reads no more, and a caller may have no more.
            copy_ = set_of(mask_of(*set));
            if (is_wanted) {
                sigaddset(&copy_, own);
            } else {
                sigdelset(&copy_, own);
            }
            set_ = &copy_;
        }
    }
    ~WithoutOwn() = default;
    WithoutOwn(const WithoutOwn&) = delete;
    WithoutOwn& operator=(const WithoutOwn&) = delete;
    [[nodiscard]] const sigset_t* get() const noexcept { return set_; }
    [[nodiscard]] bool held() const noexcept { return held_; }

private:
    const sigset_t* set_;
    sigset_t copy_{};
    bool held_ = false;
};

/// There is a signal of ours, and nothing that can be read at `set`: the kernel is to say so.
/// Async-signal-safe.
[[nodiscard]] bool leads_nowhere(const sigset_t* set) noexcept;

using MaskCall = int(int, const sigset_t*, sigset_t*);
int change_mask(int how, const sigset_t* set, sigset_t* old, MaskCall* real) noexcept;

int set_action(int signal, const struct sigaction* action, struct sigaction* old,
               ActionCall* real) noexcept;

/// The program's mask for the handler of another signal holds ours, or does not.
void note_mask_held(int signal, bool held) noexcept;

/// Once our signal is given back, our handler stays in the place of the default (signals.h).
void hide_own_handler(struct sigaction* action) noexcept;

/// After a successful sigpending: our signal, if and only if the program is to see it.
void add_pending(sigset_t& set) noexcept;

using WaitCall = int(const sigset_t*, siginfo_t*, const timespec*);
/// For a set that held our signal: `others` are waited for in slices, ours is looked up in between.
/// `timeout` null: for ever.
int wait_in_slices(const sigset_t* others, siginfo_t* info, const timespec* timeout,
                   WaitCall* real) noexcept;

// Calls that wait under a mask of their own: sigsuspend, ppoll, pselect, epoll_pwait.

/// A signal that `mask` lets through waits for its handler. Async-signal-safe.
[[nodiscard]] bool is_one_unhandled(const sigset_t& mask) noexcept;

[[nodiscard]] inline bool was_interrupted(long libc_result) noexcept {
    return libc_result == -1 && errno == EINTR;
}

/// Makes `call`, which waits under the mask that it is given: `set` without our signal. Null: under
/// the thread's own. A sample on the call's way out gets its frame first, and with it goes the
/// thread's own mask: the signal that ended the wait is blocked again, unhandled. Then the call is
/// made once more, and handles it.
template <class Call>
[[gnu::always_inline]] inline auto wait_under(const sigset_t* set, Call call) {
    if (leads_nowhere(set)) {
        return call(set);
    }
    const WithoutOwn cleaned{set, WithoutOwn::Use::whole_mask};
    const bool opens_own = set != nullptr && own_signal() != 0 && !cleaned.held() &&
                           program_blocks_own_signal() && !is_left_unsampled();
    decltype(call(set)) result{};
    {
        const TemporaryMask temporary{cleaned.get(), __builtin_frame_address(0), opens_own};
        if (opens_own) {
            open_for_wait();
        }
        result = call(cleaned.get());
        while (set != nullptr && was_interrupted(result) && is_one_unhandled(*cleaned.get())) {
            temporary.note_again();
            if (opens_own) {
                capture::leave_eintr(true);  // which a jump inside a handler has taken back
            }
            result = call(cleaned.get());
        }
    }
    if (opens_own) {
        close_after_wait(was_interrupted(result));
    }
    return result;
}

}  // namespace sample::agent
