#include "sampler/agent/signals/signals.h"

#include "sampler/agent/process_state.h"
#include "sampler/agent/signals/alternate_stack.h"
#include "sampler/agent/signals/signal_relay.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/inherited_state.h"
#include "sampler/capture/interrupted_call.h"
#include "sampler/capture/raw_syscall.h"

#include <ucontext.h>

#include <cstring>
#include <utility>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;

constexpr std::size_t kSigsetBytes = 8;  // the kernel's, not libc's 128

constinit std::atomic<int> g_signal{0};
constinit ProgramView g_view{process_state().view_lock};
constinit thread_local bool t_program_blocks = false;

/// The view before a handler of the program began for which it is another one.
enum class OutsideHandler : std::uint8_t { the_same, open, blocked };
constinit thread_local OutsideHandler t_outside_handler = OutsideHandler::the_same;

/// What the innermost mask call under way is about to change.
constinit thread_local MaskChange::Note t_change{};

/// The process id of a vfork child of this thread that has set its own mask; 0: none has.
constinit thread_local long t_child_with_mask = 0;

/// The kernel keeps our signal, blocked, for a wait whose mask opens it.
constinit thread_local bool t_kept_for_wait = false;

/// There is no memory for an alternate stack, or the thread ends.
constinit thread_local bool t_left_unsampled = false;

std::uint64_t bit_of(int signal) noexcept {
    return std::uint64_t{1} << (signal - 1);
}

std::uint64_t change_mask(int how, std::uint64_t set) noexcept {
    std::uint64_t old = 0;
    raw_syscall(SYS_rt_sigprocmask, how, as_argument(&set), as_argument(&old), kSigsetBytes);
    return old;
}

/// Whether calls go on is as the program asked for its own handler, which ours leads to; otherwise
/// what disturbs least.
int handler_flags() noexcept {
    const struct sigaction program = g_view.action();
    const bool asked = has_handler(program);
    int flags = SA_SIGINFO | SA_ONSTACK;
    if (!asked || (program.sa_flags & SA_RESTART) != 0) {
        flags |= SA_RESTART;
    }
    return flags;
}

void install_handler(int signal) noexcept {
    struct sigaction action {};
    action.sa_sigaction = capture::on_signal;
    action.sa_flags = handler_flags();
    // libc's own signals, too: cancellation must not leave our handler halfway.
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    next_sigaction(signal, &action, nullptr);
}

void send_to_self(int signal) noexcept {
    raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), signal);
}

void set_simple_disposition(int signal, sighandler_t handler) noexcept {
    struct sigaction action {};
    action.sa_handler = handler;
    next_sigaction(signal, &action, nullptr);
}

/// Source: rt_tgsigqueueinfo(2): a thread may queue anything to itself.
bool queue_to_self(int signal, siginfo_t& info) noexcept {
    return raw_syscall(SYS_rt_tgsigqueueinfo, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid),
                       signal, as_argument(&info)) == 0;
}

/// Takes away what waits, blocked, for the calling thread: samples, and of the program's own the
/// first, whose words are left in `info`. False: there is none of these.
bool take_waiting(int signal, siginfo_t& info) noexcept {
    const std::uint64_t set = bit_of(signal);
    const timespec at_once{};
    bool is_found = false;
    siginfo_t taken{};
    while (raw_syscall(SYS_rt_sigtimedwait, as_argument(&set), as_argument(&taken),
                       as_argument(&at_once), kSigsetBytes) == signal) {
        if (!is_found && !capture::is_anybodys_sample(taken)) {
            info = taken;
            is_found = true;
        }
    }
    return is_found;
}

/// What the program was sent meanwhile goes to the calling thread, by its sender's words. Where a
/// sample may wait already, as signals are blocked and samples come, it `stays` pending until it
/// has come.
void send_pending(int signal, bool stays) noexcept {
    siginfo_t info{};
    if (!g_view.take_pending(&info, stays)) {
        return;
    }
    capture::await_foreign(stays);
    if (!queue_to_self(signal, info) && stays) {
        capture::await_foreign(false);  // a filter lets nobody: it is lost
        g_view.forget_pending();
    }
}

