#include "sampler/agent/confinement/confinement.h"

#include "sampler/agent/confinement/seccomp_filter.h"
#include "sampler/agent/processes/child_environment.h"
#include "sampler/agent/processes/gate.h"
#include "sampler/agent/signals/alternate_stack.h"
#include "sampler/agent/signals/signal_relay.h"
#include "sampler/agent/signals/signals.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/inherited_state.h"
#include "sampler/capture/interrupted_call.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/source/sampling_thread.h"

#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <array>
#include <atomic>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::Confinement;
using capture::raw_syscall;

/// Every image of this process starts without us; otherwise the one process id for which that
/// holds.
constexpr long kEveryImage = -1;

// Newer than some headers.
constexpr long kSetSyscallUserDispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH
constexpr long kDispatchOff = 0;              // PR_SYS_DISPATCH_OFF

constinit std::atomic<bool> g_may_join{true};
constinit std::atomic<bool> g_may_look{true};
constinit std::atomic<bool> g_is_confined{false};
constinit std::atomic<long> g_leaves_environment{0};
constinit std::atomic<long> g_traced_pid{0};
constinit long g_own_pid = 0;

/// A filter may be set. Source: kernel/seccomp.c, seccomp_prepare_filter.
bool has_right_to_filter() noexcept {
    if (raw_syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS) == 1) {
        return true;
    }
    __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
    // Where it cannot be told, it may be.
    return raw_syscall(SYS_capget, as_argument(&head), as_argument(sets.data())) != 0 ||
           (sets[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN)) != 0;
}

void note(Confinement what) noexcept {
    if (capture::Area* area = capture::current_area(); area != nullptr) {
        area->header.confinement.store(static_cast<std::uint32_t>(what), std::memory_order_relaxed);
    }
}

/// Of what sampling can do without, what the filter would not let pass is left off.
void do_without(std::span<const sock_filter> filter) noexcept {
    if (!permits(filter, Needs::growing)) {
        capture::limit_address_space(0);
    }
    capture::Area* const area = capture::current_area();
    if (area != nullptr && !permits(filter, Needs::pacing)) {
        area->header.timer_stretch.store(0, std::memory_order_relaxed);
    }
    if (!permits(filter, Needs::thread_base)) {
        capture::believe_thread_base();
    }
    if (!permits(filter, Needs::resting)) {
        source::keep_sampling_thread_awake();
    }
    if (!permits(filter, Needs::answering)) {
        capture::leave_calls_restarted();
    }
}

}  // namespace

void stop_sampling(Confinement why) noexcept {
    capture::Area* area = capture::current_area();
    if (area == nullptr) {
        return;
    }
    note(why);
    close_gate_for_good();
    stop_sources(*area);
    // What is not sampled from here on is not the kernel's.
    area->header.kernel_excluded.store(0, std::memory_order_relaxed);
    // A filter may be set for all threads: none may call the kernel inside the handler by then.
    capture::withdraw();
    give_signal_back();
}

void before_being_traced() noexcept {
    // A vfork child's memory is its parent's.
    const long self = raw_syscall(SYS_getpid);
    g_traced_pid.store(self);
    if (self == g_own_pid) {
        stop_sampling(Confinement::traced);
    }
}

bool is_traced_in_session() noexcept {
    const long who = g_traced_pid.load(std::memory_order_relaxed);
    if (who != 0 && raw_syscall(SYS_getpid) == who) {
        return true;
    }
    const capture::Area* area = capture::current_area();
    return area != nullptr && area->header.traced.load() != 0 &&
           raw_syscall(SYS_getpid) == g_own_pid;
}

void set_up_confinement() noexcept {
    g_own_pid = raw_syscall(SYS_getpid);
}

bool may_join() noexcept {
    return g_may_join.load(std::memory_order_relaxed);
}

bool is_confined() noexcept {
    return g_is_confined.load(std::memory_order_relaxed);
}

bool must_leave_environment() noexcept {
    const long who = g_leaves_environment.load(std::memory_order_relaxed);
    return who == kEveryImage || (who != 0 && raw_syscall(SYS_getpid) == who);
}

Confining::Confining(const NumberedCall& call) noexcept {
    const bool is_prctl = call.number == SYS_prctl;
    if (!may_join() && capture::current_area() == nullptr) {
        return;
    }
    if (is_prctl && call.a == PR_SET_TSC) {
        if (call.b == PR_TSC_SIGSEGV && raw_syscall(SYS_getpid) == g_own_pid) {
            stop_sampling(Confinement::no_ticks);
        }
    } else if (is_prctl && call.a == kSetSyscallUserDispatch) {
        prepare_for_dispatch(call.b);
    } else if (is_prctl && call.a == PR_SET_SECCOMP) {
        if (call.b == SECCOMP_MODE_STRICT) {
            prepare_for_strict_mode();
        } else if (call.b == SECCOMP_MODE_FILTER) {
            prepare_for_filter(call.c);
        }
    } else if (call.number == SYS_seccomp) {
        if (call.a == SECCOMP_SET_MODE_STRICT && call.b == 0 && call.c == 0) {
            prepare_for_strict_mode();
        } else if (call.a == SECCOMP_SET_MODE_FILTER) {
            prepare_for_filter(call.c);
        }
    }
}

void Confining::prepare_for_dispatch(long mode) noexcept {
    if (mode == kDispatchOff || raw_syscall(SYS_getpid) != g_own_pid) {
        return;
    }
    stop_sampling(Confinement::dispatches);
    // Handlers of the program are entered by a system call where they are relayed.
    end_relaying();
    give_alternate_stack_back();
}

void Confining::prepare_for_strict_mode() noexcept {
    const bool is_refused =
        g_may_look.load() && raw_syscall(SYS_prctl, PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
    // No child and no image can come of whoever is in strict mode.
    if (!is_refused && raw_syscall(SYS_getpid) == g_own_pid) {
        stop_sampling(Confinement::stopped);
    }
}

void Confining::prepare_for_filter(long where) noexcept {
    const bool is_own = raw_syscall(SYS_getpid) == g_own_pid;
    bool samples = false;
    bool joins = false;
    if (g_may_look.load()) {
        if (!has_right_to_filter()) {
            return;
        }
        const FilterCopy copy{where};
        if (copy.is_refused()) {
            return;
        }
        const auto filter = copy.filter();
        const bool threads = !uses_sampling_thread() || permits(filter, Needs::sampling_thread);
        if (is_own) {
            do_without(filter);
        }
        samples = !filter.empty() && permits(filter, Needs::sampling) && threads;
        joins = samples && permits(filter, Needs::joining);
        may_look_ = permits(filter, Needs::looking);
    }
    confines_ = true;
    leaves_children_ = !joins;
    process_ = is_own ? kEveryImage : raw_syscall(SYS_getpid);
    if (is_own && !samples) {
        stop_sampling(Confinement::stopped);
    }
}

void Confining::done(bool succeeded) const noexcept {
    if (!confines_ || !succeeded) {
        return;
    }
    // No system call from here on: the filter may forbid it.
    g_is_confined.store(true);
    g_may_look.store(may_look_);
    if (!leaves_children_) {
        return;
    }
    // Another process than the one that joined may share its memory, or not: it sees none of this.
    g_leaves_environment.store(process_);
    if (process_ == kEveryImage) {
        g_may_join.store(false);
        note(Confinement::children_left_out);
        leave_environment();
    }
}

}  // namespace sample::agent
