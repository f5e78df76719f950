// What makes a process past libc's fork handlers: _Fork, and clone without CLONE_VM; and clone's
// threads. The child joins the session as that of a fork does.
//
// A child that shares its parent's memory is left alone, as after vfork. So is one with its
// parent's descriptors, which would see ours come and go, or with a thread control block of its
// own.
//
// And what ends a process past libc's exit handlers: _exit and its kin. The process's last clock
// reading is taken here for them. quick_exit has handlers of its own, which are not told the
// status.
#include "sampler/agent/processes/gate.h"
#include "sampler/agent/signals/alternate_stack.h"
#include "sampler/agent/signals/signals.h"
#include "sampler/agent/wrap/next_definition.h"
#include "sampler/agent/wrap/numbered_call.h"
#include "sampler/capture/capture.h"
#include "sampler/instrument/lane_writer.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdlib>

namespace sample::agent {
namespace {

using Run = int(void*);

SAMPLE_NEXT(g_fork, "_Fork", pid_t());
SAMPLE_NEXT(g_clone, "clone", int(Run*, void*, int, void*, pid_t*, void*, pid_t*));

/// What clone's child is to do.
struct ChildStart {
    Run* run;
    void* argument;
    bool joins;
};

/// Calls `fork`, which returns twice, in the child with 0.
template <class Fork>
long fork_with(bool joins, Fork fork) noexcept {
    before_fork();
    const long child = fork();
    if (child != 0) {
        after_fork();
    } else if (joins) {
        in_forked_child();
    }
    return child;
}

/// On the child's own stack, which may be small.
int run_child(void* pointer) {
    const ChildStart start = *static_cast<const ChildStart*>(pointer);
    if (start.joins) {
        in_forked_child();
    }
    return note_thread_exit(start.run(start.argument));
}

/// The start of a thread, at the top of its stack. It may have other thread-local storage than
/// libc's, or none: nothing here uses any.
struct alignas(16) ThreadStart {
    Run* run;
    void* argument;
};

int run_thread(void* pointer) {
    const ThreadStart start = *static_cast<const ThreadStart*>(pointer);
    if (own_signal() != 0 && !take_alternate_stack()) {
        block_own_signal();
    }
    const int status = start.run(start.argument);
    if (own_signal() != 0) {
        block_own_signal();
        give_alternate_stack_back();
    }
    return status;
}

bool may_join_with(std::uint64_t flags) noexcept {
    return (flags & CLONE_FILES) == 0;
}

SAMPLE_NEXT(g_exit, "_exit", void(int));
SAMPLE_NEXT(g_quick_exit, "quick_exit", void(int));

constinit int g_quick_status = 0;

[[noreturn]] void leave(int status) noexcept {
    note_exit(status);
    g_exit.get()(status);
    __builtin_unreachable();
}

void at_quick_exit_of_all() {
    note_exit(g_quick_status);
}

}  // namespace

long fork_by_number(const NumberedCall& call) noexcept {
    std::uint64_t flags = 0;
    if (call.number == SYS_clone) {
        flags = static_cast<std::uint64_t>(call.a);
    } else if (call.number == SYS_clone3) {
        flags = *reinterpret_cast<const std::uint64_t*>(call.a);
    }
    return fork_with(may_join_with(flags), [&] { return make(call); });
}

void set_up_quick_exit() noexcept {
    // Registered first, runs last.
    at_quick_exit(at_quick_exit_of_all);
}

}  // namespace sample::agent

namespace agent = sample::agent;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): libc's names.
extern "C" {

SAMPLE_WRAPPER pid_t _Fork() noexcept {
    return static_cast<pid_t>(
        agent::fork_with(true, [] { return static_cast<long>(agent::g_fork.get()()); }));
}

SAMPLE_WRAPPER int clone(int (*run)(void*), void* stack, int flags, void* argument, ...) noexcept {
    va_list list;
    va_start(list, argument);
    auto* parent_tid = va_arg(list, pid_t*);
    auto* locals = va_arg(list, void*);
    auto* child_tid = va_arg(list, pid_t*);
    va_end(list);
    auto* real = agent::g_clone.get();
    if ((flags & (CLONE_VM | CLONE_SETTLS)) == 0 && run != nullptr) {
        // The child reads its copy of it.
        agent::ChildStart start{run, argument, agent::may_join_with(static_cast<unsigned>(flags))};
        agent::before_fork();
        const int child =
            real(agent::run_child, stack, flags, &start, parent_tid, locals, child_tid);
        agent::after_fork();
        return child;
    }
    if ((flags & (CLONE_THREAD | CLONE_SETTLS)) == CLONE_THREAD) {
        sample::instrument::leave_lane();
        sample::capture::share_thread_locals();
    }
    if ((flags & CLONE_THREAD) != 0 && run != nullptr && stack != nullptr &&
        agent::own_signal() != 0) {
        auto* start = reinterpret_cast<agent::ThreadStart*>(
                          reinterpret_cast<std::uintptr_t>(stack) & ~std::uintptr_t{15}) -
                      1;
        *start = {run, argument};
        return real(agent::run_thread, start, flags, start, parent_tid, locals, child_tid);
    }
    return real(run, stack, flags, argument, parent_tid, locals, child_tid);
}

SAMPLE_WRAPPER int __clone(int (*run)(void*), void* stack, int flags, void* argument, ...) noexcept
    __attribute__((alias("clone")));

SAMPLE_WRAPPER void _exit(int status) {
    agent::leave(status);
}
SAMPLE_WRAPPER void _Exit(int status) noexcept {
    agent::leave(status);
}
SAMPLE_WRAPPER void quick_exit(int status) noexcept {
    agent::g_quick_status = status;
    agent::g_quick_exit.get()(status);
    __builtin_unreachable();
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
