// A program that uses signals in a way that a profiler's own could disturb.
//
//     signal_user MODE [trap|urg]
//
// With a signal of its own choice, SIGTRAP or (urg) SIGURG:
//   jump        its handler leaves by siglongjmp, five times
//   pending     blocked and raised: sigpending shows it, the handler runs once when it is
//   unblocked,
//               and not in a child
//   queued      the same by sigqueue: the handler gets the value
//   exec        the same by sigqueue, and then an exec that fails and one of itself: it waits there
//               with its value; and not in what its forked and its vfork child exec
//   let-go      as queued, 2,000 times, let go by what another signal's handler leaves in its frame
//   restart     a read that the signal interrupts goes on with SA_RESTART
//   interrupt   and ends with EINTR without it
//   deep        the handler, not on the alternate stack of 8 KiB, needs 64 KiB of stack
//   vfork       a vfork child sets the default action and ends; the parent's handler is still there
//   sysv        signal's System V kin: the handler is gone after the first one
//   opened      blocked, and opened by the mask of a call that waits: the call ends with EINTR and
//               its handler has run, whether it was pending or is sent as the call begins
// With int3, which is SIGTRAP:
//   int3        its handler meets five of them
//   int3-blocked, int3-ignored: death by SIGTRAP, as such a trap cannot wait
// With other signals:
//   profiling   SIGPROF every 5 ms of CPU time by setitimer: its handler meets some, and no more
//   alarm       siginterrupt and signal: SIGALRM every 50 ms ends a read with EINTR
//   crash       a SIGSEGV handler on an alternate stack of 16 KiB prints, restores the default and
//               raises again
//   abort       a SIGABRT handler prints and returns: abort() goes on
//   undumpable  PR_SET_DUMPABLE 0, and work
//
// Stats: what it prints, and how it ends, is the same under a profiler and without one. Every mode
// works some 60 ms.
#include "work.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <thread>

namespace {

constexpr std::uint64_t kWorkNs = 60'000'000;

int own_number = SIGTRAP;
volatile std::sig_atomic_t met = 0;
volatile int value = 0;
sigjmp_buf target;
int read_end = -1;
int write_end = -1;

void count(int /*signal*/) {
    met = met + 1;
}

/// The same, by a jump inside of itself.
void count_behind_a_jump(int signal) {
    sigjmp_buf here;
    if (sigsetjmp(here, 1) == 0) {
        siglongjmp(here, 1);
    }
    count(signal);
}

void count_value(int /*signal*/, siginfo_t* info, void* /*context*/) {
    met = met + 1;
    value = info->si_value.sival_int;
}

void jump_out(int /*signal*/) {
    met = met + 1;
    siglongjmp(target, 1);
}

void need_much_stack(int /*signal*/) {
    volatile char room[64 * 1024];
    for (std::size_t at = 0; at < sizeof room; at += 512) {
        room[at] = 1;
    }
    met = met + room[0];
}

void set_handler(int signal, void (*handler)(int), int flags) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, nullptr);
}

void change_mask(int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, own_number);
    pthread_sigmask(how, &set, nullptr);
}

bool is_blocked() {
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    return sigismember(&now, own_number) == 1;
}

bool is_pending() {
    sigset_t now;
    sigpending(&now);
    return sigismember(&now, own_number) == 1;
}

void jump() {
    set_handler(own_number, jump_out, 0);
    for (int time = 0; time < 5; ++time) {
        if (sigsetjmp(target, 1) == 0) {
            targets::burn(kWorkNs / 5);
            raise(own_number);
        }
    }
    std::printf("met %d blocked %d\n", static_cast<int>(met), is_blocked());
}

