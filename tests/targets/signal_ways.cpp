// Signals by every call that libc has for them besides today's: by number through syscall(), by
// BSD's and System V's names, and by libc's other names of today's.
//
//     signal_ways trap|urg
//
// Stats: it prints what each call gave; the same under a profiler and without one. It works some
// milliseconds before each.
#include "work.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <poll.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <initializer_list>
#include <limits>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

constexpr long kSetBytes = 8;
constexpr std::uint64_t kWorkNs = 2'000'000;

int own = SIGTRAP;
volatile std::sig_atomic_t met = 0;

void count(int /*signal*/) {
    met = met + 1;
}
void ignore(int /*signal*/) {}

struct KernelAction {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    std::uint64_t mask;
};

void tell(const char* what, long result) {
    std::printf("%s: %ld%s%s, met %d\n", what, result, result < 0 ? " " : "",
                result < 0 ? strerrorname_np(errno) : "", static_cast<int>(met));
    std::fflush(stdout);
    met = 0;
    targets::burn(kWorkNs);
}

std::uint64_t bit(int signal) {
    return std::uint64_t{1} << (signal - 1);
}

std::uint64_t mask_now() {
    std::uint64_t mask = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, kSetBytes);
    return mask;
}

void set_handler(int signal, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    sigaction(signal, &action, nullptr);
}

/// Of a signal that is blocked: one that came before the wait for it would be waited for in vain.
void alarm_soon() {
    itimerval soon{};
    soon.it_value.tv_usec = 20'000;
    setitimer(ITIMER_REAL, &soon, nullptr);
}

void by_number_actions() {
    // libc's own, so that its way back out of a handler is known.
    set_handler(SIGUSR2, count);
    KernelAction action{};
    syscall(SYS_rt_sigaction, SIGUSR2, nullptr, &action, kSetBytes);
    for (const int signal : {own, SIGUSR1}) {
        action.mask = bit(own) | bit(SIGHUP);
        tell("rt_sigaction", syscall(SYS_rt_sigaction, signal, &action, nullptr, kSetBytes));
        raise(signal);
        KernelAction old{};
        tell("asked", syscall(SYS_rt_sigaction, signal, nullptr, &old, kSetBytes));
        tell("as set", old.handler == action.handler && old.mask == action.mask ? 1 : 0);
        struct sigaction named {};
        sigaction(signal, nullptr, &named);
        tell("by name", named.sa_handler == count && sigismember(&named.sa_mask, own) == 1 ? 1 : 0);
    }
    tell("no such signal", syscall(SYS_rt_sigaction, 99, &action, nullptr, kSetBytes));
    tell("no such size", syscall(SYS_rt_sigaction, own, &action, nullptr, 4L));
    tell("from nowhere", syscall(SYS_rt_sigaction, own, 16L, nullptr, kSetBytes));
}

void by_number_masks() {
    set_handler(own, count);
    std::uint64_t set = bit(own);
    std::uint64_t old = 0;
    tell("block", syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, &old, kSetBytes));
    tell("was blocked", (old & bit(own)) != 0 ? 1 : 0);
    tell("is blocked", (mask_now() & bit(own)) != 0 ? 1 : 0);
    raise(own);
    std::uint64_t pending = 0;
    tell("rt_sigpending", syscall(SYS_rt_sigpending, &pending, kSetBytes));
    tell("is pending", (pending & bit(own)) != 0 ? 1 : 0);
    siginfo_t info{};
    const timespec brief{0, 50'000'000};
    tell("rt_sigtimedwait", syscall(SYS_rt_sigtimedwait, &set, &info, &brief, kSetBytes) == own);
    tell("again", syscall(SYS_rt_sigtimedwait, &set, &info, &brief, kSetBytes));
    raise(own);
    tell("unblock", syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, nullptr, kSetBytes));
    tell("no such how", syscall(SYS_rt_sigprocmask, 77, &set, nullptr, kSetBytes));
    tell("from nowhere", syscall(SYS_rt_sigprocmask, SIG_BLOCK, 16L, nullptr, kSetBytes));
    tell("to nowhere", syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, 16L, kSetBytes));
    tell("wait from nowhere", syscall(SYS_rt_sigtimedwait, 16L, &info, &brief, kSetBytes));
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, nullptr, kSetBytes);
}

