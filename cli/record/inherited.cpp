#include "cli/record/inherited.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <string>

namespace sample::cli {
namespace {

constexpr std::array kTimers{ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};

constexpr std::array kOfTheGroup{SIGUSR1, SIGUSR2,   SIGALRM, SIGVTALRM, SIGPROF,
                                 SIGIO,   SIGSTKFLT, SIGPWR,  SIGPIPE};

/// Of those that stand_by_the_command() changed.
std::array<struct sigaction, NSIG> g_before{};
std::array<bool, NSIG> g_is_changed{};

void let_pass(int /*signal*/) {}

void change(int signal, void (*handler)(int)) noexcept {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    const auto index = static_cast<std::size_t>(signal);
    g_is_changed.at(index) = ::sigaction(signal, &action, &g_before.at(index)) == 0;
}

/// A handler, as an ignored signal would be ignored by whatever we start.
void survive(int signal) noexcept {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
        change(signal, let_pass);
    }
}

std::vector<siginfo_t> take_waiting_signals() {
    constexpr std::size_t kMost = 10'000;
    constexpr timespec kAtOnce{};
    std::vector<siginfo_t> taken;
    siginfo_t info{};
    sigset_t waiting;
    ::sigpending(&waiting);
    while (taken.size() < kMost && ::sigtimedwait(&waiting, &info, &kAtOnce) > 0) {
        taken.push_back(info);
    }
    return taken;
}

/// None, if that can't be found out.
std::vector<int> descriptors_for_the_command() {
    std::vector<int> found;
    DIR* const folder = ::opendir("/proc/self/fd");
    while (const dirent* const entry = folder == nullptr ? nullptr : ::readdir(folder)) {
        const int fd = std::atoi(entry->d_name);  // "." and "..": 0
        const int flags = fd > STDERR_FILENO ? ::fcntl(fd, F_GETFD) : -1;
        if (flags >= 0 && (flags & FD_CLOEXEC) == 0) {
            found.push_back(fd);
        }
    }
    if (folder != nullptr) {
        ::closedir(folder);
    }
    return found;
}

}  // namespace

Inherited::Inherited()
    : ours_{::getpid()},
      signals_{take_waiting_signals()},
      descriptors_{descriptors_for_the_command()} {
    const itimerval none{};
    for (std::size_t i = 0; i < kTimers.size(); ++i) {
        ::setitimer(kTimers.at(i), &none, &timers_.at(i));
    }
    ::prctl(PR_GET_PDEATHSIG, &death_signal_);
}

void Inherited::hand_over() const noexcept {
    for (std::size_t i = 0; i < kTimers.size(); ++i) {
        ::setitimer(kTimers.at(i), &timers_.at(i), nullptr);
    }
    if (death_signal_ != 0) {
        ::prctl(PR_SET_PDEATHSIG, death_signal_);
    }
    for (const siginfo_t& signal : signals_) {  // With the words of who sent it.
        ::syscall(SYS_rt_sigqueueinfo, ::getpid(), signal.si_signo, &signal);
    }
    hand_over_environment();
}

void Inherited::hand_over_environment() const noexcept {
    // sd_listen_fds(3) takes its sockets, sd_watchdog_enabled(3) its orders, only if this is its
    // own number.
    for (const char* const name : {"LISTEN_PID", "WATCHDOG_PID"}) {
        const char* const meant = std::getenv(name);
        if (meant != nullptr && meant == std::to_string(ours_)) {
            ::setenv(name, std::to_string(::getpid()).c_str(), 1);
        }
    }
}

void Inherited::let_go() const noexcept {
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) {
        static_cast<void>(::dup3(nothing, fd, O_CLOEXEC));
    }
    ::close(nothing);
    for (const int fd : descriptors_) {
        ::close(fd);
    }
}

void stand_by_the_command() noexcept {
    change(SIGCHLD, SIG_DFL);
    change(SIGXFSZ, SIG_IGN);
    for (const int signal : kOfTheGroup) {
        survive(signal);
    }
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
        survive(signal);
    }
}

void act_as_inherited() noexcept {
    for (int signal = 1; signal < NSIG; ++signal) {
        const auto index = static_cast<std::size_t>(signal);
        if (g_is_changed.at(index)) {
            ::sigaction(signal, &g_before.at(index), nullptr);
        }
    }
}

void fill_standard_descriptors() noexcept {
    int fd = 0;
    do {
        fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        if (fd == STDOUT_FILENO) {  // To write there is an error, as without us.
            ::close(fd);
            fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        }
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) {
        ::close(fd);
    }
}

}  // namespace sample::cli
