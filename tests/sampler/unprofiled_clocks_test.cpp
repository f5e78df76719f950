// Processes that nobody but the kernel knows anything of: the sums are compared with what it tells
// whoever waits for them.
#include "sampler/collector/process/unprofiled_clocks.h"

#include "core/kernel_clock.h"
#include "sampler/collector/process/proc_files.h"
#include "sampler/collector/process/tick_clock.h"
#include "tests/sampler/recorder_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

namespace sample::collector {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr const char* kUnseenNode = "[not profiled: ended unseen]";

/// Where processes of the tree say that they are so far, and wait to be told to go on.
class Steps {
public:
    Steps() {
        EXPECT_EQ(::pipe2(said_, O_CLOEXEC), 0);
        EXPECT_EQ(::pipe2(go_, O_CLOEXEC), 0);
    }
    ~Steps() {
        for (const int fd : {said_[0], said_[1], go_[0], go_[1]}) {
            ::close(fd);
        }
    }
    Steps(const Steps&) = delete;
    Steps& operator=(const Steps&) = delete;

    /// In the tree. Returns when the test goes on.
    void pause() const {
        const pid_t own = ::getpid();
        char byte = 0;
        if (::write(said_[1], &own, sizeof own) != sizeof own || ::read(go_[0], &byte, 1) != 1) {
            ::_exit(1);
        }
    }
    /// In the test. Returns who pauses.
    [[nodiscard]] pid_t await() const {
        pid_t who = 0;
        EXPECT_EQ(::read(said_[0], &who, sizeof who), static_cast<ssize_t>(sizeof who));
        return who;
    }
    void go_on() const { EXPECT_EQ(::write(go_[1], "", 1), 1); }

private:
    int said_[2] = {-1, -1};
    int go_[2] = {-1, -1};
};

void spend(std::uint64_t ns) {
    const std::uint64_t end = read_kernel_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + ns;
    while (read_kernel_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end) {
    }
}

pid_t in_child(const std::function<void()>& what) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        what();
        ::_exit(0);
    }
    return pid;
}

void name_oneself(const char* name) {
    ::prctl(PR_SET_NAME, name);
}

void await_end(pid_t pid) {
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
}

class UnprofiledClocksTest : public RecorderFixture {
protected:
    void SetUp() override { recorder.begin("test", ""); }
    void start(const std::function<void()>& what) {
        root_ = in_child(what);
        clocks.watch(root_);
    }
    /// Far apart, however long one takes.
    void look() {
        clocks.look(now_ns_ += 10'000 * kMillisecond, [] {});
    }
    /// Ends the recording with the root. Returns what the kernel says of its children.
    std::uint64_t finish() {
        await_end(root_);
        const std::uint64_t children = children_cpu_ns(root_).value_or(0);
        clocks.finish();
        ::waitpid(root_, nullptr, 0);
        read_back();
        return children;
    }

    Steps steps;
    UnprofiledClocks clocks{recorder};
    pid_t root_ = 0;
    std::uint64_t now_ns_ = monotonic_ns();
};

TEST_F(UnprofiledClocksTest, time_after_the_last_look_is_the_programs_that_is_gone) {
    start([&] {
        in_child([&] {
            name_oneself("alpha");
            spend(30 * kMillisecond);
            steps.pause();
            spend(60 * kMillisecond);
        });
        ::wait(nullptr);
        steps.pause();
    });
    static_cast<void>(steps.await());
    look();
    steps.go_on();
    static_cast<void>(steps.await());
    look();
    steps.go_on();
    const std::uint64_t children = finish();
    EXPECT_EQ(recorded_ns(), children);
    EXPECT_GE(booked_ns("[not profiled: alpha]"), 70 * kMillisecond) << "two ticks may be missing";
}

TEST_F(UnprofiledClocksTest, who_cannot_join_from_another_network_is_told_with_the_reason) {
    start([&] {
        in_child([&] {
            name_oneself("alpha");
            steps.pause();
            if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
                name_oneself("refused");
            } else {
                name_oneself("beta");
            }
            spend(20 * kMillisecond);
            steps.pause();
        });
        ::wait(nullptr);
    });
    const pid_t child = steps.await();
    look();
    steps.go_on();
    static_cast<void>(steps.await());
    look();
    const bool is_refused = stat_of(child).value().name == "refused";
    steps.go_on();
    finish();
    if (is_refused) {
        GTEST_SKIP() << "no network namespace can be made here";
    }
    ASSERT_EQ(read.unprofiled.size(), 1U);
    EXPECT_EQ(read.unprofiled[0].pid, static_cast<std::uint32_t>(child));
    EXPECT_NE(read.unprofiled[0].reason.find("network namespace"), std::string::npos);
    EXPECT_GE(booked_ns("[not profiled: beta]"), 20 * kMillisecond);
}

