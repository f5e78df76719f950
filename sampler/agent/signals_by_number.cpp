#include "sampler/agent/signals_by_number.h"

#include "sampler/agent/masked_wait.h"
#include "sampler/agent/readable.h"
#include "sampler/agent/signal_calls.h"
#include "sampler/agent/signal_relay.h"
#include "sampler/capture/kernel_action.h"
#include "sampler/capture/raw_syscall.h"

#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::KernelAction;

constexpr long kSetBytes = 8;

template <class T>
T* pointer(long argument) noexcept {
    return reinterpret_cast<T*>(argument);
}

template <class T>
bool is_readable(long argument) noexcept {
    return Readable{}.object(pointer<const T>(argument));
}

sigset_t set_of(std::uint64_t mask) noexcept {
    sigset_t set{};
    memcpy(&set, &mask, sizeof mask);
    return set;
}
std::uint64_t mask_of(const sigset_t& set) noexcept {
    std::uint64_t mask = 0;
    memcpy(&mask, &set, sizeof mask);
    return mask;
}

struct sigaction from_kernel(const KernelAction& action) noexcept {
    struct sigaction made {};
    made.sa_handler = action.handler;
    made.sa_flags = static_cast<int>(action.flags);
    made.sa_restorer = action.restorer;
    made.sa_mask = set_of(action.mask);
    return made;
}
KernelAction to_kernel(const struct sigaction& action) noexcept {
    return {action.sa_handler, static_cast<std::uint32_t>(action.sa_flags), action.sa_restorer,
            mask_of(action.sa_mask)};
}

int set_real_action(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
    KernelAction passed{};
    KernelAction before{};
    if (action != nullptr) {
        passed = to_kernel(*action);
    }
    const long result =
        make({SYS_rt_sigaction, signal, action != nullptr ? as_argument(&passed) : 0,
              old != nullptr ? as_argument(&before) : 0, kSetBytes});
    if (result == 0 && old != nullptr) {
        *old = from_kernel(before);
    }
    return static_cast<int>(result);
}

int change_real_mask(int how, const sigset_t* set, sigset_t* old) noexcept {
    return static_cast<int>(
        make({SYS_rt_sigprocmask, how, as_argument(set), as_argument(old), kSetBytes}));
}

int wait_really(const sigset_t* set, siginfo_t* info, const timespec* timeout) noexcept {
    return static_cast<int>(make({SYS_rt_sigtimedwait, as_argument(set), as_argument(info),
                                  as_argument(timeout), kSetBytes}));
}

/// Calls `change(what, old)` with copies of what the arguments b and c point to, as the kernel
/// does: what leads nowhere changes nothing, but an answer that cannot be written comes too late.
template <class T, class Change>
long change_by_copies(const NumberedCall& call, Change change) noexcept {
    if (call.d != kSetBytes || (call.b != 0 && !is_readable<T>(call.b))) {
        return make(call);
    }
    T what{};
    T old{};
    if (call.b != 0) {
        what = *pointer<T>(call.b);
    }
    const bool asks = call.c != 0;
    const int result = change(call.b != 0 ? &what : nullptr, asks ? &old : nullptr);
    if (result == 0 && asks) {
        if (!is_readable<T>(call.c)) {
            errno = EFAULT;
            return -1;
        }
        *pointer<T>(call.c) = old;
    }
    return result;
}

long change_action(const NumberedCall& call) noexcept {
    return change_by_copies<KernelAction>(call, [&](KernelAction* action, KernelAction* old) {
        struct sigaction passed {};
        struct sigaction before {};
        if (action != nullptr) {
            passed = from_kernel(*action);
        }
        const int result =
            set_action(static_cast<int>(call.a), action != nullptr ? &passed : nullptr,
                       old != nullptr ? &before : nullptr, set_real_action);
        if (old != nullptr) {
            *old = to_kernel(before);
        }
        return result;
    });
}

long change_mask_by_number(const NumberedCall& call) noexcept {
    return change_by_copies<std::uint64_t>(call, [&](std::uint64_t* mask, std::uint64_t* old) {
        const sigset_t set = set_of(mask != nullptr ? *mask : 0);
        sigset_t before{};
        const int result = change_mask(static_cast<int>(call.a), mask != nullptr ? &set : nullptr,
                                       old != nullptr ? &before : nullptr, change_real_mask);
        if (old != nullptr) {
            *old = mask_of(before);
        }
        return result;
    });
}

