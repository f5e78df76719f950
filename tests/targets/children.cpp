// Starts one program in a given way, with a given environment, and waits for it.
//
//     children HOW ENVIRONMENT PROGRAM [ARGUMENT…]
//
// HOW: fork vfork spawn spawnp system popen daemon. ENVIRONMENT: kept (environ as it is), empty (an
// envp of its own with nothing in it; for system and popen: environ as it is). daemon: forks twice
// with a setsid between, the process in the middle exits at once, and the program's end is seen by
// a pipe.
//
// Stats: PROGRAM runs once; `status=` is its exit status (daemon: 0).
#include "work.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace {

bool is(const char* how, const char* name) {
    return std::strcmp(how, name) == 0;
}

int wait_for(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string joined(char** words) {
    std::string text;
    for (; *words != nullptr; ++words) {
        text += std::string{text.empty() ? "" : " "} + *words;
    }
    return text;
}

int by_spawn(const char* how, char** words, char** environment) {
    pid_t pid = 0;
    const int result = is(how, "spawn")
                           ? posix_spawn(&pid, words[0], nullptr, nullptr, words, environment)
                           : posix_spawnp(&pid, words[0], nullptr, nullptr, words, environment);
    return result == 0 ? wait_for(pid) : 127;
}

int by_shell(const char* how, char** words) {
    const std::string line = joined(words);
    if (is(how, "system")) {
        const int status = system(line.c_str());  // NOLINT(cert-env33-c): what is tested
        return WEXITSTATUS(status);
    }
    FILE* pipe = popen(line.c_str(), "r");  // NOLINT(cert-env33-c): likewise
    for (int letter = 0; pipe != nullptr && (letter = std::fgetc(pipe)) != EOF;) {
        std::putchar(letter);
    }
    return pipe != nullptr ? WEXITSTATUS(pclose(pipe)) : 127;
}

int as_daemon(char** words, char** environment) {
    int ends[2] = {-1, -1};
    // The program's end of it has to survive the exec.
    if (pipe(ends) != 0) {  // NOLINT(android-cloexec-pipe)
        return 127;
    }
    const pid_t middle = fork();
    if (middle == 0) {
        setsid();
        if (fork() == 0) {
            close(ends[0]);
            execve(words[0], words, environment);
        }
        _exit(0);
    }
    close(ends[1]);
    const int status = wait_for(middle);
    char byte = 0;
    while (read(ends[0], &byte, 1) > 0) {
    }
    return status;
}

int start(const char* how, char** words, char** environment) {
    if (is(how, "spawn") || is(how, "spawnp")) {
        return by_spawn(how, words, environment);
    }
    if (is(how, "system") || is(how, "popen")) {
        return by_shell(how, words);
    }
    if (is(how, "daemon")) {
        return as_daemon(words, environment);
    }
    const pid_t pid = is(how, "vfork") ? vfork() : fork();
    if (pid == 0) {
        execve(words[0], words, environment);
        _exit(127);
    }
    return wait_for(pid);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        return targets::usage("HOW ENVIRONMENT PROGRAM [ARGUMENT…]");
    }
    char* nothing[] = {nullptr};
    targets::tell("status", static_cast<unsigned long>(
                                start(argv[1], argv + 3, is(argv[2], "kept") ? environ : nothing)));
    rusage waited_for{};
    getrusage(RUSAGE_CHILDREN, &waited_for);
    const auto us_of = [](const timeval& time) { return time.tv_sec * 1'000'000 + time.tv_usec; };
    targets::tell(
        "children_cpu_ns",
        static_cast<unsigned long>(us_of(waited_for.ru_utime) + us_of(waited_for.ru_stime)) * 1000);
    return 0;
}
