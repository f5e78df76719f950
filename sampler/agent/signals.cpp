#include "sampler/agent/signals.h"

#include "sampler/agent/program_view.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/raw_syscall.h"

#include <sys/auxv.h>
#include <ucontext.h>

#include <cstring>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;

constexpr std::size_t kSigsetBytes = 8;  // the kernel's, not libc's 128

void hold_back_in_handlers() noexcept;

constinit std::atomic<int> g_signal{0};
constinit ProgramView g_view;
/// Whose view it is: a vfork child shares it, and must not change it.
constinit long g_owner_pid = 0;
constinit thread_local bool t_program_blocks = false;

/// The program's own handler of our signal runs in this thread. Before it did, the program cannot
/// have blocked the signal.
constinit thread_local bool t_in_programs_handler = false;

/// An alternate stack of fewer bytes has no room for our handler on top of the program's: then our
/// signal waits until the program's handler returns. Two frames with AVX-512 state are 7.2 KiB, and
/// what the program's own handler needs, nobody knows.
constexpr std::size_t kRoomyStackBytes = std::size_t{32} * 1024;
/// What our handler needs at most below the kernel's frame: the limit of scripts/check-handler.
constexpr std::size_t kHandlerStackBytes = 4096;

constinit std::atomic<bool> g_small_stacks{false};
constinit std::atomic<bool> g_tiny_stacks{false};

std::uint64_t bit_of(int signal) noexcept {
    return std::uint64_t{1} << (signal - 1);
}

std::uint64_t change_mask(int how, std::uint64_t set) noexcept {
    std::uint64_t old = 0;
    raw_syscall(SYS_rt_sigprocmask, how, as_argument(&set), as_argument(&old), kSigsetBytes);
    return old;
}

/// The flags that the program asked for its own handler, which ours calls; otherwise what disturbs
/// least.
int handler_flags() noexcept {
    const struct sigaction program = g_view.action();
    const bool asked = has_handler(program);
    int flags = SA_SIGINFO;
    if (!asked || (program.sa_flags & SA_RESTART) != 0) {
        flags |= SA_RESTART;
    }
    if ((!asked || (program.sa_flags & SA_ONSTACK) != 0) && !g_tiny_stacks.load()) {
        flags |= SA_ONSTACK;
    }
    return flags;
}

void install_handler(int signal) noexcept {
    struct sigaction action {};
    action.sa_sigaction = capture::on_signal;
    action.sa_flags = handler_flags();
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

/// The handlers that are installed already run on small alternate stacks, too.
void hold_back_in_handlers() noexcept {
    const int own = own_signal();
    for (int signal = 1; signal <= 64; ++signal) {
        struct sigaction action {};
        if (signal != own && real_sigaction(signal, nullptr, &action) == 0 &&
            leaves_no_room(action)) {
            sigaddset(&action.sa_mask, own);
            real_sigaction(signal, &action, nullptr);
        }
    }
}

/// A trap of the thread's own instruction, which the kernel does not let wait. Source:
/// kernel/signal.c, force_sig_info_to_task; sigaction(2), si_code.
bool is_forced(int signal, const siginfo_t& info) noexcept {
    constexpr int kTrapPerf = 6;  // newer than glibc 2.36
    return signal == SIGTRAP && info.si_code > 0 && info.si_code != kTrapPerf;
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

void unblock_own_signal() noexcept {
    change_mask(SIG_UNBLOCK, bit_of(own_signal()));
}

bool is_owner() noexcept {
    return raw_syscall(SYS_getpid) == g_owner_pid;
}

void signals_after_fork() noexcept {
    g_owner_pid = raw_syscall(SYS_getpid);
    g_view.reset_lock();
}

bool take_signal(int signal) noexcept {
    g_owner_pid = raw_syscall(SYS_getpid);
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
    if (g_small_stacks.load()) {
        hold_back_in_handlers();
    }
    return true;
}

void set_own_action(const struct sigaction& action) noexcept {
    g_view.set_action(action);
    install_handler(own_signal());
}

bool leaves_no_room(const struct sigaction& action) noexcept {
    return g_small_stacks.load(std::memory_order_relaxed) && has_handler(action) &&
           (action.sa_flags & SA_ONSTACK) != 0;
}

void note_alternate_stack(std::size_t bytes) noexcept {
    const int signal = own_signal();
    if (bytes < kRoomyStackBytes && !g_small_stacks.exchange(true) && signal != 0) {
        hold_back_in_handlers();
    }
    if (bytes < getauxval(AT_MINSIGSTKSZ) + kHandlerStackBytes && !g_tiny_stacks.exchange(true) &&
        signal != 0) {
        install_handler(signal);
    }
}

void note_jump() noexcept {
    if (std::exchange(t_in_programs_handler, false)) {
        t_program_blocks = false;
    }
}

void deliver_to_program(int signal, siginfo_t* info, void* context) noexcept {
    const struct sigaction action = g_view.action();
    if ((t_program_blocks || action.sa_handler == SIG_IGN) && is_forced(signal, *info)) {
        die_by(signal);
    }
    if (t_program_blocks) {
        g_view.pend(*info);
        return;
    }
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
    const bool nested = std::exchange(t_in_programs_handler, true);
    t_program_blocks = (action.sa_flags & SA_NODEFER) == 0;
    const std::uint64_t ours = change_mask(SIG_SETMASK, (mask | added) & ~bit_of(signal));
    if ((action.sa_flags & SA_SIGINFO) != 0) {
        action.sa_sigaction(signal, info, context);
    } else {
        action.sa_handler(signal);
    }
    change_mask(SIG_SETMASK, ours);
    t_program_blocks = false;
    t_in_programs_handler = nested;
    deliver_pending();
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
