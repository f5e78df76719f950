#include "cli/record/record_signals.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

namespace sample::cli {
namespace {

constexpr timespec kMostForTheRest{10, 0};
constexpr timespec kBetweenLooks{0, 100'000'000};
/// Sent by us to the thread that takes signals, it wakes that. One that it always takes.
constexpr int kOver = SIGTERM;

/// 0 if there is no such process. Async-signal-safe. Source: proc(5), /proc/PID/stat.
pid_t parent_process(pid_t pid) {
    std::array<char, 32> path{"/proc/"};
    char* const digits = path.data() + std::strlen(path.data());
    std::strcpy(std::to_chars(digits, path.end(), pid).ptr, "/stat");
    const Fd file{::open(path.data(), O_RDONLY | O_CLOEXEC)};
    std::array<char, 128> text{};
    const ssize_t size = ::read(file.get(), text.data(), text.size());
    const std::string_view stat{text.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
    const std::size_t behind_name = stat.rfind(')');
    constexpr std::size_t kToParent = 4;  // ") S "
    pid_t parent = 0;
    if (behind_name != std::string_view::npos && behind_name + kToParent < stat.size()) {
        std::from_chars(stat.data() + behind_name + kToParent, stat.data() + stat.size(), parent);
    }
    return parent;
}

bool descends_from(pid_t pid, pid_t ancestor) {
    constexpr int kMostGenerations = 64;
    for (int i = 0; i < kMostGenerations && pid > 0 && pid != ancestor; ++i) {
        pid = parent_process(pid);
    }
    return pid == ancestor;
}

}  // namespace

void pass_on(pid_t command, int signal, int code, pid_t sender) {
    // A terminal sends the keys' signals to the whole group, but its end to the session's leader.
    const bool is_ours_alone =
        code == SI_KERNEL ? signal == SIGHUP && ::getsid(0) == ::getpid()
                          // The command knows of its group, but not of us: it has it already.
                          : !descends_from(sender, command);
    if (is_ours_alone) {
        ::kill(command, signal);
    }
}

void end_by(int signal) {
    std::signal(signal, SIG_DFL);
    sigset_t only{};
    ::sigemptyset(&only);
    ::sigaddset(&only, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    ::raise(signal);
    ::_exit(128 + signal);
}

int end_like(int status) {
    if (!WIFSIGNALED(status)) {
        return WEXITSTATUS(status);
    }
    // Its core is the interesting one.
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    end_by(WTERMSIG(status));
}

std::optional<int> outlast(pid_t command, std::span<const int> signals, int interrupts) {
    constexpr int kMostInterrupts = 2;
    sigset_t ours{};
    ::sigemptyset(&ours);
    ::sigaddset(&ours, SIGCHLD);
    for (const int signal : signals) {
        ::sigaddset(&ours, signal);
    }
    ::pthread_sigmask(SIG_SETMASK, &ours, nullptr);
    for (;;) {
        int status = 0;
        pid_t ended = 0;
        while ((ended = ::waitpid(-1, &status, WNOHANG)) > 0) {
            if (ended == command) {
                return status;
            }
        }
        if (ended < 0) {
            return std::nullopt;
        }
        // Another thread may take the signal of the command's end.
        constexpr timespec kMostToWait{1, 0};
        siginfo_t info{};
        const int signal = ::sigtimedwait(&ours, &info, &kMostToWait);
        if (signal <= 0 || signal == SIGCHLD) {
            continue;
        }
        pass_on(command, signal, info.si_code, info.si_pid);
        interrupts += signal == SIGINT || signal == SIGQUIT ? 1 : 0;
        if (interrupts > kMostInterrupts) {
            end_by(signal);
        }
    }
}

RecordSignals::RecordSignals(std::initializer_list<int> signals, pid_t command, bool passes_on)
    : command_{command},
      passes_on_{passes_on},
      command_end_{static_cast<int>(::syscall(SYS_pidfd_open, command, 0))},
      stop_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    ::sigemptyset(&ours_);
    for (const int signal : signals) {
        ::sigaddset(&ours_, signal);
    }
    if (::getpid() == 1) {
        ::sigaddset(&ours_, SIGCHLD);
    }
    ::pthread_sigmask(SIG_BLOCK, &ours_, &before_);
    try {
        if (stop_.is_open()) {
            thread_ = std::thread{[this] { watch(); }};
            return;
        }
    } catch (const std::system_error&) {
    }
    command_goes_on();  // no descriptor, or no thread: then they act as they would without us
}

RecordSignals::~RecordSignals() {
    command_goes_on();
}

bool RecordSignals::has_command_ended() const {
    pollfd end{command_end_.get(), POLLIN, 0};
    return ::poll(&end, 1, 0) > 0;
}

void RecordSignals::reap_orphans() const {
    siginfo_t child{};
    while (::waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0 && child.si_pid != 0 &&
           child.si_pid != command_) {
        ::waitpid(child.si_pid, nullptr, 0);
        child = {};
    }
}

void RecordSignals::take(int signal, const siginfo_t& info) {
    if (signal == SIGCHLD) {
        reap_orphans();
        return;
    }
    if (passes_on_) {
        pass_on(command_, signal, info.si_code, info.si_pid);
    }
    if (signal == SIGINT || signal == SIGQUIT) {
        ++interrupts_;
        if (interrupts_ > 2) {
            end_by(signal);
        }
        if (interrupts_ == 2 || has_command_ended()) {
            ending_ = signal;
            ::eventfd_write(stop_.get(), 1);
        }
    } else {
        ending_ = signal;
    }
}

void RecordSignals::watch() {
    for (;;) {
        // A command that goes on after a signal is not hurried.
        const bool hurries = ending_ != 0 && (interrupts_ >= 2 || has_command_ended());
        siginfo_t info{};
        const int signal =
            ending_ == 0
                ? ::sigwaitinfo(&ours_, &info)
                : ::sigtimedwait(&ours_, &info, hurries ? &kMostForTheRest : &kBetweenLooks);
        // Not by its sender, who is not known where no signal can be queued (RLIMIT_SIGPENDING).
        if (signal == kOver && is_over_.load()) {
            return;
        }
        if (signal > 0) {
            take(signal, info);
        } else if (hurries && errno == EAGAIN) {
            end_by(ending_);
        }
    }
}

void RecordSignals::command_goes_on() {
    if (thread_.joinable()) {
        is_over_.store(true);
        ::pthread_kill(thread_.native_handle(), kOver);
        thread_.join();
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace sample::cli
