// Ends in every way that libc has.
//
//     exit_ways WAY
//
// WAY: exit, _exit, _Exit, quick_exit, abort, return, daemon (libc's; its child ends with 0),
// exit-number and exit_group-number (through syscall()), pthread_exit (the main thread's, a second
// one calls exit), thrd_exit (the same with C11's names), last-thread (the main thread ends by
// syscall(SYS_exit), the second one's status is the process's).
//
// Stats: it works some milliseconds and ends with 5, daemon with 0, abort by SIGABRT.
#include "work.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

namespace {

constexpr std::uint64_t kWorkNs = 5'000'000;
/// The main thread has ended meanwhile.
constexpr std::uint64_t kLongerNs = 100'000'000;
constexpr int kStatus = 5;

void* end_process(void* /*unused*/) {
    targets::burn(kLongerNs);
    std::exit(kStatus);
}

int end_process_c11(void* /*unused*/) {
    end_process(nullptr);
    return 0;
}

void* end_last(void* /*unused*/) {
    targets::burn(kLongerNs);
    syscall(SYS_exit, kStatus);
    return nullptr;
}

void with_second_thread(std::string_view way) {
    pthread_t thread{};
    if (way == "thrd_exit") {
        thrd_t other{};
        thrd_create(&other, end_process_c11, nullptr);
        thrd_exit(0);
    }
    pthread_create(&thread, nullptr, way == "last-thread" ? end_last : end_process, nullptr);
    if (way == "last-thread") {
        syscall(SYS_exit, 0);
    }
    pthread_exit(nullptr);
}

void end_by(std::string_view way) {
    if (way == "exit") {
        std::exit(kStatus);
    } else if (way == "_exit") {
        _exit(kStatus);
    } else if (way == "_Exit") {
        std::_Exit(kStatus);
    } else if (way == "quick_exit") {
        std::quick_exit(kStatus);
    } else if (way == "abort") {
        std::abort();
    } else if (way == "exit-number") {
        syscall(SYS_exit, kStatus);
    } else if (way == "exit_group-number") {
        syscall(SYS_exit_group, kStatus);
    } else if (way == "daemon") {
        const int result = daemon(1, 1);
        targets::burn(kWorkNs);
        _exit(result == 0 ? 0 : 1);
    } else if (way != "return") {
        with_second_thread(way);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return targets::usage("WAY");
    }
    targets::burn(kWorkNs);
    end_by(argv[1]);
    return kStatus;
}