/// deliver_pending() where all signals are blocked: it comes when the handler has returned.
void deliver_behind_handler() noexcept {
    if (own_signal() != 0 && !t_program_blocks && !t_left_unsampled) {
        send_pending(own_signal(), true);
    }
}

/// A trap of the thread's own instruction, which the kernel does not let wait. Source:
/// kernel/signal.c, force_sig_info_to_task; sigaction(2), si_code.
bool is_forced(int signal, const siginfo_t& info) noexcept {
    constexpr int kTrapPerf = 6;  // newer than glibc 2.36
    return signal == SIGTRAP && info.si_code > 0 && info.si_code != kTrapPerf;
}

/// The kernel's mask in a frame of its own: what follows the first word there is no mask.
std::uint64_t& mask_in(ucontext_t& words) noexcept {
    return reinterpret_cast<std::uint64_t&>(words.uc_sigmask);
}

/// Ends the process once our handler has returned: a core shows the program where it was. A filter
/// that lets a program end itself knows tgkill.
void die_behind_handler(int signal, ucontext_t& words) noexcept {
    mask_in(words) &= ~bit_of(signal);
    send_to_self(signal);
    // From here on a sample of another thread ends it, too.
    set_simple_disposition(signal, SIG_DFL);
}

/// Only the kernel can open a signal and begin to wait at once: it gets one more, which ends the
/// call as a sample's does that is there already. The words are in the view.
void keep_for_wait(int signal) noexcept {
    t_kept_for_wait = true;
    send_to_self(signal);
}

constexpr std::uint64_t kMostOfACallsFrames = 1024;

