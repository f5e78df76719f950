// Gives rights away and enters namespaces by number, through syscall(): for the calling thread
// alone.
//
//     rights_ways
//
// Stats: it prints what each call gave. A namespace of users can be entered only by a process with
// one thread.
#include "work.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

void tell(const char* what, long result) {
    std::printf("%s: %ld%s%s\n", what, result, result < 0 ? " " : "",
                result < 0 ? strerrorname_np(errno) : "");
    targets::burn(2'000'000);
}

}  // namespace

int main() {
    const auto user = static_cast<long>(getuid());
    const auto group = static_cast<long>(getgid());
    targets::burn(5'000'000);
    const int own = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
    tell("setns", syscall(SYS_setns, own, CLONE_NEWUTS));
    tell("setregid", syscall(SYS_setregid, group, group));
    tell("setresgid", syscall(SYS_setresgid, group, group, group));
    tell("setgid", syscall(SYS_setgid, group));
    tell("setreuid", syscall(SYS_setreuid, user, user));
    tell("setresuid", syscall(SYS_setresuid, user, user, user));
    tell("setuid", syscall(SYS_setuid, user));
    tell("setgroups", syscall(SYS_setgroups, 0, nullptr));
    tell("unshare", syscall(SYS_unshare, CLONE_NEWUSER));
    tell("capset", syscall(SYS_capset, 16L, 16L));
    targets::burn(5'000'000);
    return 0;
}