void by_number_waits() {
    std::uint64_t all_but_alarm = ~bit(SIGALRM);
    set_handler(SIGALRM, count);
    sighold(SIGALRM);
    alarm_soon();
    while (met == 0) {
        syscall(SYS_rt_sigsuspend, &all_but_alarm, kSetBytes);
    }
    tell("rt_sigsuspend", 0);
    sigrelse(SIGALRM);
    std::uint64_t all = ~std::uint64_t{0};
    timespec brief{0, 20'000'000};
    tell("ppoll", syscall(SYS_ppoll, nullptr, 0, &brief, &all, kSetBytes));
    tell("ppoll from nowhere", syscall(SYS_ppoll, nullptr, 0, &brief, 16L, kSetBytes));
    struct {
        const void* set;
        std::size_t bytes;
    } sized{&all, kSetBytes};
    brief = {0, 20'000'000};
    tell("pselect6", syscall(SYS_pselect6, 0, nullptr, nullptr, nullptr, &brief, &sized));
    const int polled = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    tell("epoll_pwait", syscall(SYS_epoll_pwait, polled, &event, 1, 20, &all, kSetBytes));
    brief = {0, 20'000'000};
    tell("epoll_pwait2", syscall(SYS_epoll_pwait2, polled, &event, 1, &brief, &all, kSetBytes));
    std::uint64_t both = bit(SIGUSR1) | bit(own);
    const long fd = syscall(SYS_signalfd4, -1, &both, kSetBytes, SFD_NONBLOCK | SFD_CLOEXEC);
    tell("signalfd4", fd >= 0 ? 1 : fd);
    std::uint64_t user = bit(SIGUSR1);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &user, nullptr, kSetBytes);
    raise(SIGUSR1);
    signalfd_siginfo read_info{};
    tell("reads", read(static_cast<int>(fd), &read_info, sizeof read_info));
    tell("no more", read(static_cast<int>(fd), &read_info, sizeof read_info));
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &user, nullptr, kSetBytes);
    static char memory[64 * 1024];
    const stack_t stack{memory, 0, sizeof memory};
    stack_t old{};
    tell("sigaltstack", syscall(SYS_sigaltstack, &stack, nullptr));
    tell("asked", syscall(SYS_sigaltstack, nullptr, &old));
    tell("as set", old.ss_sp == memory ? 1 : 0);
    tell("from nowhere", syscall(SYS_sigaltstack, 16L, nullptr));
    const stack_t none{nullptr, SS_DISABLE, 0};
    tell("disabled", syscall(SYS_sigaltstack, &none, nullptr));
    close(polled);
    close(static_cast<int>(fd));
}