/// By the kernel's mask.
bool is_done(const MaskChange::Note& change, std::uint64_t mask, std::uint64_t own) noexcept {
    // What nobody blocks, libc's own two, and ours.
    constexpr std::uint64_t kLibcs = std::uint64_t{3} << 31U;
    const std::uint64_t seen = ~(bit_of(SIGKILL) | bit_of(SIGSTOP) | kLibcs | own);
    const std::uint64_t wanted = change.set & seen;
    return change.how == SIG_SETMASK ? (mask & seen) == wanted
                                     : (mask & wanted) == (change.how == SIG_BLOCK ? wanted : 0);
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

bool is_own_signal_blocked() noexcept {
    const int signal = own_signal();
    return signal != 0 && (change_mask(SIG_BLOCK, 0) & bit_of(signal)) != 0;
}
void unblock_own_signal() noexcept {
    if (!t_left_unsampled) {
        change_mask(SIG_UNBLOCK, bit_of(own_signal()));
    }
}
void block_own_signal() noexcept {
    change_mask(SIG_BLOCK, bit_of(own_signal()));
}

bool is_programs_own_waiting() noexcept {
    siginfo_t info{};
    return take_waiting(own_signal(), info) && queue_to_self(own_signal(), info);
}

void leave_unsampled() noexcept {
    t_left_unsampled = true;
    block_own_signal();
}
bool is_left_unsampled() noexcept {
    return t_left_unsampled;
}

void die_by(int signal) noexcept {
    set_simple_disposition(signal, SIG_DFL);
    send_to_self(signal);
    change_mask(SIG_UNBLOCK, bit_of(signal));
}

bool is_owner() noexcept {
    const long process = raw_syscall(SYS_getpid);
    // Nobody's: of a child that was made past our fork handlers, whose memory is its own.
    long owner = 0;
    return process_state().signals_owner.compare_exchange_strong(owner, process) ||
           owner == process;
}

void signals_after_fork() noexcept {
    process_state().view_lock.reset();
    process_state().actions_lock.reset();
    process_state().unload_lock.reset();
    g_view.forget_pending();
    if (own_signal() == 0 && !gives_alternate_stacks()) {
        return;  // a filter may know no other call than the program's own
    }
    process_state().signals_owner.store(raw_syscall(SYS_getpid));
    alternate_stacks_after_fork();
}

bool take_signal(int signal) noexcept {
    process_state().signals_owner.store(raw_syscall(SYS_getpid));
    struct sigaction before {};
    if (program_sigaction(signal, nullptr, &before, next_sigaction) != 0) {
        return false;
    }
    if (before.sa_sigaction != capture::on_signal) {
        g_view.set_action(before);
    }
    const bool has_stack = take_alternate_stack();
    prepare_alternate_stacks();
    const std::uint64_t old = change_mask(SIG_BLOCK, bit_of(signal));
    t_program_blocks = t_program_blocks || (old & bit_of(signal)) != 0;
    g_signal.store(signal, std::memory_order_release);
    install_handler(signal);
    note_way_back(signal);
    if (has_stack) {
        unblock_own_signal();
    } else {
        leave_unsampled();
    }
    return true;
}

void set_own_action(const struct sigaction& action) noexcept {
    constexpr int kRestorer = 0x04000000;  // SA_RESTORER, which libc adds
    struct sigaction kept = action;
    kept.sa_flags |= kRestorer;
    g_view.set_action(kept);
    install_handler(own_signal());
}

void note_jump(bool with_mask) noexcept {
    t_change.frame = 0;
    capture::leave_eintr(false);
    const auto outside = std::exchange(t_outside_handler, OutsideHandler::the_same);
    if (outside != OutsideHandler::the_same && with_mask) {
        t_program_blocks = outside == OutsideHandler::blocked;
        deliver_pending();
    }
}

void deliver_to_program(int signal, siginfo_t* info, void* context) noexcept {
    const bool was_awaited = capture::has_thread_locals() && capture::await_foreign(false);
    if (info == nullptr) {
        deliver_behind_handler();
        return;
    }
    const struct sigaction action = g_view.action();
    auto& words = *static_cast<ucontext_t*>(context);
    const InOpenWait wait = in_open_wait(words);
    // Else nobody knows: it is as if it were not blocked.
    const bool is_blocked =
        capture::has_thread_locals() && t_program_blocks && wait != InOpenWait::in_the_call;
    if ((is_blocked || action.sa_handler == SIG_IGN) && is_forced(signal, *info)) {
        die_behind_handler(signal, words);
        return;
    }
    if (is_blocked) {
        g_view.pend(*info);
        if (wait == InOpenWait::beside_the_call) {
            mask_in(words) |= bit_of(signal);
            keep_for_wait(signal);
        }
        return;
    }
    // Standard signals do not queue: the first one stays.
    if (!g_view.take_pending(info) && was_awaited) {
        return;  // another thread has taken it
    }
    if (action.sa_handler == SIG_IGN) {
        return;
    }
    if (action.sa_handler == SIG_DFL) {
        if (signal != SIGURG) {  // SIGURG is ignored by default
            die_behind_handler(signal, words);
        }
        return;
    }
    if ((static_cast<unsigned>(action.sa_flags) & SA_RESETHAND) != 0) {
        struct sigaction reset = action;
        reset.sa_handler = SIG_DFL;
        g_view.set_action(reset);
    }
    run_programs_handler(signal, words, action);
}

void deliver_pending() noexcept {
    const int signal = own_signal();
    if (signal != 0 && !t_program_blocks) {
        send_pending(signal, false);
    }
}

bool show_view_in(ucontext_t& words, bool holds, bool opened) noexcept {
    const int signal = own_signal();
    std::uint64_t& mask = mask_in(words);
    if (signal == 0 || (mask & bit_of(signal)) != 0 || !capture::has_thread_locals()) {
        return false;
    }
    const auto sp = static_cast<std::uint64_t>(words.uc_mcontext.gregs[REG_RSP]);
    if (t_change.frame - sp < kMostOfACallsFrames && is_done(t_change, mask, bit_of(signal))) {
        MaskChange::finish();
    }
    const bool blocks = t_program_blocks;
    mask |= blocks ? bit_of(signal) : 0;
    t_program_blocks = holds || (blocks && !opened);
    if (t_program_blocks != blocks && t_outside_handler == OutsideHandler::the_same) {
        t_outside_handler = blocks ? OutsideHandler::blocked : OutsideHandler::open;
    }
    return true;
}

void take_view_from(ucontext_t& words) noexcept {
    const int signal = own_signal();
    if (signal == 0) {
        return;  // given back: what the program has set is real
    }
    std::uint64_t& mask = mask_in(words);
    const bool blocks = (mask & bit_of(signal)) != 0;
    mask &= ~bit_of(signal);
    if (!capture::has_thread_locals()) {
        return;
    }
    mask |= t_left_unsampled ? bit_of(signal) : 0;
    t_program_blocks = blocks;
    if (blocks == (t_outside_handler == OutsideHandler::blocked)) {
        t_outside_handler = OutsideHandler::the_same;
    }
    if (!blocks && g_view.is_pending() && is_owner()) {
        change_mask(SIG_SETMASK, ~std::uint64_t{0});
        deliver_behind_handler();
    }
}

MaskChange::MaskChange(const void* frame, int how, std::uint64_t set, bool blocks) noexcept
    : before_{t_change} {
    t_change.frame = 0;
    std::atomic_signal_fence(std::memory_order_release);
    t_change = {0, set, how, blocks, false};
    std::atomic_signal_fence(std::memory_order_release);
    t_change.frame = reinterpret_cast<std::uint64_t>(frame);
}

MaskChange::~MaskChange() {
    t_change.frame = 0;
    std::atomic_signal_fence(std::memory_order_release);
    const std::uint64_t frame = std::exchange(before_.frame, 0);
    t_change = before_;
    std::atomic_signal_fence(std::memory_order_release);
    t_change.frame = frame;
}

void MaskChange::finish() noexcept {
    if (!std::exchange(t_change.is_shown, true)) {
        t_program_blocks = t_change.blocks;
    }
}

void open_for_wait() noexcept {
    t_kept_for_wait = false;
    capture::leave_eintr(true);
    if (g_view.is_pending()) {
        block_own_signal();
        keep_for_wait(own_signal());
    }
}

void close_after_wait(bool is_cut_short) noexcept {
    capture::leave_eintr(false);
    t_program_blocks = !is_cut_short;
    if (std::exchange(t_kept_for_wait, false)) {
        unblock_own_signal();
    }
    deliver_pending();  // a sample has ended the call in its place
    t_program_blocks = true;
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
    stop_giving_alternate_stacks();
    // Where a late sample would be death, our handler stays, and takes it for one.
    const struct sigaction action = g_view.action();
    if (signal == capture::kAsyncSignal || action.sa_handler != SIG_DFL) {
        program_sigaction(signal, &action, nullptr, next_sigaction);
    }
    if (std::exchange(t_program_blocks, false)) {
        change_mask(SIG_BLOCK, bit_of(signal));
        send_pending(signal, false);
    }
}

ShownDispositions show_program_dispositions() noexcept {
    const int signal = own_signal();
    ShownDispositions shown;
    if (signal == 0) {
        return shown;
    }
    if (t_program_blocks &&
        (t_child_with_mask == 0 || t_child_with_mask != raw_syscall(SYS_getpid))) {
        shown.is_blocked = (change_mask(SIG_BLOCK, bit_of(signal)) & bit_of(signal)) == 0;
    } else if (t_left_unsampled) {
        // What waits is a sample. No more come, and the new image has a mask without it.
        ignore_own_signal();
        change_mask(SIG_UNBLOCK, bit_of(signal));
        install_handler(signal);
        shown.is_unblocked = true;
    }
    struct sigaction real {};
    if (g_view.action().sa_handler == SIG_IGN && next_sigaction(signal, nullptr, &real) == 0 &&
        real.sa_sigaction == capture::on_signal) {
        ignore_own_signal();
        shown.is_ignored = true;
    }
    return shown;
}

void restore_own_dispositions(ShownDispositions shown) noexcept {
    const int signal = own_signal();
    if (shown.is_ignored) {
        install_handler(signal);
    }
    if (shown.is_blocked) {
        unblock_own_signal();
    }
    if (shown.is_unblocked) {
        block_own_signal();
    }
}

void hand_pending_over() noexcept {
    // What waits in a vfork child is its own, the view is its parent's.
    if (!is_own_signal_blocked() || !is_owner()) {
        return;
    }
    siginfo_t info{};
    bool waits = take_waiting(own_signal(), info);
    waits = (t_program_blocks && g_view.take_pending(&info)) || waits;
    if (waits) {
        queue_to_self(own_signal(), info);
    }
}

void note_mask_of_child() noexcept {
    t_child_with_mask = raw_syscall(SYS_getpid);
}

}  // namespace sample::agent
