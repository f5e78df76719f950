// A process of ours that stands in our process group and our cgroup, and takes no signal. kill()
// does not tell whom else it was for; but what is pending there, too, was sent to all, so the
// command has it already. That is how timeout and supervisors such as systemd end what they run.
//
// It has no name and no words of ours, so that nobody means it who means `sample`; no file is open
// in it, and it ends with us.
#pragma once

#include "core/fd.h"

#include <sys/types.h>

namespace sample::cli {

class Bystander {
public:
    /// Where no process is to be had, it gets nothing.
    Bystander();
    ~Bystander();
    Bystander(const Bystander&) = delete;
    Bystander& operator=(const Bystander&) = delete;

    /// Whether it has got `signal` as we have; from then on it has not, until it gets it again.
    /// Waits a tenth of a second for it: who ends a cgroup sends to one process after the other.
    [[nodiscard]] bool has_got(int signal) const;

private:
    pid_t pid_ = -1;
    Fd process_;  ///< A pidfd.
};

}  // namespace sample::cli
