#include "sampler/agent/rehearsal.h"

#include "sampler/agent/arming.h"
#include "sampler/agent/gate.h"
#include "sampler/agent/program_view.h"
#include "sampler/capture/raw_syscall.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <span>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;

constexpr std::size_t kSigsetBytes = 8;

enum class Answer : std::uint8_t {
    same,     ///< As without the filter.
    success,  ///< Such as a descriptor, whose number differs.
    any       ///< An error will do as well; only death does not.
};

struct Call {
    long number;
    std::array<long, 6> arguments{};
    Answer wanted = Answer::same;
};

long make(const Call& call) noexcept {
    const auto& a = call.arguments;
    return raw_syscall(call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

bool is_wanted(Answer wanted, long before, long after) noexcept {
    return before == after || wanted == Answer::any || (wanted == Answer::success && after >= 0);
}

// Room for answers, and a futex on which nobody waits. Used in the child alone.
alignas(8) constinit std::array<char, 256> g_answer{};
constinit std::uint32_t g_futex = 0;

constexpr long kNoFd = -1;
constexpr long kNoTimer = -1;

/// Calls that change nothing, but pass a filter as the real ones do.
class CallList {
public:
    void add(const Call& call) noexcept {
        if (count_ < calls_.size()) {
            calls_[count_++] = call;
        }
    }
    [[nodiscard]] std::span<const Call> calls() const noexcept { return {calls_.data(), count_}; }

    static constexpr std::size_t kMost = 40;

private:
    std::array<Call, kMost> calls_{};
    std::size_t count_ = 0;
};

CallList sampling_calls() noexcept {
    const long answer = as_argument(g_answer.data());
    CallList list;
    list.add({SYS_gettid});
    list.add({SYS_getpid});
    list.add({SYS_sched_yield});
    list.add({SYS_clock_gettime, {CLOCK_THREAD_CPUTIME_ID, answer}});
    list.add({SYS_clock_gettime, {CLOCK_PROCESS_CPUTIME_ID, answer}});
    list.add({SYS_prctl, {PR_GET_NAME, answer}});
    list.add({SYS_rt_sigprocmask, {~0L, answer}});
    list.add({SYS_rt_sigprocmask, {SIG_SETMASK, 0, answer, kSigsetBytes}});
    list.add({SYS_rt_sigaction, {SIGURG, 0, answer, kSigsetBytes}});
    list.add({SYS_futex, {as_argument(&g_futex), FUTEX_WAKE, 1}});
    list.add({SYS_futex, {as_argument(&g_futex), FUTEX_WAIT, 1, 0}});
    list.add({SYS_kill, {static_cast<long>(collector_pid()), 0}});
    if (current_source() == control::Source::timer) {
        list.add({SYS_timer_delete, {kNoTimer}});
    }
    return list;
}

void add_sampling_threads_calls(CallList& list) noexcept {
    list.add({SYS_clone, {CLONE_THREAD}});
    list.add({SYS_mprotect, {0, 0, PROT_NONE}});
    list.add({SYS_munmap, {0, 0}});
    list.add({SYS_close_range, {~0U, ~0U, 0}});
    list.add({SYS_lseek, {kNoFd}});
    list.add({SYS_process_vm_readv, {0}});
    static constexpr timespec kPast{};
    list.add({SYS_clock_nanosleep, {CLOCK_MONOTONIC, TIMER_ABSTIME, as_argument(&kPast), 0}});
}

CallList joining_calls() noexcept {
    CallList list;
    list.add({SYS_getppid});
    list.add({SYS_open, {0, O_RDONLY | O_DIRECTORY | O_CLOEXEC}});
    list.add({SYS_openat, {AT_FDCWD, 0, O_RDONLY | O_CLOEXEC}});
    list.add({SYS_getdents64, {kNoFd}});
    list.add({SYS_readlink, {0, 0, 0}});
    list.add({SYS_socket, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0}, Answer::success});
    list.add({SYS_connect, {kNoFd}});
    list.add({SYS_setsockopt, {kNoFd}});
    list.add({SYS_sendmsg, {kNoFd}});
    list.add({SYS_recvmsg, {kNoFd}});
    list.add({SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, kNoFd, 0}});
    list.add({SYS_madvise, {0, 0, MADV_DONTFORK}});
    list.add({SYS_fcntl, {kNoFd, F_SETFL}});
    list.add({SYS_close, {kNoFd}});
    list.add({SYS_prlimit64, {0, RLIMIT_STACK}});
    list.add({SYS_getrusage, {RUSAGE_SELF, as_argument(g_answer.data())}, Answer::any});
    list.add({SYS_read, {kNoFd}});
    list.add({SYS_rt_tgsigqueueinfo, {0, 0, SIGURG, 0}});
    // Where one of these is refused there are other sources.
    list.add({SYS_perf_event_open, {0, 0, -1, -1, 0}, Answer::any});
    if (current_source() == control::Source::timer) {
        list.add({SYS_timer_create, {CLOCK_MONOTONIC, 0, 0}, Answer::any});
        list.add({SYS_timer_settime, {kNoTimer}, Answer::any});
    }
    if (has_sampling_thread()) {
        add_sampling_threads_calls(list);
    }
    return list;
}

