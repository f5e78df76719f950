// Calls that a signal must end: those that wait for ever, and those that wait under a mask.
//
//     interrupted_calls N
//
// Stats: a thread calls N times each read, recv, waitid, sem_wait, preadv2, splice, sendfile and
// open (of a pipe with a name), and sigsuspend, ppoll and pselect with a mask that lets the signal
// through. Once it sleeps in one, it is sent a signal
// whose handler asks for EINTR. `KIND=` calls that then returned with EINTR after one run of the
// handler: all of them. One that did not within ten seconds is `stuck=KIND`, and the program ends
// with 1. Source: signal(7), Interruption of system calls; proc_pid_stat(5).
#include "work.h"

#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string>
#include <thread>

namespace {

thread_local volatile int handled = 0;

struct Waits {
    std::array<int, 2> pair{};
    pid_t child = fork();
    sem_t semaphore{};
    sigset_t none{};
    std::array<int, 2> empty{};
    std::array<int, 2> full{};
    int file = memfd_create("interrupted_calls", MFD_CLOEXEC);
    std::string folder = "/tmp/interrupted_callsXXXXXX";
    std::string fifo;

    Waits() {
        sigemptyset(&none);
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            pause();
            _exit(0);
        }
        if (child < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0 ||
            sem_init(&semaphore, 0, 0) != 0 || pipe2(empty.data(), O_CLOEXEC) != 0 ||
            pipe2(full.data(), O_CLOEXEC | O_NONBLOCK) != 0 || mkdtemp(folder.data()) == nullptr) {
            std::perror("interrupted_calls");
            std::exit(1);
        }
        fifo = folder + "/fifo";
        mkfifo(fifo.c_str(), 0600);
        const std::array<char, 4096> block{};
        ssize_t written = write(file, block.data(), block.size());
        while (written > 0) {
            written = write(full[1], block.data(), block.size());
        }
        fcntl(full[1], F_SETFL, 0);
    }
    ~Waits() {
        unlink(fifo.c_str());
        rmdir(folder.c_str());
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    }
    Waits(const Waits&) = delete;
    Waits& operator=(const Waits&) = delete;
};

struct Kind {
    const char* name;
    int signal;  // SIGUSR2 is blocked but in the call
    long (*call)(Waits&);
};

constexpr Kind kKinds[] = {
    {"read", SIGUSR1,
     [](Waits& waits) {
         char byte = 0;
         return static_cast<long>(read(waits.pair[0], &byte, 1));
     }},
    {"recv", SIGUSR1,
     [](Waits& waits) {
         char byte = 0;
         return static_cast<long>(recv(waits.pair[0], &byte, 1, 0));
     }},
    {"waitid", SIGUSR1,
     [](Waits& waits) {
         siginfo_t info{};
         return static_cast<long>(
             waitid(P_PID, static_cast<id_t>(waits.child), &info, WEXITED | WNOWAIT));
     }},
    {"sem_wait", SIGUSR1,
     [](Waits& waits) { return static_cast<long>(sem_wait(&waits.semaphore)); }},
    {"preadv2", SIGUSR1,
     [](Waits& waits) {
         char byte = 0;
         const iovec part{&byte, 1};
         return static_cast<long>(preadv2(waits.empty[0], &part, 1, -1, 0));
     }},
    {"splice", SIGUSR1,
     [](Waits& waits) {
         return static_cast<long>(splice(waits.empty[0], nullptr, waits.full[1], nullptr, 1, 0));
     }},
    {"sendfile", SIGUSR1,
     [](Waits& waits) {
         off_t start = 0;
         return static_cast<long>(sendfile(waits.full[1], waits.file, &start, 1));
     }},
    {"open", SIGUSR1,
     [](Waits& waits) {
         return static_cast<long>(open(waits.fifo.c_str(), O_RDONLY | O_CLOEXEC));
     }},
    {"sigsuspend", SIGUSR2,
     [](Waits& waits) { return static_cast<long>(sigsuspend(&waits.none)); }},
    {"ppoll", SIGUSR2,
     [](Waits& waits) { return static_cast<long>(ppoll(nullptr, 0, nullptr, &waits.none)); }},
    {"pselect", SIGUSR2,
     [](Waits& waits) {
         return static_cast<long>(pselect(0, nullptr, nullptr, nullptr, nullptr, &waits.none));
     }},
};

struct Progress {
    std::atomic<int> tid{0};
    std::atomic<unsigned long> begun{0};
    std::atomic<unsigned long> ended{0};
    std::atomic<unsigned long> good{0};
};

void wait_for_signals(const Kind& kind, unsigned long calls, Waits& waits, Progress& progress) {
    progress.tid = static_cast<int>(syscall(SYS_gettid));
    for (unsigned long call = 0; call < calls; ++call) {
        targets::burn(20'000 + call % 16 * 10'000);
        handled = 0;
        ++progress.begun;
        errno = 0;
        const bool interrupted = kind.call(waits) == -1 && errno == EINTR;
        progress.good += interrupted && handled == 1 ? 1 : 0;
        ++progress.ended;
    }
}

bool sleeps(int tid) {
    const std::string path = "/proc/self/task/" + std::to_string(tid) + "/stat";
    std::FILE* file = std::fopen(path.c_str(), "re");
    char state = 0;
    const bool read = file != nullptr && std::fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
    if (file != nullptr) {
        std::fclose(file);
    }
    return read && state == 'S';
}

template <class Condition>
bool comes_true(Condition condition) {
    const std::uint64_t end = targets::wall_ns() + 10'000'000'000U;
    while (!condition()) {
        if (targets::wall_ns() > end) {
            return false;
        }
        usleep(20);
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return targets::usage("N");
    }
    const unsigned long calls = targets::number(argv[1]);
    struct sigaction action {};
    action.sa_handler = [](int) { handled = handled + 1; };
    sigaction(SIGUSR1, &action, nullptr);
    sigaction(SIGUSR2, &action, nullptr);
    sigset_t masked{};
    sigaddset(&masked, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &masked, nullptr);
    Waits waits;
    for (const Kind& kind : kKinds) {
        Progress progress;
        std::thread waiting{[&] { wait_for_signals(kind, calls, waits, progress); }};
        for (unsigned long call = 0; call < calls; ++call) {
            comes_true([&] { return progress.begun == call + 1 && sleeps(progress.tid); });
            pthread_kill(waiting.native_handle(), kind.signal);
            if (!comes_true([&] { return progress.ended == call + 1; })) {
                std::printf("stuck=%s\n", kind.name);
                std::fflush(stdout);
                _exit(1);
            }
        }
        waiting.join();
        targets::tell(kind.name, progress.good);
    }
}
