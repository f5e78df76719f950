// New images in every way.
#include "storm.h"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace storm {
namespace {

using Exec = void (*)(const Image& image);

void by_execve(const Image& image) {
    execve(image.argv[0], image.argv, environ);
}

void by_execv(const Image& image) {
    execv(image.argv[0], image.argv);
}

void by_execvp(const Image& image) {
    execvp(image.argv[0], image.argv);
}

void by_execvpe(const Image& image) {
    execvpe(image.argv[0], image.argv, environ);
}

void by_execl(const Image& image) {
    execl(image.argv[0], image.argv[0], image.argv[1], image.argv[2], image.argv[3], nullptr);
}

void by_execlp(const Image& image) {
    execlp(image.argv[0], image.argv[0], image.argv[1], image.argv[2], image.argv[3], nullptr);
}

void by_execle(const Image& image) {
    execle(image.argv[0], image.argv[0], image.argv[1], image.argv[2], image.argv[3], nullptr,
           environ);
}

void by_fexecve(const Image& image) {
    fexecve(open(image.argv[0], O_RDONLY | O_CLOEXEC), image.argv, environ);
}

void by_execveat(const Image& image) {
    execveat(AT_FDCWD, image.argv[0], image.argv, environ, 0);
}

void by_execveat_of_descriptor(const Image& image) {
    execveat(open(image.argv[0], O_PATH | O_CLOEXEC), "", image.argv, environ, AT_EMPTY_PATH);
}

void by_execve_number(const Image& image) {
    syscall(SYS_execve, image.argv[0], image.argv, environ);
}

void by_execveat_number(const Image& image) {
    syscall(SYS_execveat, AT_FDCWD, image.argv[0], image.argv, environ, 0);
}

constexpr Exec kByLibc[] = {
    by_execve, by_execv,  by_execvp,  by_execvpe,  by_execl,
    by_execlp, by_execle, by_fexecve, by_execveat, by_execveat_of_descriptor};
constexpr Exec kByNumber[] = {by_execve_number, by_execveat_number};

constexpr int kExecFailed = 119;

std::uint64_t exec_in_fork(std::uint64_t seed, Exec exec) {
    const Image image{seed};
    require_exit(start_child(seed,
                             [&] {
                                 targets::consume(work(seed));
                                 exec(image);
                                 return kExecFailed;
                             }),
                 image.code);
    return seed % 101;
}

std::uint64_t exec(std::uint64_t seed) {
    return exec_in_fork(seed, Dice{seed}.one_of(kByLibc));
}

std::uint64_t exec_by_number(std::uint64_t seed) {
    return exec_in_fork(seed, Dice{seed}.one_of(kByNumber));
}

/// Neither the child nor the exec goes by libc's own functions.
std::uint64_t exec_past_libc(std::uint64_t seed) {
    const Image image{seed};
    const Exec exec = Dice{seed}.one_of(kByNumber);
    const auto child = static_cast<pid_t>(syscall(SYS_fork));
    if (child == 0) {
        targets::consume(work(seed));
        exec(image);
        _exit(kExecFailed);
    }
    require(child > 0, "fork");
    require_exit(child, image.code);
    return seed % 103;
}

std::uint64_t exec_in_vfork(std::uint64_t seed) {
    const Image image{seed};
    const Exec exec = seed % 3 == 0 ? Dice{seed}.one_of(kByNumber) : Dice{seed}.one_of(kByLibc);
    const pid_t child = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): the subject
    if (child == 0) {
        exec(image);
        _exit(kExecFailed);
    }
    require(child > 0, "vfork");
    require_exit(child, image.code);
    return seed % 107;
}

struct ExecOnStack {
    const Image* image;
    Exec exec;
};

int exec_on_stack(void* argument) {
    const auto& given = *static_cast<const ExecOnStack*>(argument);
    given.exec(*given.image);
    return kExecFailed;
}

