#include "sampler/collector/process/proc_files.h"
#include "tests/sampler/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sample::collector {
namespace {

TEST(FateOf, tells_the_exit_status_and_leaves_the_zombie) {
    Child child{[] { ::_exit(7); }};
    child.await_death();
    for (int i = 0; i < 2; ++i) {
        const ProcessFate fate = fate_of(child.pid(), child.pidfd());
        EXPECT_EQ(fate.kind, trace::EndKind::exited);
        EXPECT_EQ(fate.code, 7);
    }
    const int status = child.reap();
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(FateOf, tells_the_signal) {
    for (const int signal : {SIGKILL, SIGTERM, SIGABRT}) {
        Child child{[signal] {
            ::signal(signal, SIG_DFL);
            ::raise(signal);
        }};
        child.await_death();
        const ProcessFate fate = fate_of(child.pid(), child.pidfd());
        EXPECT_EQ(fate.kind, trace::EndKind::signaled);
        EXPECT_EQ(fate.code, signal);
        EXPECT_NE(child.reap(), -1);
    }
}

// Nobody but its parent may wait for it; root, and the same user, may look.
TEST(FateOf, tells_the_end_of_somebody_elses_child) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Child parent{[&ends] {
        const pid_t child = ::fork();
        if (child == 0) {
            ::_exit(9);
        }
        static_cast<void>(!::write(ends[1], &child, sizeof child));
        ::pause();
    }};
    pid_t pid = 0;
    ASSERT_EQ(::read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    const Fd pidfd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
    pollfd end{pidfd.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&end, 1, -1), 1);
    const ProcessFate fate = fate_of(pid, pidfd.get());
    EXPECT_EQ(fate.kind, trace::EndKind::exited);
    EXPECT_EQ(fate.code, 9);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST(FateOf, knows_nothing_of_who_lives) {
    const Child child{[] { ::pause(); }};
    EXPECT_EQ(fate_of(child.pid(), child.pidfd()).kind, trace::EndKind::unknown);
}

TEST(FateOf, never_guesses_for_who_was_reaped) {
    Child child{[] { ::_exit(3); }};
    ASSERT_NE(child.reap(), -1);
    // Linux 6.15 still knows by the pidfd, older kernels do not.
    const ProcessFate fate = fate_of(child.pid(), child.pidfd());
    if (fate.kind != trace::EndKind::unknown) {
        EXPECT_EQ(fate.kind, trace::EndKind::exited);
        EXPECT_EQ(fate.code, 3);
    }
}

}  // namespace
}  // namespace sample::collector
