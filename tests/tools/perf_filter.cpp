// Makes perf_event_open answer as elsewhere, by seccomp.
//
// A filter sees a call's arguments, not the memory they point to. Where the answer depends on
// perf_event_attr, the filter hands the call to a supervisor (SECCOMP_RET_USER_NOTIF), which reads
// the attributes out of the caller and says: go on, or an errno. The supervisor is nobody's child,
// so that no wait() of the command meets it, keeps the privileges that the command is about to
// lose, and ends with the last process under the filter.
// Source: seccomp_unotify(2), Linux 5.5; perf_event_open(2).
#include "confine.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>

namespace sample::tools {
namespace {

/// perf_event_attr of Linux 5.12 ends here: PERF_ATTR_SIZE_VER6.
constexpr std::size_t kSizeBefore513 = PERF_ATTR_SIZE_VER6;

/// Of one system call. The listener's descriptor if `action` is SECCOMP_RET_USER_NOTIF.
int install_filter(unsigned action, unsigned number = SYS_perf_event_open) {
    std::array<sock_filter, 4> code = {
        sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number},
        sock_filter{BPF_RET | BPF_K, 0, 0, action},
        sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    const unsigned flags = action == SECCOMP_RET_USER_NOTIF ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (result < 0 && errno == EACCES) {  // not privileged: seccomp(2) asks for this first
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    }
    if (result < 0) {
        give_up("no seccomp filter can be installed");
    }
    return static_cast<int>(result);
}

/// The attributes that the caller passed; what it left out is zero.
perf_event_attr read_attributes(pid_t caller, std::uint64_t address) {
    perf_event_attr attributes{};
    const iovec here{&attributes, sizeof attributes};
    const iovec there{reinterpret_cast<void*>(address), sizeof attributes};
    process_vm_readv(caller, &here, 1, &there, 1, 0);
    auto* bytes = reinterpret_cast<std::byte*>(&attributes);
    const std::size_t size = attributes.size == 0 ? PERF_ATTR_SIZE_VER0 : attributes.size;
    std::fill(bytes + std::min(size, sizeof attributes), bytes + sizeof attributes, std::byte{0});
    return attributes;
}

/// 0: go on. As perf_copy_attr() of Linux 5.12 checks them: first what lies behind its end.
int answer(PerfRule rule, const perf_event_attr& attributes) {
    if (rule == PerfRule::without_sigtrap) {
        return attributes.sigtrap != 0 ? EINVAL : 0;
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(&attributes);
    if (std::any_of(bytes + kSizeBefore513, bytes + sizeof attributes,
                    [](std::byte byte) { return byte != std::byte{0}; })) {
        return E2BIG;
    }
    return attributes.sigtrap != 0 || attributes.remove_on_exec != 0 ||
                   attributes.inherit_thread != 0
               ? EINVAL
               : 0;
}

[[noreturn]] void supervise(int listener, PerfRule rule) {
    for (;;) {
        pollfd ready{listener, POLLIN, 0};
        if (poll(&ready, 1, -1) < 0 || (ready.revents & POLLIN) == 0) {
            _exit(0);  // POLLHUP: nobody is left under the filter
        }
        seccomp_notif call{};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) {
            continue;  // the caller died meanwhile
        }
        const int refusal =
            answer(rule, read_attributes(static_cast<pid_t>(call.pid), call.data.args[0]));
        seccomp_notif_resp response{};
        response.id = call.id;
        response.error = -refusal;
        response.flags = refusal == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
    }
}

/// In the process that supervises: waits for the listener's number, then keeps that one alone.
[[noreturn]] void become_supervisor(int numbers, PerfRule rule) {
    int listener = -1;
    if (read(numbers, &listener, sizeof listener) != sizeof listener || unshare(CLONE_FILES) != 0) {
        _exit(kCannotConfine);
    }
    setsid();
    constexpr int kKept = 3;
    if (listener != kKept) {
        dup2(listener, kKept);
    }
    closefrom(kKept + 1);
    for (int fd = 0; fd < kKept; ++fd) {
        close(fd);
    }
    supervise(kKept, rule);
}

void install_supervised_filter(PerfRule rule) {
    std::array<int, 2> numbers{-1, -1};
    if (pipe2(numbers.data(), O_CLOEXEC) != 0) {
        give_up("no pipe");
    }
    // The table of descriptors is shared until the supervisor has the listener; two forks, so that
    // it is nobody's child.
    const pid_t between = static_cast<pid_t>(syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0));
    if (between == 0) {
        if (syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0) == 0) {
            become_supervisor(numbers[0], rule);
        }
        _exit(0);
    }
    if (between < 0 || waitpid(between, nullptr, 0) != between) {
        give_up("no supervisor can be started");
    }
    const int listener = install_filter(SECCOMP_RET_USER_NOTIF);
    if (write(numbers[1], &listener, sizeof listener) != sizeof listener) {
        give_up("the supervisor does not listen");
    }
}

}  // namespace

void limit_perf(PerfRule rule, int errno_value) {
    if (rule == PerfRule::refused) {
        install_filter(SECCOMP_RET_ERRNO | static_cast<unsigned>(errno_value));
    } else if (rule != PerfRule::allowed) {
        install_supervised_filter(rule);
    }
}

void forget_close_range() {
    install_filter(SECCOMP_RET_ERRNO | ENOSYS, SYS_close_range);
}

}  // namespace sample::tools
