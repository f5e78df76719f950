// How processes end, who hears of it, and who watches them.
#include "storm.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace storm {
namespace {

/// Twice forked and in a session of its own: it is nobody's child here. It says through a pipe what
/// it worked; the pipe's end says that it is gone.
std::uint64_t daemon_process(std::uint64_t seed) {
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    in_child(seed, [&] {
        setsid();
        (void)start_child(seed, [&] {
            const std::uint64_t sum = work(seed);
            require(write(ends[1], &sum, sizeof sum) == sizeof sum, "write");
        });
    });
    close(ends[1]);
    std::uint64_t sum = 0;
    require(read(ends[0], &sum, sizeof sum) == sizeof sum, "read");
    char more = 0;
    require(read(ends[0], &more, 1) == 0, "the daemon still holds the pipe");
    close(ends[0]);
    return sum;
}

/// wait(2) meets this process's own children, and no other.
std::uint64_t any_children(std::uint64_t seed) {
    std::uint64_t sum = 0;
    in_child(seed, [&] {
        const int count = static_cast<int>(1 + seed % 4);
        int expected = 0;
        for (int number = 0; number < count; ++number) {
            const std::uint64_t own = mix(seed, static_cast<std::uint64_t>(number));
            (void)start_child(own, [&] { targets::consume(work(own)); });
            expected += code_of(own);
        }
        for (int number = 0; number < count; ++number) {
            int status = 0;
            require(wait(&status) > 0 && WIFEXITED(status), "wait");
            expected -= WEXITSTATUS(status);
        }
        require(expected == 0, "other statuses");
        require(wait(nullptr) < 0 && errno == ECHILD, "a child too many");
    });
    return sum;
}

std::uint64_t ignored_children(std::uint64_t seed) {
    in_child(seed, [&] {
        std::signal(SIGCHLD, SIG_IGN);
        for (int number = 0; number < 3; ++number) {
            (void)start_child(seed, [&] { targets::consume(work(seed)); });
        }
        require(wait(nullptr) < 0 && errno == ECHILD, "a child was kept");
    });
    return seed % 127;
}

/// Orphans come to the nearest ancestor that asked for them, and nobody else does.
std::uint64_t adopted_children(std::uint64_t seed) {
    in_child(seed, [&] {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        in_child(seed, [&] {
            (void)start_child(seed, [&] { targets::consume(work(seed)); });
            (void)start_child(seed, [&] { targets::consume(work(seed)); });
        });
        for (int orphan = 0; orphan < 2; ++orphan) {
            int status = 0;
            require(wait(&status) > 0 && WEXITSTATUS(status) == code_of(seed), "an orphan");
        }
        require(wait(nullptr) < 0 && errno == ECHILD, "an orphan too many");
    });
    return seed % 131;
}

std::uint64_t killed_child(std::uint64_t seed) {
    const int signals[] = {SIGKILL, SIGTERM, SIGHUP, SIGUSR1, SIGRTMIN};
    const int signal = signals[seed % 5];
    const pid_t child = start_child(seed, [&]() -> int {
        for (;;) {
            targets::consume(work(seed));
        }
    });
    targets::consume(work(seed, 500));
    kill(child, signal);
    require_signal(child, signal);
    return seed % 5;
}

std::uint64_t stopped_child(std::uint64_t seed) {
    const pid_t child = start_child(seed, [&]() -> int {
        for (;;) {
            targets::consume(work(seed));
        }
    });
    for (int time = 0; time < 3; ++time) {
        int status = 0;
        kill(child, SIGSTOP);
        require(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status) &&
                    WSTOPSIG(status) == SIGSTOP,
                "stopped");
        kill(child, SIGCONT);
        require(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status), "continued");
        targets::consume(work(seed, 300));
    }
    kill(child, SIGTERM);
    require_signal(child, SIGTERM);
    return seed % 137;
}

void divide_by_zero() {
    asm volatile("xorl %%ecx, %%ecx\n\tmovl $1, %%eax\n\tcltd\n\tidivl %%ecx"
                 :
                 :
                 : "eax", "ecx", "edx");
}

