// What is decided before a program is started: which environment it gets, and whether the collector
// must be told of it because it will not hear from it.
#pragma once

#include "sampler/agent/child_environment.h"
#include "sampler/agent/confinement.h"
#include "sampler/agent/exec_target.h"
#include "sampler/capture/capture.h"

#include <fcntl.h>

namespace sample::agent {

/// Async-signal-safe, also in a vfork child.
struct ExecPlan {
    /// `own_process`: its next image; else a child of it.
    explicit ExecPlan(bool own_process) noexcept : inherit{inheritance(own_process)} {
        const capture::Area* area = capture::current_area();
        if (area != nullptr && area->header.stopped.load() != 0) {
            inherit = Inherit::as_given;
        }
        if (must_leave_environment()) {
            inherit = Inherit::nothing;
        }
    }

    void look_at(int folder, const char* path) noexcept {
        if (may_look()) {
            settle(inspect_program(folder, path));
        }
    }
    void look_at(int fd) noexcept {
        if (may_look()) {
            settle(inspect_descriptor(fd));
        }
    }
    void look_for(const char* file) noexcept {
        char path[kMaxPathBytes];
        if (may_look() && search_path(file, path)) {
            settle(inspect_program(AT_FDCWD, path));
        }
    }

    Inherit inherit;
    control::Unprofiled target;

private:
    /// A filter of system calls may forbid what looking takes.
    [[nodiscard]] bool may_look() const noexcept {
        return inherit == Inherit::session && !is_confined();
    }
    void settle(const control::Unprofiled& found) noexcept {
        target = found;
        // Their loaders would complain of our library, or fail.
        if (target.reason == control::NotProfiled::other_machine ||
            target.reason == control::NotProfiled::musl) {
            inherit = Inherit::nothing;
        }
    }
};

}  // namespace sample::agent
