// The agent alone: LD_PRELOAD and SAMPLE_* variables, in the places where people put them.
#include "session.h"
#include "tests/built.h"

#include <fstream>
#include <iterator>

namespace sample::e2e {
namespace {

class Preload : public Session {
protected:
    /// A shell line in which $PROFILED stands for the variables of the agent.
    [[nodiscard]] Outcome shell(const std::string& line) const {
        const std::string profiled = "env LD_PRELOAD=" + agent_path() +
                                     " SAMPLE_FREQ=10k SAMPLE_OUTPUT=" + recording().string();
        return run_here({"bash", "-c", line},
                        {.settings = {{"PROFILED", profiled}, {"TARGETS", target("")}}});
    }
    /// The same line bare and profiled: what it prints is the same, and there is a recording.
    void expect_same_line(const std::string& line) {
        const Outcome bare = run_here({"bash", "-c", line},
                                      {.settings = {{"PROFILED", ""}, {"TARGETS", target("")}}});
        const Outcome profiled = shell(line);
        EXPECT_EQ(profiled.out, bare.out);
        EXPECT_EQ(profiled.err, bare.err);
        EXPECT_EQ(profiled.exit_code, bare.exit_code);
        EXPECT_GT(whole_recording().stat("samples"), 0);
    }
};

TEST_F(Preload, records_what_a_front_end_would) {
    const Outcome outcome = preload({target("three_leaves"), "0.5"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    const Recording seen{recording()};
    EXPECT_EQ(seen.stat("requested_hz"), 10000);
    EXPECT_GT(seen.total_us("leaf_"), 0.8 * told(outcome.out, "work_cpu_ns") / 1000);
}

// A pipe that the program's parent has opened ends when the program has closed it, though its
// collector was made before.
TEST_F(Preload, its_collector_holds_no_descriptor_of_the_program) {
    constexpr const char* kLine =
        "exec 7> >(cat > /dev/null; : > \"$0\"); "
        "$PROFILED sh -c 'exec 7>&-; i=0; until [ -e \"$0\" ] || [ $i -ge 600 ]; do sleep 0.05; "
        "i=$((i + 1)); done; [ -e \"$0\" ]' \"$0\" & exec 7>&-; wait $!";
    const std::string profiled =
        "env LD_PRELOAD=" + agent_path() + " SAMPLE_OUTPUT=" + recording().string();
    for (const Words& before : {Words{}, Words{built::kConfine, "--before-5.9"}}) {
        Words words = before;
        words.insert(words.end(), {"bash", "-c", kLine, file("end")});
        std::filesystem::remove(file("end"));
        std::filesystem::remove(recording());
        const Outcome outcome = run_here(words, {.settings = {{"PROFILED", profiled}}});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
        EXPECT_GT(whole_recording().stat("processes"), 0);
    }
}

TEST_F(Preload, the_recording_is_whole_when_the_program_has_ended) {
    // No pause between the program's end and the report: its words must not speak of a missing end.
    for (int time = 0; time < 5; ++time) {
        (void)preload({target("exit_code"), "0"});
        const Outcome report = sample({"report", recording()});
        EXPECT_EQ(report.exit_code, 0);
        EXPECT_EQ((report.out + report.err).find("missing"), std::string::npos)
            << report.out << report.err;
    }
}

TEST_F(Preload, the_recording_is_whole_when_the_last_image_of_an_exec_has_ended) {
    for (int time = 0; time < 5; ++time) {
        // Names would follow, which nobody waits for.
        (void)preload({target("self_exec"), "execve", "3"}, {{}, {{"SAMPLE_SYMBOLS", "0"}}, {}});
        const auto size = std::filesystem::file_size(recording());
        const Recording seen{recording()};
        EXPECT_TRUE(seen.flag("whole"));
        EXPECT_GT(seen.stat("samples"), 0);
        EXPECT_EQ(std::filesystem::file_size(recording()), size) << "it grew after the end";
    }
}

TEST_F(Preload, command_substitution_ends) {
    expect_same_line("x=$($PROFILED $TARGETS/exit_code 0 words); echo \"[$x]\"");
}

TEST_F(Preload, works_below_timeout) {
    expect_same_line("$PROFILED timeout 60 $TARGETS/exit_code 7 words; echo $?");
}

TEST_F(Preload, works_below_nohup) {
    expect_same_line("$PROFILED nohup $TARGETS/exit_code 7 words < /dev/null; echo $?");
}

TEST_F(Preload, a_reader_that_leaves_ends_the_program) {
    expect_same_line(
        "seq 1000000 | $PROFILED $TARGETS/echo_input 0.1 | head -n 2; echo ${PIPESTATUS[@]}");
}

TEST_F(Preload, a_pipeline_reads_to_its_end) {
    expect_same_line("$PROFILED $TARGETS/exit_code 0 words | cat; echo ${PIPESTATUS[@]}");
}

TEST_F(Preload, an_existing_output_is_kept_and_the_program_runs) {
    std::ofstream{recording()} << "precious";
    const Outcome outcome = shell("$PROFILED $TARGETS/exit_code 7 words");
    EXPECT_EQ(outcome.exit_code, 7);
    EXPECT_EQ(outcome.out, "words\n");
    std::ifstream kept{recording()};
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>{kept}, {}), "precious");
}

TEST_F(Preload, a_bad_setting_lets_the_program_run) {
    const Outcome outcome = run_here({target("exit_code"), "7", "words"},
                                     {.settings = {{"LD_PRELOAD", agent_path()},
                                                   {"SAMPLE_FREQ", "often"},
                                                   {"SAMPLE_OUTPUT", recording()}}});
    EXPECT_EQ(outcome.exit_code, 7);
    EXPECT_EQ(outcome.out, "words\n");
    EXPECT_NE(outcome.err.find("often"), std::string::npos) << outcome.err;
}

TEST_F(Preload, a_depth_outside_the_range_is_refused_by_its_range) {
    const Outcome outcome = run_here({target("exit_code"), "7", "words"},
                                     {.settings = {{"LD_PRELOAD", agent_path()},
                                                   {"SAMPLE_MAX_STACK", "9000"},
                                                   {"SAMPLE_OUTPUT", recording()}}});
    EXPECT_EQ(outcome.exit_code, 7);
    EXPECT_EQ(outcome.out, "words\n");
    EXPECT_NE(outcome.err.find("'9000' is not a number of frames from 64 to 8192"),
              std::string::npos)
        << outcome.err;
}

TEST_F(Preload, what_a_shell_of_libcs_starts_is_in_the_recording) {
    const Outcome outcome = preload(
        {"/usr/bin/python3", "-c", "import os; os.system('" + target("three_leaves") + " 0.1')"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_GT(whole_recording().total_us("leaf_"), 0.8 * told(outcome.out, "work_cpu_ns") / 1000);
}

TEST_F(Preload, killed_programs_leave_a_readable_recording) {
    const Outcome outcome = preload({target("killed"), "kill", "0.3"});
    const Recording seen = whole_recording();
    EXPECT_GT(seen.stat("sampled_us"), 0.95 * told(outcome.out, "work_cpu_ns") / 1000);
}

}  // namespace
}  // namespace sample::e2e
