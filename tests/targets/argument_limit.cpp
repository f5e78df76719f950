// How many arguments of seven letters a program can be started with: whatever is added to its
// environment is taken from that.
//
//     argument_limit
//
// Stats: `none=N` by execve with an environment without entries, `own=N` with the program's own,
// `spawned=N` by posix_spawn with that.
#include "work.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace {

char program[] = "/bin/true";
char argument[] = "1234567";
char* no_entries[] = {nullptr};

bool runs(std::size_t count, char* const* envp, bool spawns) {
    std::vector<char*> words(count + 1, argument);
    words.front() = program;
    words.push_back(nullptr);
    pid_t child = 0;
    if (spawns) {
        if (posix_spawn(&child, program, nullptr, nullptr, words.data(), envp) != 0) {
            return false;
        }
    } else if ((child = fork()) == 0) {
        execve(program, words.data(), envp);
        _exit(errno == E2BIG ? 2 : 3);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::uint64_t most(char* const* envp, bool spawns) {
    std::size_t runs_with = 1;
    std::size_t fails_with = 100'000;
    while (fails_with - runs_with > 1) {
        const std::size_t middle = (runs_with + fails_with) / 2;
        (runs(middle, envp, spawns) ? runs_with : fails_with) = middle;
    }
    return runs_with;
}

}  // namespace

int main() {
    // A quarter of it is for arguments and environment.
    constexpr rlim_t kStack = rlim_t{1} << 20U;
    const rlimit stack{kStack, kStack};
    if (setrlimit(RLIMIT_STACK, &stack) != 0) {
        return 1;
    }
    targets::tell("none", most(no_entries, false));
    targets::tell("own", most(environ, false));
    targets::tell("spawned", most(environ, true));
    return 0;
}
