// Programs that give up rights, go into namespaces, or forbid themselves the time stamp counter:
// they do as without us, no thread of ours has more than they, and what is not sampled is said.
//
// As root the rights are there to be given up; other users see each call fail, the same either way.
#include "each_source.h"

#include <unistd.h>

#include <filesystem>

namespace sample::e2e {
namespace {

class Rights : public EachSource {
protected:
    [[nodiscard]] std::string stats_text() const {
        return sample({"report", "--view", "stats", "--json", recording()}).out;
    }
    void expect_sampled_on(const char* before, const char* after) const {
        const Recording seen = recorded();
        EXPECT_GT(seen.total_us(after), 0.7 * seen.total_us(before));
    }
};

TEST_P(Rights, that_are_given_up_by_libc_are_kept_by_no_thread) {
    expect_same({target("rights"), "libc"});
    expect_sampled_on("before_rights", "long_after_rights");
}

TEST_P(Rights, that_are_given_up_by_number_are_kept_by_no_thread) {
    expect_same({target("rights"), "number"});
    expect_sampled_on("before_rights", "long_after_rights");
}

TEST_P(Rights, that_are_given_up_past_libc_are_kept_by_no_thread_for_long) {
    expect_same({target("rights"), "raw"});
    const bool watches = std::string{GetParam()} == "thread" && geteuid() == 0;
    EXPECT_EQ(stats_text().find("the sampling thread could not follow") != std::string::npos,
              watches);
}

TEST_P(Rights, that_two_threads_change_at_once_are_kept_by_no_thread) {
    expect_same({target("rights"), "race"});
    expect_sampled_on("before_rights", "long_after_rights");
}

TEST_P(Rights, to_the_time_stamp_counter_end_the_sampling_only) {
    for (const char* way : {"prctl", "number", "thread", "fork"}) {
        SCOPED_TRACE(way);
        expect_same({target("ticks"), way});
        const Recording seen = recorded();
        EXPECT_GT(seen.total_us("before_ticks"), 0);
        EXPECT_EQ(seen.total_us("after_ticks"), 0);
        EXPECT_NE(stats_text().find("time stamp counter"), std::string::npos);
    }
}

TEST_P(Rights, to_system_calls_end_the_sampling_only) {
    for (const char* way : {"prctl", "number", "thread"}) {
        SCOPED_TRACE(way);
        if (expect_same({target("dispatches"), way}).exit_code == 77) {
            GTEST_SKIP() << "the kernel hands no system calls to programs";
        }
        const Recording seen = recorded();
        EXPECT_GT(seen.total_us("before_dispatch"), 0);
        EXPECT_EQ(seen.total_us("after_dispatch"), 0);
        EXPECT_NE(stats_text().find("takes a thread's system calls itself"), std::string::npos);
    }
}

TEST_P(Rights, to_the_cpuid_instruction_are_not_needed) {
    expect_same({target("ticks"), "cpuid"});
    expect_sampled_on("before_ticks", "after_ticks");
}

TEST_P(Rights, to_read_the_agent_are_not_needed) {
    const std::string folders =
        "/usr:/lib:/lib64:/etc:" + std::filesystem::path{target("hello")}.parent_path().string();
    for (const char* way : {"execv", "fexecve", "spawn"}) {
        SCOPED_TRACE(way);
        if (expect_same({target("landlocked"), way, folders, target("hello")}).exit_code == 77) {
            GTEST_SKIP() << "the kernel has no Landlock";
        }
        EXPECT_NE(stats_text().find("under Landlock"), std::string::npos) << stats_text();
    }
}

TEST_P(Rights, in_a_namespace_are_the_same) {
    using Kinds = Words;
    for (const Kinds& kinds :
         {Kinds{"pid", "filter"}, Kinds{"user", "pid"}, Kinds{"user"}, Kinds{"mount"}, Kinds{"net"},
          Kinds{"ipc", "uts", "cgroup"}, Kinds{"time"}, Kinds{"files"}}) {
        Words command = {target("namespaces")};
        command.insert(command.end(), kinds.begin(), kinds.end());
        SCOPED_TRACE(kinds[0]);
        expect_same(command);
        // Whose children go into a namespace of processes can make no thread: neither can we.
        const bool may_be_lost = std::string{GetParam()} == "thread" && kinds.size() > 1;
        EXPECT_TRUE(recorded().total_us("work_in_namespace") > 0 ||
                    (may_be_lost && stats_text().find("could not follow") != std::string::npos));
    }
}

SAMPLE_FOR_EACH_SOURCE(Rights);

/// The sampling thread is there as well, whatever the source.
using RightsByWallClock = Session;

TEST_F(RightsByWallClock, are_kept_by_no_thread) {
    for (const char* way : {"libc", "number", "raw", "race"}) {
        SCOPED_TRACE(way);
        const Outcome bare = run_here({target("rights"), way});
        const Outcome sampled = sample({"--quiet", "--clock", "wall", "--force", "-o", recording(),
                                        "--", target("rights"), way});
        EXPECT_EQ(sampled.out, bare.out);
        EXPECT_EQ(sampled.exit_code, bare.exit_code);
        EXPECT_GT(Recording{recording()}.total_us("long_after_rights"), 0);
    }
}

}  // namespace
}  // namespace sample::e2e
