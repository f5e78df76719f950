// What a program gives up for good: system calls, users, capabilities, namespaces, its root. Each
// in a child.
#include "storm.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace storm {
namespace {

constexpr uid_t kNobody = 65534;

void exec_and_wait(const Image& image, std::uint64_t seed) {
    require_exit(start_child(seed,
                             [&] {
                                 execv(image.argv[0], image.argv);
                                 return 119;
                             }),
                 image.code);
}

using Filter = std::vector<sock_filter>;

sock_filter statement(unsigned code, unsigned value) {
    return {static_cast<unsigned short>(code), 0, 0, value};
}

/// These calls end as `then` says, all others as `otherwise`.
Filter make_filter(std::span<const unsigned> numbers, unsigned then, unsigned otherwise) {
    Filter filter{statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (const unsigned number : numbers) {
        filter.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number});
        filter.push_back(statement(BPF_RET | BPF_K, then));
    }
    filter.push_back(statement(BPF_RET | BPF_K, otherwise));
    return filter;
}

/// What work(), require() and the end of a process need.
constexpr unsigned kFew[] = {SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn};
/// What programs never notice the lack of; the later ones are what a sampler may need.
constexpr unsigned kRefused[] = {SYS_ptrace,
                                 SYS_socket,
                                 SYS_perf_event_open,
                                 SYS_timer_create,
                                 SYS_sendmsg,
                                 SYS_memfd_create,
                                 SYS_process_vm_readv,
                                 SYS_clock_gettime,
                                 SYS_sigaltstack,
                                 SYS_tgkill,
                                 SYS_connect,
                                 SYS_gettid,
                                 SYS_getpid,
                                 SYS_getppid,
                                 SYS_rt_sigpending,
                                 SYS_getrusage,
                                 SYS_sched_getaffinity,
                                 SYS_capget};

void confine(const Filter& filter, std::uint64_t way) {
    const sock_fprog program{static_cast<unsigned short>(filter.size()),
                             const_cast<sock_filter*>(filter.data())};
    require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
    long result = 0;
    switch (way % 4) {
        case 0:
            result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
            break;
        case 1:
            result = syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
            break;
        case 2:
            result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
            break;
        default:
            result =
                syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
            break;
    }
    require(result == 0, "seccomp");
}

/// Only a few calls are left: others kill, or fail.
std::uint64_t few_calls(std::uint64_t seed) {
    const unsigned otherwise = seed % 2 == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
    const Filter filter = make_filter(kFew, SECCOMP_RET_ALLOW, otherwise);
    in_child(seed, [&] {
        targets::consume(work(seed));
        confine(filter, seed / 2);
        targets::consume(work(seed, 2000));
        syscall(seed % 3 == 0 ? SYS_exit : SYS_exit_group, code_of(seed));
    });
    return seed % 2;
}

