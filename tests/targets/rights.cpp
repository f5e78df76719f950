// A program that gives up rights, step by step, and looks whether any of its threads keeps more.
//
//     rights [WAY]
//
// WAY:
//   libc    (or none) by libc's functions, which change all threads that libc knows
//   number  by their numbers through syscall(), in the program's only thread
//   raw     by an instruction of its own, in its only thread; what keeps more has ten seconds to go
//   race    two threads at once, many times
//
// Stats: after each step no thread of the process has a user, a group, a capability or a freedom
// from filters that the first thread has not: `STEP: ERRNO, 0 exceed`. Equal parts of the work are
// done in before_rights(), in after_rights(), and then in long_after_rights(), when sampling that
// began anew has had its time. Source: proc(5), capabilities(7).
#include "work.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kNobody = 65534;

using Status = std::map<std::string, std::string>;

Status status_of(const std::string& tid) {
    Status status;
    std::ifstream file{"/proc/self/task/" + tid + "/status"};
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(":\t");
        if (colon != std::string::npos) {
            status[line.substr(0, colon)] = line.substr(colon + 2);
        }
    }
    return status;
}

unsigned long long set_of(const Status& status, const char* name) {
    const auto found = status.find(name);
    return found == status.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 16);
}

bool exceeds(const Status& thread, const Status& first) {
    for (const char* name : {"Uid", "Gid", "Groups"}) {
        if (thread.at(name) != first.at(name)) {
            return true;
        }
    }
    for (const char* name : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
        if ((set_of(thread, name) & ~set_of(first, name)) != 0) {
            return true;
        }
    }
    const bool gains = thread.at("NoNewPrivs") == "0";
    return (gains && first.at("NoNewPrivs") == "1") ||
           (gains && (set_of(thread, "CapBnd") & ~set_of(first, "CapBnd")) != 0) ||
           set_of(thread, "Seccomp") < set_of(first, "Seccomp") ||
           set_of(thread, "Seccomp_filters") < set_of(first, "Seccomp_filters");
}

int count_exceeding() {
    const Status first = status_of(std::to_string(getpid()));
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/task"}) {
        const Status thread = status_of(entry.path().filename());
        count += !thread.empty() && exceeds(thread, first) ? 1 : 0;
    }
    return count;
}

/// `call` returns 0, or -1 with errno.
void step(const char* name, const std::function<long()>& call) {
    errno = 0;
    const long result = call();
    const int error = result == 0 ? 0 : errno;
    std::printf("%s: %d, %d exceed\n", name, error, count_exceeding());
    targets::burn(5'000'000);
}

long drop_from_bounding_set() {
    return prctl(PR_CAPBSET_DROP, CAP_SYS_BOOT, 0, 0, 0);
}

long drop_capability() {
    __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[2] = {};
    if (syscall(SYS_capget, &head, sets) != 0) {
        return -1;
    }
    for (auto* set : {&sets[0].effective, &sets[0].permitted, &sets[0].inheritable}) {
        *set &= ~(1U << CAP_NET_RAW);
    }
    return syscall(SYS_capset, &head, sets);
}

long set_harmless_filter() {
    sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    const sock_fprog program{1, &allow};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

void by_libc() {
    static const gid_t groups[] = {kNobody, 7};
    step("setgroups", [] { return setgroups(2, groups); });
    step("initgroups", [] { return initgroups("nobody", kNobody); });
    step("setegid", [] { return setegid(kNobody); });
    step("setegid back", [] { return setegid(getgid()); });
    step("setregid", [] { return setregid(kNobody, kNobody); });
    step("setfsgid", [] { return setfsgid(kNobody) >= 0 ? 0 : -1; });
    step("seteuid", [] { return seteuid(kNobody); });
    step("seteuid back", [] { return seteuid(getuid()); });
    step("setfsuid", [] { return setfsuid(kNobody) >= 0 ? 0 : -1; });
    step("setfsuid back", [] { return setfsuid(geteuid()) >= 0 ? 0 : -1; });
    step("PR_CAPBSET_DROP", drop_from_bounding_set);
    step("capset", drop_capability);
    step("PR_SET_KEEPCAPS", [] { return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0); });
    step("unshare(CLONE_FS)", [] { return unshare(CLONE_FS); });
    step("setresuid", [] { return setresuid(kNobody, kNobody, kNobody); });
    step("PR_SET_NO_NEW_PRIVS", [] { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); });
    step("PR_SET_SECCOMP", set_harmless_filter);
    step("setuid back", [] { return setuid(0); });
}

void by_number() {
    step("setgroups", [] { return syscall(SYS_setgroups, 0, nullptr); });
    step("setresgid", [] { return syscall(SYS_setresgid, kNobody, kNobody, kNobody); });
    step("setreuid", [] { return syscall(SYS_setreuid, -1, kNobody); });
    step("setreuid back", [] { return syscall(SYS_setreuid, -1, 0); });
    step("setuid", [] { return syscall(SYS_setuid, kNobody); });
    step("prctl", [] { return syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); });
    step("seccomp", [] {
        sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
        const sock_fprog program{1, &allow};
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    });
}

/// Past libc.
long raw_setuid(long user) {
    long result = SYS_setuid;
    asm volatile("syscall" : "+a"(result) : "D"(user) : "rcx", "r11", "memory");
    errno = static_cast<int>(-result);
    return result == 0 ? 0 : -1;
}

void by_instruction() {
    const long result = raw_setuid(kNobody);
    constexpr std::uint64_t kMostNs = 10'000'000'000;
    const std::uint64_t end = targets::wall_ns() + kMostNs;
    while (count_exceeding() != 0 && targets::wall_ns() < end) {
        targets::burn(1'000'000);
    }
    std::printf("raw setuid: %ld, %d exceed\n", result, count_exceeding());
}

void race() {
    constexpr int kRounds = 100;
    const auto change = [](auto there, auto back) {
        for (int round = 0; round < kRounds; ++round) {
            there();
            targets::burn(50'000);
            back();
        }
    };
    const uid_t user = geteuid();
    const gid_t group = getegid();
    std::atomic<pid_t> other_tid{0};
    std::thread other{[&] {
        other_tid = gettid();
        change([] { setegid(kNobody); }, [group] { setegid(group); });
    }};
    change([] { seteuid(kNobody); }, [user] { seteuid(user); });
    other.join();
    // Joined, it does nothing more; but it has its rights, and is listed, until the kernel is done.
    while (std::filesystem::exists("/proc/self/task/" + std::to_string(other_tid))) {
        sched_yield();
    }
    step("after the race", [] { return setuid(kNobody); });
}

}  // namespace

TARGET_KEEP void before_rights() {
    targets::burn(100'000'000);
}
TARGET_KEEP void after_rights() {
    targets::burn(100'000'000);
}
TARGET_KEEP void long_after_rights() {
    targets::burn(100'000'000);
}

int main(int argc, char** argv) {
    const std::string_view way = argc > 1 ? argv[1] : "libc";
    before_rights();
    if (way == "libc") {
        std::atomic<bool> done{false};
        std::thread beside{[&done] {
            while (!done) {
                targets::burn(1'000'000);
            }
        }};
        by_libc();
        done = true;
        beside.join();
    } else if (way == "number") {
        by_number();
    } else if (way == "raw") {
        by_instruction();
    } else if (way == "race") {
        race();
    } else {
        return targets::usage("[libc|number|raw|race]");
    }
    after_rights();
    long_after_rights();
}
