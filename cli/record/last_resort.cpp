#include "cli/record/last_resort.h"

#include "cli/record/command.h"
#include "cli/record/inherited.h"
#include "cli/record/record_signals.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <exception>
#include <string_view>

namespace sample::cli {
namespace {

constexpr const char* kAttend = "--attend";

/// What the kernel, or abort(), sends a process that has gone wrong.
constexpr std::array kFaults{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/// Set before guard() installs what reads it.
struct Guarded {
    pid_t command = 0;
    std::atomic<int> order{-1};
    std::array<char, 16> pid{};  ///< `command` in digits.
};
Guarded g_guarded;

void say(std::string_view text) noexcept {
    static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

/// All of the kernel's and our own; what somebody sent is the command's.
void on_fault(int signal, siginfo_t* info, void* /*context*/) {
    if (info->si_code <= 0 && info->si_pid != ::getpid()) {
        pass_on(g_guarded.command, signal, info->si_code, info->si_pid);
        return;
    }
    const char* const name = ::sigabbrev_np(signal);
    leave_to_itself(name == nullptr ? "a fault" : name);
}

/// The kernel sends it each second once `ulimit -t` is used up; what is left to do is little.
void on_time_limit(int signal, siginfo_t* info, void* /*context*/) {
    if (info->si_code <= 0) {
        pass_on(g_guarded.command, signal, info->si_code, info->si_pid);
    }
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*)) noexcept {
    struct sigaction action {};
    // Who ignores it means the command, too, which may yet become this process.
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) {
        return;
    }
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    ::sigaction(signal, &action, nullptr);
}

[[noreturn]] void on_terminate() noexcept {
    try {
        if (const std::exception_ptr thrown = std::current_exception()) {
            std::rethrow_exception(thrown);
        }
    } catch (const std::exception& error) {
        leave_to_itself(error.what());
    } catch (...) {
    }
    leave_to_itself("a fault");
}

}  // namespace

void guard(pid_t command, int order) noexcept {
    g_guarded.command = command;
    g_guarded.order.store(order);
    std::to_chars(g_guarded.pid.begin(), g_guarded.pid.end() - 1, command);
    // A stack that has overflowed leaves no room for a handler.
    static std::array<char, 32'768> room;
    stack_t stack{};
    stack.ss_sp = room.data();
    stack.ss_size = room.size();
    ::sigaltstack(&stack, nullptr);
    for (const int signal : kFaults) {
        handle(signal, on_fault);
    }
    handle(SIGXCPU, on_time_limit);
    std::set_terminate(on_terminate);
}

void guard_started() noexcept {
    g_guarded.order.store(-1);
}

bool is_guarding() noexcept {
    return g_guarded.command != 0;
}

void leave_to_itself(const char* why) noexcept {
    const int order = g_guarded.order.exchange(-1);
    say("sample: cannot go on: ");
    say(why);
    say(order >= 0 ? "; the command runs unprofiled\n" : "; the recording ends here\n");
    if (order >= 0) {
        LaunchedCommand::start_unprofiled(order);
    }
    const std::array<const char*, 4> words{"sample", kAttend, g_guarded.pid.data(), nullptr};
    ::execv("/proc/self/exe", const_cast<char* const*>(words.data()));
    // No /proc: as well as it can be done beside what has failed.
    int status = 0;
    while (::waitpid(g_guarded.command, &status, 0) < 0 && errno == EINTR) {
    }
    ::_exit(end_like(status));
}

std::optional<pid_t> attended(const std::vector<std::string>& words) {
    pid_t command = 0;
    if (words.size() != 2 || words[0] != kAttend ||
        std::from_chars(words[1].data(), words[1].data() + words[1].size(), command).ec !=
            std::errc{} ||
        command <= 0) {
        return std::nullopt;
    }
    return command;
}

int attend(pid_t command) {
    stand_by_the_command();
    std::vector<int> signals{RecordSignals::kOfACommand};
    signals.insert(signals.end(), kFaults.begin(), kFaults.end());
    signals.push_back(SIGXCPU);
    const std::optional<int> status = outlast(command, signals, 0);
    return status ? end_like(*status) : 1;
}

}  // namespace sample::cli
