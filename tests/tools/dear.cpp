// Makes system calls take longer, by seccomp filters that allow everything after some divisions.
//
// So a plain machine has what a nested guest has: a call that costs 1 µs, a signal handler whose
// return costs 40. What differs is that the program is under a filter, and that interrupts and page
// faults cost what they did.
#include "confine.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace sample::tools {
namespace {

// A filter has at most BPF_MAXINSNS instructions, of which six are not divisions.
constexpr long kMostDivisions = BPF_MAXINSNS - 6;
// How long a processor divides depends on the number.
constexpr std::uint32_t kDividend = UINT32_MAX;
// The kernel takes so many instructions of a process in all, and counts four more for each filter.
constexpr long kMostInstructions = 32'768;
constexpr long kMoreOfFilter = 4;

/// Divides so often before it allows `number`; any call if that is negative. False: no room, as the
/// process is under other filters already.
bool add_filter(long number, long divisions) {
    std::array<sock_filter, BPF_MAXINSNS> code{};
    auto* at = code.begin();
    if (number >= 0) {
        *at++ = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
        *at++ = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 1, 0);
        *at++ = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    // An argument is looked at: else the kernel would know the answer and run no filter. It is not
    // divided: of rt_sigreturn it is what the program has in a register, and the price with it.
    *at++ = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[5]));
    *at++ = BPF_STMT(BPF_LD | BPF_IMM, kDividend);
    at = std::fill_n(at, divisions, sock_filter BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 1));
    *at++ = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog program{static_cast<unsigned short>(at - code.begin()), code.data()};
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    if (result < 0 && errno == EACCES) {  // not privileged: seccomp(2) asks for this first
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    }
    if (result < 0 && errno != ENOMEM) {
        give_up("no seccomp filter can be installed");
    }
    return result == 0;
}

double call_us() {
    constexpr int kCalls = 2000;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) {
        syscall(SYS_getppid);
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    return took.count() / kCalls;
}

/// Tried in a child, as a filter stays. Infinite: there is no room for one.
double division_us() {
    void* page =
        mmap(nullptr, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        give_up("no memory");
    }
    auto* us = static_cast<volatile double*>(page);
    const pid_t child = fork();
    if (child == 0) {
        const double before = call_us();
        *us = add_filter(-1, kMostDivisions) ? (call_us() - before) / kMostDivisions : HUGE_VAL;
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    const double found = *us;
    munmap(page, sizeof(double));
    if (found <= 0) {
        give_up("divisions cost nothing here");
    }
    return found;
}

/// As dear as can be with `room` instructions, which become fewer.
void add_filters(long number, double us, double one_us, long& room) {
    auto left = static_cast<long>(us / one_us);
    while (left > 0) {
        const long more = BPF_MAXINSNS - kMostDivisions + kMoreOfFilter;
        const long divisions = std::min({left, kMostDivisions, room - more});
        if (divisions <= 0 || !add_filter(number, divisions)) {
            std::fprintf(stderr, "confine: no filter divides so often: %.0f us of %.0f\n",
                         us - static_cast<double>(left) * one_us, us);
            return;
        }
        left -= divisions;
        room -= divisions + more;
    }
}

}  // namespace

void make_dear(double more_us_a_call, double more_us_a_handler) {
    if (more_us_a_call <= 0 && more_us_a_handler <= 0) {
        return;
    }
    const double one_us = division_us();
    if (std::isinf(one_us)) {
        std::fputs("confine: no filter has room beside those that are there\n", stderr);
        return;
    }
    long room = kMostInstructions;
    add_filters(-1, more_us_a_call, one_us, room);
    add_filters(SYS_rt_sigreturn, more_us_a_handler, one_us, room);
}

}  // namespace sample::tools
