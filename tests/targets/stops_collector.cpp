// Stops the process that started it, which is the collector, and starts programs meanwhile.
//
//     stops_collector HOW COUNT
//
// HOW: fork, vfork, spawn, system, exec: COUNT times /bin/true, one behind the other; thread: COUNT
// threads; self: itself, in place, COUNT times. Then the collector goes on, and by `fork` one child
// more is started that works for 50 ms.
//
// Stats: `stopped_ms=` is how long the collector was stopped, `failures=` how many of those started
// did not end with 0.
#include "work.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace {

constexpr const char* kProgram = "/bin/true";

std::uint64_t now_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
           static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

/// Each of its threads: one may still be at work when the signal has been sent.
bool is_stopped(pid_t pid) {
    for (const auto& task :
         std::filesystem::directory_iterator{"/proc/" + std::to_string(pid) + "/task"}) {
        std::ifstream stat{task.path() / "stat"};
        std::string line;
        std::getline(stat, line);
        const std::size_t name_end = line.rfind(')');
        if (name_end == std::string::npos || line.compare(name_end, 3, ") T") != 0) {
            return false;
        }
    }
    return true;
}

bool waits_for(pid_t pid) {
    int status = 0;
    return waitpid(pid, &status, 0) == pid && status == 0;
}

bool by_fork(bool execs) {
    const pid_t pid = fork();
    if (pid == 0) {
        if (execs) {
            execl(kProgram, kProgram, nullptr);
        }
        _exit(0);
    }
    return waits_for(pid);
}

bool by_vfork() {
    const pid_t pid = vfork();
    if (pid == 0) {
        execl(kProgram, kProgram, nullptr);
        _exit(127);
    }
    return waits_for(pid);
}

bool by_spawn() {
    pid_t pid = 0;
    char* words[] = {const_cast<char*>(kProgram), nullptr};
    return posix_spawn(&pid, kProgram, nullptr, nullptr, words, environ) == 0 && waits_for(pid);
}

bool one(const std::string& how) {
    if (how == "fork" || how == "exec") {
        return by_fork(how == "exec");
    }
    if (how == "vfork") {
        return by_vfork();
    }
    if (how == "spawn") {
        return by_spawn();
    }
    if (how == "system") {
        return std::system(kProgram) == 0;  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
    }
    std::thread{[] { targets::burn(100'000); }}.join();
    return true;
}

void tell(std::uint64_t stopped_at, int failures, pid_t collector) {
    const std::uint64_t stopped = now_ms() - stopped_at;
    kill(collector, SIGCONT);
    targets::tell("stopped_ms", stopped);
    targets::tell("failures", static_cast<std::uint64_t>(failures));
    std::fflush(stdout);
    // The collector takes back that nobody may wait for it, once a second.
    sleep(4);
    const pid_t later = fork();
    if (later == 0) {
        targets::burn(50'000'000);
        _exit(0);
    }
    waits_for(later);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3 && argc != 4) {
        return 2;
    }
    const std::string how = argv[1];
    const int count = std::atoi(argv[2]);
    const pid_t collector = getppid();
    if (argc == 3) {
        kill(collector, SIGSTOP);
        while (!is_stopped(collector)) {
            usleep(1000);
        }
    }
    const std::uint64_t stopped_at = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : now_ms();
    if (how == "self" && count > 0) {
        execl(argv[0], argv[0], "self", std::to_string(count - 1).c_str(),
              std::to_string(stopped_at).c_str(), nullptr);
        return 126;
    }
    int failures = 0;
    for (int i = 0; i < count; ++i) {
        failures += one(how) ? 0 : 1;
    }
    tell(stopped_at, failures, collector);
    return failures == 0 ? 0 : 1;
}
