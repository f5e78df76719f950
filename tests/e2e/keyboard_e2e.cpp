// How a session ends: by --time, by Ctrl-C, on a terminal and in a pipe.
#include "session.h"
#include "terminal.h"

#include <sys/wait.h>

namespace sample::e2e {
namespace {

using Ending = Session;

TEST_F(Ending, time_stops_the_profiling_and_the_program_runs_on) {
    // The program uses 1.5 seconds of CPU time, so it outlives the half second of profiling however
    // busy the machine is; of its CPU time at most about a third can have been sampled.
    const Outcome outcome =
        sample({"--freq", "1k", "--time", "500ms", "-o", recording(), "--", target("deep"), "1.5"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const double used_us = told(outcome.out, "work_cpu_ns") / 1000;
    EXPECT_GE(used_us, 1'500'000) << "the program was stopped";
    const Recording seen{recording()};
    EXPECT_GT(seen.stat("samples"), 0);
    EXPECT_LT(seen.stat("sampled_us"), 0.9 * used_us) << "the profiling went on";
    EXPECT_EQ(outcome.err.find('\r'), std::string::npos) << "a countdown in a pipe";
}

TEST_F(Ending, a_signal_reaches_the_command_also_when_the_recording_is_over) {
    const Outcome outcome = run_here({"sh", "-c", R"(
"$1" record --time 50ms -o "$2" -- sh -c 'trap "exit 9" TERM; while :; do sleep 0.1; done' 2>"$2.said" &
until grep -q '^kept' "$2.said"; do sleep 0.05; done
kill -TERM $!
wait $!
echo "rc=$?")",
                                      "sh", sample_path(), recording()});
    EXPECT_EQ(outcome.out, "rc=9\n") << outcome.err;
}

TEST_F(Ending, time_counts_down_on_a_terminal) {
    Terminal terminal{
        {sample_path(), "--time", "1s", "-o", recording(), "--", target("deep"), "1.5"}};
    const int status = terminal.finish();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << terminal.text();
    // A terminal turns each line feed into "\r\n"; the countdown rewrites its line.
    const std::string& text = terminal.text();
    bool rewrites = false;
    for (std::size_t at = text.find('\r'); at != std::string::npos; at = text.find('\r', at + 1)) {
        rewrites =
            rewrites || (at + 1 < text.size() && text[at + 1] != '\n' && text[at + 1] != '\r');
    }
    EXPECT_TRUE(rewrites) << text;
}

TEST_F(Ending, the_first_ctrl_c_is_the_programs) {
    Terminal terminal{{sample_path(), "-o", recording(), "--", target("endless")}};
    ASSERT_TRUE(terminal.wait_for("ready")) << terminal.text();
    terminal.type("\x03");
    const int status = terminal.finish();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status << terminal.text();
    EXPECT_NE(terminal.text().find("interrupted"), std::string::npos);
    EXPECT_EQ(sample({"report", recording()}).exit_code, 0);
}

TEST_F(Ending, the_second_ctrl_c_ends_the_profiling_and_writes_everything) {
    Terminal terminal{
        {sample_path(), "-f", "10k", "-o", recording(), "--", target("endless"), "stubborn"}};
    ASSERT_TRUE(terminal.wait_for("ready")) << terminal.text();
    terminal.type("\x03");
    ASSERT_TRUE(terminal.wait_for("interrupted")) << terminal.text();
    terminal.type("\x03");
    ASSERT_TRUE(terminal.wait_for("interrupted", 2)) << terminal.text();
    terminal.type("\x04");
    const int status = terminal.finish();
    EXPECT_TRUE(WIFEXITED(status)) << status << terminal.text();
    const Outcome report = sample({"report", recording()});
    EXPECT_EQ(report.exit_code, 0) << report.err;
    EXPECT_EQ((report.out + report.err).find("is missing"), std::string::npos) << report.out;
    EXPECT_GT(Recording{recording()}.stat("samples"), 0);
}

}  // namespace
}  // namespace sample::e2e
