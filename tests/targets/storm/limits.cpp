// Limits of a process, its memory and its place among others. Each in a child, as few of them can
// be taken back.
#include "storm.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace storm {
namespace {

constexpr rlim_t kMiB = rlim_t{1} << 20U;

void limit(int resource, rlim_t value) {
    const rlimit both{value, value};
    require(setrlimit(resource, &both) == 0, "setrlimit");
}

void exec_and_wait(const Image& image, std::uint64_t seed) {
    require_exit(start_child(seed,
                             [&] {
                                 execv(image.argv[0], image.argv);
                                 return 119;
                             }),
                 image.code);
}

std::uint64_t use_memory(std::uint64_t seed, std::size_t bytes) {
    const std::vector<char> much(bytes, static_cast<char>(seed));
    targets::consume(work(seed));
    return static_cast<std::uint64_t>(much[seed % bytes]);
}

std::uint64_t status_kib(const char* key) {
    std::uint64_t kib = 0;
    if (std::FILE* status = std::fopen("/proc/self/status", "re")) {
        char line[256];
        while (std::fgets(line, sizeof line, status) != nullptr) {
            if (std::strncmp(line, key, std::strlen(key)) == 0) {
                kib = std::strtoull(line + std::strlen(key), nullptr, 10);
            }
        }
        std::fclose(status);
    }
    return kib;
}

/// 128 MiB of addresses more than there are now: the program has them all.
std::uint64_t more_addresses(std::uint64_t seed) {
    in_child(seed, [&] {
        limit(RLIMIT_AS, 1024 * status_kib("VmSize:") + 128 * kMiB);
        targets::consume(use_memory(seed, 100 * kMiB));
        in_child(seed, [&] { targets::consume(use_memory(seed, 100 * kMiB)); });
        void* const more = mmap(nullptr, 256 * kMiB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(more == MAP_FAILED && errno == ENOMEM, "more than the limit");
    });
    return seed % 101;
}

/// An image has 256 MiB of addresses, and needs 110 of them. See run_memory().
std::uint64_t address_space(std::uint64_t seed) {
    Image image{seed, true};
    char word[] = "memory";
    image.argv[1] = word;
    in_child(seed, [&] {
        limit(RLIMIT_AS, 256 * kMiB);
        exec_and_wait(image, seed);
    });
    return seed % 101;
}

/// So little that an image can hardly start: whether it does is the same each time.
std::uint64_t small_address_space(std::uint64_t seed) {
    const Image image{seed, true};
    in_child(seed, [&] {
        limit(RLIMIT_AS, 32 * kMiB);
        targets::consume(work(seed));
        exec_and_wait(image, seed);
    });
    return seed % 103;
}

std::uint64_t data_size(std::uint64_t seed) {
    const Image image{seed, true};
    in_child(seed, [&] {
        limit(RLIMIT_DATA, 1024 * status_kib("VmData:") + 64 * kMiB);
        targets::consume(use_memory(seed, 32 * kMiB));
        exec_and_wait(image, seed);
    });
    return seed % 107;
}

/// All descriptors but three are the program's to open, and come in order.
std::uint64_t descriptors(std::uint64_t seed) {
    const Image image{seed, true};
    in_child(seed, [&] {
        closefrom(3);
        const auto most = static_cast<int>(6 + seed % 20);
        limit(RLIMIT_NOFILE, static_cast<rlim_t>(most));
        for (int fd = 3; fd < most; ++fd) {
            targets::consume(work(seed, 10));
            require(open("/dev/null", O_RDONLY | O_CLOEXEC) == fd, "the lowest free descriptor");
        }
        require(open("/dev/null", O_RDONLY | O_CLOEXEC) < 0 && errno == EMFILE,
                "one descriptor too many");
        in_child(seed, [&] { targets::consume(work(seed)); });
        exec_and_wait(image, seed);
    });
    return seed % 109;
}

/// Descriptors that are closed and used by number, without asking whose they are.
std::uint64_t closed_descriptors(std::uint64_t seed) {
    const Image image{seed, true};
    in_child(seed, [&] {
        targets::consume(work(seed));
        switch (seed % 3) {
            case 0:
                closefrom(0);
                break;
            case 1:
                syscall(SYS_close_range, 0, ~0U, 0);
                break;
            default:
                for (int fd = 0; fd < 1024; ++fd) {
                    close(fd);
                }
                break;
        }
        targets::consume(work(seed));
        for (int fd = 0; fd < 3; ++fd) {
            // NOLINTNEXTLINE(android-cloexec-open): the next images' stdin, stdout and stderr
            require(open("/dev/null", O_RDWR) == fd, "descriptors begin at 0");
        }
        for (int fd = 3; fd < 200; ++fd) {
            require(dup2(0, fd) == fd, "dup2");
        }
        targets::consume(work(seed));
        in_child(seed, [&] { targets::consume(work(seed)); });
        exec_and_wait(image, seed);
    });
    return seed % 3;
}

/// Files may not grow: EFBIG where SIGXFSZ is ignored, death where it is not; an image under it.
std::uint64_t file_size(std::uint64_t seed) {
    const Image image{seed, true};
    char path[] = "storm-file-XXXXXX";
    const int file = mkostemp(path, O_CLOEXEC);
    require(file >= 0, "mkostemp");
    unlink(path);
    const pid_t child = start_child(seed, [&] {
        const rlimit none{0, 0};
        setrlimit(RLIMIT_CORE, &none);
        limit(RLIMIT_FSIZE, seed % 2 * 4096);
        targets::consume(work(seed));
        exec_and_wait(image, seed);
        std::signal(SIGXFSZ, SIG_IGN);
        require(pwrite(file, "x", 1, 4096) < 0 && errno == EFBIG, "EFBIG");
        targets::consume(work(seed));
        std::signal(SIGXFSZ, SIG_DFL);
        return static_cast<int>(pwrite(file, "x", 1, 4096));
    });
    require_signal(child, SIGXFSZ);
    close(file);
    return seed % 113;
}

void* work_on_stack(void* seed) {
    targets::consume(work(*static_cast<std::uint64_t*>(seed)));
    return nullptr;
}

std::uint64_t stack_size(std::uint64_t seed) {
    const Image image{seed, true};
    in_child(seed, [&] {
        constexpr rlim_t kSizes[] = {kMiB / 8, kMiB, 64 * kMiB, RLIM_INFINITY};
        rlimit now{};
        getrlimit(RLIMIT_STACK, &now);
        now.rlim_cur = std::min(kSizes[seed % 4], now.rlim_max);
        require(setrlimit(RLIMIT_STACK, &now) == 0, "setrlimit");
        targets::consume(work(seed));
        std::uint64_t given = seed;
        pthread_t thread{};
        require(pthread_create(&thread, nullptr, work_on_stack, &given) == 0, "pthread_create");
        pthread_join(thread, nullptr);
        exec_and_wait(image, seed);
    });
    return seed % 127;
}

/// No more processes for this user; root is not bound by it.
std::uint64_t process_count(std::uint64_t seed) {
    std::uint64_t refused = 0;
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    in_child(seed, [&] {
        limit(RLIMIT_NPROC, 0);
        targets::consume(work(seed));
        const pid_t child = fork();
        if (child == 0) {
            targets::consume(work(seed));
            _exit(0);
        }
        if (child > 0) {
            require_exit(child, 0);
        }
        const std::uint64_t error = child < 0 ? static_cast<std::uint64_t>(errno) : 0;
        require(write(ends[1], &error, sizeof error) == sizeof error, "write");
    });
    require(read(ends[0], &refused, sizeof refused) == sizeof refused, "read");
    close(ends[0]);
    close(ends[1]);
    return refused;
}

std::uint64_t pending_signals(std::uint64_t seed) {
    in_child(seed, [&] {
        limit(RLIMIT_SIGPENDING, 0);
        targets::consume(work(seed, 1000));
        std::signal(SIGUSR1, SIG_IGN);
        require(raise(SIGUSR1) == 0, "raise");
        targets::consume(work(seed, 1000));
    });
    return seed % 131;
}

/// An image locks all its memory: see run_locked().
std::uint64_t locked_memory(std::uint64_t seed) {
    Image image{seed, true};
    char word[] = "locked";
    image.argv[1] = word;
    rlimit most{};
    getrlimit(RLIMIT_MEMLOCK, &most);
    if (geteuid() == 0 || most.rlim_cur >= 4 * kMiB) {
        exec_and_wait(image, seed);
    }
    return seed % 137;
}

std::uint64_t priorities(std::uint64_t seed) {
    in_child(seed, [&] {
        const sched_param none{};
        require(setpriority(PRIO_PROCESS, 0, 19) == 0, "setpriority");
        require(sched_setscheduler(0, SCHED_BATCH, &none) == 0, "sched_setscheduler");
        targets::consume(work(seed));
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
        require(sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
        targets::consume(in_threads(seed, 2, [](std::uint64_t own) { return work(own); }));
    });
    return seed % 139;
}

/// Real-time threads on one processor. Whether they are allowed is part of what is told.
std::uint64_t real_time(std::uint64_t seed) {
    std::uint64_t error = 0;
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    in_child(seed, [&] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
        sched_setaffinity(0, sizeof one, &one);
        const sched_param first{1};
        error =
            sched_setscheduler(0, SCHED_FIFO, &first) == 0 ? 0 : static_cast<std::uint64_t>(errno);
        require(write(ends[1], &error, sizeof error) == sizeof error, "write");
        targets::consume(in_threads(seed, 3, [](std::uint64_t own) { return work(own, 500); }));
        in_child(seed, [&] { targets::consume(work(seed)); });
    });
    require(read(ends[0], &error, sizeof error) == sizeof error, "read");
    close(ends[0]);
    close(ends[1]);
    return error;
}

/// Memory that is not, or is not as it was, in the child of a fork.
std::uint64_t fork_advice(std::uint64_t seed) {
    constexpr std::size_t kBytes = 65536;
    auto* wiped = static_cast<char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    void* gone = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    wiped[5] = 'x';
    require(
        madvise(wiped, kBytes, MADV_WIPEONFORK) == 0 && madvise(gone, kBytes, MADV_DONTFORK) == 0,
        "madvise");
    in_child(seed, [&] {
        targets::consume(work(seed));
        require(wiped[5] == '\0', "WIPEONFORK");
        require(msync(gone, kBytes, MS_ASYNC) < 0 && errno == ENOMEM, "DONTFORK");
    });
    require(wiped[5] == 'x', "the parent's memory");
    munmap(wiped, kBytes);
    munmap(gone, kBytes);
    return seed % 149;
}

/// Folders that change, and one that is removed while the process is in it.
std::uint64_t folders(std::uint64_t seed) {
    const Image image{seed, true};
    char path[] = "storm-folder-XXXXXX";
    require(mkdtemp(path) != nullptr, "mkdtemp");
    in_child(seed, [&] {
        umask(static_cast<mode_t>(seed % 512));
        require(chdir(path) == 0 && rmdir((std::string{"../"} + path).c_str()) == 0, "rmdir");
        targets::consume(work(seed));
        in_child(seed, [&] { targets::consume(work(seed)); });
        exec_and_wait(image, seed);
        require(getcwd(nullptr, 0) == nullptr && errno == ENOENT, "getcwd");
        require(chdir("/") == 0, "chdir");
        exec_and_wait(image, seed);
    });
    return seed % 151;
}

constexpr Operation kOperations[] = {
    {"more_addresses", more_addresses, kAnywhere},
    {"address_space", address_space, kAnywhere},
    {"small_address_space", small_address_space, kAnywhere},
    {"data_size", data_size, kAnywhere},
    {"descriptors", descriptors, kAnywhere},
    {"closed_descriptors", closed_descriptors, kAnywhere},
    {"file_size", file_size, kAnywhere},
    {"stack_size", stack_size, kAlone},
    {"process_count", process_count, kAnywhere},
    {"pending_signals", pending_signals, kAnywhere},
    {"locked_memory", locked_memory, kAnywhere},
    {"priorities", priorities, kAlone},
    {"real_time", real_time, kAlone},
    {"fork_advice", fork_advice, kAnywhere},
    {"folders", folders, kAnywhere},
};

}  // namespace

/// Uses as much memory as it can hope for, here and in a child, and threads; ends with
/// code_of(seed).
int run_memory(char** argv) {
    const std::uint64_t seed = std::strtoull(argv[2], nullptr, 16);
    targets::consume(use_memory(seed, 80 * kMiB));
    targets::consume(in_threads(seed, 2, [](std::uint64_t own) { return work(own); }));
    in_child(seed, [&] { targets::consume(use_memory(seed, 80 * kMiB)); });
    void* const more = mmap(nullptr, 256 * kMiB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(more == MAP_FAILED && errno == ENOMEM, "more than the limit");
    return code_of(seed);
}

/// Locks the memory that comes, and as root what is there, too: what is the program's, and no more.
/// Ends with code_of(seed).
int run_locked(char** argv) {
    const std::uint64_t seed = std::strtoull(argv[2], nullptr, 16);
    const Image image{seed, true};
    require(mlockall(geteuid() == 0 && seed % 2 == 0 ? MCL_CURRENT | MCL_FUTURE : MCL_FUTURE) == 0,
            "mlockall");
    targets::consume(use_memory(seed, kMiB));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::size_t{128} * 1024);
    std::uint64_t given = seed;
    pthread_t thread{};
    require(pthread_create(&thread, &attributes, work_on_stack, &given) == 0, "pthread_create");
    pthread_join(thread, nullptr);
    // libc reserves addresses for the second thread's heap.
    require(status_kib("VmLck:") < std::uint64_t{300} * 1024, "more than 300 MiB are locked");
    in_child(seed, [&] { targets::consume(work(seed)); });
    exec_and_wait(image, seed);
    return code_of(seed);
}

Operations limit_operations() {
    return kOperations;
}

}  // namespace storm
