// A program that replaces itself N times.
//
//     self_exec MODE N
//
// MODE: execve execv execvp execvpe execl execlp execle fexecve execveat shell vfork spawn spawnp;
// memfd (fexecve of a copy in memory); execve-number and execveat-number, through syscall(). shell
// goes through `sh -c`, whose last command is exec'ed; vfork, spawn and spawnp start N children one
// after the other instead, and wait for each.
//
// Stats: each image works a little, so that events are armed, and the last one so much that it is
// sampled, prints `execs=N` and ends with 0. A death or a hang on the way shows as another ending,
// or as none.
#include "work.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

namespace {

constexpr std::uint64_t kWorkNs = 300'000;
constexpr std::uint64_t kLastWorkNs = 100'000'000;
constexpr int kFailed = 3;

/// The words of the next image: NAME MODE LEFT TOTAL.
struct NextWords {
    std::string left;
    std::array<char*, 5> argv;

    NextWords(char** now, unsigned long left_count)
        : left{std::to_string(left_count)}, argv{now[0], now[1], left.data(), now[3], nullptr} {}
};

bool is(const char* mode, const char* name) {
    return std::strcmp(mode, name) == 0;
}

void exec_by_list(const char* mode, const char* self, char* const* argv) {
    if (is(mode, "execl")) {
        execl(self, argv[0], argv[1], argv[2], argv[3], nullptr);
    } else if (is(mode, "execlp")) {
        execlp(self, argv[0], argv[1], argv[2], argv[3], nullptr);
    } else if (is(mode, "execle")) {
        execle(self, argv[0], argv[1], argv[2], argv[3], nullptr, environ);
    } else if (is(mode, "shell")) {
        execl("/bin/sh", "sh", "-c", ": ; exec \"$0\" \"$1\" \"$2\" \"$3\"", argv[0], argv[1],
              argv[2], argv[3], nullptr);
    }
}

int copy_in_memory(const char* path) {
    const int from = open(path, O_RDONLY | O_CLOEXEC);
    const int to = memfd_create("copy", MFD_CLOEXEC);
    struct stat info {};
    fstat(from, &info);
    while (sendfile(to, from, nullptr, static_cast<std::size_t>(info.st_size)) > 0) {
    }
    return to;
}

void exec_by_descriptor(const char* mode, const char* self, char* const* argv) {
    const int fd = is(mode, "memfd") ? copy_in_memory(self) : open(self, O_RDONLY | O_CLOEXEC);
    if (is(mode, "execveat-number")) {
        syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
    } else if (!is(mode, "execveat")) {
        fexecve(fd, argv, environ);
    } else {
        execveat(fd, "", argv, environ, AT_EMPTY_PATH);
    }
}

/// Returns only if the exec failed.
void exec_as(const char* mode, const char* self, char* const* argv) {
    if (is(mode, "execve")) {
        execve(self, argv, environ);
    } else if (is(mode, "execv")) {
        execv(self, argv);
    } else if (is(mode, "execvp")) {
        execvp(self, argv);
    } else if (is(mode, "execvpe")) {
        execvpe(self, argv, environ);
    } else if (is(mode, "execve-number")) {
        syscall(SYS_execve, self, argv, environ);
    } else if (is(mode, "fexecve") || is(mode, "memfd") || is(mode, "execveat") ||
               is(mode, "execveat-number")) {
        exec_by_descriptor(mode, self, argv);
    } else {
        exec_by_list(mode, self, argv);
    }
}

/// -1 if it could not be started.
pid_t start_child(const char* mode, const char* self, char* const* argv) {
    pid_t pid = -1;
    if (is(mode, "vfork")) {
        pid =
            vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): the subject of the test
        if (pid == 0) {
            execve(self, argv, environ);
            _exit(kFailed);
        }
        return pid;
    }
    const auto spawn = is(mode, "spawnp") ? posix_spawnp : posix_spawn;
    return spawn(&pid, self, nullptr, nullptr, argv, environ) == 0 ? pid : -1;
}

void tell_end(unsigned long execs) {
    targets::burn(kLastWorkNs);
    targets::tell("execs", execs);
}

int run_children(char** argv, unsigned long count) {
    for (unsigned long child = 0; child < count; ++child) {
        NextWords words{argv, 0};
        std::array<char*, 5> silent = words.argv;
        char zero[] = "0";
        silent[3] = zero;  // TOTAL 0: the child prints nothing.
        targets::burn(kWorkNs);
        const pid_t pid = start_child(argv[1], "/proc/self/exe", silent.data());
        int status = -1;
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
            std::printf("child %lu of %lu ended with status %d\n", child, count, status);
            return kFailed;
        }
    }
    tell_end(count);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        return targets::usage("MODE N");
    }
    const unsigned long left = targets::number(argv[2]);
    std::array<char*, 4> words = {argv[0], argv[1], argv[2], argc > 3 ? argv[3] : argv[2]};
    const bool starts_children =
        is(argv[1], "vfork") || is(argv[1], "spawn") || is(argv[1], "spawnp");
    if (starts_children && argc == 3) {
        return run_children(words.data(), left);
    }
    targets::burn(kWorkNs);
    if (left == 0) {
        if (targets::number(words[3]) > 0) {
            tell_end(targets::number(words[3]));
        }
        return 0;
    }
    NextWords next{words.data(), left - 1};
    exec_as(argv[1], argv[0], next.argv.data());
    std::printf("%s failed with %lu left: %s\n", argv[1], left, strerrordesc_np(errno));
    return kFailed;
}
