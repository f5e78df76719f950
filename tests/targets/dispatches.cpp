// A program that takes system calls itself while it works, as Wine does for Windows programs.
//
//     dispatches WAY
//
// WAY: prctl, number (prctl through syscall()), or thread (a thread beside the first does so).
//
// Stats: half of the work is done before it, in before_dispatch(), half in after_dispatch(), where
// each system call is SIGSYS, as long as the selector says so. `taken=`: the one call that it makes
// there was. Status 77: the kernel cannot. Source: Linux, admin-guide/syscall-user-dispatch.
#include "work.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <string_view>
#include <thread>

namespace {

constexpr int kSetDispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH, newer than some headers
constexpr char kAllow = 0;
constexpr char kBlock = 1;
volatile char selector = kAllow;
volatile int taken = 0;

/// It leaves the selector so that it can return; the work sets it again.
void on_call(int /*signal*/, siginfo_t* /*info*/, void* context) {
    selector = kAllow;
    taken = taken + 1;
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RAX] = 0;
}

TARGET_KEEP void do_units() {
    std::uint64_t state = 88172645463325252U;
    for (std::uint64_t unit = 0; unit < 200'000; ++unit) {
        state = targets::work_unit(state);
    }
    targets::consume(state);
}

}  // namespace

TARGET_KEEP void before_dispatch() {
    do_units();
}
TARGET_KEEP void after_dispatch() {
    selector = kBlock;
    do_units();
    long result = SYS_getuid;
    asm volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
    selector = kBlock;
    do_units();
    selector = kAllow;
}

namespace {

void dispatch(std::string_view way) {
    const long result = way == "number" ? syscall(SYS_prctl, kSetDispatch, 1, 0, 0, &selector)
                                        : prctl(kSetDispatch, 1, 0, 0, &selector);
    if (result != 0) {
        _exit(77);
    }
    after_dispatch();
    prctl(kSetDispatch, 0, 0, 0, 0);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view way = argc > 1 ? argv[1] : "prctl";
    static char memory[65536];
    const stack_t stack{memory, 0, sizeof memory};
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_sigaction = on_call;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSYS, &action, nullptr);
    before_dispatch();
    if (way == "thread") {
        std::thread{dispatch, way}.join();
    } else {
        dispatch(way);
    }
    targets::tell("taken", static_cast<std::uint64_t>(taken));
}