/// As libc's posix_spawn does it, on a stack that is not much larger than libc's.
std::uint64_t exec_on_small_stack(std::uint64_t seed) {
    alignas(16) char stack[16 * 1024];
    const Image image{seed};
    ExecOnStack given{&image, seed % 2 == 0 ? by_execve : by_execve_number};
    const pid_t child =
        clone(exec_on_stack, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &given);
    require(child > 0, "clone");
    require_exit(child, image.code);
    return seed % 109;
}

void copy(int from, int to) {
    static char buffer[64 * 1024];
    for (ssize_t count = 0; (count = read(from, buffer, sizeof buffer)) != 0;) {
        require(count > 0 && write(to, buffer, static_cast<std::size_t>(count)) == count, "copy");
    }
}

/// The program from memory, without a file.
std::uint64_t exec_of_memory(std::uint64_t seed) {
    const Image image{seed};
    const int file = open(self(), O_RDONLY | O_CLOEXEC);
    const int memory = memfd_create("storm", MFD_CLOEXEC);
    require(file >= 0 && memory >= 0, "memfd_create");
    copy(file, memory);
    close(file);
    const pid_t child = start_child(seed, [&] {
        if (seed % 2 == 0) {
            fexecve(memory, image.argv, environ);
        } else {
            syscall(SYS_execveat, memory, "", image.argv, environ, AT_EMPTY_PATH);
        }
        return kExecFailed;
    });
    close(memory);
    require_exit(child, image.code);
    return seed % 113;
}

/// A script of the program's, whose interpreter is the shell, or the program itself.
std::uint64_t exec_of_script(std::uint64_t seed) {
    const Image image{seed};
    char path[] = "storm-script-XXXXXX";
    const int file = mkostemp(path, O_CLOEXEC);
    require(file >= 0, "mkostemp");
    dprintf(file, "#!/bin/sh\n%s image %s %s\n", self(), image.seed_text, image.depth_text);
    fchmod(file, 0700);
    close(file);
    const std::string full = std::string{"./"} + path;
    require_exit(start_child(seed,
                             [&] {
                                 execl(full.c_str(), full.c_str(), nullptr);
                                 return kExecFailed;
                             }),
                 image.code);
    unlink(path);
    return seed % 127;
}

/// Execs that fail leave everything as it was.
std::uint64_t failing_execs(std::uint64_t seed) {
    const Image image{seed};
    static std::string huge(std::size_t{256} * 1024, 'x');
    char* const too_much[] = {image.argv[0], huge.data(), nullptr};
    require_exit(start_child(seed,
                             [&] {
                                 execv("/there/is/nothing", image.argv);
                                 require(errno == ENOENT, "nothing there");
                                 targets::consume(work(seed));
                                 execv("/", image.argv);
                                 require(errno == EACCES, "a folder");
                                 targets::consume(work(seed));
                                 execv(image.argv[0], too_much);
                                 require(errno == E2BIG, "a word that is too long");
                                 targets::consume(work(seed));
                                 syscall(SYS_execve, "/proc/self/mem/x", image.argv, environ);
                                 require(errno == ENOTDIR, "a file as a folder");
                                 targets::consume(work(seed));
                                 execvp("storm-is-nowhere", image.argv);
                                 require(errno == ENOENT || errno == EACCES, "nowhere");
                                 execv(image.argv[0], image.argv);
                                 return kExecFailed;
                             }),
                 image.code);
    return work(seed);
}

/// Without an environment, and without any descriptor.
std::uint64_t bare_exec(std::uint64_t seed) {
    const Image image{seed, true};
    char* const nothing[] = {nullptr};
    require_exit(start_child(seed,
                             [&] {
                                 closefrom(0);
                                 if (seed % 2 == 0) {
                                     execve(image.argv[0], image.argv, nothing);
                                 } else {
                                     syscall(SYS_execve, image.argv[0], image.argv, nothing);
                                 }
                                 return kExecFailed;
                             }),
                 image.code);
    return seed % 131;
}