TEST_F(UnprofiledClocksTest, what_nobody_saw_is_one_sum) {
    start([] {
        for (int i = 0; i < 3; ++i) {
            in_child([] { spend(10 * kMillisecond); });
            ::wait(nullptr);
        }
    });
    const std::uint64_t children = finish();
    EXPECT_GE(children, 30 * kMillisecond);
    EXPECT_EQ(booked_ns(kUnseenNode), children);
}

TEST_F(UnprofiledClocksTest, a_descendant_with_an_agent_is_not_counted_twice) {
    start([&] {
        in_child([&] {
            in_child([&] {
                name_oneself("beta");
                spend(30 * kMillisecond);
                steps.pause();
            });
            ::wait(nullptr);
            spend(50 * kMillisecond);
            steps.pause();
        });
        siginfo_t info{};
        ::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
        steps.pause();
        ::wait(nullptr);
    });
    const pid_t grandchild = steps.await();
    const pid_t child = parent_of(grandchild);
    EXPECT_EQ(clocks.greeted(child, root_, 0), 0U);
    look();
    steps.go_on();
    EXPECT_EQ(steps.await(), child);
    look();
    steps.go_on();
    EXPECT_EQ(steps.await(), root_);
    const std::uint64_t own = process_cpu_ns(child).value_or(0);
    EXPECT_GE(own, 50 * kMillisecond);
    clocks.ended(child, own);
    steps.go_on();
    const std::uint64_t children = finish();
    EXPECT_NEAR(static_cast<double>(recorded_ns()), static_cast<double>(children - own), 2000);
    EXPECT_LE(recorded_ns(), children - own);
    EXPECT_GE(booked_ns("[not profiled: beta]"), 30 * kMillisecond);
}

TEST_F(UnprofiledClocksTest, another_program_in_a_process_is_another_image) {
    start([&] {
        in_child([&] {
            name_oneself("alpha");
            spend(20 * kMillisecond);
            steps.pause();
            name_oneself("beta");
            spend(10 * kMillisecond);
            steps.pause();
        });
        ::wait(nullptr);
    });
    const pid_t child = steps.await();
    look();
    look();
    const std::uint64_t first = process_cpu_ns(child).value_or(0);
    steps.go_on();
    static_cast<void>(steps.await());
    look();
    EXPECT_GE(clocks.greeted(child, root_, 0), 20 * kMillisecond) << "recorded already";
    EXPECT_GE(clocks.greeted(child, root_, first), 20 * kMillisecond);
    clocks.left(child, process_cpu_ns(child).value_or(0));
    steps.go_on();
    await_end(root_);
    static_cast<void>(finish());
    EXPECT_GE(booked_ns("[not profiled: alpha]"), 20 * kMillisecond);
    EXPECT_LE(booked_ns("[not profiled: alpha]"), first);
}