/// What libc leaves to the kernel to read.
void from_nowhere_by_name() {
    auto* const nowhere = reinterpret_cast<sigset_t*>(16);
    const timespec none{};
    tell("sigsuspend from nowhere", sigsuspend(nowhere));
    tell("sigtimedwait from nowhere", sigtimedwait(nowhere, nullptr, &none));
    tell("sigwaitinfo from nowhere", sigwaitinfo(nowhere, nullptr));
    int number = 0;
    tell("sigwait from nowhere", sigwait(nowhere, &number));
    tell("signalfd from nowhere", signalfd(-1, nowhere, 0));
    tell("ppoll from nowhere", ppoll(nullptr, 0, &none, nowhere));
    tell("pselect from nowhere", pselect(0, nullptr, nullptr, nullptr, &none, nowhere));
    const int polled = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    tell("epoll_pwait from nowhere", epoll_pwait(polled, &event, 1, 0, nowhere));
    tell("epoll_pwait2 from nowhere", epoll_pwait2(polled, &event, 1, &none, nowhere));
    // As much as the kernel reads, and no more.
    constexpr std::size_t kPage = 4096;
    auto* const pages = static_cast<char*>(
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(pages + kPage, kPage, PROT_NONE);
    auto* const last = reinterpret_cast<sigset_t*>(pages + kPage - kSetBytes);
    const std::uint64_t word = bit(own) | bit(SIGHUP);
    std::memcpy(last, &word, sizeof word);
    tell("ppoll at the end", ppoll(nullptr, 0, &none, last));
    tell("epoll_pwait at the end", epoll_pwait(polled, &event, 1, 0, last));
    tell("sigtimedwait at the end", sigtimedwait(last, nullptr, &none));
    munmap(pages, 2 * kPage);
    close(polled);
}

/// How often this thread has given a processor up.
long sleeps() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

void timeouts() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, own);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    tell("timeout from nowhere",
         sigtimedwait(&set, nullptr, reinterpret_cast<const timespec*>(16)));
    const timespec invalid{0, 2'000'000'000};
    tell("no such timeout", sigtimedwait(&set, nullptr, &invalid));
    const timespec negative{-1, 0};
    tell("no such time", sigtimedwait(&set, nullptr, &negative));
    const timespec none{};
    constexpr int kTimes = 20;
    const long before = sleeps();
    for (int time = 0; time < kTimes; ++time) {
        sigtimedwait(&set, nullptr, &none);
    }
    const bool has_slept = sleeps() - before >= kTimes;
    tell("no time", sigtimedwait(&set, nullptr, &none));
    tell("sleeps each time", has_slept ? 1 : 0);
    itimerval later{};
    later.it_value.tv_usec = 100'000;
    setitimer(ITIMER_REAL, &later, nullptr);
    const timespec endless{std::numeric_limits<time_t>::max(), 0};
    tell("endless", sigtimedwait(&set, nullptr, &endless) == SIGALRM);
    // From another process, while this one waits: again and again, as one might be lost.
    std::fflush(stdout);
    const pid_t process = getpid();
    const pid_t sender = fork();
    if (sender == 0) {
        while (getppid() == process && kill(process, own) == 0) {
            usleep(50'000);
        }
        _exit(0);
    }
    siginfo_t info{};
    tell("of another process", sigwaitinfo(&set, &info) == own && info.si_pid == sender);
    kill(sender, SIGKILL);
    waitpid(sender, nullptr, 0);
    while (sigtimedwait(&set, nullptr, &none) >= 0) {
    }
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

void by_system_v_names() {
    set_handler(own, count);
    tell("sighold", sighold(own));
    raise(own);
    tell("waits", 0);
    tell("sigrelse", sigrelse(own));
    tell("sigset", sigset(own, ignore) == count ? 1 : 0);
    tell("sigset hold", sigset(own, SIG_HOLD) == ignore ? 1 : 0);
    raise(own);
    tell("sigset again", sigset(own, count) == SIG_HOLD ? 1 : 0);
    tell("no such signal", sigset(99, count) == SIG_ERR ? -1 : 0);
    tell("sigignore", sigignore(own));
    raise(own);
    tell("ignored", 0);
    set_handler(SIGALRM, count);
    sighold(SIGALRM);
    alarm_soon();
    auto* pause_for = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "__xpg_sigpause"));
    while (met == 0) {
        pause_for(SIGALRM);
    }
    tell("sigpause", 0);
    sigrelse(SIGALRM);
}

void by_bsd_names() {
    set_handler(own, count);
    const int mask = 1 << (own - 1);
    tell("sigblock", sigblock(mask));
    raise(own);
    auto* mask_so_far = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "siggetmask"));
    tell("siggetmask", mask_so_far() == mask ? 1 : 0);
    tell("sigsetmask", sigsetmask(0) == mask ? 1 : 0);
    set_handler(SIGALRM, count);
    sighold(SIGALRM);
    alarm_soon();
    auto* pause_with = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "sigpause"));
    while (met == 0) {
        pause_with(mask);
    }
    tell("other sigpause", 0);
    sigrelse(SIGALRM);
    auto* action = reinterpret_cast<int (*)(int, const struct sigaction*, struct sigaction*)>(
        dlsym(RTLD_DEFAULT, "__sigaction"));
    struct sigaction set {};
    set.sa_handler = ignore;
    tell("__sigaction", action(own, &set, nullptr));
    raise(own);
    struct sigaction old {};
    sigaction(own, nullptr, &old);
    tell("asked", old.sa_handler == ignore ? 1 : 0);
}

bool blocks_own(const void* context) {
    return sigismember(&static_cast<const ucontext_t*>(context)->uc_sigmask, own) == 1;
}

bool is_blocked() {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return sigismember(&mask, own) == 1;
}