void pending() {
    set_handler(own_number, count, 0);
    change_mask(SIG_BLOCK);
    targets::burn(kWorkNs / 2);
    std::printf("pending %d", is_pending());
    raise(own_number);
    targets::burn(kWorkNs / 2);
    std::printf(" %d met %d", is_pending(), static_cast<int>(met));
    const pid_t child = fork();
    if (child == 0) {  // for which nothing waits
        change_mask(SIG_UNBLOCK);
        _exit(met);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf(" by a child %d", WEXITSTATUS(status));
    change_mask(SIG_UNBLOCK);
    std::printf(" unblocked %d met %d\n", is_pending(), static_cast<int>(met));
}

void queued() {
    struct sigaction action {};
    action.sa_sigaction = count_value;
    action.sa_flags = SA_SIGINFO;
    sigaction(own_number, &action, nullptr);
    change_mask(SIG_BLOCK);
    for (const int number : {42, 43}) {
        sigval sent{};
        sent.sival_int = number;
        sigqueue(getpid(), own_number, sent);
    }
    targets::burn(kWorkNs);
    change_mask(SIG_UNBLOCK);
    std::printf("met %d value %d\n", static_cast<int>(met), value);
}

void open_in_frame(int /*signal*/, siginfo_t* /*info*/, void* context) {
    sigdelset(&static_cast<ucontext_t*>(context)->uc_sigmask, own_number);
}

void let_go() {
    constexpr int kTimes = 2000;
    set_handler(own_number, count, 0);
    struct sigaction opening {};
    opening.sa_sigaction = open_in_frame;
    opening.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &opening, nullptr);
    int lost = 0;
    for (int time = 0; time < kTimes; ++time) {
        const int before = met;
        change_mask(SIG_BLOCK);
        raise(own_number);
        raise(SIGUSR1);
        lost += met == before + 1 ? 0 : 1;
    }
    targets::burn(kWorkNs);
    std::printf("not met once: %d\n", lost);
}

std::atomic<bool> has_read = false;

/// Signals come while the main thread reads from an empty pipe, until it is interrupted; with
/// SA_RESTART there is something to read after three.
void read_with(int flags) {
    set_handler(own_number, count, flags);
    const pthread_t main_thread = pthread_self();
    std::thread sender{[=] {
        targets::burn(kWorkNs);
        for (int time = 0; !has_read && (time < 3 || (flags & SA_RESTART) == 0); ++time) {
            usleep(30'000);
            pthread_kill(main_thread, own_number);
        }
        if (write(write_end, "x", 1) != 1) {
            std::abort();
        }
    }};
    char byte = 0;
    ssize_t got = 0;
    do {
        got = read(read_end, &byte, 1);
    } while (got < 0 && errno == EINTR && met == 0);
    has_read = true;
    std::printf("read %d met some %d\n", static_cast<int>(got), met > 0);
    sender.join();
}

void restart() {
    read_with(SA_RESTART);
}

void interrupt() {
    read_with(0);
}

void deep() {
    static char small[8192];
    stack_t stack{};
    stack.ss_sp = small;
    stack.ss_size = sizeof small;
    sigaltstack(&stack, nullptr);
    set_handler(own_number, need_much_stack, 0);
    targets::burn(kWorkNs);
    raise(own_number);
    std::printf("met %d\n", static_cast<int>(met));
}

void execed() {
    std::printf("pending %d", is_pending());
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, own_number);
    siginfo_t info{};
    const timespec at_once{};
    const int waited = sigtimedwait(&own, &info, &at_once);
    std::printf(" waited %d code %d value %d own %d\n", waited == own_number, info.si_code,
                info.si_value.sival_int, info.si_pid == getpid());
    targets::burn(kWorkNs);
}

void exec_self() {
    execl("/proc/self/exe", "signal_user", "execed", own_number == SIGURG ? "urg" : "trap",
          static_cast<char*>(nullptr));
}

void exec_mode() {
    set_handler(own_number, count, 0);
    change_mask(SIG_BLOCK);
    targets::burn(kWorkNs);
    sigval words{};
    words.sival_int = 42;
    sigqueue(getpid(), own_number, words);
    execl("/proc/self/nothing", "nothing", static_cast<char*>(nullptr));
    std::printf("pending %d met %d\n", is_pending(), static_cast<int>(met));
    std::fflush(stdout);
    // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork)
    for (pid_t (*const make)() : {fork, vfork}) {
        const pid_t child = make();
        if (child == 0) {
            exec_self();
            _exit(1);
        }
        waitpid(child, nullptr, 0);
    }
    std::printf("pending %d\n", is_pending());
    std::fflush(stdout);
    exec_self();
}