int die_of(std::uint64_t how) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    switch (how) {
        case 0:
            *static_cast<volatile int*>(nullptr) = 1;
            return 0;
        case 1:
            std::abort();
        case 2:
            divide_by_zero();
            return 0;
        case 3:
            asm volatile("ud2");
            return 0;
        case 4:
            asm volatile("int3");
            return 0;
        default:
            return std::raise(SIGURG) + std::raise(SIGSYS);
    }
}

std::uint64_t dying_child(std::uint64_t seed) {
    const int signals[] = {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    const std::uint64_t how = seed % 6;
    require_signal(start_child(seed,
                               [&] {
                                   targets::consume(work(seed));
                                   return die_of(how);
                               }),
                   signals[how]);
    return how;
}

int g_exit_pipe = -1;

void tell_exit() {
    require(write(g_exit_pipe, "x", 1) == 1, "write");
}

[[noreturn]] void leave(std::uint64_t how, int code) {
    std::atexit(tell_exit);
    std::at_quick_exit(tell_exit);
    switch (how) {
        case 0:
            std::exit(code);  // NOLINT(concurrency-mt-unsafe): a child of one thread
        case 1:
            std::quick_exit(code);
        case 2:
            std::_Exit(code);
        case 3:
            syscall(SYS_exit_group, code);
            break;
        default:
            syscall(SYS_exit, code);
            break;
    }
    std::abort();
}

/// Of exit's kin, two run handlers.
std::uint64_t exits(std::uint64_t seed) {
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    const std::uint64_t how = seed % 5;
    g_exit_pipe = ends[1];
    require_exit(start_child(seed,
                             [&]() -> int {
                                 targets::consume(work(seed));
                                 leave(how, code_of(seed));
                             }),
                 code_of(seed));
    close(ends[1]);
    char told[4];
    const ssize_t count = read(ends[0], told, sizeof told);
    require(count == (how < 2 ? 1 : 0), "exit handlers");
    close(ends[0]);
    return how;
}

std::uint64_t process_descriptor(std::uint64_t seed) {
    const pid_t child = start_child(seed, [&] { targets::consume(work(seed)); });
    const auto fd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    require(fd >= 0, "pidfd_open");
    pollfd waited{fd, POLLIN, 0};
    while (poll(&waited, 1, -1) < 0) {
        require(errno == EINTR, "poll");
    }
    siginfo_t info{};
    require(waitid(P_PIDFD, static_cast<id_t>(fd), &info, WEXITED) == 0 &&
                info.si_status == code_of(seed),
            "waitid");
    close(fd);
    return seed % 149;
}

/// A debugger's view of its child: the stop at its exec, and no other one.
std::uint64_t traced_child(std::uint64_t seed) {
    const Image image{seed, true};
    const pid_t child = start_child(seed, [&] {
        targets::consume(work(seed));
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        execv(image.argv[0], image.argv);
    });
    int stops = 0;
    for (;;) {
        const int status = wait_for(child);
        if (!WIFSTOPPED(status)) {
            require(WIFEXITED(status) && WEXITSTATUS(status) == image.code,
                    "the traced child's status");
            break;
        }
        ++stops;
        ptrace(PTRACE_CONT, child, nullptr, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
    }
    errno = 0;
    require(stops == 1, "a traced child stopped more often than at its exec");
    return seed % 151;
}

constexpr Operation kOperations[] = {
    {"daemon", daemon_process, kAlone},
    {"any_children", any_children, kAnywhere},
    {"ignored_children", ignored_children, kAnywhere},
    {"adopted_children", adopted_children, kAnywhere},
    {"killed_child", killed_child, kAnywhere},
    {"stopped_child", stopped_child, kAnywhere},
    {"dying_child", dying_child, kAnywhere},
    {"exits", exits, kAlone},
    {"process_descriptor", process_descriptor, kAnywhere},
    {"traced_child", traced_child, kAnywhere},
};

}  // namespace

Operations process_operations() {
    return kOperations;
}

}  // namespace storm
