// Lets itself read and run no files but those below some folders, by Landlock, and runs a program.
//
//     landlocked WAY FOLDER[:FOLDER...] PROGRAM
//
// WAY: execv, fexecve, spawn.
//
// Stats: the program's. It ends as that does; with 77 where the kernel has no Landlock.
#include "work.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <string_view>

namespace {

constexpr std::uint64_t kAccess = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE;

/// False: the kernel has no Landlock.
bool lock(const std::string& folders) {
    const landlock_ruleset_attr handled{.handled_access_fs = kAccess};
    const long rules = syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (rules < 0) {
        return false;
    }
    std::istringstream list{folders};
    for (std::string folder; std::getline(list, folder, ':');) {
        const int place = open(folder.c_str(), O_PATH | O_CLOEXEC);
        const landlock_path_beneath_attr rule{.allowed_access = kAccess, .parent_fd = place};
        syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
        close(place);
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const bool done = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(static_cast<int>(rules));
    return done;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view way = argc == 4 ? argv[1] : "";
    if (way.empty() || !lock(argv[2])) {
        return way.empty() ? 2 : 77;
    }
    targets::burn(5'000'000);
    if (way == "spawn") {
        pid_t child = 0;
        int status = 0;
        return posix_spawn(&child, argv[3], nullptr, nullptr, argv + 3, environ) == 0 &&
                       waitpid(child, &status, 0) == child
                   ? WEXITSTATUS(status)
                   : 1;
    }
    if (way == "fexecve") {
        fexecve(open(argv[3], O_RDONLY | O_CLOEXEC), argv + 3, environ);
    } else {
        execv(argv[3], argv + 3);
    }
    return 1;
}