void change_own(int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, own);
    pthread_sigmask(how, &set, nullptr);
}

volatile std::sig_atomic_t was_shown = 0;

void look(int /*signal*/, siginfo_t* /*info*/, void* context) {
    was_shown = blocks_own(context) ? 1 : 0;
}
void block(int signal, siginfo_t* info, void* context) {
    look(signal, info, context);
    change_own(SIG_BLOCK);
}
void unblock(int signal, siginfo_t* info, void* context) {
    look(signal, info, context);
    change_own(SIG_UNBLOCK);
}
void block_behind(int signal, siginfo_t* info, void* context) {
    look(signal, info, context);
    sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, own);
}
void unblock_behind(int signal, siginfo_t* info, void* context) {
    look(signal, info, context);
    sigdelset(&static_cast<ucontext_t*>(context)->uc_sigmask, own);
}

sigjmp_buf target;
bool leaves = false;
volatile std::sig_atomic_t met_within = 0;

void raise_within(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {
    raise(own);
    raise(SIGUSR1);
    met_within = met + (is_blocked() ? 10 : 0);
    if (leaves) {
        siglongjmp(target, 1);
    }
}

/// What handlers of another signal see and do of the mask.
void masks_of_handlers(int flags) {
    static char memory[64 * 1024];
    const stack_t stack{memory, 0, sizeof memory};
    sigaltstack(&stack, nullptr);
    set_handler(own, count);
    for (auto* handler : {look, block, unblock, block_behind, unblock_behind}) {
        struct sigaction action {};
        action.sa_sigaction = handler;
        action.sa_flags = SA_SIGINFO | flags;
        sigaction(SIGUSR1, &action, nullptr);
        for (const bool blocked : {false, true}) {
            change_own(blocked ? SIG_BLOCK : SIG_UNBLOCK);
            if (blocked) {
                raise(own);  // and waits
            }
            raise(SIGUSR1);
            tell("shown", was_shown);
            tell("left", is_blocked() ? 1 : 0);
            raise(SIGUSR1);
            tell("shown again", was_shown);
            raise(own);
            tell("is blocked", is_blocked() ? 1 : 0);
            change_own(SIG_UNBLOCK);
            tell("unblocked", 0);
        }
    }
    // A handler that begins as a mask call returns is shown what that has set.
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, own);
    sigaddset(&both, SIGUSR1);
    struct sigaction looking {};
    looking.sa_sigaction = look;
    looking.sa_flags = SA_SIGINFO | flags;
    sigaction(SIGUSR1, &looking, nullptr);
    sigprocmask(SIG_BLOCK, &both, nullptr);
    raise(SIGUSR1);
    sigprocmask(SIG_UNBLOCK, &both, nullptr);
    tell("shown at the end of a call", was_shown);
    // One whose action holds our signal.
    struct sigaction holding {};
    holding.sa_sigaction = raise_within;
    holding.sa_flags = SA_SIGINFO | flags;
    sigaddset(&holding.sa_mask, own);
    sigaction(SIGUSR2, &holding, nullptr);
    raise(SIGUSR2);
    tell("shown within", was_shown);
    tell("met within", met_within);
    if (sigsetjmp(target, 1) == 0) {
        leaves = true;
        raise(SIGUSR2);
    }
    tell("left by a jump", is_blocked() ? 1 : 0);
    leaves = false;
    // In a wait the thread's own mask is shown.
    change_own(SIG_BLOCK);
    sighold(SIGUSR1);
    sigset_t none;
    sigemptyset(&none);
    raise(SIGUSR1);
    sigsuspend(&none);
    tell("shown in a wait", was_shown);
    sigrelse(SIGUSR1);
    change_own(SIG_UNBLOCK);
    const stack_t gone{nullptr, SS_DISABLE, 0};
    sigaltstack(&gone, nullptr);
}

void* raised_from = nullptr;

void look_back(int /*signal*/) {
    void* frames[32];
    const int found = backtrace(frames, 32);
    met = std::find(frames, frames + found, raised_from) != frames + found ? 1 : 0;
}

__attribute__((noinline)) void raise_from_here() {
    raised_from = __builtin_return_address(0);
    raise(SIGUSR1);
    tell("the handler's callers", 0);
}

