// A program that goes into a new namespace, confines itself, and then works and makes children.
//
//     namespaces KIND...
//
// KIND: user, pid, mount, net, ipc, uts, cgroup, time, files (descriptors of its own), or filter (a
// harmless seccomp filter).
//
// Stats: it prints how each call ended, then that a child by fork and one by system() worked, and
// what number the first child has in its namespace. Source: namespaces(7).
#include "work.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>
#include <utility>

namespace {

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

constexpr std::pair<std::string_view, int> kKinds[] = {
    {"user", CLONE_NEWUSER}, {"pid", CLONE_NEWPID},       {"mount", CLONE_NEWNS},
    {"net", CLONE_NEWNET},   {"ipc", CLONE_NEWIPC},       {"uts", CLONE_NEWUTS},
    {"time", CLONE_NEWTIME}, {"cgroup", CLONE_NEWCGROUP}, {"files", CLONE_FILES},
};

int enter(std::string_view kind) {
    if (kind == "filter") {
        sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
        const sock_fprog program{1, &allow};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    }
    for (const auto& [name, flag] : kKinds) {
        if (name == kind) {
            return unshare(flag);
        }
    }
    return 2;
}

}  // namespace

TARGET_KEEP void work_in_namespace() {
    targets::burn(50'000'000);
}

int main(int argc, char** argv) {
    targets::burn(20'000'000);
    for (int i = 1; i < argc; ++i) {
        const int result = enter(argv[i]);
        std::printf("%s %d %s\n", argv[i], result, result == 0 ? "" : strerror(errno));
    }
    std::fflush(stdout);
    for (int i = 0; i < 2; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            work_in_namespace();
            // In a new namespace of processes the first one is number 1.
            _exit(getpid() == 1 ? 11 : 10);
        }
        int status = -1;
        const int error = child < 0 ? errno : 0;
        waitpid(child, &status, 0);
        std::printf("child %d: error %d, exit %d\n", i, error, WEXITSTATUS(status));
        if (i == 0 && WEXITSTATUS(status) == 11) {
            break;  // its end was the namespace's
        }
    }
    std::fflush(stdout);
    std::printf("shell %d\n", WEXITSTATUS(system("exit 3")));
    work_in_namespace();
}
