// A child process that is killed and reaped at the end, whatever the test did.
#pragma once

#include "core/fd.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace sample::collector {

class Child {
public:
    /// `run` must not return.
    template <class Run>
    explicit Child(Run run) : pid_{::fork()} {
        if (pid_ == 0) {
            run();
            ::_exit(99);
        }
        pidfd_ = Fd{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
        EXPECT_TRUE(pidfd_.is_open());
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        if (!reaped_) {
            ::kill(pid_, SIGKILL);
            (void)reap();
        }
    }

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] int pidfd() const { return pidfd_.get(); }
    /// Until it is dead; it stays a zombie.
    void await_death() const {
        siginfo_t info{};
        ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT), 0);
    }
    /// The status, or -1 if it was reaped already.
    [[nodiscard]] int reap() {
        int status = -1;
        reaped_ = true;
        return ::waitpid(pid_, &status, 0) == pid_ ? status : -1;
    }

private:
    pid_t pid_;
    Fd pidfd_;
    bool reaped_ = false;
};

}  // namespace sample::collector
