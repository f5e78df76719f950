// Whoever adds a system call to the handler, the agent or the sampling thread adds it here: one
// that is missing is one that a program's filter may answer with death.
#include "sampler/agent/confinement/seccomp_filter.h"
#include "sampler/source/own_descriptors.h"
#include "sampler/source/raw_thread.h"
#include "sampler/source/sampling_thread.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <initializer_list>

namespace sample::agent {
namespace {

constexpr long kSigsetBytes = 8;

struct NeededCall {
    FilteredCall call;
    bool error_will_do = false;  ///< It may be answered by an error; only not by death.
};

/// An argument of which only the run of the program tells the value.
struct Unknown {};
constexpr Unknown kUnknown;

struct Argument {
    // NOLINTBEGIN(google-explicit-constructor): so that the lists below read as calls.
    constexpr Argument(long known_value) noexcept : value{known_value}, known{true} {}
    constexpr Argument(Unknown /*unused*/) noexcept {}
    // NOLINTEND(google-explicit-constructor)
    long value = 0;
    bool known = false;
};

/// Arguments that are left out are zero, as raw_syscall() passes them.
constexpr NeededCall call(long number, std::initializer_list<Argument> arguments = {}) noexcept {
    NeededCall made;
    made.call.number = number;
    made.call.known = 0x3f;
    std::size_t at = 0;
    for (const Argument& argument : arguments) {
        made.call.arguments[at] = argument.value;
        if (!argument.known) {
            made.call.known = static_cast<std::uint8_t>(made.call.known & ~(1U << at));
        }
        ++at;
    }
    return made;
}

constexpr NeededCall may_fail(NeededCall made) noexcept {
    made.error_will_do = true;
    return made;
}

constexpr std::array kLooking{
    call(SYS_gettid),
    call(SYS_prctl, {PR_GET_SECCOMP}),
    call(SYS_prctl, {PR_GET_NO_NEW_PRIVS}),
    call(SYS_capget, {kUnknown, kUnknown}),
    call(SYS_process_vm_readv, {kUnknown, kUnknown, 1, kUnknown, 1, 0}),
    call(SYS_mmap, {0, kUnknown, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}),
    call(SYS_munmap, {kUnknown, kUnknown}),
};

constexpr std::array kSampling{
    call(SYS_gettid),
    call(SYS_getpid),
    call(SYS_clock_gettime, {CLOCK_THREAD_CPUTIME_ID, kUnknown}),
    call(SYS_clock_gettime, {CLOCK_PROCESS_CPUTIME_ID, kUnknown}),
    may_fail(call(SYS_getrusage, {RUSAGE_THREAD, kUnknown})),
    call(SYS_prctl, {PR_GET_NAME, kUnknown}),
    call(SYS_rt_sigprocmask, {~0L, kUnknown, 0, kSigsetBytes, kUnknown, kUnknown}),
    call(SYS_rt_sigprocmask, {SIG_BLOCK, kUnknown, kUnknown, kSigsetBytes}),
    call(SYS_rt_sigprocmask, {SIG_UNBLOCK, kUnknown, kUnknown, kSigsetBytes}),
    call(SYS_rt_sigprocmask, {SIG_SETMASK, kUnknown, kUnknown, kSigsetBytes}),
    call(SYS_rt_sigaction, {kUnknown, kUnknown, kUnknown, kSigsetBytes, kUnknown, kUnknown}),
    call(SYS_rt_sigreturn, {kUnknown, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown}),
    call(SYS_futex, {kUnknown, FUTEX_WAKE, kUnknown}),
    call(SYS_futex, {kUnknown, FUTEX_WAIT, kUnknown, kUnknown}),
    call(SYS_futex, {kUnknown, FUTEX_WAKE_PRIVATE, 1}),
    call(SYS_futex, {kUnknown, FUTEX_WAIT_PRIVATE, kUnknown, kUnknown}),
    call(SYS_kill, {kUnknown, 0}),
    call(SYS_sigaltstack, {kUnknown, kUnknown}),
    may_fail(call(SYS_timer_delete, {kUnknown})),
};

constexpr std::array kPacing{
    may_fail(call(SYS_timer_settime, {kUnknown, 0, kUnknown, 0})),
};

constexpr std::array kThreadBase{
    call(SYS_arch_prctl, {ARCH_GET_FS, kUnknown}),
};

constexpr std::array kAnswering{
    may_fail(call(SYS_rt_sigpending, {kUnknown, kSigsetBytes})),
    may_fail(call(SYS_fstat, {kUnknown, kUnknown})),
    may_fail(call(SYS_fcntl, {kUnknown, F_GETFL})),
    may_fail(call(SYS_process_vm_readv, {kUnknown, kUnknown, 1, kUnknown, 1, 0})),
};

constexpr std::array kGrowing{
    call(SYS_mremap, {kUnknown, 0, kUnknown, MREMAP_MAYMOVE, 0}),
    call(SYS_mmap, {0, kUnknown, PROT_READ | PROT_WRITE, kUnknown, -1, 0}),
    call(SYS_munmap, {kUnknown, kUnknown}),
    may_fail(call(SYS_munlock, {kUnknown, kUnknown})),
    call(SYS_madvise, {kUnknown, kUnknown, MADV_DONTNEED}),
    call(SYS_madvise, {kUnknown, kUnknown, MADV_DONTFORK}),
    call(SYS_madvise, {kUnknown, kUnknown, MADV_DONTDUMP}),
};

constexpr std::array kSamplingThread{
    call(SYS_mmap, {0, kUnknown, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0}),
    call(SYS_madvise, {kUnknown, kUnknown, MADV_DONTFORK}),
    call(SYS_mprotect, {kUnknown, kUnknown, PROT_NONE}),
    call(SYS_munmap, {kUnknown, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown}),
    call(SYS_clone, {source::kRawThreadFlags, kUnknown, kUnknown, kUnknown, 0, kUnknown}),
    call(SYS_exit, {kUnknown, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown}),
    may_fail(call(SYS_close_range, {0, ~0U, 0})),
    call(SYS_open, {kUnknown, O_RDONLY | O_DIRECTORY | O_CLOEXEC}),
    call(SYS_openat, {kUnknown, kUnknown, O_RDONLY | O_CLOEXEC}),
    call(SYS_read, {kUnknown, kUnknown, kUnknown}),
    call(SYS_close, {kUnknown}),
    call(SYS_lseek, {kUnknown, 0, 0}),
    call(SYS_getdents64, {kUnknown, kUnknown, kUnknown}),
    may_fail(call(SYS_readlink, {kUnknown, kUnknown, kUnknown})),
    call(SYS_prctl, {PR_SET_NAME, kUnknown}),
    call(SYS_prctl, {PR_SET_TIMERSLACK, 1}),
    call(SYS_prctl, {PR_SET_NO_NEW_PRIVS, 1}),
    call(SYS_capget, {kUnknown, kUnknown}),
    call(SYS_capset, {kUnknown, kUnknown}),
    may_fail(call(SYS_sched_setattr, {0, kUnknown, 0})),
    may_fail(call(SYS_getpriority, {0, 0})),
    may_fail(call(SYS_sched_getaffinity, {0, kUnknown, kUnknown})),
    may_fail(call(SYS_sched_setaffinity, {0, kUnknown, kUnknown})),
    call(SYS_clock_gettime, {CLOCK_MONOTONIC, kUnknown}),
    call(SYS_clock_gettime, {kUnknown, kUnknown}),  // other threads' clocks
    call(SYS_futex, {kUnknown, FUTEX_WAIT_BITSET_PRIVATE, kUnknown, kUnknown, 0,
                     static_cast<long>(FUTEX_BITSET_MATCH_ANY)}),
    call(SYS_rt_tgsigqueueinfo, {kUnknown, kUnknown, SIGURG, kUnknown}),
    call(SYS_tgkill, {kUnknown, kUnknown, 0}),
    may_fail(call(SYS_mincore, {kUnknown, kUnknown, kUnknown})),
    call(SYS_process_vm_readv, {kUnknown, kUnknown, kUnknown, kUnknown, kUnknown, 0}),
};

constexpr std::array kResting{
    may_fail(call(SYS_timer_create, {CLOCK_PROCESS_CPUTIME_ID, kUnknown, kUnknown})),
    call(SYS_timer_settime, {kUnknown, 0, kUnknown, 0}),
    call(SYS_timer_delete, {kUnknown}),
    call(SYS_rt_sigtimedwait, {kUnknown, 0, kUnknown, kSigsetBytes}),
    call(SYS_rt_tgsigqueueinfo, {kUnknown, kUnknown, source::kRestSignal, kUnknown}),
};

constexpr std::array kJoining{
    call(SYS_getppid),
    call(SYS_clone, {source::kApartFlags, 0, kUnknown, kUnknown, 0}),
    call(SYS_getpid),
    call(SYS_tgkill, {kUnknown, kUnknown, 0}),
    call(SYS_sched_yield),
    call(SYS_exit, {0, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown}),
    call(SYS_open, {kUnknown, O_RDONLY | O_DIRECTORY | O_CLOEXEC}),
    call(SYS_openat, {AT_FDCWD, kUnknown, O_RDONLY | O_CLOEXEC}),
    call(SYS_getdents64, {kUnknown, kUnknown, kUnknown}),
    call(SYS_readlink, {kUnknown, kUnknown, kUnknown}),
    call(SYS_socket, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0}),
    call(SYS_connect, {kUnknown, kUnknown, kUnknown}),
    call(SYS_setsockopt, {kUnknown, SOL_SOCKET, kUnknown, kUnknown, kUnknown}),
    call(SYS_sendmsg, {kUnknown, kUnknown, MSG_NOSIGNAL}),
    call(SYS_recvmsg, {kUnknown, kUnknown, MSG_CMSG_CLOEXEC}),
    // Patience with a collector that is slow to answer.
    call(SYS_openat, {kUnknown, kUnknown, O_RDONLY | O_CLOEXEC}),
    call(SYS_lseek, {kUnknown, 0, 0}),
    call(SYS_kill, {kUnknown, 0}),
    call(SYS_clock_gettime, {CLOCK_MONOTONIC, kUnknown}),
    call(SYS_clock_gettime, {kUnknown, kUnknown}),
    call(SYS_geteuid),
    call(SYS_getsockopt, {kUnknown, SOL_SOCKET, SO_PEERCRED, kUnknown, kUnknown}),
    call(SYS_mmap, {0, kUnknown, PROT_READ | PROT_WRITE, kUnknown, kUnknown, 0}),
    may_fail(call(SYS_mmap, {kUnknown, kUnknown, PROT_READ | PROT_WRITE, kUnknown, -1, 0})),
    call(SYS_mprotect, {kUnknown, kUnknown, PROT_NONE}),
    call(SYS_munmap, {kUnknown, kUnknown}),
    call(SYS_mremap, {kUnknown, 0, kUnknown, MREMAP_MAYMOVE, 0}),
    may_fail(call(SYS_munlock, {kUnknown, kUnknown})),
    call(SYS_madvise, {kUnknown, kUnknown, MADV_DONTFORK}),
    call(SYS_madvise, {kUnknown, kUnknown, MADV_DONTDUMP}),
    call(SYS_madvise, {kUnknown, kUnknown, MADV_WIPEONFORK}),
    call(SYS_fstat, {kUnknown, kUnknown}),
    call(SYS_fcntl, {kUnknown, F_GET_SEALS}),
    call(SYS_fcntl, {kUnknown, F_SETFL, kUnknown}),
    call(SYS_fcntl, {kUnknown, F_SETOWN_EX, kUnknown}),
    call(SYS_fcntl, {kUnknown, F_SETSIG, kUnknown}),
    call(SYS_ioctl, {kUnknown, kUnknown, 0}),
    call(SYS_close, {kUnknown}),
    call(SYS_read, {kUnknown, kUnknown, kUnknown}),
    call(SYS_pread64, {kUnknown, kUnknown, kUnknown, kUnknown}),
    call(SYS_prlimit64, {0, RLIMIT_STACK, 0, kUnknown}),
    call(SYS_prlimit64, {0, RLIMIT_AS, 0, kUnknown}),
    may_fail(call(SYS_tgkill, {kUnknown, kUnknown, 0})),
    // What an exec looks at of a file, and who declines of its own.
    may_fail(call(SYS_newfstatat, {kUnknown, kUnknown, kUnknown, 0})),
    may_fail(call(SYS_fstatfs, {kUnknown, kUnknown})),
    may_fail(call(SYS_fgetxattr, {kUnknown, kUnknown, 0, 0})),
    may_fail(call(SYS_access, {kUnknown, kUnknown})),
    may_fail(call(SYS_getrusage, {RUSAGE_SELF, kUnknown})),
    call(SYS_rt_tgsigqueueinfo, {kUnknown, kUnknown, kUnknown, kUnknown}),
    // Where one of these is refused there are other sources.
    may_fail(call(SYS_perf_event_open, {kUnknown, kUnknown, -1, -1, kUnknown})),
    may_fail(call(SYS_sched_getaffinity, {0, kUnknown, kUnknown})),
    may_fail(call(SYS_timer_create, {CLOCK_MONOTONIC, kUnknown, kUnknown})),
    may_fail(call(SYS_timer_settime, {kUnknown, 0, kUnknown, 0})),
};

std::span<const NeededCall> calls_for(Needs needs) noexcept {
    switch (needs) {
        case Needs::looking:
            return kLooking;
        case Needs::sampling:
            return kSampling;
        case Needs::answering:
            return kAnswering;
        case Needs::pacing:
            return kPacing;
        case Needs::thread_base:
            return kThreadBase;
        case Needs::growing:
            return kGrowing;
        case Needs::sampling_thread:
            return kSamplingThread;
        case Needs::resting:
            return kResting;
        case Needs::joining:
            break;
    }
    return kJoining;
}

/// What the filter answers is what the kernel without a filter would, or close enough.
bool passes(std::span<const sock_filter> filter, const NeededCall& needed) noexcept {
    const std::optional<std::uint32_t> result = run_filter(filter, needed.call);
    const std::uint32_t action = result.value_or(SECCOMP_RET_KILL_PROCESS) &
                                 static_cast<std::uint32_t>(SECCOMP_RET_ACTION_FULL);
    return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG ||
           (needed.error_will_do && action == SECCOMP_RET_ERRNO);
}

}  // namespace

bool permits(std::span<const sock_filter> filter, Needs needs) noexcept {
    const auto calls = calls_for(needs);
    return std::all_of(calls.begin(), calls.end(),
                       [&](const NeededCall& needed) { return passes(filter, needed); });
}

}  // namespace sample::agent
