// What is decided before a program is started: which environment it gets, and whether the collector
// must be told of it because it will not hear from it.
#pragma once

#include "sampler/agent/child_environment.h"
#include "sampler/agent/collector_watch.h"
#include "sampler/agent/confinement.h"
#include "sampler/agent/exec_target.h"
#include "sampler/agent/readable.h"
#include "sampler/agent/signals.h"
#include "sampler/agent/workplace.h"
#include "sampler/capture/capture.h"

#include <alloca.h>
#include <fcntl.h>
#include <unistd.h>

#include <new>

namespace sample::agent {

/// Async-signal-safe, also in a vfork child.
struct ExecPlan {
    /// `own_process`: of the process that joined; else of a child of it. `is_exec`: the calling
    /// process becomes the program; else a new one does.
    explicit ExecPlan(bool own_process, bool is_exec = true) noexcept
        : inherit{inheritance(own_process)}, is_traced_{is_exec && is_traced_in_session()} {
        const capture::Area* area = capture::current_area();
        if (area != nullptr && area->header.stopped.load() != 0) {
            inherit = Inherit::as_given;
        }
        if (must_leave_environment() || (is_traced_ && inherit == Inherit::session)) {
            inherit = Inherit::nothing;
        }
        // Even what cannot be profiled hands its environment on.
        if (inherit != Inherit::nothing && !is_confined() && !library_is_in_reach()) {
            is_out_of_reach_ = inherit == Inherit::session;
            inherit = Inherit::nothing;
        }
        if (inherit == Inherit::session) {
            ask_collector();
        }
    }

    void look_at(int folder, const char* path) noexcept {
        if (may_look() && Readable{}.text(path)) {
            settle(inspect_program(folder, path));
        }
    }
    /// As execveat(2).
    void look_at(int folder, const char* path, int flags) noexcept {
        if (may_look() && Readable{}.text(path)) {
            const bool is_folder = (flags & AT_EMPTY_PATH) != 0 && *path == '\0';
            settle(is_folder ? inspect_descriptor(folder) : inspect_program(folder, path));
        }
    }
    void look_at(int fd) noexcept {
        if (may_look()) {
            settle(inspect_descriptor(fd));
        }
    }
    void look_for(const char* file) noexcept {
        char path[kMaxPathBytes];
        if (may_look() && Readable{}.text(file) && search_path(file, path)) {
            settle(inspect_program(AT_FDCWD, path));
        }
    }

    /// environment_room() of an environment that may be no list at all. A filter may forbid to ask
    /// that.
    [[nodiscard]] std::size_t room_for(char* const* envp) const noexcept {
        return envp == environ || is_confined() || Readable{}.list(envp)
                   ? environment_room(envp, inherit, runtime.data())
                   : 0;
    }

    Inherit inherit;
    control::Unprofiled target;
    std::array<char, 64> runtime{};  ///< As ExecTarget's.

private:
    /// A filter of system calls may forbid what looking takes.
    [[nodiscard]] bool may_look() const noexcept {
        return (inherit == Inherit::session || is_out_of_reach_ || is_traced_) && !is_confined();
    }
    void settle(const ExecTarget& found) noexcept {
        target = found.program;
        runtime = found.runtime;
        if (is_traced_ && target.reason == control::NotProfiled::none && target.inode != 0) {
            target.reason = control::NotProfiled::traced;
        }
        if (is_out_of_reach_ && target.reason == control::NotProfiled::none && target.inode != 0) {
            target.reason = control::NotProfiled::out_of_reach;
        }
        // Their loaders would complain of our library, or fail.
        if (target.reason == control::NotProfiled::other_machine ||
            target.reason == control::NotProfiled::musl) {
            inherit = Inherit::nothing;
        }
    }

    bool is_traced_;
    bool is_out_of_reach_ = false;
};

/// Calls `start(place, target, envp)` with the environment that the program is to have;
/// `look(plan)` finds out what it is. `own_process` and `is_exec` as ExecPlan's. Async-signal-safe,
/// also in a vfork child and on a small stack.
template <class Look, class Start>
[[gnu::noinline]] int start_program(bool own_process, bool is_exec, Look look, char* const* envp,
                                    Start start) noexcept {
    Workplace place;
    void* const at = place.is_here() ? alloca(sizeof(ExecPlan)) : place.memory();
    ExecPlan* plan = nullptr;
    std::size_t room = 0;
    place.run([&] {
        plan = new (at) ExecPlan{own_process, is_exec};
        look(*plan);
        room = plan->room_for(envp);
    });
    if (room != 0) {
        void* const made = place.is_here() ? alloca(room) : place.memory() + sizeof(ExecPlan);
        envp = make_environment(envp, plan->inherit, plan->runtime.data(), made);
    }
    return start(place, plan->target, envp);
}
static_assert(sizeof(ExecPlan) + kMaxEnvironmentRoom <= Workplace::kMemoryBytes);

}  // namespace sample::agent