void on_rehearsed_signal(int /*signal*/) {}

[[noreturn]] void leave(Verdict verdict) noexcept {
    raw_syscall(SYS_exit_group, static_cast<long>(verdict));
    // A filter may answer that with an error, and strict mode knows this one only.
    raw_syscall(SYS_exit, static_cast<long>(verdict));
    __builtin_trap();
}

long install(const ConfiningCall& call) noexcept {
    long flags = call.b;
    if (call.number == SYS_seccomp) {
        // The child has one thread and no listener.
        constexpr unsigned long kLeftOut =
            SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH | SECCOMP_FILTER_FLAG_LOG |
            SECCOMP_FILTER_FLAG_NEW_LISTENER | (1UL << 5U);  // WAIT_KILLABLE_RECV, Linux 5.19
        flags = static_cast<long>(static_cast<unsigned long>(flags) & ~kLeftOut);
    }
    return raw_syscall(call.number, call.a, flags, call.c);
}

/// All signals are blocked. SIGSYS by default: a filter's trap is death here, whatever the program
/// does of it.
void prepare_child() noexcept {
    raw_syscall(SYS_prctl, PR_SET_DUMPABLE, 0);
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    real_sigaction(SIGSYS, &action, nullptr);
    action.sa_handler = on_rehearsed_signal;
    real_sigaction(SIGURG, &action, nullptr);
    raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), SIGURG);
}

/// The pending signal's handler runs, and its return is a system call as well.
bool returns_from_handler() noexcept {
    const std::uint64_t set = std::uint64_t{1} << (SIGURG - 1);
    return raw_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, as_argument(&set), 0, kSigsetBytes) == 0;
}

bool can_rehearse() noexcept {
    if (raw_syscall(SYS_prctl, PR_SET_DUMPABLE, 0) != 0) {
        return false;
    }
    const long child = raw_syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (child == 0) {
        leave(Verdict::permitted);
    }
    return child > 0 && raw_syscall(SYS_wait4, child, 0, static_cast<long>(__WALL), 0) == child;
}

Verdict try_calls(const ConfiningCall& call, std::span<const Call> calls) noexcept {
    std::array<long, CallList::kMost> before{};
    for (std::size_t i = 0; i < calls.size(); ++i) {
        before[i] = make(calls[i]);
    }
    if (install(call) < 0) {
        return Verdict::not_installed;
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const long after = make(calls[i]);
        if (!is_wanted(calls[i].wanted, before[i], after)) {
            return Verdict::refused;
        }
    }
    return Verdict::permitted;
}

[[noreturn]] void run_child(const ConfiningCall& call, Needs needs) noexcept {
    prepare_child();
    Verdict verdict = Verdict::permitted;
    if (needs == Needs::sampling) {
        verdict = try_calls(call, sampling_calls().calls());
    } else if (needs == Needs::joining) {
        verdict = try_calls(call, joining_calls().calls());
    } else {
        verdict = try_calls(call, {});
    }
    if (verdict == Verdict::permitted && ((needs == Needs::sampling && !returns_from_handler()) ||
                                          (needs == Needs::rehearsing && !can_rehearse()))) {
        verdict = Verdict::refused;
    }
    leave(verdict);
}

}  // namespace

Verdict rehearse(const ConfiningCall& call, Needs needs) noexcept {
    const BlockedSignals blocked;
    const long child = raw_syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (child == 0) {
        run_child(call, needs);
    }
    if (child < 0) {
        return Verdict::refused;
    }
    int status = 0;
    while (raw_syscall(SYS_wait4, child, as_argument(&status), static_cast<long>(__WALL), 0) ==
           -EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) > static_cast<int>(Verdict::not_installed)) {
        return Verdict::refused;
    }
    return static_cast<Verdict>(WEXITSTATUS(status));
}

}  // namespace sample::agent
