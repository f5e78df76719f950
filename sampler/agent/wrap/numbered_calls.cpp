// The calls that are wrapped by name, by their numbers: as signal_calls.h and the other wrappers,
// but with the kernel's structures, and a pointer that leads nowhere gives EFAULT.
#include "sampler/agent/processes/gate.h"
#include "sampler/agent/processes/readable.h"
#include "sampler/agent/signals/signal_calls.h"
#include "sampler/agent/signals/signal_relay.h"
#include "sampler/agent/wrap/numbered_call.h"
#include "sampler/capture/interrupted_call.h"
#include "sampler/capture/raw_syscall.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
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

int set_kernels_action(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
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

int change_kernels_mask(int how, const sigset_t* set, sigset_t* old) noexcept {
    return static_cast<int>(
        make({SYS_rt_sigprocmask, how, as_argument(set), as_argument(old), kSetBytes}));
}

int wait_in_kernel(const sigset_t* set, siginfo_t* info, const timespec* timeout) noexcept {
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
                       old != nullptr ? &before : nullptr, set_kernels_action);
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
                                       old != nullptr ? &before : nullptr, change_kernels_mask);
        if (old != nullptr) {
            *old = mask_of(before);
        }
        return result;
    });
}

/// The call with our signal taken out of the set that the argument points to.
template <long NumberedCall::*kSet>
long make_without_own(const NumberedCall& call) noexcept {
    if (call.*kSet == 0 || !is_readable<std::uint64_t>(call.*kSet)) {
        return make(call);
    }
    const sigset_t set = set_of(*pointer<std::uint64_t>(call.*kSet));
    const WithoutOwn cleaned{&set};
    NumberedCall passed = call;
    passed.*kSet = as_argument(cleaned.get());
    return make(passed);
}

