// Every call that waits and that a signal ends or lets go on, with one signal a wait.
//
//     interrupted_calls N [restart]
//
// Stats: a thread waits N times in each call below. Once it sleeps there it is sent a signal whose
// handler asks for EINTR, or with `restart` for the call to go on; what goes on is given what it
// waits for. `KIND=EINTRS,ENDS,HANDLED`: waits that ended with EINTR, that ended otherwise, and
// runs of the handler; `KIND=none`: this kernel has no such call. A wait that does not end within
// ten seconds is `stuck=KIND`, and the program ends with 1. Source: signal(7), Interruption of
// system calls; proc_pid_stat(5).
#include "work.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string>
#include <thread>

namespace {

constexpr timespec kLong{600, 0};
constexpr long kSetBytes = 8;

std::array<char, 65536> g_bytes{};
std::atomic<unsigned long> g_handled{0};

[[noreturn]] void fail() {
    std::perror("interrupted_calls");
    std::exit(1);
}

int checked(int result) {
    return result >= 0 ? result : (fail(), -1);
}

/// What the calls wait at. Nothing of it comes or goes but by give() and take().
struct Places {
    std::array<int, 2> stream{};  ///< To read from: nothing comes. To write into: it is full.
    std::array<int, 2> timed{};   ///< The same, with a limit to each wait.
    std::array<int, 2> empty{};   ///< A pipe.
    std::array<int, 2> full{};    ///< Another one.
    int fill = -1;                ///< Its end for writing, which never waits,
    int drain = -1;               ///< and that of the empty one for reading.
    int listener = -1;
    int timed_listener = -1;
    int crowded = -1;  ///< Where as many ask to be let in as may.
    int crowded_port = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));  ///< By TCP.
    int client = -1;
    std::array<int, 2> locks{};  ///< The same file twice.
    int file = checked(memfd_create("interrupted_calls", MFD_CLOEXEC));
    int epoll = checked(epoll_create1(EPOLL_CLOEXEC));
    int inotify = checked(inotify_init1(IN_CLOEXEC));
    int messages = checked(msgget(IPC_PRIVATE, 0600));
    int semaphores = checked(semget(IPC_PRIVATE, 1, 0600));
    std::array<mqd_t, 2> queues{};  ///< An empty one and a full one.
    int ring = -1;
    aio_context_t aio = 0;
    sem_t semaphore{};
    std::uint32_t word = 0;
    pid_t child = 0;
    sigset_t none{};
    std::string folder = "/tmp/interrupted_callsXXXXXX";
    std::string fifo;

    Places() {
        sigemptyset(&none);
        checked(mkdtemp(folder.data()) == nullptr ? -1 : 0);
        fifo = folder + "/fifo";
        checked(mkfifo(fifo.c_str(), 0600));
        const timeval limit{kLong.tv_sec, 0};
        checked(socketpair(AF_UNIX, SOCK_STREAM, 0, stream.data()));
        checked(socketpair(AF_UNIX, SOCK_STREAM, 0, timed.data()));
        for (int* at : {&listener, &timed_listener, &crowded}) {
            const sockaddr_un nameless{AF_UNIX, {}};
            *at = checked(socket(AF_UNIX, SOCK_STREAM, 0));
            checked(bind(*at, reinterpret_cast<const sockaddr*>(&nameless),
                         sizeof nameless.sun_family));
            checked(listen(*at, 0));
        }
        checked(ask(crowded, SOCK_NONBLOCK));
        checked(listen(crowded_port, 0));
        checked(ask(crowded_port));
        for (const int limited : {timed[0], timed_listener}) {
            setsockopt(limited, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
            setsockopt(limited, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        }
        checked(pipe2(empty.data(), O_CLOEXEC));
        checked(pipe2(full.data(), O_CLOEXEC));
        const std::string own = "/proc/self/fd/";
        fill = checked(
            open((own + std::to_string(full[1])).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
        drain = checked(
            open((own + std::to_string(empty[0])).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        checked(static_cast<int>(write(file, g_bytes.data(), g_bytes.size())));
        for (int& lock : locks) {
            lock = checked(open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        }
        for (mqd_t& queue : queues) {
            mq_attr small{};
            small.mq_maxmsg = small.mq_msgsize = 1;
            const std::string path = "/interrupted_calls." + std::to_string(getpid());
            queue = mq_open(path.c_str(), O_RDWR | O_CREAT, 0600, &small);
            mq_unlink(path.c_str());
        }
        checked(sem_init(&semaphore, 0, 0));
        io_uring_params parameters{};
        ring = static_cast<int>(syscall(SYS_io_uring_setup, 1, &parameters));
        syscall(SYS_io_setup, 1, &aio);
        while (send_in_queue(IPC_NOWAIT) == 0) {
        }
    }
    ~Places() {
        end_child();
        unlink(fifo.c_str());
        unlink((folder + "/lock").c_str());
        rmdir(folder.c_str());
        msgctl(messages, IPC_RMID, nullptr);
        semctl(semaphores, 0, IPC_RMID);
    }
    Places(const Places&) = delete;
    Places& operator=(const Places&) = delete;

    /// A socket that asks to be let in at `where`; -1: it may not even ask.
    static int ask(int where, int flags = 0, bool is_timed = false) {
        sockaddr_storage there{};
        socklen_t size = sizeof there;
        getsockname(where, reinterpret_cast<sockaddr*>(&there), &size);
        const int made = socket(there.ss_family, SOCK_STREAM | flags, 0);
        if (is_timed) {
            const timeval limit{kLong.tv_sec, 0};
            setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        }
        if (connect(made, reinterpret_cast<const sockaddr*>(&there), size) != 0) {
            const int error = errno;
            close(made);
            errno = error;
            return -1;
        }
        return made;
    }

    void fill_all() const {
        while (write(fill, g_bytes.data(), g_bytes.size()) > 0) {
        }
        for (const int to : {stream[0], timed[0]}) {
            while (send(to, g_bytes.data(), g_bytes.size(), MSG_DONTWAIT) > 0) {
            }
        }
        while (read(drain, g_bytes.data(), g_bytes.size()) > 0) {
        }
    }
    void give_byte() const { checked(static_cast<int>(write(stream[1], "", 1))); }
    void take_stream() const {
        while (recv(stream[1], g_bytes.data(), g_bytes.size(), MSG_DONTWAIT) > 0) {
        }
    }
    void give_and_take_pipe() const {
        checked(static_cast<int>(write(empty[1], "", 1)));
        take_pipe();
    }
    void take_pipe() const {
        checked(static_cast<int>(read(full[0], g_bytes.data(), g_bytes.size())));
    }
    /// A child that sleeps, and holds the lock on the file.
    void make_child() {
        if (child != 0 && waitpid(child, nullptr, WNOHANG) == 0) {
            return;
        }
        child = 0;
        lock(F_SETLK, locks[0], F_UNLCK);
        std::array<int, 2> ready{};
        checked(pipe2(ready.data(), O_CLOEXEC));
        child = checked(fork());
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            lock(F_SETLK, locks[0], F_WRLCK);
            close(ready[0]);
            close(ready[1]);
            for (;;) {
                pause();
            }
        }
        close(ready[1]);
        char byte = 0;
        while (read(ready[0], &byte, 1) < 0) {
        }
        close(ready[0]);
    }
    static int lock(int command, int file, short type) {
        struct flock whole {};
        whole.l_type = type;
        return fcntl(file, command, &whole);
    }
    void end_child() {
        if (child != 0) {
            kill(child, SIGKILL);
            waitpid(child, nullptr, 0);
            child = 0;
        }
        lock(F_SETLK, locks[0], F_UNLCK);
    }
    void wake() {
        word = 1;
        syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
    [[nodiscard]] long send_in_queue(int flags) const {
        const std::array<long, 128> message{1};
        return msgsnd(messages, message.data(), sizeof message - sizeof message[0], flags);
    }
    [[nodiscard]] static msghdr header() {
        static iovec part{g_bytes.data(), 1};
        msghdr made{};
        made.msg_iov = &part;
        made.msg_iovlen = 1;
        return made;
    }
    static long receive_message(int from) {
        msghdr message = header();
        return recvmsg(from, &message, 0);
    }
    static long receive_messages(int from) {
        mmsghdr message{header(), 0};
        return recvmmsg(from, &message, 1, 0, nullptr);
    }
    static long send_message(int to) {
        const msghdr message = header();
        return sendmsg(to, &message, 0);
    }
    static long send_messages(int to) {
        mmsghdr message{header(), 0};
        return sendmmsg(to, &message, 1, 0);
    }
    static long let_in(int at, bool has_flags) {
        if (has_flags) {
            return ended(accept4(at, nullptr, nullptr, SOCK_CLOEXEC));
        }
        return ended(accept(at, nullptr, nullptr));  // NOLINT(android-cloexec-accept)
    }
    /// What the call has opened is closed.
    static long ended(int opened) {
        const int error = errno;
        if (opened >= 0) {
            close(opened);
        }
        errno = error;
        return opened;
    }
};

struct Kind {
    const char* name;
    long (*call)(Places&);
    void (*end)(Places&) = nullptr;  ///< Gives what it waits for; null: it never goes on.
    int signal = SIGUSR1;            ///< SIGUSR2 is blocked but in the call.
    bool has_child = false;
};

constexpr Kind kKinds[] = {
    // Which go on where the handler asks for it.
    {"read", [](Places& at) { return read(at.stream[0], &g_bytes[0], 1); },
     [](Places& at) { at.give_byte(); }},
    {"readv", [](Places& at) { return readv(at.stream[0], Places::header().msg_iov, 1); },
     [](Places& at) { at.give_byte(); }},
    {"preadv2", [](Places& at) { return preadv2(at.empty[0], Places::header().msg_iov, 1, -1, 0); },
     [](Places& at) { at.give_and_take_pipe(); }},
    {"recv", [](Places& at) { return recv(at.stream[0], &g_bytes[0], 1, 0); },
     [](Places& at) { at.give_byte(); }},
    {"recvmsg", [](Places& at) { return Places::receive_message(at.stream[0]); },
     [](Places& at) { at.give_byte(); }},
    {"recvmmsg", [](Places& at) { return Places::receive_messages(at.stream[0]); },
     [](Places& at) { at.give_byte(); }},
    {"write", [](Places& at) { return write(at.full[1], "", 1); },
     [](Places& at) { at.take_pipe(); }},
    {"writev", [](Places& at) { return writev(at.full[1], Places::header().msg_iov, 1); },
     [](Places& at) { at.take_pipe(); }},
    {"pwritev2",
     [](Places& at) { return pwritev2(at.full[1], Places::header().msg_iov, 1, -1, 0); },
     [](Places& at) { at.take_pipe(); }},
    {"send", [](Places& at) { return send(at.stream[0], "", 1, 0); },
     [](Places& at) { at.take_stream(); }},
    {"sendmsg", [](Places& at) { return Places::send_message(at.stream[0]); },
     [](Places& at) { at.take_stream(); }},
    {"sendmmsg", [](Places& at) { return Places::send_messages(at.stream[0]); },
     [](Places& at) { at.take_stream(); }},
    {"accept", [](Places& at) { return Places::let_in(at.listener, false); },
     [](Places& at) { Places::ended(Places::ask(at.listener)); }},
    {"accept4", [](Places& at) { return Places::let_in(at.listener, true); },
     [](Places& at) { Places::ended(Places::ask(at.listener)); }},
    {"connect", [](Places& at) { return Places::ended(Places::ask(at.crowded)); },
     [](Places& at) { Places::let_in(at.crowded, false); }},
    {"open", [](Places& at) { return Places::ended(open(at.fifo.c_str(), O_RDONLY | O_CLOEXEC)); },
     [](Places& at) { Places::ended(open(at.fifo.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)); }},
    {"waitid",
     [](Places& at) -> long {
         siginfo_t info{};
         return waitid(P_PID, static_cast<id_t>(at.child), &info, WEXITED | WNOWAIT);
     },
     [](Places& at) { kill(at.child, SIGKILL); }, SIGUSR1, true},
    {"wait4",
     [](Places& at) -> long {
         const pid_t waited = wait4(at.child, nullptr, 0, nullptr);
         at.child = waited > 0 ? 0 : at.child;
         return waited;
     },
     [](Places& at) { kill(at.child, SIGKILL); }, SIGUSR1, true},
    {"setlkw", [](Places& at) -> long { return Places::lock(F_SETLKW, at.locks[0], F_WRLCK); },
     [](Places& at) { at.end_child(); }, SIGUSR1, true},
    {"ofd_setlkw",
     [](Places& at) -> long {
         Places::lock(F_OFD_SETLK, at.locks[1], F_UNLCK);
         Places::lock(F_OFD_SETLK, at.locks[0], F_WRLCK);
         return Places::lock(F_OFD_SETLKW, at.locks[1], F_WRLCK);
     },
     [](Places& at) { Places::lock(F_OFD_SETLK, at.locks[0], F_UNLCK); }},
    {"flock",
     [](Places& at) -> long {
         flock(at.locks[1], LOCK_UN);
         flock(at.locks[0], LOCK_EX);
         return flock(at.locks[1], LOCK_EX);
     },
     [](Places& at) { flock(at.locks[0], LOCK_UN); }},
    {"mq_receive", [](Places& at) { return mq_receive(at.queues[0], &g_bytes[0], 1, nullptr); },
     [](Places& at) { mq_send(at.queues[0], "", 1, 0); }},
    {"mq_send",
     [](Places& at) -> long {
         const timespec past{};
         mq_timedsend(at.queues[1], "", 1, 0, &past);
         return mq_send(at.queues[1], "", 1, 0);
     },
     [](Places& at) { mq_receive(at.queues[1], &g_bytes[0], 1, nullptr); }},
    {"futex",
     [](Places& at) { return syscall(SYS_futex, &at.word, FUTEX_WAIT, 0, nullptr, nullptr, 0); },
     [](Places& at) { at.wake(); }},
    {"futex_bitset",
     [](Places& at) {
         return syscall(SYS_futex, &at.word, FUTEX_WAIT_BITSET, 0, nullptr, nullptr, 1);
     },
     [](Places& at) { at.wake(); }},
    {"sem_wait", [](Places& at) -> long { return sem_wait(&at.semaphore); },
     [](Places& at) { sem_post(&at.semaphore); }},
    {"splice", [](Places& at) { return splice(at.empty[0], nullptr, at.full[1], nullptr, 1, 0); },
     [](Places& at) { at.give_and_take_pipe(); }},
    {"tee", [](Places& at) { return tee(at.empty[0], at.full[1], 1, 0); },
     [](Places& at) { at.give_and_take_pipe(); }},
    {"vmsplice", [](Places& at) { return vmsplice(at.full[1], Places::header().msg_iov, 1, 0); },
     [](Places& at) { at.take_pipe(); }},
    {"sendfile",
     [](Places& at) {
         off_t start = 0;
         return sendfile(at.full[1], at.file, &start, 1);
     },
     [](Places& at) { at.take_pipe(); }},
    {"inotify", [](Places& at) { return read(at.inotify, &g_bytes[0], g_bytes.size()); },
     [](Places& at) {
         const int watch = inotify_add_watch(at.inotify, at.folder.c_str(), IN_ATTRIB);
         inotify_rm_watch(at.inotify, watch);
     }},
    // Which never do.
    {"timed_recv", [](Places& at) { return recv(at.timed[0], &g_bytes[0], 1, 0); }},
    {"timed_recvmsg", [](Places& at) { return Places::receive_message(at.timed[0]); }},
    {"timed_recvmmsg", [](Places& at) { return Places::receive_messages(at.timed[0]); }},
    {"timed_send", [](Places& at) { return send(at.timed[0], "", 1, 0); }},
    {"timed_sendmsg", [](Places& at) { return Places::send_message(at.timed[0]); }},
    {"timed_accept", [](Places& at) { return Places::let_in(at.timed_listener, false); }},
    {"timed_connect", [](Places& at) { return Places::ended(Places::ask(at.crowded, 0, true)); }},
    {"timed_tcp_connect",
     [](Places& at) { return Places::ended(Places::ask(at.crowded_port, 0, true)); }},
    {"pause", [](Places&) -> long { return pause(); }},
    {"sigsuspend", [](Places& at) -> long { return sigsuspend(&at.none); }, nullptr, SIGUSR2},
    {"sigtimedwait",
     [](Places&) -> long {
         sigset_t others{};
         sigaddset(&others, SIGRTMIN);
         return sigtimedwait(&others, nullptr, &kLong);
     }},
    {"poll", [](Places&) { return syscall(SYS_poll, nullptr, 0, -1); }},
    {"ppoll", [](Places& at) -> long { return ppoll(nullptr, 0, nullptr, &at.none); }, nullptr,
     SIGUSR2},
    {"select", [](Places&) { return syscall(SYS_select, 0, nullptr, nullptr, nullptr, nullptr); }},
    {"pselect",
     [](Places& at) -> long { return pselect(0, nullptr, nullptr, nullptr, nullptr, &at.none); },
     nullptr, SIGUSR2},
    {"epoll_wait",
     [](Places& at) {
         epoll_event event{};
         return syscall(SYS_epoll_wait, at.epoll, &event, 1, -1);
     }},
    {"epoll_pwait",
     [](Places& at) -> long {
         epoll_event event{};
         return epoll_pwait(at.epoll, &event, 1, -1, &at.none);
     },
     nullptr, SIGUSR2},
    {"epoll_pwait2",
     [](Places& at) {
         epoll_event event{};
         return syscall(SYS_epoll_pwait2, at.epoll, &event, 1, nullptr, &at.none, kSetBytes);
     },
     nullptr, SIGUSR2},
    {"msgrcv",
     [](Places& at) { return msgrcv(at.messages, &g_bytes[0], g_bytes.size() - 8, 7, 0); }},
    {"msgsnd", [](Places& at) { return at.send_in_queue(0); }},
    {"semop",
     [](Places& at) -> long {
         sembuf take{0, -1, 0};
         return semop(at.semaphores, &take, 1);
     }},
    {"semtimedop",
     [](Places& at) -> long {
         sembuf take{0, -1, 0};
         return semtimedop(at.semaphores, &take, 1, &kLong);
     }},
    {"nanosleep", [](Places&) -> long { return syscall(SYS_nanosleep, &kLong, nullptr); }},
    {"clock_nanosleep",
     [](Places&) { return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &kLong, nullptr); }},
    {"io_getevents",
     [](Places& at) {
         io_event event{};
         return syscall(SYS_io_getevents, at.aio, 1, 1, &event, nullptr);
     }},
    {"io_uring_enter",
     [](Places& at) {
         return syscall(SYS_io_uring_enter, at.ring, 0, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
     }},
    {"futex_with_limit",
     [](Places& at) { return syscall(SYS_futex, &at.word, FUTEX_WAIT, 0, &kLong, nullptr, 0); }},
    {"futex_waitv",
     [](Places& at) {
         // Newer than Debian 12's headers: struct futex_waitv, one word of 32 bits, shared.
         const std::array<std::uint64_t, 3> waiter{0, reinterpret_cast<std::uint64_t>(&at.word), 2};
         constexpr long kFutexWaitv = 449;
         return syscall(kFutexWaitv, waiter.data(), 1, 0, nullptr, CLOCK_MONOTONIC);
     },
     [](Places& at) { at.wake(); }},
};

struct Progress {
    std::atomic<int> tid{0};
    std::atomic<unsigned long> allowed{0};
    std::atomic<unsigned long> begun{0};
    std::atomic<unsigned long> ended{0};
    std::atomic<unsigned long> interrupted{0};
    std::atomic<bool> is_missing{false};
};

void wait_for_signals(const Kind& kind, unsigned long calls, Places& places, Progress& progress) {
    progress.tid = static_cast<int>(syscall(SYS_gettid));
    for (unsigned long call = 1; call <= calls; ++call) {
        while (progress.allowed < call) {
            usleep(20);
        }
        targets::burn(20'000 + call % 16 * 10'000);
        places.word = 0;
        places.fill_all();
        if (kind.has_child) {
            places.make_child();
        }
        ++progress.begun;
        errno = 0;
        const bool has_failed = kind.call(places) == -1;
        progress.interrupted += has_failed && errno == EINTR ? 1 : 0;
        progress.is_missing = has_failed && errno != EINTR;
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
void wait_until(const Kind& kind, Condition condition) {
    const std::uint64_t end = targets::wall_ns() + 10'000'000'000U;
    while (!condition()) {
        if (targets::wall_ns() > end) {
            std::printf("stuck=%s\n", kind.name);
            std::fflush(stdout);
            _exit(1);
        }
        usleep(20);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) {
        return targets::usage("N [restart]");
    }
    const unsigned long calls = targets::number(argv[1]);
    struct sigaction action {};
    action.sa_handler = [](int) { ++g_handled; };
    action.sa_flags = argc == 3 ? SA_RESTART : 0;
    sigaction(SIGUSR1, &action, nullptr);
    sigaction(SIGUSR2, &action, nullptr);
    sigset_t masked{};
    sigaddset(&masked, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &masked, nullptr);
    Places places;
    for (const Kind& kind : kKinds) {
        Progress progress;
        const unsigned long handled_before = g_handled;
        std::thread waiting{[&] { wait_for_signals(kind, calls, places, progress); }};
        for (unsigned long call = 1; call <= calls; ++call) {
            const auto has_ended = [&] { return progress.ended == call; };
            progress.allowed = call;
            wait_until(kind, [&] {
                return has_ended() || (progress.begun == call && sleeps(progress.tid));
            });
            if (!has_ended()) {
                const unsigned long before = g_handled;
                pthread_kill(waiting.native_handle(), kind.signal);
                wait_until(kind, [&] {
                    return has_ended() || (g_handled > before && sleeps(progress.tid));
                });
            }
            if (!has_ended() && kind.end != nullptr) {
                kind.end(places);
            }
            wait_until(kind, has_ended);
        }
        waiting.join();
        places.end_child();
        if (progress.is_missing) {
            std::printf("%s=none\n", kind.name);
        } else {
            std::printf("%s=%lu,%lu,%lu\n", kind.name, progress.interrupted.load(),
                        calls - progress.interrupted, g_handled - handled_before);
        }
    }
}
