// Signals that are blocked past all functions of libc that a program calls for that.
//
//     hidden_masks callback|instruction PROGRAM
//
// callback: where libc calls a timer's function, all signals are blocked; instruction: by a system
// call instruction of its own.
//
// Stats: there it works, says whether SIGTRAP and SIGURG wait, has a thread do both, and execs
// PROGRAM. Nobody sends it a signal.
#include "work.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <string_view>

namespace {

constexpr std::uint64_t kWorkNs = 60'000'000;

char* program = nullptr;

void* work_and_ask(void* name) {
    targets::burn(kWorkNs);
    sigset_t waiting;
    sigpending(&waiting);
    std::printf("%s: SIGTRAP %d SIGURG %d\n", static_cast<const char*>(name),
                sigismember(&waiting, SIGTRAP), sigismember(&waiting, SIGURG));
    std::fflush(stdout);
    return nullptr;
}

void go_on(sigval /*unused*/) {
    char here[] = "here";
    char thread_of_it[] = "a thread of it";
    work_and_ask(here);
    pthread_t thread{};
    pthread_create(&thread, nullptr, work_and_ask, thread_of_it);
    pthread_join(thread, nullptr);
    execl(program, program, static_cast<char*>(nullptr));
    std::exit(1);
}

void block_all() {
    const std::uint64_t all = ~std::uint64_t{0};
    register long bytes asm("r10") = sizeof all;
    long result = SYS_rt_sigprocmask;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(static_cast<long>(SIG_BLOCK)), "S"(&all), "d"(0L), "r"(bytes)
                 : "rcx", "r11", "memory");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("callback|instruction PROGRAM");
    }
    program = argv[2];
    if (std::string_view{argv[1]} == "instruction") {
        block_all();
        go_on({});
    }
    timer_t timer{};
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = go_on;
    itimerspec soon{};
    soon.it_value.tv_nsec = 1;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, nullptr);
    for (;;) {
        pause();
    }
}
