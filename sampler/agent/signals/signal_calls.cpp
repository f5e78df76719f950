#include "sampler/agent/signals/signal_calls.h"

#include "core/kernel_clock.h"
#include "sampler/agent/confinement/confinement.h"
#include "sampler/agent/processes/readable.h"
#include "sampler/agent/signals/signal_relay.h"
#include "sampler/agent/signals/signals.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/interrupted_call.h"
#include "sampler/capture/raw_syscall.h"

namespace sample::agent {
namespace {

constexpr long kWaitSliceNs = 20'000'000;
constexpr long kSecondNs = 1'000'000'000;

timespec now_monotonic() noexcept {
    const std::uint64_t now = read_kernel_clock_ns(CLOCK_MONOTONIC);
    return {static_cast<time_t>(now / kSecondNs), static_cast<long>(now % kSecondNs)};
}

bool is_before(const timespec& a, const timespec& b) noexcept {
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

timespec subtract(timespec a, const timespec& b) noexcept {
    a.tv_sec -= b.tv_sec;
    a.tv_nsec -= b.tv_nsec;
    if (a.tv_nsec < 0) {
        --a.tv_sec;
        a.tv_nsec += kSecondNs;
    }
    return a;
}

/// As the kernel judges.
bool is_valid(const timespec& timeout) noexcept {
    return timeout.tv_sec >= 0 && timeout.tv_nsec >= 0 && timeout.tv_nsec < kSecondNs;
}

int exchange_own_action(const struct sigaction* action, struct sigaction* old,
                        ActionCall* real) noexcept {
    const int own = own_signal();
    const struct sigaction before = program_view().action();
    int result = 0;
    if (action != nullptr && is_owner()) {
        set_own_action(*action);
    } else if (action != nullptr) {
        result = real(own, action, nullptr);
    }
    if (result == 0 && old != nullptr) {
        *old = before;
    }
    return result;
}

/// Of a mask that holds our signal, or that becomes the thread's whole one; `set` is it as the
/// program has given it.
int change_with_view(int how, const sigset_t* set, sigset_t* old, const WithoutOwn& cleaned,
                     MaskCall* real) noexcept {
    // Opened for real as well: a frame that the program went back to itself may have blocked it.
    const bool opens = how == SIG_UNBLOCK && !is_left_unsampled();
    const bool blocks = how != SIG_UNBLOCK && cleaned.held();
    const MaskChange change{__builtin_frame_address(0), how, mask_of(*cleaned.get()), blocks};
    const int result = real(how, opens ? set : cleaned.get(), old);
    if (result == 0) {
        MaskChange::finish();
    }
    return result;
}

/// What the kernel has told of a thread's mask, as the program is to see it.
void show_own_in(sigset_t& mask, bool blocked) noexcept {
    if (blocked) {
        sigaddset(&mask, own_signal());
    } else if (is_left_unsampled()) {
        sigdelset(&mask, own_signal());
    }
}

/// How long to wait now, of `timeout` since `begin`.
timespec next_slice(const timespec* timeout, const timespec& begin, bool& is_last) noexcept {
    const timespec slice{0, kWaitSliceNs};
    if (timeout == nullptr) {
        return slice;
    }
    const timespec left = subtract(*timeout, subtract(now_monotonic(), begin));
    is_last = is_before(left, slice);
    if (!is_last) {
        return slice;
    }
    return is_before(left, {}) ? timespec{} : left;
}

}  // namespace

void hide_own_handler(struct sigaction* action) noexcept {
    if (action != nullptr && action->sa_sigaction == capture::on_signal) {
        *action = {};
    }
}

int change_mask(int how, const sigset_t* set, sigset_t* old, MaskCall* real) noexcept {
    const WithoutOwn cleaned{
        set, how == SIG_SETMASK ? WithoutOwn::Use::whole_mask : WithoutOwn::Use::any};
    const bool blocked_before = program_blocks_own_signal();
    const int own = own_signal();
    // A vfork child has a mask of its own, but its parent's view.
    const bool is_childs = own != 0 && (cleaned.held() || blocked_before) && !is_owner();
    const bool is_named = cleaned.held() && (how == SIG_BLOCK || how == SIG_UNBLOCK);
    const bool changes =
        own != 0 && set != nullptr && !is_childs && (how == SIG_SETMASK || is_named);
    const int result = changes ? change_with_view(how, set, old, cleaned, real)
                               : real(how, is_childs ? set : cleaned.get(), old);
    if (result != 0 || own == 0) {
        return result;
    }
    if (old != nullptr) {
        show_own_in(*old, blocked_before);
    }
    if (set != nullptr && is_childs) {
        note_mask_of_child();
    } else if (set != nullptr) {
        deliver_pending();
    }
    return result;
}

int set_action(int signal, const struct sigaction* action, struct sigaction* old,
               ActionCall* real) noexcept {
    if (signal < 1 || signal > 64) {
        return real(signal, action, old);
    }
    const int own = own_signal();
    if (own == 0) {
        const int result = program_sigaction(signal, action, old, real);
        hide_own_handler(old);
        return result;
    }
    if (signal == own) {
        return exchange_own_action(action, old, real);
    }
    struct sigaction passed {};
    bool held = false;
    if (action != nullptr) {
        passed = *action;
        held = sigismember(&action->sa_mask, own) == 1;
        sigdelset(&passed.sa_mask, own);
    }
    const bool held_before = program_view().mask_held(signal);
    const int result = program_sigaction(signal, action != nullptr ? &passed : nullptr, old, real);
    if (result == 0 && action != nullptr) {
        note_mask_held(signal, held);
    }
    if (result == 0 && old != nullptr) {
        if (held_before) {
            sigaddset(&old->sa_mask, own);
        } else {
            sigdelset(&old->sa_mask, own);
        }
    }
    return result;
}

bool leads_nowhere(const sigset_t* set) noexcept {
    constexpr std::uint64_t kPage = 4096;
    const auto at = reinterpret_cast<std::uint64_t>(set);
    // Mostly it is a variable of the caller's, on the page that is in use here.
    const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
    return set != nullptr && own_signal() != 0 && at / kPage != here / kPage &&
           !Readable{}.object(set, sizeof set->__val[0]);
}

void note_mask_held(int signal, bool held) noexcept {
    // A vfork child has actions of its own, but its parent's view.
    if (program_view().mask_held(signal) != held && is_owner()) {
        program_view().set_mask_held(signal, held);
    }
}

void add_pending(sigset_t& set) noexcept {
    const int own = own_signal();
    if (own == 0) {
        return;
    }
    // A filter may kill for what would tell.
    if (sigismember(&set, own) == 1 && !is_confined() && !is_programs_own_waiting()) {
        sigdelset(&set, own);
    }
    if (program_blocks_own_signal() && program_view().is_pending()) {
        sigaddset(&set, own);
    }
}

int wait_in_slices(const sigset_t* others, siginfo_t* info, const timespec* timeout,
                   WaitCall* real) noexcept {
    if (timeout != nullptr && !is_valid(*timeout)) {
        return real(others, info, timeout);
    }
    const timespec begin = timeout != nullptr ? now_monotonic() : timespec{};
    for (int failure = 0;;) {
        siginfo_t own_info{};
        if (program_view().take_pending(&own_info)) {
            if (info != nullptr) {
                *info = own_info;
            }
            return own_signal();
        }
        if (failure != 0) {
            errno = failure;
            return -1;
        }
        bool is_last = false;
        const timespec slice = next_slice(timeout, begin, is_last);
        const int result = real(others, info, &slice);
        if (result >= 0) {
            return result;
        }
        // One of ours may have come meanwhile, and have ended the wait.
        failure = errno != EAGAIN || is_last ? errno : 0;
    }
}

bool is_one_unhandled(const sigset_t& mask) noexcept {
    // Without a signal of ours no sample was in the way, and a filter may forbid to ask.
    std::uint64_t waiting = 0;
    if (own_signal() == 0 || !capture::may_ask_who_waits() ||
        capture::raw_syscall(SYS_rt_sigpending, capture::as_argument(&waiting), sizeof waiting) !=
            0) {
        return false;
    }
    for (int signal = 1; signal <= 64; ++signal) {
        struct sigaction action {};
        if ((waiting >> (signal - 1) & 1) != 0 && sigismember(&mask, signal) == 0 &&
            next_sigaction(signal, nullptr, &action) == 0 && has_handler(action)) {
            return true;
        }
    }
    return false;
}

}  // namespace sample::agent
