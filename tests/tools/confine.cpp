// Runs a command as another kind of user has it, on a machine where the test is root.
//
//     confine [--user ID] [--refuse-perf EACCES|EPERM|ENOSYS] [--no-sigtrap] [--before-5.13]
//             [--before-5.9] [--dear-calls US] [--dear-handlers US] [--traced] COMMAND
//             [ARGUMENT...]
//
// --user         an ordinary user: ID as user and group, no other group, no capability
// --refuse-perf  a seccomp filter answers each perf_event_open: EACCES as Debian does at
//                kernel.perf_event_paranoid=3, EPERM or ENOSYS as in a container
// --no-sigtrap   attr.sigtrap is refused with EINVAL
// --before-5.13  perf_event_open answers as Linux 5.12 does
// --before-5.9   close_range fails with ENOSYS
// --dear-calls, --dear-handlers
//                a system call, a return from a signal handler, takes so many microseconds more
// --traced       a tracer is attached, as a debugger would be; see run_traced()
//
// Ends as the command does; 125 if it could not be confined, 127 if it could not be started.
#include "confine.h"

#include <grp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace sample::tools {
namespace {

struct Options {
    uid_t user = 0;  ///< 0: as it is.
    PerfRule perf = PerfRule::allowed;
    int perf_errno = 0;
    double dear_calls_us = 0;
    double dear_handlers_us = 0;
    bool traced = false;
    bool has_close_range = true;
    char** command = nullptr;
};

[[noreturn]] void usage() {
    std::fputs(
        "usage: confine [--user ID] [--refuse-perf EACCES|EPERM|ENOSYS] [--no-sigtrap] "
        "[--before-5.13] [--before-5.9] [--dear-calls US] [--dear-handlers US] [--traced] COMMAND "
        "[ARGUMENT...]\n",
        stderr);
    std::exit(kCannotConfine);  // NOLINT(concurrency-mt-unsafe): one thread
}

int errno_of(std::string_view name) {
    for (const int value : {EACCES, EPERM, ENOSYS}) {
        if (name == strerrorname_np(value)) {
            return value;
        }
    }
    usage();
}

/// The value of the option at `at`, which moves on to it.
char* value_of(char**& at) {
    if (*++at == nullptr) {
        usage();
    }
    return *at;
}

Options parse(char** words) {
    Options options;
    for (; *words != nullptr && std::strncmp(*words, "--", 2) == 0; ++words) {
        const std::string_view word = *words;
        if (word == "--user") {
            options.user = static_cast<uid_t>(std::strtoul(value_of(words), nullptr, 10));
        } else if (word == "--refuse-perf") {
            options.perf = PerfRule::refused;
            options.perf_errno = errno_of(value_of(words));
        } else if (word == "--no-sigtrap") {
            options.perf = PerfRule::without_sigtrap;
        } else if (word == "--before-5.13") {
            options.perf = PerfRule::before_5_13;
        } else if (word == "--before-5.9") {
            options.has_close_range = false;
        } else if (word == "--dear-calls") {
            options.dear_calls_us = std::strtod(value_of(words), nullptr);
        } else if (word == "--dear-handlers") {
            options.dear_handlers_us = std::strtod(value_of(words), nullptr);
        } else if (word == "--traced") {
            options.traced = true;
        } else {
            usage();
        }
    }
    if (*words == nullptr) {
        usage();
    }
    options.command = words;
    return options;
}

/// Leaving user 0 drops all capabilities: capabilities(7).
void become_user(uid_t user) {
    if (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 ||
        setresuid(user, user, user) != 0) {
        give_up("cannot become another user");
    }
}

}  // namespace

void give_up(const char* what) {
    std::fprintf(stderr, "confine: %s: %s\n", what, strerrordesc_np(errno));
    _exit(kCannotConfine);
}

void run_as(char** words) {
    const Options options = parse(words);
    make_dear(options.dear_calls_us, options.dear_handlers_us);
    limit_perf(options.perf, options.perf_errno);
    if (!options.has_close_range) {
        forget_close_range();
    }
    if (options.user != 0) {
        become_user(options.user);
    }
    if (options.traced) {
        run_traced(options.command);
    }
    execvp(options.command[0], options.command);
    std::fprintf(stderr, "confine: cannot run %s: %s\n", options.command[0],
                 strerrordesc_np(errno));
    _exit(127);
}

}  // namespace sample::tools

int main(int, char** argv) {
    sample::tools::run_as(argv + 1);
}
