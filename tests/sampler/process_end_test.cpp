#include "sampler/collector/process/process_end.h"

#include "tests/sampler/child_process.h"

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
