// The calls by which a program changes its rights and namespaces, or confines itself. If there is a
// sampling thread, it ends before and begins anew after.
//
// libc changes the users and groups of the threads that it made, and so not of ours, which would
// keep root's after a setuid. Namespaces may often only be changed by a process with one thread.
// seccomp(2), which libc has no function for, comes by its number only; see confinement.h.
//
// Source: nptl(7), setuid(2), setfsuid(2), unshare(2), setns(2).
#include "sampler/agent/confinement/confinement.h"
#include "sampler/agent/session/arming.h"
#include "sampler/agent/wrap/next_definition.h"
#include "sampler/agent/wrap/numbered_call.h"
#include "sampler/capture/raw_syscall.h"

#include <grp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/io.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>

namespace sample::agent {
namespace {

SAMPLE_NEXT(g_prctl, "prctl", int(int, unsigned long, unsigned long, unsigned long, unsigned long));

/// The sampling thread has what the first thread has: another one that changes its own rights alone
/// is nothing to it.
bool is_first_thread() noexcept {
    return capture::raw_syscall(SYS_gettid) == capture::raw_syscall(SYS_getpid);
}

/// Whether unshare() changes something for the calling thread, not only for its children: who only
/// asks for that can make no more threads. Source: kernel/fork.c, copy_process.
bool unshares_own(long flags) noexcept {
    constexpr long kNewTime = 0x80;  // newer than glibc 2.36
    return (flags & ~(CLONE_NEWPID | kNewTime)) != 0;
}
/// Likewise of setns(); 0 is any kind.
bool enters_own(long kind) noexcept {
    return kind != CLONE_NEWPID;
}

/// Whether the sampling thread has to be gone while such a call is made, which is one of
/// confine_by_number()'s.
bool changes_rights(const NumberedCall& call) noexcept {
    switch (call.number) {
        case SYS_unshare:
            return unshares_own(call.a);
        case SYS_setns:
            return enters_own(call.b);
        case SYS_seccomp:
            return true;
        case SYS_prctl:
            return call.a == PR_SET_SECCOMP;
        default:
            return is_first_thread();
    }
}

/// Source: seccomp(2), Return value: of TSYNC a thread's id is an error, of NEW_LISTENER a
/// descriptor is none.
bool is_success(const NumberedCall& call, long result) noexcept {
    return result == 0 ||
           (result > 0 && call.number == SYS_seccomp &&
            (static_cast<unsigned long>(call.b) & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0);
}

/// `next()` with what has to be done around it.
template <class Function>
auto confine(const NumberedCall& call, Function next) noexcept {
    // First: it may end the sampling thread for good.
    const Confining confining{call};
    const WithoutSamplingThread alone{uses_sampling_thread() && changes_rights(call)};
    const auto result = next();
    confining.done(is_success(call, result));
    return result;
}

/// Of a call by name that only concerns the calling thread: whether that is the first one.
bool concerns_sampling_thread() noexcept {
    return uses_sampling_thread() && is_first_thread();
}

}  // namespace

long confine_by_number(const NumberedCall& call) noexcept {
    return confine(call, [&] { return make(call); });
}

}  // namespace sample::agent

namespace agent = sample::agent;

// NOLINTBEGIN(bugprone-macro-parentheses): what stands for declarations.
// Defines a wrapper: int NAME PARAMETERS, called with the last arguments, if `alone` while there is
// no sampling thread.
#define SAMPLE_RIGHTS_CALL(name, parameters, alone, ...)       \
    namespace {                                                \
    SAMPLE_NEXT(g_next_##name, #name, int parameters);         \
    }                                                          \
    extern "C" SAMPLE_WRAPPER int name parameters {            \
        auto* next = g_next_##name.get();                      \
        const agent::WithoutSamplingThread without_one{alone}; \
        return next(__VA_ARGS__);                              \
    }
// NOLINTEND(bugprone-macro-parentheses)

SAMPLE_RIGHTS_CALL(setuid, (uid_t user) noexcept, true, user)
SAMPLE_RIGHTS_CALL(setgid, (gid_t group) noexcept, true, group)
SAMPLE_RIGHTS_CALL(seteuid, (uid_t user) noexcept, true, user)
SAMPLE_RIGHTS_CALL(setegid, (gid_t group) noexcept, true, group)
SAMPLE_RIGHTS_CALL(setreuid, (uid_t user, uid_t effective) noexcept, true, user, effective)
SAMPLE_RIGHTS_CALL(setregid, (gid_t group, gid_t effective) noexcept, true, group, effective)
SAMPLE_RIGHTS_CALL(setresuid, (uid_t user, uid_t effective, uid_t saved) noexcept, true, user,
                   effective, saved)
SAMPLE_RIGHTS_CALL(setresgid, (gid_t group, gid_t effective, gid_t saved) noexcept, true, group,
                   effective, saved)
SAMPLE_RIGHTS_CALL(setgroups, (std::size_t count, const gid_t* groups) noexcept, true, count,
                   groups)
SAMPLE_RIGHTS_CALL(initgroups, (const char* user, gid_t group), true, user, group)
SAMPLE_RIGHTS_CALL(setfsuid, (uid_t user) noexcept, agent::concerns_sampling_thread(), user)
SAMPLE_RIGHTS_CALL(setfsgid, (gid_t group) noexcept, agent::concerns_sampling_thread(), group)
SAMPLE_RIGHTS_CALL(iopl, (int level) noexcept, agent::concerns_sampling_thread(), level)
SAMPLE_RIGHTS_CALL(ioperm, (unsigned long from, unsigned long count, int turn_on) noexcept,
                   agent::concerns_sampling_thread(), from, count, turn_on)
SAMPLE_RIGHTS_CALL(unshare, (int flags) noexcept, agent::unshares_own(flags), flags)
SAMPLE_RIGHTS_CALL(setns, (int fd, int kind) noexcept, agent::enters_own(kind), fd, kind)

extern "C" {

SAMPLE_WRAPPER int prctl(int option, ...) noexcept {
    va_list list;
    va_start(list, option);
    const auto a = va_arg(list, unsigned long);
    const auto b = va_arg(list, unsigned long);
    const auto c = va_arg(list, unsigned long);
    const auto d = va_arg(list, unsigned long);
    va_end(list);
    return agent::confine({SYS_prctl, option, static_cast<long>(a), static_cast<long>(b)},
                          [&] { return agent::g_prctl.get()(option, a, b, c, d); });
}

}  // extern "C"