/// What an image inherits of signals: the mask, and who is ignored. See run_signals().
std::uint64_t exec_with_signals(std::uint64_t seed) {
    const int signals[] = {SIGTRAP, SIGURG, SIGUSR1, SIGPROF, SIGRTMIN};
    Dice dice{seed};
    const int blocked = dice.one_of(signals);
    const int ignored = dice.one_of(signals);
    std::string blocked_text = std::to_string(blocked);
    std::string ignored_text = std::to_string(ignored);
    const Image image{seed, true};
    char word[] = "signals";
    char* const argv[] = {image.argv[0], word, blocked_text.data(), ignored_text.data(), nullptr};
    in_child(seed, [&] {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, blocked);
        for (int signal = 1; signal < NSIG; ++signal) {
            std::signal(signal, signal == ignored ? SIG_IGN : SIG_DFL);
        }
        sigprocmask(SIG_SETMASK, &set, nullptr);
        targets::consume(work(seed));
        require_exit(start_child(seed,
                                 [&] {
                                     if (seed % 2 == 0) {
                                         execv(argv[0], argv);
                                     } else {
                                         syscall(SYS_execve, argv[0], argv, environ);
                                     }
                                     return kExecFailed;
                                 }),
                     0);
    });
    return seed % 137;
}

using Spawn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                      const posix_spawnattr_t*, char* const[], char* const[]);
constexpr Spawn kSpawns[] = {posix_spawn, posix_spawnp};

std::uint64_t spawn(std::uint64_t seed) {
    const Image image{seed};
    pid_t child = -1;
    errno = kSpawns[seed % 2](&child, image.argv[0], nullptr, nullptr, image.argv, environ);
    require(errno == 0, "posix_spawn");
    targets::consume(work(seed));
    require_exit(child, image.code);
    errno = kSpawns[seed % 2](&child, "/there/is/nothing", nullptr, nullptr, image.argv, environ);
    require(errno == ENOENT, "posix_spawn of nothing");
    return seed % 139;
}

std::uint64_t spawn_with_attributes(std::uint64_t seed) {
    const Image image{seed, true};
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attributes, &all);
    if (seed % 2 != 0) {
        sigemptyset(&all);
    }
    posix_spawnattr_setsigmask(&attributes, &all);
    constexpr int kAlways = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_RESETIDS;
    const int session = seed % 3 == 0 ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setflags(&attributes, static_cast<short>(kAlways | session));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 0, 9);
    posix_spawn_file_actions_addclose(&actions, 0);
    posix_spawn_file_actions_addchdir_np(&actions, "/");
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    pid_t child = -1;
    errno = kSpawns[seed % 2](&child, image.argv[0], &actions, &attributes, image.argv, environ);
    require(errno == 0, "posix_spawn");
    require_exit(child, image.code);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return seed % 149;
}

std::string command_of(const Image& image) {
    return std::string{self()} + " image " + image.seed_text + " " + image.depth_text;
}

std::uint64_t shell(std::uint64_t seed) {
    const Image image{seed};
    // NOLINTNEXTLINE(concurrency-mt-unsafe): as programs do
    const int status = system((command_of(image) + "; exit $?").c_str());
    errno = 0;
    require(WIFEXITED(status) && WEXITSTATUS(status) == image.code, "system");
    require(system("kill -9 $$") == SIGKILL, "system");  // NOLINT(concurrency-mt-unsafe)
    return seed % 151;
}

std::uint64_t shell_pipe(std::uint64_t seed) {
    const Image image{seed, true};
    std::FILE* output = popen((command_of(image) + "; echo $? | cat; exit 5").c_str(), "re");
    require(output != nullptr, "popen");
    int told = -1;
    require(std::fscanf(output, "%d", &told) == 1 && told == image.code, "what the shell says");
    require(WEXITSTATUS(pclose(output)) == 5, "pclose");
    std::FILE* input = popen("read -r word && test \"$word\" = storm", "we");
    require(input != nullptr && std::fputs("storm\n", input) >= 0 && pclose(input) == 0, "popen");
    return seed % 157;
}