TEST_F(UnprofiledClocksTest, what_was_spent_before_the_sampling_begins_is_left_out) {
    recorder.hold_back();
    start([&] {
        in_child([&] {
            name_oneself("alpha");
            spend(40 * kMillisecond);
            steps.pause();
            spend(20 * kMillisecond);
        });
        ::wait(nullptr);
    });
    static_cast<void>(steps.await());
    look();
    recorder.begin_sampling(monotonic_ns());
    clocks.begin_sampling();
    EXPECT_GE(recorder.earlier(), 40 * kMillisecond);
    const std::uint64_t earlier = recorder.earlier();
    steps.go_on();
    const std::uint64_t children = finish();
    EXPECT_EQ(recorded_ns(), children - earlier);
    EXPECT_GE(recorded_ns(), 20 * kMillisecond);
}

TEST_F(UnprofiledClocksTest, nothing_is_shared_out_while_a_joining_process_is_gone) {
    start([&] {
        for (const char* name : {"agents", "alpha"}) {
            in_child([&] {
                name_oneself(name);
                spend(30 * kMillisecond);
                steps.pause();
            });
        }
        ::wait(nullptr);
        ::wait(nullptr);
        steps.pause();
    });
    const pid_t first = steps.await();
    const pid_t second = steps.await();
    look();
    clocks.greeted(first, root_, 0);
    const std::uint64_t own = process_cpu_ns(first).value_or(0);
    const std::uint64_t others = process_cpu_ns(second).value_or(0);
    steps.go_on();
    steps.go_on();
    EXPECT_EQ(steps.await(), root_);
    look();
    clocks.ended(first, own);
    look();
    steps.go_on();
    const std::uint64_t children = finish();
    EXPECT_LE(recorded_ns(), children - own);
    EXPECT_LT(recorded_ns(), others + 20 * kMillisecond);
}

TEST_F(UnprofiledClocksTest, one_that_had_an_agent_is_not_met_again_before_it_is_waited_for) {
    start([&] {
        in_child([&] {
            spend(20 * kMillisecond);
            steps.pause();
        });
        siginfo_t info{};
        ::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
        steps.pause();
        ::wait(nullptr);
    });
    const pid_t child = steps.await();
    clocks.greeted(child, root_, 0);
    steps.go_on();
    EXPECT_EQ(steps.await(), root_);
    const std::uint64_t own = process_cpu_ns(child).value_or(0);
    clocks.ended(child, own);
    look();
    steps.go_on();
    const std::uint64_t children = finish();
    EXPECT_EQ(recorded_ns(), children - std::min(children, own));
}

TEST_F(UnprofiledClocksTest, a_child_may_be_told_to_be_gone_after_its_parent) {
    constexpr pid_t kParent = 0x3fffff0;  // nobody
    constexpr pid_t kChild = kParent + 1;
    start([&] {
        in_child([&] {
            in_child([&] {
                name_oneself("beta");
                spend(30 * kMillisecond);
                steps.pause();
                spend(40 * kMillisecond);
            });
            ::wait(nullptr);
            steps.pause();
        });
        ::wait(nullptr);
    });
    const pid_t beta = steps.await();
    look();
    clocks.greeted(kParent, parent_of(beta), 0);
    clocks.greeted(kChild, kParent, 0);
    clocks.ended(kParent, 5 * kMillisecond);
    clocks.ended(kChild, 25 * kMillisecond);
    steps.go_on();
    static_cast<void>(steps.await());
    look();
    steps.go_on();
    const std::uint64_t children = finish();
    EXPECT_EQ(recorded_ns(), children - 30 * kMillisecond);
}

TEST_F(UnprofiledClocksTest, strangers_are_not_watched) {
    start([&] { steps.pause(); });
    static_cast<void>(steps.await());
    const pid_t stranger = in_child([] { spend(20 * kMillisecond); });
    look();
    await_end(stranger);
    look();
    ::waitpid(stranger, nullptr, 0);
    look();
    steps.go_on();
    EXPECT_EQ(finish(), 0U);
    EXPECT_EQ(recorded_ns(), 0U);
}

}  // namespace
}  // namespace sample::collector
