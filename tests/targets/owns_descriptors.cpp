// One thread does what makes the profiler look at files and talk, again and again; another one owns
// the lowest free descriptor, which open() must give it, and what its dup2() puts there must stay.
//
//     owns_descriptors WAY TIMES
//
// WAY: spawn (posix_spawn), thread (pthread_create), exec (one that fails), exit (a thread that
// ends by its number), fork (with much memory), tracer (PTRACE_SEIZE of a child)
//
// Stats: "lost 0, moved 0", unless somebody else closes or opens a descriptor.
#include "work.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> g_done = false;

void wait_for(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
}

void do_once(std::string_view way) {
    if (way == "spawn") {
        char name[] = "true";
        char* words[] = {name, nullptr};
        pid_t pid = 0;
        if (posix_spawn(&pid, "/bin/true", nullptr, nullptr, words, environ) == 0) {
            wait_for(pid);
        }
    } else if (way == "thread") {
        std::thread{[] {}}.join();
    } else if (way == "exec") {
        execl("/nowhere", "nowhere", nullptr);
    } else if (way == "exit") {
        pthread_t thread{};
        if (pthread_create(
                &thread, nullptr,
                [](void*) -> void* {
                    syscall(SYS_exit, 0);
                    return nullptr;
                },
                nullptr) == 0) {
            pthread_join(thread, nullptr);
        }
    } else if (way == "fork") {
        const pid_t pid = fork();
        if (pid == 0) {
            _exit(0);
        }
        wait_for(pid);
    } else {
        const pid_t pid = fork();
        while (pid == 0) {
            pause();
        }
        ptrace(PTRACE_SEIZE, pid, 0, 0);
        kill(pid, SIGKILL);
        wait_for(pid);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("WAY TIMES");
    }
    const std::string_view way = argv[1];
    // So much that a fork takes long.
    const std::vector<char> much(way == "fork" ? std::size_t{64} << 20U : 0, 'x');
    closefrom(3);
    std::thread doer{[&] {
        for (unsigned long time = 0; time < targets::number(argv[2]); ++time) {
            do_once(way);
        }
        g_done = true;
    }};
    int lost = 0;
    int moved = 0;
    while (!g_done) {
        const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        moved += fd != 3 ? 1 : 0;
        close(fd);
        dup2(0, 3);
        for (int look = 0; look < 100 && fcntl(3, F_GETFD) >= 0; ++look) {
        }
        lost += fcntl(3, F_GETFD) < 0 ? 1 : 0;
        close(3);
    }
    doer.join();
    std::printf("lost %d, moved %d\n", lost, moved);
    return lost + moved == 0 ? 0 : 1;
}
