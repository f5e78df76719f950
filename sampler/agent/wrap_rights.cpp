// The calls by which a program changes its rights and namespaces. If there is a sampling thread, it
// ends before and begins anew after.
//
// libc changes the users and groups of the threads that it made, and so not of ours, which would
// keep root's after a setuid. Namespaces may often only be changed by a process with one thread.
//
// Source: nptl(7), setuid(2), setfsuid(2), unshare(2), setns(2).
#include "sampler/agent/arming.h"
#include "sampler/agent/export.h"
#include "sampler/agent/real.h"
#include "sampler/agent/rights.h"
#include "sampler/capture/raw_syscall.h"

#include <grp.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/io.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace sample::agent {
namespace {

SAMPLE_REAL constinit Real<int(uid_t)> g_setuid{"setuid"};
SAMPLE_REAL constinit Real<int(gid_t)> g_setgid{"setgid"};
SAMPLE_REAL constinit Real<int(uid_t)> g_seteuid{"seteuid"};
SAMPLE_REAL constinit Real<int(gid_t)> g_setegid{"setegid"};
SAMPLE_REAL constinit Real<int(uid_t, uid_t)> g_setreuid{"setreuid"};
SAMPLE_REAL constinit Real<int(gid_t, gid_t)> g_setregid{"setregid"};
SAMPLE_REAL constinit Real<int(uid_t, uid_t, uid_t)> g_setresuid{"setresuid"};
SAMPLE_REAL constinit Real<int(gid_t, gid_t, gid_t)> g_setresgid{"setresgid"};
SAMPLE_REAL constinit Real<int(std::size_t, const gid_t*)> g_setgroups{"setgroups"};
SAMPLE_REAL constinit Real<int(const char*, gid_t)> g_initgroups{"initgroups"};
SAMPLE_REAL constinit Real<int(uid_t)> g_setfsuid{"setfsuid"};
SAMPLE_REAL constinit Real<int(gid_t)> g_setfsgid{"setfsgid"};
SAMPLE_REAL constinit Real<int(int)> g_iopl{"iopl"};
SAMPLE_REAL constinit Real<int(unsigned long, unsigned long, int)> g_ioperm{"ioperm"};
SAMPLE_REAL constinit Real<int(int)> g_unshare{"unshare"};
SAMPLE_REAL constinit Real<int(int, int)> g_setns{"setns"};

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

/// `real(arguments...)`, if `alone` while there is no sampling thread.
template <class Function, class... Arguments>
auto call(bool alone, Real<Function>& real, Arguments... arguments) noexcept {
    auto* function = real.get();
    const WithoutSamplingThread guard{alone};
    return function(arguments...);
}

template <class Function, class... Arguments>
auto change_rights(Real<Function>& real, Arguments... arguments) noexcept {
    return call(true, real, arguments...);
}

/// Of a call that only concerns the calling thread.
template <class Function, class... Arguments>
auto change_own_rights(Real<Function>& real, Arguments... arguments) noexcept {
    return call(uses_sampling_thread() && is_first_thread(), real, arguments...);
}

}  // namespace

bool changes_rights(long number, long a, long b) noexcept {
    switch (number) {
        case SYS_setuid:
        case SYS_setgid:
        case SYS_setreuid:
        case SYS_setregid:
        case SYS_setresuid:
        case SYS_setresgid:
        case SYS_setgroups:
        case SYS_setfsuid:
        case SYS_setfsgid:
        case SYS_iopl:
        case SYS_ioperm:
        case SYS_keyctl:
        case SYS_landlock_restrict_self:
            return is_first_thread();
        case SYS_unshare:
            return unshares_own(a);
        case SYS_setns:
            return enters_own(b);
        case SYS_seccomp:
            return true;
        case SYS_prctl:
            return a == PR_SET_SECCOMP;
        default:
            return false;
    }
}

}  // namespace sample::agent

namespace agent = sample::agent;

extern "C" {

SAMPLE_WRAPPER int setuid(uid_t user) noexcept {
    return agent::change_rights(agent::g_setuid, user);
}
SAMPLE_WRAPPER int setgid(gid_t group) noexcept {
    return agent::change_rights(agent::g_setgid, group);
}
SAMPLE_WRAPPER int seteuid(uid_t user) noexcept {
    return agent::change_rights(agent::g_seteuid, user);
}
SAMPLE_WRAPPER int setegid(gid_t group) noexcept {
    return agent::change_rights(agent::g_setegid, group);
}
SAMPLE_WRAPPER int setreuid(uid_t real, uid_t effective) noexcept {
    return agent::change_rights(agent::g_setreuid, real, effective);
}
SAMPLE_WRAPPER int setregid(gid_t real, gid_t effective) noexcept {
    return agent::change_rights(agent::g_setregid, real, effective);
}
SAMPLE_WRAPPER int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
    return agent::change_rights(agent::g_setresuid, real, effective, saved);
}
SAMPLE_WRAPPER int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
    return agent::change_rights(agent::g_setresgid, real, effective, saved);
}
SAMPLE_WRAPPER int setgroups(std::size_t count, const gid_t* groups) noexcept {
    return agent::change_rights(agent::g_setgroups, count, groups);
}
SAMPLE_WRAPPER int initgroups(const char* user, gid_t group) {
    return agent::change_rights(agent::g_initgroups, user, group);
}
SAMPLE_WRAPPER int setfsuid(uid_t user) noexcept {
    return agent::change_own_rights(agent::g_setfsuid, user);
}
SAMPLE_WRAPPER int setfsgid(gid_t group) noexcept {
    return agent::change_own_rights(agent::g_setfsgid, group);
}
SAMPLE_WRAPPER int iopl(int level) noexcept {
    return agent::change_own_rights(agent::g_iopl, level);
}
SAMPLE_WRAPPER int ioperm(unsigned long from, unsigned long count, int turn_on) noexcept {
    return agent::change_own_rights(agent::g_ioperm, from, count, turn_on);
}
SAMPLE_WRAPPER int unshare(int flags) noexcept {
    return agent::call(agent::unshares_own(flags), agent::g_unshare, flags);
}
SAMPLE_WRAPPER int setns(int fd, int kind) noexcept {
    return agent::call(agent::enters_own(kind), agent::g_setns, fd, kind);
}

}  // extern "C"
