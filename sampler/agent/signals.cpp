#include "sampler/agent/signals.h"

#include "sampler/agent/program_view.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/raw_syscall.h"

#include <ucontext.h>

#include <cstring>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;

constexpr std::size_t kSigsetBytes = 8;  // the kernel's, not libc's 128

constinit std::atomic<int> g_signal{0};
constinit ProgramView g_view;
constinit thread_local bool t_program_blocks = false;

std::uint64_t bit_of(int signal) noexcept {
    return std::uint64_t{1} << (signal - 1);
}

std::uint64_t change_mask(int how, std::uint64_t set) noexcept {
    std::uint64_t old = 0;
    raw_syscall(SYS_rt_sigprocmask, how, as_argument(&set), as_argument(&old), kSigsetBytes);
    return old;
}

void install_handler(int signal) noexcept {
    struct sigaction action {};
    action.sa_sigaction = capture::on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&action.sa_mask);
    real_sigaction(signal, &action, nullptr);
}

void set_simple_disposition(int signal, sighandler_t handler) noexcept {
    struct sigaction action {};
    action.sa_handler = handler;
    real_sigaction(signal, &action, nullptr);
}

/// Ends the process by `signal`, as the kernel would have without us.
void die_by(int signal) noexcept {
    set_simple_disposition(signal, SIG_DFL);
    raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), signal);
    change_mask(SIG_UNBLOCK, bit_of(signal));
}

/// What the program was sent meanwhile goes to the calling thread, by its sender's words. Source:
/// rt_tgsigqueueinfo(2): a thread may queue anything to itself.
void send_pending(int signal) noexcept {
    siginfo_t info{};
    if (g_view.take_pending(&info)) {
        raw_syscall(SYS_rt_tgsigqueueinfo, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), signal,
                    as_argument(&info));
    }
}

}  // namespace

ProgramView& program_view() noexcept {
    return g_view;
}

int own_signal() noexcept {
    return g_signal.load(std::memory_order_relaxed);
}

bool program_blocks_own_signal() noexcept {
    return t_program_blocks;
}
void set_program_blocks_own_signal(bool blocked) noexcept {
    t_program_blocks = blocked;
}

bool take_signal(int signal) noexcept {
    struct sigaction before {};
    if (real_sigaction(signal, nullptr, &before) != 0) {
        return false;
    }
    if (before.sa_sigaction != capture::on_signal) {
        g_view.set_action(before);
    }
    install_handler(signal);
    const std::uint64_t old = change_mask(SIG_UNBLOCK, bit_of(signal));
    t_program_blocks = t_program_blocks || (old & bit_of(signal)) != 0;
    g_signal.store(signal, std::memory_order_release);
    return true;
}

void deliver_to_program(int signal, siginfo_t* info, void* context) noexcept {
    if (t_program_blocks) {
        g_view.pend(*info);
        return;
    }
    const struct sigaction action = g_view.action();
    if (action.sa_handler == SIG_IGN) {
        return;
    }
    if (action.sa_handler == SIG_DFL) {
        if (signal != SIGURG) {  // SIGURG is ignored by default
            die_by(signal);
        }
        return;
    }
    if ((static_cast<unsigned>(action.sa_flags) & SA_RESETHAND) != 0) {
        struct sigaction reset {};
        reset.sa_handler = SIG_DFL;
        g_view.set_action(reset);
    }
    // The mask that the kernel would have given the program's handler, but for our signal, which
    // stays unblocked and is held back by the program's view instead.
    std::uint64_t mask = 0;
    memcpy(&mask, &static_cast<ucontext_t*>(context)->uc_sigmask, sizeof mask);
    std::uint64_t added = 0;
    memcpy(&added, &action.sa_mask, sizeof added);
    const bool blocked_before = t_program_blocks;
    t_program_blocks = (action.sa_flags & SA_NODEFER) == 0;
    const std::uint64_t ours = change_mask(SIG_SETMASK, (mask | added) & ~bit_of(signal));
    if ((action.sa_flags & SA_SIGINFO) != 0) {
        action.sa_sigaction(signal, info, context);
    } else {
        action.sa_handler(signal);
    }
    change_mask(SIG_SETMASK, ours);
    t_program_blocks = blocked_before;
}

void deliver_pending() noexcept {
    const int signal = own_signal();
    if (signal != 0 && !t_program_blocks) {
        send_pending(signal);
    }
}

void ignore_own_signal() noexcept {
    const int signal = own_signal();
    if (signal != 0) {
        set_simple_disposition(signal, SIG_IGN);
    }
}

void give_signal_back() noexcept {
    const int signal = own_signal();
    if (signal == 0) {
        return;
    }
    g_signal.store(0, std::memory_order_release);
    // Where a late sample would be death, our handler stays, and takes it for one.
    const struct sigaction action = g_view.action();
    if (signal == capture::kAsyncSignal || action.sa_handler != SIG_DFL) {
        real_sigaction(signal, &action, nullptr);
    }
    if (std::exchange(t_program_blocks, false)) {
        change_mask(SIG_BLOCK, bit_of(signal));
        send_pending(signal);
    }
}

void show_program_dispositions() noexcept {
    const int signal = own_signal();
    if (signal == 0) {
        return;
    }
    if (t_program_blocks) {
        change_mask(SIG_BLOCK, bit_of(signal));
    }
    if (g_view.action().sa_handler == SIG_IGN) {
        ignore_own_signal();
    }
}

void restore_own_dispositions() noexcept {
    const int signal = own_signal();
    if (signal == 0) {
        return;
    }
    install_handler(signal);
    change_mask(SIG_UNBLOCK, bit_of(signal));
}

}  // namespace sample::agent
