// A program that forbids itself to read the time stamp counter, as deterministic sandboxes do.
//
//     ticks WAY
//
// WAY: prctl, number (prctl through syscall()), thread (a thread beside the first forbids it to
// itself), fork (so does its child), or cpuid (forbids the CPUID instruction).
//
// Stats: half of the work is done in before_ticks(), half in after_ticks(), neither of which looks
// at a clock. No exec comes after: glibc's loader reads the counter, and dies of that.
// Source: prctl(2), PR_SET_TSC; arch_prctl(2), ARCH_SET_CPUID.
#include "work.h"

#include <asm/prctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>
#include <thread>

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012
#endif

namespace {

TARGET_KEEP void do_units(std::uint64_t units) {
    std::uint64_t state = 88172645463325252U;
    for (std::uint64_t unit = 0; unit < units; ++unit) {
        state = targets::work_unit(state);
    }
    targets::consume(state);
}

constexpr std::uint64_t kUnits = 200'000;

}  // namespace

TARGET_KEEP void before_ticks() {
    do_units(kUnits);
}
TARGET_KEEP void after_ticks() {
    do_units(kUnits);
}

int main(int argc, char** argv) {
    const std::string_view way = argc > 1 ? argv[1] : "prctl";
    before_ticks();
    long result = 0;
    if (way == "prctl" || way == "fork") {
        result = prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    } else if (way == "number") {
        result = syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    } else if (way == "thread") {
        std::thread{[&result] {
            result = prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
            after_ticks();
        }}.join();
    } else if (way == "cpuid") {
        syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);  // not every processor can
    }
    if (way == "fork") {
        const pid_t child = fork();
        if (child == 0) {
            after_ticks();
            _exit(7);
        }
        int status = 0;
        waitpid(child, &status, 0);
        result = WEXITSTATUS(status);
    }
    after_ticks();
    std::printf("%ld, worked\n", result);
}
