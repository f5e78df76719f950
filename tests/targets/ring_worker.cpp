// An io_uring whose submissions a thread of the kernel's polls for, which uses the processor all
// the time; the program works for 50 ms, which each source sees, and then only waits.
//
//     ring_worker WORK_MS
//
// Stats: the worker's CPU time (worker_us). Exit status 77: there is no such ring here.
#include "work.h"

#include <linux/io_uring.h>
#include <sys/syscall.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

std::uint64_t worker_ns() {
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::string name;
        std::getline(std::ifstream{task.path() / "comm"}, name);
        if (name.rfind("iou-sqp-", 0) == 0) {
            std::uint64_t ns = 0;
            std::ifstream{task.path() / "schedstat"} >> ns;
            return ns;
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return targets::usage("WORK_MS");
    }
    constexpr unsigned kIdleMs = 600'000;
    io_uring_params ring{};
    ring.flags = IORING_SETUP_SQPOLL;
    ring.sq_thread_idle = kIdleMs;
    const long made = syscall(SYS_io_uring_setup, 8, &ring);
    if (made < 0) {
        return 77;
    }
    targets::burn(50'000'000);
    const std::uint64_t enough_ns = std::stoull(argv[1]) * 1'000'000;
    while (worker_ns() < enough_ns) {
        // It sleeps at first.
        syscall(SYS_io_uring_enter, made, 0, 0, IORING_ENTER_SQ_WAKEUP, nullptr, 0);
        usleep(1000);
    }
    targets::tell("worker_us", worker_ns() / 1000);
    return 0;
}