std::uint64_t killing_filter(std::uint64_t seed) {
    constexpr unsigned kKilling[] = {SYS_getppid};
    const Filter filter = make_filter(kKilling, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
    require_signal(start_child(seed,
                               [&] {
                                   const rlimit none{0, 0};
                                   setrlimit(RLIMIT_CORE, &none);
                                   confine(filter, seed);
                                   targets::consume(work(seed));
                                   return static_cast<int>(syscall(SYS_getppid));
                               }),
                   SIGSYS);
    return seed % 101;
}

/// One call less, which the program does not need; forks and execs go on.
std::uint64_t one_call_less(std::uint64_t seed) {
    const Image image{seed, true};
    const unsigned refused[] = {kRefused[mix(seed) % std::size(kRefused)]};
    const unsigned how = seed % 2 == 0 ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS;
    const Filter filter = make_filter(refused, how, SECCOMP_RET_ALLOW);
    in_child(seed, [&] {
        confine(filter, seed / 2);
        targets::consume(work(seed));
        in_child(seed, [&] { targets::consume(work(seed)); });
        exec_and_wait(image, seed);
    });
    return refused[0];
}

volatile std::sig_atomic_t g_trapped = 0;

void count_trap(int /*signal*/) {
    g_trapped = g_trapped + 1;
}

/// Calls that trap are counted by the program's own handler.
std::uint64_t trapping_filter(std::uint64_t seed) {
    constexpr unsigned kTrapping[] = {SYS_getppid, SYS_perf_event_open, SYS_socket};
    const Filter filter = make_filter(kTrapping, SECCOMP_RET_TRAP, SECCOMP_RET_ALLOW);
    in_child(seed, [&] {
        std::signal(SIGSYS, count_trap);
        confine(filter, seed);
        for (int time = 0; time < 5; ++time) {
            targets::consume(work(seed));
            syscall(SYS_getppid);
        }
        errno = 0;
        require(g_trapped == 5, "calls that are not the program's");
    });
    return seed % 103;
}

/// A filter for all threads, one of which works meanwhile.
std::uint64_t filter_for_threads(std::uint64_t seed) {
    const Filter filter = make_filter({kRefused, 1}, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
    in_child(seed, [&] {
        static std::atomic<bool> ended;
        ended = false;
        pthread_t thread{};
        const auto body = [](void* /*unused*/) -> void* {
            while (!ended) {
                targets::consume(work(7));
            }
            return nullptr;
        };
        require(pthread_create(&thread, nullptr, body, nullptr) == 0, "pthread_create");
        confine(filter, 3);
        targets::consume(work(seed));
        ended = true;
        pthread_join(thread, nullptr);
    });
    return seed % 107;
}

std::uint64_t strict_mode(std::uint64_t seed) {
    in_child(seed, [&] {
        targets::consume(work(seed));
        // Not for who is under somebody else's filter.
        const bool entered = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0;
        require(entered || errno == EINVAL, "strict mode");
        targets::consume(work(seed, 2000));
        syscall(SYS_exit, code_of(seed));
    });
    return seed % 109;
}

/// A process namespace of its own, then a filter, then a first child, which is process 1 of it, and
/// a second one beside it.
std::uint64_t filter_in_namespace(std::uint64_t seed) {
    const Filter filter = make_filter({kRefused, 1}, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
    const Image image{seed, true};
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    in_child(seed, [&] {
        const int flags = geteuid() == 0 ? CLONE_NEWPID : CLONE_NEWUSER | CLONE_NEWPID;
        const int error = unshare(flags) == 0 ? 0 : errno;
        require(write(ends[1], &error, sizeof error) == sizeof error, "write");
        confine(filter, seed);
        targets::consume(work(seed));
        const pid_t first = start_child(seed, [&] {
            require(error != 0 || getpid() == 1, "process 1");
            targets::consume(work(seed));
            exec_and_wait(image, seed);
        });
        require_exit(first, code_of(seed));
        if (error == 0) {
            require(fork() < 0 && errno == ENOMEM, "the namespace has ended with its process 1");
        }
    });
    int error = -1;
    require(read(ends[0], &error, sizeof error) == sizeof error, "read");
    close(ends[0]);
    close(ends[1]);
    return static_cast<std::uint64_t>(error);
}

/// Each kind of namespace, where it is allowed; what was refused is told.
std::uint64_t namespaces(std::uint64_t seed) {
    constexpr int kKinds[] = {
        CLONE_NEWUSER, CLONE_NEWNS,   CLONE_NEWNET,
        CLONE_NEWIPC,  CLONE_NEWUTS,  CLONE_FS,
        CLONE_FILES,   CLONE_SYSVSEM, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET};
    const int kind = kKinds[seed % std::size(kKinds)];
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    const Image image{seed, true};
    in_child(seed, [&] {
        targets::consume(work(seed));
        const int error = unshare(kind) == 0 ? 0 : errno;
        require(write(ends[1], &error, sizeof error) == sizeof error, "write");
        targets::consume(work(seed));
        targets::consume(in_threads(seed, 1, [](std::uint64_t own) { return work(own); }));
        in_child(seed, [&] { targets::consume(work(seed)); });
        exec_and_wait(image, seed);
    });
    int error = -1;
    require(read(ends[0], &error, sizeof error) == sizeof error, "read");
    close(ends[0]);
    close(ends[1]);
    return static_cast<std::uint64_t>(error);
}

/// A child that is made in a namespace of its own, by the system call.
std::uint64_t born_in_namespace(std::uint64_t seed) {
    const int user = geteuid() == 0 ? 0 : CLONE_NEWUSER;
    const auto child = static_cast<pid_t>(
        syscall(SYS_clone, CLONE_NEWPID | user | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (child == 0) {
        targets::consume(work(seed));
        _exit(getpid() == 1 ? code_of(seed) : 118);
    }
    if (child < 0) {
        return static_cast<std::uint64_t>(errno);
    }
    require_exit(child, code_of(seed));
    return 0;
}

bool may_change_user() {
    return geteuid() == 0;
}

void drop_capabilities() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2]{};
    require(syscall(SYS_capset, &header, none) == 0, "capset");
}

/// Root becomes an ordinary user for good; one of the ways by the call's number, for this thread
/// only.
void become_nobody(std::uint64_t way) {
    require(setgroups(0, nullptr) == 0, "setgroups");
    switch (way % 4) {
        case 0:
            require(setgid(kNobody) == 0 && setuid(kNobody) == 0, "setuid");
            break;
        case 1:
            require(setresgid(kNobody, kNobody, kNobody) == 0 &&
                        setresuid(kNobody, kNobody, kNobody) == 0,
                    "setresuid");
            break;
        case 2:
            require(syscall(SYS_setresgid, kNobody, kNobody, kNobody) == 0 &&
                        syscall(SYS_setresuid, kNobody, kNobody, kNobody) == 0,
                    "setresuid by number");
            break;
        default:
            require(setregid(kNobody, kNobody) == 0 && setreuid(kNobody, kNobody) == 0, "setreuid");
            break;
    }
    require(setuid(0) < 0 && errno == EPERM, "root again");
}

std::uint64_t other_user(std::uint64_t seed) {
    const Image image{seed, true};
    in_child(seed, [&] {
        targets::consume(work(seed));
        if (may_change_user()) {
            become_nobody(seed);
        }
        targets::consume(work(seed));
        targets::consume(in_threads(seed, 2, [](std::uint64_t own) { return work(own); }));
        in_child(seed, [&] { targets::consume(work(seed)); });
        exec_and_wait(image, seed);
    });
    return seed % 113;
}

/// As servers do for a moment: another effective user, and back.
std::uint64_t other_effective_user(std::uint64_t seed) {
    in_child(seed, [&] {
        for (int time = 0; time < 5 && may_change_user(); ++time) {
            require(seteuid(kNobody) == 0, "seteuid");
            targets::consume(work(seed));
            in_child(seed, [&] { targets::consume(work(seed)); });
            require(seteuid(0) == 0, "seteuid");
            targets::consume(work(seed));
        }
    });
    return seed % 127;
}

std::uint64_t dropped_capabilities(std::uint64_t seed) {
    const Image image{seed, true};
    in_child(seed, [&] {
        targets::consume(work(seed));
        if (may_change_user()) {
            prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0);
            for (unsigned long capability = 0; capability <= CAP_LAST_CAP; ++capability) {
                prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
            }
        }
        drop_capabilities();
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        targets::consume(work(seed));
        targets::consume(in_threads(seed, 2, [](std::uint64_t own) { return work(own); }));
        exec_and_wait(image, seed);
    });
    return seed % 131;
}

std::uint64_t undumpable(std::uint64_t seed) {
    const Image image{seed, true};
    in_child(seed, [&] {
        require(prctl(PR_SET_DUMPABLE, 0) == 0, "PR_SET_DUMPABLE");
        targets::consume(work(seed));
        in_child(seed, [&] { targets::consume(work(seed)); });
        exec_and_wait(image, seed);
        require(prctl(PR_GET_DUMPABLE) == 0, "PR_GET_DUMPABLE");
    });
    return seed % 137;
}

sigjmp_buf g_no_clock;

void leave_clock(int /*signal*/) {
    siglongjmp(g_no_clock, 1);
}

/// The time stamp counter is forbidden: reading it is a fault, which is this program's to have. Not
/// every hypervisor lets it be one, so whether it was belongs to the result.
std::uint64_t forbidden_counter(std::uint64_t seed) {
    void* page = mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(page != MAP_FAILED, "mmap");
    auto* faults = static_cast<volatile std::uint64_t*>(page);
    in_child(seed, [&] {
        std::signal(SIGSEGV, leave_clock);
        require(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0, "PR_SET_TSC");
        targets::consume(work(seed, 4000));
        if (sigsetjmp(g_no_clock, 1) == 0) {
            targets::consume(__builtin_ia32_rdtsc());
        } else {
            *faults = 1;
        }
        targets::consume(work(seed, 4000));
        prctl(PR_SET_TSC, PR_TSC_ENABLE);
        targets::consume(__builtin_ia32_rdtsc());
    });
    const std::uint64_t result = seed % 139 + 139 * *faults;
    munmap(page, sizeof(std::uint64_t));
    return result;
}

/// Another root folder, which is empty: nothing that was there can be opened any more.
std::uint64_t other_root(std::uint64_t seed) {
    char path[] = "storm-root-XXXXXX";
    require(mkdtemp(path) != nullptr, "mkdtemp");
    in_child(seed, [&] {
        targets::consume(work(seed));
        if (geteuid() != 0) {
            require(chroot(path) < 0 && errno == EPERM, "chroot");
            return;
        }
        require(chroot(path) == 0 && chdir("/") == 0, "chroot");
        targets::consume(work(seed));
        targets::consume(in_threads(seed, 2, [](std::uint64_t own) { return work(own); }));
        in_child(seed, [&] {
            targets::consume(work(seed));
            char word[] = "/bin/sh";
            char* const argv[] = {word, nullptr};
            require(execv(word, argv) < 0 && errno == ENOENT, "no shell");
        });
        if (seed % 2 == 0) {
            become_nobody(seed / 2);
        }
        in_child(seed, [&] { targets::consume(work(seed)); });
    });
    require(rmdir(path) == 0, "something was left in the other root");
    return seed % 149;
}

/// Whose parent's end kills it.
std::uint64_t dies_with_parent(std::uint64_t seed) {
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    in_child(seed, [&] {
        int ready[2];
        require(pipe2(ready, O_CLOEXEC) == 0, "pipe");
        (void)start_child(seed, [&]() -> int {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            prctl(PR_SET_NAME, "a storm's child");
            require(write(ready[1], "x", 1) == 1, "write");
            for (;;) {
                targets::consume(work(seed));
            }
        });
        char byte = 0;
        require(read(ready[0], &byte, 1) == 1, "read");
        targets::consume(work(seed));
    });
    close(ends[1]);
    char byte = 0;
    require(read(ends[0], &byte, 1) == 0, "the end of the pipe");
    close(ends[0]);
    return seed % 151;
}

constexpr Operation kOperations[] = {
    {"few_calls", few_calls, kAnywhere},
    {"killing_filter", killing_filter, kAnywhere},
    {"one_call_less", one_call_less, kAnywhere},
    {"trapping_filter", trapping_filter, kAnywhere},
    {"filter_for_threads", filter_for_threads, kAlone},
    {"strict_mode", strict_mode, kAnywhere},
    {"filter_in_namespace", filter_in_namespace, kAnywhere},
    {"namespaces", namespaces, kAlone},
    {"born_in_namespace", born_in_namespace, kAnywhere},
    {"other_user", other_user, kAlone},
    {"other_effective_user", other_effective_user, kAnywhere},
    {"dropped_capabilities", dropped_capabilities, kAlone},
    {"undumpable", undumpable, kAnywhere},
    {"forbidden_counter", forbidden_counter, kAnywhere},
    {"other_root", other_root, kAlone},
    {"dies_with_parent", dies_with_parent, kAnywhere},
};

}  // namespace

Operations confinement_operations() {
    return kOperations;
}

}  // namespace storm
