// The start of a collector: beneath nobody, so that no wait() of the program meets it.
#include "sampler/agent/session/local_socket.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/source/own_descriptors.h"

#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <initializer_list>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;

constexpr int kCollectorSocket = 3;

/// Finds the `sample` program by the library's own place: beside it, or in ../bin or ../../bin.
bool find_program(char* path, std::size_t size) noexcept {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&start_collector), &info) == 0 ||
        info.dli_fname == nullptr) {
        return false;
    }
    const char* slash = strrchr(info.dli_fname, '/');
    const std::size_t folder =
        slash == nullptr ? 0 : static_cast<std::size_t>(slash - info.dli_fname) + 1;
    for (const char* rest : {"sample", "../bin/sample", "../../bin/sample"}) {
        const std::size_t length = strlen(rest);
        if (folder + length + 1 > size) {
            return false;
        }
        memcpy(path, info.dli_fname, folder);
        memcpy(path + folder, rest, length + 1);
        // A folder may be called so too.
        if (raw_syscall(SYS_access, as_argument(path), X_OK) == 0 &&
            raw_syscall(SYS_open, as_argument(path), O_DIRECTORY | O_CLOEXEC) == -ENOTDIR) {
            return true;
        }
    }
    return false;
}

/// Runs in the grandchild, a copy of the program: only system calls. Does not return.
[[noreturn]] void become_collector(const char* program, int socket) noexcept {
    raw_syscall(SYS_setsid);
    const long null = raw_syscall(SYS_open, as_argument("/dev/null"), O_RDWR);
    if (socket == kCollectorSocket) {
        raw_syscall(SYS_fcntl, socket, F_SETFD, 0);
    } else {
        raw_syscall(SYS_dup2, socket, kCollectorSocket);
    }
    for (int fd = 0; fd < 3; ++fd) {
        raw_syscall(SYS_dup2, null, fd);
    }
    source::close_descriptors(kCollectorSocket + 1);
    std::size_t count = 0;
    while (environ != nullptr && environ[count] != nullptr) {
        ++count;
    }
    auto** environment = static_cast<char**>(alloca((count + 1) * sizeof(char*)));
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0) {
            environment[kept++] = environ[i];
        }
    }
    environment[kept] = nullptr;
    const char* arguments[] = {program, "collect", "3", nullptr};
    raw_syscall(SYS_execve, as_argument(program), as_argument(arguments), as_argument(environment));
    raw_syscall(SYS_exit_group, 127);
    __builtin_unreachable();
}

}  // namespace

int start_collector(int& collector, const char*& problem) noexcept {
    int subreaper = 0;
    raw_syscall(SYS_prctl, PR_GET_CHILD_SUBREAPER, as_argument(&subreaper));
    if (raw_syscall(SYS_getpid) == 1 || subreaper != 0) {
        problem =
            "this process adopts orphans, so no collector is started beneath it; run it by "
            "`sample -- COMMAND`, or set SAMPLE_SESSION to a running collector";
        return -1;
    }
    static char program[PATH_MAX];
    if (!find_program(program, sizeof program)) {
        problem =
            "the `sample` program was not found beside libsample.so or in ../bin; install both";
        return -1;
    }
    int ends[2] = {-1, -1};
    if (raw_syscall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, as_argument(ends)) !=
        0) {
        problem = "no socket to a collector could be made; check `ulimit -n`";
        return -1;
    }
    // Exit signal 0, twice: the child in between is reaped here, and the collector is nobody's
    // child here.
    const long child = raw_syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (child == 0) {
        const long grandchild = raw_syscall(SYS_clone, 0, 0, 0, 0, 0);
        if (grandchild == 0) {
            become_collector(program, ends[1]);
        }
        raw_syscall(SYS_write, ends[1], as_argument(&grandchild), sizeof grandchild);
        raw_syscall(SYS_exit_group, 0);
    }
    close_descriptor(ends[1]);
    if (child < 0) {
        close_descriptor(ends[0]);
        problem = "no process for a collector could be made; check `ulimit -u`";
        return -1;
    }
    while (raw_syscall(SYS_wait4, child, 0, static_cast<long>(__WALL), 0) == -EINTR) {
    }
    long grandchild = -1;
    if (raw_syscall(SYS_recvfrom, ends[0], as_argument(&grandchild), sizeof grandchild,
                    MSG_DONTWAIT) != sizeof grandchild ||
        grandchild < 0) {
        close_descriptor(ends[0]);
        problem = "no process for a collector could be made; check `ulimit -u`";
        return -1;
    }
    collector = static_cast<int>(grandchild);
    limit_waits(ends[0]);
    return ends[0];
}

}  // namespace sample::agent