/// The call with our signal taken out of the set that `argument` points to.
long make_without_own(NumberedCall call, long NumberedCall::*argument) noexcept {
    if (call.*argument == 0 || !is_readable<std::uint64_t>(call.*argument)) {
        return make(call);
    }
    const sigset_t set = set_of(*pointer<std::uint64_t>(call.*argument));
    const WithoutOwn cleaned{&set};
    call.*argument = as_argument(cleaned.get());
    return make(call);
}

/// The same of a call that waits under that set.
long wait_without_own(NumberedCall call, long NumberedCall::*argument) noexcept {
    if (call.*argument == 0 || !is_readable<std::uint64_t>(call.*argument)) {
        return make(call);
    }
    const sigset_t set = set_of(*pointer<std::uint64_t>(call.*argument));
    return wait_under(&set, [&](const sigset_t* mask) {
        call.*argument = as_argument(mask);
        return make(call);
    });
}

long wait_for_signal(const NumberedCall& call) noexcept {
    if (call.d != kSetBytes || !is_readable<std::uint64_t>(call.a) ||
        (call.c != 0 && !is_readable<timespec>(call.c))) {
        return make(call);
    }
    const sigset_t set = set_of(*pointer<std::uint64_t>(call.a));
    const WithoutOwn cleaned{&set};
    return cleaned.held() ? wait_in_slices(cleaned.get(), pointer<siginfo_t>(call.b),
                                           pointer<timespec>(call.c), wait_really)
                          : make(call);
}

long ask_pending(const NumberedCall& call) noexcept {
    const long result = make(call);
    if (result == 0 && call.b == kSetBytes) {
        sigset_t set = set_of(*pointer<std::uint64_t>(call.a));
        add_pending(set);
        *pointer<std::uint64_t>(call.a) = mask_of(set);
    }
    return result;
}

/// The last argument points to a set and its size. Source: select(2), C library/kernel differences;
/// io_getevents(2).
long make_with_sized_set(NumberedCall call) noexcept {
    struct Set {
        const void* set;
        std::size_t bytes;
    };
    if (call.f == 0 || !is_readable<Set>(call.f)) {
        return make(call);
    }
    Set passed = *pointer<Set>(call.f);
    if (passed.set == nullptr || !Readable{}.object(passed.set, kSetBytes)) {
        return make(call);
    }
    const sigset_t set = set_of(*static_cast<const std::uint64_t*>(passed.set));
    call.f = as_argument(&passed);
    return wait_under(&set, [&](const sigset_t* mask) {
        passed.set = mask;
        return make(call);
    });
}

/// There is no signal of ours, but our handler may still be there (signals.h).
long make_without_signal(const NumberedCall& call) noexcept {
    const long result = make(call);
    if (call.number == SYS_rt_sigaction && result == 0 && call.c != 0) {
        struct sigaction old = from_kernel(*pointer<KernelAction>(call.c));
        hide_own_handler(&old);
        *pointer<KernelAction>(call.c) = to_kernel(old);
    }
    return result;
}

}  // namespace

long make_signal_call(const NumberedCall& call) noexcept {
    if (own_signal() == 0 && call.number != SYS_sigaltstack) {
        // Also where a filter kills for what is asked below.
        return make_without_signal(call);
    }
    switch (call.number) {
        case SYS_rt_sigaction:
            return change_action(call);
        case SYS_rt_sigprocmask:
            return change_mask_by_number(call);
        case SYS_rt_sigpending:
            return ask_pending(call);
        case SYS_rt_sigtimedwait:
            return wait_for_signal(call);
        case SYS_rt_sigsuspend:
            return wait_without_own(call, &NumberedCall::a);
        case SYS_signalfd:
        case SYS_signalfd4:
            return make_without_own(call, &NumberedCall::b);
        case SYS_ppoll:
            return wait_without_own(call, &NumberedCall::d);
        case SYS_pselect6:
        case SYS_io_pgetevents:
            return make_with_sized_set(call);
        case SYS_epoll_pwait:
        case SYS_epoll_pwait2:
            return wait_without_own(call, &NumberedCall::e);
        case SYS_sigaltstack:
            // libc adds nothing to it.
            return own_signal() == 0 || call.a == 0 || is_readable<stack_t>(call.a)
                       ? sigaltstack(pointer<stack_t>(call.a), pointer<stack_t>(call.b))
                       : make(call);
        default:
            return make(call);
    }
}

}  // namespace sample::agent
