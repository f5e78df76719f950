// Our signal, and the program's view of it.
//
// The kernel's disposition and mask of the sampling signal are ours: the handler stays installed,
// always for the alternate stack (alternate_stack.h), and the signal stays unblocked. What the
// program sets for it is kept here and shown back to it; a signal of that number which is not a
// sample is treated as the program asked for. See wrap/signals.cpp for the calls.
#pragma once

#include "sampler/source/futex_lock.h"

#include <ucontext.h>

#include <atomic>
#include <csignal>
#include <cstdint>

namespace sample::agent {

/// Installs the handler for `signal` and unblocks it in the calling thread. What was set before
/// becomes the program's view. False: the kernel refused.
bool take_signal(int signal) noexcept;

/// The signal that samples come by; 0: none.
[[nodiscard]] int own_signal() noexcept;

/// False in a vfork child, and in one made past libc's fork: the view here is its parent's.
/// Async-signal-safe.
[[nodiscard]] bool is_owner() noexcept;
/// In a forked child, which has a view of its own. Async-signal-safe.
void signals_after_fork() noexcept;

/// The program sets an action of our signal. Async-signal-safe.
void set_own_action(const struct sigaction& action) noexcept;
/// The calling thread jumps somewhere else; if `with_mask`, to the mask that was saved there: where
/// a handler had blocked our signal, the program's view is as before that. Async-signal-safe.
void note_jump(bool with_mask) noexcept;

/// Capture's ForeignSignal: a signal of our number that is not a sample, or none (`info` null), as
/// a sample may have taken the place of the one that the thread has sent itself. Async-signal-safe.
void deliver_to_program(int signal, siginfo_t* info, void* context) noexcept;

/// The program's view becomes real, in the calling thread; there is no signal of ours from then on.
/// Async-signal-safe.
void give_signal_back() noexcept;

/// What show_program_dispositions() changed.
struct ShownDispositions {
    bool is_ignored = false;
    bool is_blocked = false;
    bool is_unblocked = false;
};
/// Before an exec: what the program set becomes real, as the new image inherits it. Also in a vfork
/// child, for itself alone, unless it has set something else meanwhile. Async-signal-safe.
[[nodiscard]] ShownDispositions show_program_dispositions() noexcept;
/// After a failed exec. Async-signal-safe.
void restore_own_dispositions(ShownDispositions shown) noexcept;
/// After that: where our signal is blocked, the new image inherits what waits for the calling
/// thread. That is one of the program's own, if there is one, and no sample. If the exec fails it
/// is the view's again, as it comes once our signal is open. Async-signal-safe.
void hand_pending_over() noexcept;
/// A process that shares its parent's memory, and view, has set a mask of its own.
/// Async-signal-safe.
void note_mask_of_child() noexcept;
/// The kernel drops our signal from here on. Async-signal-safe.
void ignore_own_signal() noexcept;

/// Whether the calling thread's program-visible mask blocks our signal; a new thread inherits it.
[[nodiscard]] bool program_blocks_own_signal() noexcept;
void set_program_blocks_own_signal(bool blocked) noexcept;

/// In the kernel's mask of the calling thread. Async-signal-safe.
[[nodiscard]] bool is_own_signal_blocked() noexcept;
void unblock_own_signal() noexcept;
void block_own_signal() noexcept;
/// Our signal waits in the kernel for the calling thread, where libc has blocked it past us, say:
/// whether one of the program's own does. Samples do no longer. Async-signal-safe.
[[nodiscard]] bool is_programs_own_waiting() noexcept;
/// From now on no sample is taken of the calling thread: our signal stays blocked in it.
/// Async-signal-safe.
void leave_unsampled() noexcept;
[[nodiscard]] bool is_left_unsampled() noexcept;

/// Ends the process by `signal`, as the kernel would have without us. Async-signal-safe.
void die_by(int signal) noexcept;

using ActionCall = int(int, const struct sigaction*, struct sigaction*);
/// sigaction(2) past our own wrapper.
int next_sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept;

/// The kernel's mask is the first word of libc's.
inline std::uint64_t mask_of(const sigset_t& set) noexcept {
    return set.__val[0];
}
inline sigset_t set_of(std::uint64_t mask) noexcept {
    sigset_t set{};
    set.__val[0] = mask;
    return set;
}

inline bool has_handler(const struct sigaction& action) noexcept {
    return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

/// What the program believes about our signal: its action, which other handlers' masks held it, and
/// whether one of its own is pending. Process-wide.
class ProgramView {
public:
    /// `lock`: in a forked child it is free, or reset, before it is used.
    constexpr explicit ProgramView(source::FutexLock& lock) noexcept : lock_{lock} {}

    [[nodiscard]] struct sigaction action() noexcept {
        const source::Locked locked{lock_};
        return action_;
    }

    void set_action(const struct sigaction& action) noexcept {
        const source::Locked locked{lock_};
        action_ = action;
    }

    /// Whether the program's mask for `signal`'s handler held our signal.
    void set_mask_held(int signal, bool held) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << (signal - 1);
        held ? masks_held_.fetch_or(bit) : masks_held_.fetch_and(~bit);
    }
    [[nodiscard]] bool mask_held(int signal) const noexcept {
        return ((masks_held_.load() >> (signal - 1)) & 1) != 0;
    }

    /// Standard signals do not queue: the first one stays.
    void pend(const siginfo_t& info) noexcept {
        const source::Locked locked{lock_};
        if (!pending_.exchange(true)) {
            pending_info_ = info;
        }
    }
    [[nodiscard]] bool is_pending() const noexcept { return pending_.load(); }
    /// False: nothing is, and `info` stays as it is. Else nothing is from then on, unless it
    /// `stays`.
    bool take_pending(siginfo_t* info, bool stays = false) noexcept {
        if (!pending_.load()) {
            return false;  // who locks makes two system calls
        }
        const source::Locked locked{lock_};
        if (pending_.load()) {
            *info = pending_info_;
        }
        return pending_.exchange(stays && pending_.load());
    }
    /// In a forked child, for which nothing waits; and where it cannot be sent.
    void forget_pending() noexcept { pending_.store(false); }

private:
    source::FutexLock& lock_;
    struct sigaction action_ {};
    siginfo_t pending_info_{};
    std::atomic<bool> pending_{false};
    std::atomic<std::uint64_t> masks_held_{0};
};

[[nodiscard]] ProgramView& program_view() noexcept;

/// The program unblocked our signal: a pending one of its own is delivered now.
void deliver_pending() noexcept;

/// A handler of the program begins, in whose frame `words` lie: their mask, which its return sets,
/// says of our signal what the program has set. Meanwhile the program sees it blocked if the
/// handler's action `holds` it, else as before; open, if a wait that has `opened` it was met.
/// False: nothing is known of this thread, and the mask stays the kernel's. Async-signal-safe.
[[nodiscard]] bool show_view_in(ucontext_t& words, bool holds, bool opened) noexcept;
/// Behind the handler: what it has left in its frame is the program's view from now on, and the
/// mask is the kernel's. Async-signal-safe.
void take_view_from(ucontext_t& words) noexcept;

/// While it lives the function whose frame is `frame` changes the thread's mask by `how` and `set`,
/// and the program's view to `blocks`. A handler that begins meanwhile is shown both or neither.
class MaskChange {
public:
    /// By value: a handler that is left otherwise than by its return or a jump leaves it behind.
    struct Note {
        std::uint64_t frame;  ///< 0: none.
        std::uint64_t set;
        int how;
        bool blocks;
        bool is_shown;
    };

    MaskChange(const void* frame, int how, std::uint64_t set, bool blocks) noexcept;
    ~MaskChange();
    MaskChange(const MaskChange&) = delete;
    MaskChange& operator=(const MaskChange&) = delete;

    /// The kernel has: the view changes, unless a handler has met that already.
    static void finish() noexcept;

private:
    Note before_;
};

/// Before and behind a call that waits under a mask which opens our signal, where the thread's own
/// blocks it: one of the program's own, pending or sent meanwhile, ends that call.
void open_for_wait() noexcept;
void close_after_wait(bool is_cut_short) noexcept;

}  // namespace sample::agent