/// One process, a chain of images: see run_chain.
std::uint64_t exec_chain(std::uint64_t seed) {
    const Image image{seed, true};
    std::string left = std::to_string(4 + seed % 5);
    char word[] = "chain";
    char* const argv[] = {image.argv[0], word, image.argv[2], left.data(), nullptr};
    require_exit(start_child(seed,
                             [&] {
                                 execv(argv[0], argv);
                                 return kExecFailed;
                             }),
                 image.code);
    return seed % 163;
}

/// A program that no preloaded library reaches.
std::uint64_t exec_of_static(std::uint64_t seed) {
    const Beside program{"hello_static"};
    const pid_t child = start_child(seed, [&] {
        closefrom(0);
        (void)open("/dev/null", O_RDWR | O_CLOEXEC);
        (void)fcntl(0, F_DUPFD, 1);  // its stdout
        char* const argv[] = {const_cast<char*>(program.path), nullptr};
        if (seed % 2 == 0) {
            execv(program.path, argv);
        } else {
            syscall(SYS_execve, program.path, argv, environ);
        }
        return kExecFailed;
    });
    require_exit(child, 7);
    return seed % 167;
}

constexpr Operation kOperations[] = {
    {"exec", exec, kAnywhere},
    {"exec_by_number", exec_by_number, kAnywhere},
    {"exec_past_libc", exec_past_libc, kAnywhere},
    {"exec_in_vfork", exec_in_vfork, kAnywhere},
    {"exec_on_small_stack", exec_on_small_stack, kAnywhere},
    {"exec_of_memory", exec_of_memory, kAlone},
    {"exec_of_script", exec_of_script, kAlone},
    {"failing_execs", failing_execs, kAnywhere},
    {"bare_exec", bare_exec, kAnywhere},
    {"exec_with_signals", exec_with_signals, kAnywhere},
    {"spawn", spawn, kAnywhere},
    {"spawn_with_attributes", spawn_with_attributes, kAnywhere},
    {"shell", shell, kAnywhere},
    {"shell_pipe", shell_pipe, kAnywhere},
    {"exec_chain", exec_chain, kAnywhere},
    {"exec_of_static", exec_of_static, kAnywhere},
};

}  // namespace

/// Execs itself `left` times more, each time another way, and then ends with code_of(seed).
int run_chain(char** argv) {
    const std::uint64_t seed = std::strtoull(argv[2], nullptr, 16);
    const unsigned long left = targets::number(argv[3]);
    targets::consume(work(seed));
    if (left == 0) {
        return code_of(seed);
    }
    Image image{seed, true};
    std::string fewer = std::to_string(left - 1);
    image.argv[1] = argv[1];
    image.argv[3] = fewer.data();
    // Its lists have the words of an Image.
    constexpr Exec kWays[] = {by_execve,  by_execv,         by_execvp,
                              by_fexecve, by_execve_number, by_execveat_number};
    Dice{mix(seed, left)}.one_of(kWays)(image);
    return kExecFailed;
}

/// Ends with 0 if this image was born with one signal blocked and one ignored: those it is told.
int run_signals(char** argv) {
    const auto blocked = static_cast<int>(targets::number(argv[2]));
    const auto ignored = static_cast<int>(targets::number(argv[3]));
    sigset_t mask;
    sigprocmask(SIG_SETMASK, nullptr, &mask);
    for (int signal = 1; signal < NSIG; ++signal) {
        struct sigaction action {};
        if (sigaction(signal, nullptr, &action) == 0 &&
            ((action.sa_handler == SIG_IGN) != (signal == ignored) ||
             (sigismember(&mask, signal) == 1) != (signal == blocked))) {
            return signal;
        }
    }
    return 0;
}

Operations exec_operations() {
    return kOperations;
}

}  // namespace storm