/// Handlers that libc's other calls set are known as such, and who asks the kernel itself for one
/// may call it.
void handlers_by_other_ways() {
    // Its own signal's handler finds and leaves a mask as others do.
    struct sigaction deferring {};
    deferring.sa_sigaction = block_behind;
    deferring.sa_flags = SA_SIGINFO;
    sigaction(own, &deferring, nullptr);
    raise(own);
    tell("shown to its own", was_shown);
    tell("left by its own", is_blocked() ? 1 : 0);
    change_own(SIG_UNBLOCK);
    set_handler(own, count);
    raise(own);
    tell("met afterwards", 0);
    set_handler(SIGUSR1, look_back);
    raise_from_here();
    tell("signal", signal(SIGUSR1, look_back) == look_back ? 1 : 0);
    raise_from_here();
    change_own(SIG_BLOCK);
    tell("sysv_signal", sysv_signal(SIGUSR1, count) == look_back ? 1 : 0);
    raise(SIGUSR1);
    struct sigaction action {};
    sigaction(SIGUSR1, nullptr, &action);
    tell("is reset", action.sa_handler == SIG_DFL ? 1 : 0);
    signal(SIGUSR1, count);
    KernelAction kernels{};
    long result = SYS_rt_sigaction;
    register long bytes asm("r10") = kSetBytes;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(SIGUSR1), "S"(0L), "d"(&kernels), "r"(bytes)
                 : "rcx", "r11", "memory");
    kernels.handler(SIGUSR1);
    tell("asked past libc", result);
    change_own(SIG_UNBLOCK);
}

/// What a new image inherits.
int tell_inherited() {
    struct sigaction action {};
    sigaction(own, nullptr, &action);
    sigset_t mask;
    sigprocmask(SIG_BLOCK, nullptr, &mask);
    return (action.sa_handler == SIG_IGN ? 1 : 0) + (sigismember(&mask, own) == 1 ? 2 : 0);
}

pid_t start_child(bool by_vfork, bool resets, const char* self) {
    const char* words[] = {self, own == SIGTRAP ? "trap" : "urg", "child", nullptr};
    const pid_t pid =
        by_vfork ? vfork()  // NOLINT(clang-analyzer-security.insecureAPI.vfork): what is tested
                 : fork();
    if (pid == 0) {
        if (resets) {
            sigset_t none;
            sigemptyset(&none);
            sigprocmask(SIG_SETMASK, &none, nullptr);
            set_handler(own, SIG_DFL);
        }
        execv(self, const_cast<char**>(words));
        _exit(100);
    }
    return pid;
}

pid_t spawn_child(bool resets, const char* self) {
    const char* words[] = {self, own == SIGTRAP ? "trap" : "urg", "child", nullptr};
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t set;
    sigemptyset(&set);
    if (resets) {
        posix_spawnattr_setsigmask(&attributes, &set);
        sigaddset(&set, own);
        posix_spawnattr_setsigdefault(&attributes, &set);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    pid_t pid = 0;
    posix_spawn(&pid, self, nullptr, &attributes, const_cast<char**>(words), environ);
    posix_spawnattr_destroy(&attributes);
    return pid;
}

void inheritance(const char* self) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, own);
    set_handler(own, SIG_IGN);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    for (const bool by_vfork : {false, true}) {
        for (const bool resets : {false, true}) {
            int status = 0;
            waitpid(start_child(by_vfork, resets, self), &status, 0);
            tell(by_vfork ? "by vfork" : "by fork", WEXITSTATUS(status));
        }
    }
    for (const bool resets : {false, true}) {
        int status = 0;
        waitpid(spawn_child(resets, self), &status, 0);
        tell("by spawn", WEXITSTATUS(status));
    }
    tell("own", tell_inherited());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        return targets::usage("trap|urg");
    }
    own = std::strcmp(argv[1], "urg") == 0 ? SIGURG : SIGTRAP;
    if (argc > 2) {
        return tell_inherited();
    }
    by_number_actions();
    by_number_masks();
    by_number_waits();
    from_nowhere_by_name();
    timeouts();
    by_system_v_names();
    by_bsd_names();
    masks_of_handlers(0);
    masks_of_handlers(SA_ONSTACK);
    handlers_by_other_ways();
    inheritance(argv[0]);
    return 0;
}