/// The same of a call that waits under that set.
template <long NumberedCall::*kSet>
long wait_without_own(const NumberedCall& call) noexcept {
    if (call.*kSet == 0 || !is_readable<std::uint64_t>(call.*kSet)) {
        return make(call);
    }
    const sigset_t set = set_of(*pointer<std::uint64_t>(call.*kSet));
    return wait_under(&set, [passed = call](const sigset_t* mask) mutable {
        passed.*kSet = as_argument(mask);
        return make(passed);
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
                                           pointer<timespec>(call.c), wait_in_kernel)
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
long wait_with_sized_set(const NumberedCall& call) noexcept {
    struct Set {
        const void* set;
        std::size_t bytes;
    };
    if (call.f == 0 || !is_readable<Set>(call.f)) {
        return make(call);
    }
    Set words = *pointer<Set>(call.f);
    if (words.set == nullptr || !Readable{}.object(words.set, kSetBytes)) {
        return make(call);
    }
    const sigset_t set = set_of(*static_cast<const std::uint64_t*>(words.set));
    NumberedCall passed = call;
    passed.f = as_argument(&words);
    return wait_under(&set, [&](const sigset_t* mask) {
        words.set = mask;
        return make(passed);
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

/// A call that is as without us where there is no signal of ours: also where a filter kills for
/// what is asked otherwise.
template <long (*kMake)(const NumberedCall&) noexcept>
long with_own_signal(const NumberedCall& call) noexcept {
    return own_signal() == 0 ? make_without_signal(call) : kMake(call);
}

long change_alternate_stack(const NumberedCall& call) noexcept {
    // libc adds nothing to it.
    return own_signal() == 0 || call.a == 0 || is_readable<stack_t>(call.a)
               ? sigaltstack(pointer<stack_t>(call.a), pointer<stack_t>(call.b))
               : make(call);
}

long execute(const NumberedCall& call) noexcept {
    return execve(pointer<char>(call.a), pointer<char*>(call.b), pointer<char*>(call.c));
}

long execute_at(const NumberedCall& call) noexcept {
    return execveat(static_cast<int>(call.a), pointer<char>(call.b), pointer<char*>(call.c),
                    pointer<char*>(call.d), static_cast<int>(call.e));
}

long end_process(const NumberedCall& call) noexcept {
    note_exit(static_cast<int>(call.a));
    return make(call);
}

long end_thread(const NumberedCall& call) noexcept {
    NumberedCall end = call;
    end.a = note_thread_exit(static_cast<int>(call.a));
    return make(end);
}

long lock_memory(const NumberedCall& call) noexcept {
    return mlockall(static_cast<int>(call.a));
}

struct OurCall {
    long number;
    long (*make)(const NumberedCall&) noexcept;
};

constexpr auto kOurCalls = std::to_array<OurCall>({
    // Those that may return twice come first.
    {SYS_fork, fork_by_number},
    {SYS_vfork, make},
    {SYS_clone, fork_by_number},
    {SYS_clone3, fork_by_number},
    {SYS_execve, execute},
    {SYS_execveat, execute_at},
    {SYS_exit_group, end_process},
    {SYS_exit, end_thread},
    {SYS_mlockall, lock_memory},
    {SYS_rt_sigaction, with_own_signal<change_action>},
    {SYS_rt_sigprocmask, with_own_signal<change_mask_by_number>},
    {SYS_rt_sigpending, with_own_signal<ask_pending>},
    {SYS_rt_sigtimedwait, with_own_signal<wait_for_signal>},
    {SYS_rt_sigsuspend, with_own_signal<wait_without_own<&NumberedCall::a>>},
    {SYS_sigaltstack, change_alternate_stack},
    {SYS_signalfd, with_own_signal<make_without_own<&NumberedCall::b>>},
    {SYS_signalfd4, with_own_signal<make_without_own<&NumberedCall::b>>},
    {SYS_ppoll, with_own_signal<wait_without_own<&NumberedCall::d>>},
    {SYS_pselect6, with_own_signal<wait_with_sized_set>},
    {SYS_io_pgetevents, with_own_signal<wait_with_sized_set>},
    {SYS_epoll_pwait, with_own_signal<wait_without_own<&NumberedCall::e>>},
    {SYS_epoll_pwait2, with_own_signal<wait_without_own<&NumberedCall::e>>},
    {SYS_ptrace, trace_by_number},
    {SYS_wait4, wait4_by_number},
    {SYS_waitid, waitid_by_number},
    {SYS_prctl, confine_by_number},
    {SYS_seccomp, confine_by_number},
    {SYS_unshare, confine_by_number},
    {SYS_setns, confine_by_number},
    {SYS_setuid, confine_by_number},
    {SYS_setgid, confine_by_number},
    {SYS_setreuid, confine_by_number},
    {SYS_setregid, confine_by_number},
    {SYS_setresuid, confine_by_number},
    {SYS_setresgid, confine_by_number},
    {SYS_setfsuid, confine_by_number},
    {SYS_setfsgid, confine_by_number},
    {SYS_setgroups, confine_by_number},
    {SYS_keyctl, confine_by_number},
    {SYS_iopl, confine_by_number},
    {SYS_ioperm, confine_by_number},
    {SYS_landlock_restrict_self, confine_by_number},
});
static_assert(kOurCalls[kLastThatReturnsTwice - 1].number == SYS_clone3);

constexpr std::array<std::uint8_t, kNumbers> make_routes() noexcept {
    std::array<std::uint8_t, kNumbers> routes{};
    for (std::size_t i = 0; i < kOurCalls.size(); ++i) {
        routes[static_cast<std::size_t>(kOurCalls[i].number)] = static_cast<std::uint8_t>(i + 1);
    }
    return routes;
}

}  // namespace
}  // namespace sample::agent

extern "C" {

/// For each number the place of its call in the table, counted from 1; 0: it passes. For
/// syscall.cpp.
extern const std::array<std::uint8_t, sample::agent::kNumbers> sample_syscall_routes;
constinit const std::array<std::uint8_t, sample::agent::kNumbers> sample_syscall_routes =
    sample::agent::make_routes();

// NOLINTNEXTLINE(readability-function-size): as syscall itself.
long sample_our_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
    using namespace sample::agent;  // NOLINT(google-build-using-namespace)
    const std::size_t place = sample_syscall_routes[static_cast<std::uint32_t>(number)];
    return kOurCalls[place - 1].make({number, a, b, c, d, e, f});
}

}  // extern "C"
