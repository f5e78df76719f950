// The memory of the program is its own: what samples take is small, never locked, in no core file,
// and where addresses are limited they are left to the program.
#include "session.h"

#include <algorithm>

namespace sample::e2e {
namespace {

using Memory = Session;

TEST_F(Memory, of_four_threads_takes_few_addresses) {
    const Outcome bare = run_here({target("memory_limits")});
    const Outcome sampled = record({target("memory_limits")});
    EXPECT_LE(told(sampled.err, "addresses_kb") - told(bare.err, "addresses_kb"), 64.0 * 1024);
    EXPECT_GT(whole_recording().stat("samples"), 0);
}

TEST_F(Memory, for_samples_is_not_locked_and_in_no_core_file) {
    for (const char* clock : {"cpu", "wall"}) {
        const Outcome sampled = sample({"--quiet", "--freq", "10k", "--force", "--clock", clock,
                                        "-o", recording(), "--", target("memory_limits"), "locks"});
        EXPECT_EQ(sampled.out, "mlockall=0\nlocked_kb=0\nin_core_kb=0\n") << clock;
        EXPECT_GT(whole_recording().stat("samples"), 0) << clock;
    }
}

TEST_F(Memory, that_is_limited_is_left_to_the_program) {
    expect_same_behaviour({target("memory_limits"), "limited"});
    // 100 MB, 1 GB, and too little to start with.
    for (const char* limit : {"100000000", "1000000000", "1000000"}) {
        const Words command{"prlimit", std::string{"--as="} + limit, target("exit_code"), "3"};
        const Outcome bare = run_here(command);
        const Outcome sampled = record(command);
        EXPECT_EQ(sampled.out, bare.out) << limit;
        EXPECT_EQ(sampled.exit_code, bare.exit_code) << limit;
    }
}

TEST_F(Memory, that_is_too_little_to_sample_is_said) {
    const Outcome outcome =
        run_here({"sh", "-c", "ulimit -v 200000; exec \"$0\" -o \"$1\" -- \"$2\" 7", sample_path(),
                  recording(), target("exit_code")});
    EXPECT_EQ(outcome.exit_code, 7);
    EXPECT_NE(outcome.err.find("its address space is limited"), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST_F(Memory, of_a_child_that_is_too_little_is_said_in_the_recording) {
    const Words command{"sh", "-c", "ulimit -v 100000; /bin/true; exec \"$0\" 7",
                        target("exit_code")};
    Words line{"--quiet", "-o", recording(), "--"};
    line.insert(line.end(), command.begin(), command.end());
    const Outcome outcome = sample(line);
    EXPECT_EQ(outcome.exit_code, 7);
    EXPECT_EQ(outcome.err, run_here(command).err) << "nothing of ours is among its words";
    const std::string stats = sample({"report", "--view", "stats", recording()}).out;
    EXPECT_NE(stats.find("its address space is limited"), std::string::npos) << stats;
}

}  // namespace
}  // namespace sample::e2e