void vfork_mode() {
    set_handler(own_number, count, 0);
    targets::burn(kWorkNs);
    const pid_t child = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
    if (child == 0) {
        set_handler(own_number, SIG_DFL, 0);
        change_mask(SIG_BLOCK);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    raise(own_number);
    std::printf("met %d blocked %d\n", static_cast<int>(met), is_blocked());
}

void sysv() {
    sysv_signal(own_number, count);
    targets::burn(kWorkNs);
    raise(own_number);
    struct sigaction now {};
    sigaction(own_number, nullptr, &now);
    std::printf("met %d default %d\n", static_cast<int>(met), now.sa_handler == SIG_DFL);
}

/// Sends the signal to the thread that made it, whenever that is asked for, until it was answered.
class Sender {
public:
    Sender() : thread_{[this] { run(); }} {}
    ~Sender() {
        asked_ = -1;
        thread_.join();
    }
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;
    void ask() { ++asked_; }
    void answer() { answered_ = asked_.load(); }

private:
    void run() {
        constexpr std::uint64_t kAgainNs = 100'000'000;
        int last = 0;
        for (int now = 0; now >= 0; now = asked_) {
            if (now == last) {
                continue;
            }
            last = now;
            do {
                pthread_kill(receiver_, own_number);
                const std::uint64_t again_ns = targets::wall_ns() + kAgainNs;
                while (is_awaited(now) && targets::wall_ns() < again_ns) {
                }
            } while (is_awaited(now));
        }
    }
    [[nodiscard]] bool is_awaited(int number) const {
        return asked_ == number && answered_ != number;
    }

    pthread_t receiver_ = pthread_self();
    std::atomic<int> asked_ = 0;
    std::atomic<int> answered_ = 0;
    std::thread thread_;
};

/// How often `wait` ends with EINTR, and the signal's handler has run by then.
int count_ends(int times, int (*wait)(const sigset_t&), const sigset_t& opened, Sender* sender) {
    int ends = 0;
    for (int time = 0; time < times; ++time) {
        const int before = met;
        if (sender != nullptr) {
            sender->ask();
        } else {
            while (!is_pending()) {  // standard signals do not queue: a sample's may be there
                raise(own_number);
            }
        }
        bool is_cut_short = false;
        do {  // a sample may end a wait, too, by some sources
            is_cut_short = wait(opened) == -1 && errno == EINTR;
        } while (is_cut_short && met == before);
        ends += is_cut_short ? 1 : 0;
        if (sender != nullptr) {
            sender->answer();
        }
    }
    return ends;
}

void opened() {
    constexpr int kTimes = 200;
    static constexpr timespec kLong{120, 0};
    struct Way {
        const char* name;
        int (*wait)(const sigset_t&);
    };
    constexpr Way kWays[] = {
        {"sigsuspend", [](const sigset_t& mask) { return sigsuspend(&mask); }},
        {"ppoll", [](const sigset_t& mask) { return ppoll(nullptr, 0, &kLong, &mask); }},
        {"pselect",
         [](const sigset_t& mask) { return pselect(0, nullptr, nullptr, nullptr, &kLong, &mask); }},
        {"epoll_pwait",
         [](const sigset_t& mask) {
             epoll_event event{};
             static const int epoll = epoll_create1(EPOLL_CLOEXEC);
             return epoll_pwait(epoll, &event, 1, 120'000, &mask);
         }},
        {"by number",
         [](const sigset_t& mask) {
             return static_cast<int>(syscall(SYS_rt_sigsuspend, &mask, 8));
         }},
    };
    set_handler(own_number, count_behind_a_jump, 0);
    change_mask(SIG_BLOCK);
    sigset_t mask;
    sigemptyset(&mask);
    Sender sender;
    for (const Way& way : kWays) {
        std::printf("%s pending %d", way.name, count_ends(kTimes, way.wait, mask, nullptr));
        std::printf(" sent %d", count_ends(kTimes, way.wait, mask, &sender));
        std::printf(" blocked %d\n", is_blocked());
    }
    targets::burn(kWorkNs);
}

void trap() {
    asm volatile("int3");
}

void int3() {
    set_handler(SIGTRAP, count, 0);
    for (int time = 0; time < 5; ++time) {
        targets::burn(kWorkNs / 5);
        trap();
    }
    std::printf("met %d\n", static_cast<int>(met));
}

void int3_blocked() {
    set_handler(SIGTRAP, count, 0);
    change_mask(SIG_BLOCK);
    targets::burn(kWorkNs);
    trap();
    std::printf("lived\n");
}

void int3_ignored() {
    set_handler(SIGTRAP, SIG_IGN, 0);
    targets::burn(kWorkNs);
    trap();
    std::printf("lived\n");
}

void profiling() {
    constexpr long kEachUs = 5000;
    set_handler(SIGPROF, count, SA_RESTART);
    itimerval timer{};
    timer.it_interval.tv_usec = kEachUs;
    timer.it_value.tv_usec = kEachUs;
    const std::uint64_t start_ns = targets::wall_ns();
    setitimer(ITIMER_PROF, &timer, nullptr);
    // It counts the ticks that meet the process: none for a while, or all of two processors, where
    // a profiler has a thread of its own.
    do {
        targets::burn(3 * kWorkNs);
    } while (met == 0);
    timer = {};
    setitimer(ITIMER_PROF, &timer, nullptr);
    const std::uint64_t most = 2 * (targets::wall_ns() - start_ns) / (kEachUs * 1000) + 2;
    std::printf("met some %d not too many %d\n", met > 0, static_cast<std::uint64_t>(met) <= most);
}

void alarm_mode() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    siginterrupt(SIGALRM, 1);
#pragma GCC diagnostic pop
    std::signal(SIGALRM, count);
    targets::burn(kWorkNs);
    itimerval timer{};
    timer.it_interval.tv_usec = 50'000;
    timer.it_value.tv_usec = 50'000;
    setitimer(ITIMER_REAL, &timer, nullptr);
    char byte = 0;
    ssize_t got = 0;
    do {
        got = read(read_end, &byte, 1);
    } while (got < 0 && errno == EINTR && met == 0);
    std::printf("read %d met some %d\n", static_cast<int>(got), met > 0);
}

void say(const char* text) {
    if (write(1, text, std::strlen(text)) < 0) {
        _exit(9);
    }
}

void report_crash(int signal) {
    say("crashed, and says so\n");
    std::signal(signal, SIG_DFL);
    raise(signal);
}

void crash() {
    static char small[16384];
    stack_t stack{};
    stack.ss_sp = small;
    stack.ss_size = sizeof small;
    sigaltstack(&stack, nullptr);
    set_handler(SIGSEGV, report_crash, SA_ONSTACK);
    targets::burn(kWorkNs);
    *static_cast<volatile int*>(nullptr) = 1;
}

void report_abort(int /*signal*/) {
    say("aborts, and says so\n");
}

void abort_mode() {
    set_handler(SIGABRT, report_abort, 0);
    targets::burn(kWorkNs);
    std::abort();
}

void undumpable() {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    targets::burn(2 * kWorkNs);
    std::printf("dumpable %d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
}

struct Mode {
    const char* name;
    void (*run)();
};

constexpr Mode kModes[] = {
    {"jump", jump},
    {"pending", pending},
    {"queued", queued},
    {"exec", exec_mode},
    {"execed", execed},
    {"let-go", let_go},
    {"restart", restart},
    {"interrupt", interrupt},
    {"deep", deep},
    {"vfork", vfork_mode},
    {"sysv", sysv},
    {"opened", opened},
    {"int3", int3},
    {"int3-blocked", int3_blocked},
    {"int3-ignored", int3_ignored},
    {"profiling", profiling},
    {"alarm", alarm_mode},
    {"crash", crash},
    {"abort", abort_mode},
    {"undumpable", undumpable},
};

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::strcmp(argv[2], "urg") == 0) {
        own_number = SIGURG;
    }
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return 3;
    }
    read_end = ends[0];
    write_end = ends[1];
    for (const Mode& mode : kModes) {
        if (argc >= 2 && std::strcmp(argv[1], mode.name) == 0) {
            mode.run();
            return 0;
        }
    }
    return targets::usage("MODE [urg]");
}
