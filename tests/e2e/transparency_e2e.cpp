// The program's own behaviour under the profiler is what it is without: its output, input, exit,
// children, descriptors, signals.
#include "session.h"
#include "tests/built.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

namespace sample::e2e {
namespace {

using Transparency = Session;

TEST_F(Transparency, exit_codes_are_passed_on) {
    for (const char* code : {"0", "7", "255"}) {
        EXPECT_EQ(sample({"--quiet", "-o", file(code), "--", target("exit_code"), code}).exit_code,
                  std::atoi(code));
    }
}

TEST_F(Transparency, an_auditor_of_calls_and_returns_sees_the_program_do_the_same) {
    const RunOptions audited{{}, {{"LD_AUDIT", built::kAuditor}}, {}};
    const Outcome bare = run_here({target("exit_code"), "7", "its own words"}, audited);
    const Outcome sampled = record({target("exit_code"), "7", "its own words"}, audited);
    EXPECT_EQ(sampled.out, bare.out);
    EXPECT_EQ(sampled.exit_code, bare.exit_code) << sampled.err;
    EXPECT_TRUE(std::filesystem::exists(recording()));
}

TEST_F(Transparency, the_command_dies_of_the_programs_signal) {
    EXPECT_EQ(record({target("killed"), "kill", "0.05"}).signal, SIGKILL);
    EXPECT_EQ(record({target("killed"), "segv", "0.05"}).signal, SIGSEGV);
    EXPECT_EQ(record({target("killed"), "abort", "0.05"}).signal, SIGABRT);
    EXPECT_EQ(record({target("killed"), "term", "0.05"}).signal, SIGTERM);
}

TEST_F(Transparency, stdout_holds_the_programs_words_only) {
    const Outcome outcome =
        sample({"-o", recording(), "--", target("exit_code"), "0", "its own words"});
    EXPECT_EQ(outcome.out, "its own words\n");
    EXPECT_EQ(outcome.err.find("its own words\n"), 0U) << outcome.err;
    EXPECT_GT(outcome.err.size(), std::string{"its own words\n"}.size()) << "no summary";
}

TEST_F(Transparency, quiet_leaves_stderr_to_the_program) {
    const Outcome outcome = record({target("exit_code"), "0", "its own words"});
    EXPECT_EQ(outcome.err, "its own words\n");
}

TEST_F(Transparency, stdin_reaches_the_program) {
    std::string input;
    for (int line = 0; line < 50'000; ++line) {
        input += "line " + std::to_string(line) + "\n";
    }
    expect_same_behaviour({target("echo_input")}, input);
}

TEST_F(Transparency, abrupt_ends_stay_the_same) {
    for (const char* how : {"kill", "segv", "abort", "term", "exit"}) {
        Outcome bare = run_here({target("killed"), how, "0.05"});
        Outcome sampled = record({target("killed"), how, "0.05"});
        Outcome alone = preload({target("killed"), how, "0.05"});
        EXPECT_EQ(sampled.signal, bare.signal) << how;
        EXPECT_EQ(sampled.exit_code, bare.exit_code) << how;
        EXPECT_EQ(alone.signal, bare.signal) << how;
        EXPECT_EQ(alone.exit_code, bare.exit_code) << how;
    }
}

TEST_F(Transparency, waiting_for_any_child_meets_own_children_only) {
    expect_same_behaviour({target("wait_any"), "0.05"});
}

TEST_F(Transparency, closing_all_descriptors_harms_neither_side) {
    expect_same_behaviour({target("close_all"), file("written"), "0.3"});
    const Outcome outcome = record({target("close_all"), file("written"), "0.3"});
    EXPECT_EQ(told(outcome.out, "open_before"), 0);
    std::ifstream written{file("written")};
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>{written}, {}), "kept\n");
    const Recording seen{recording()};
    EXPECT_GT(seen.total_us("after_closing"), 0.8 * 300'000);
}

TEST_F(Transparency, an_alternate_stack_of_8_kib_is_enough) {
    expect_same_behaviour({target("altstack"), "around", "8192", "0.2"});
    EXPECT_GT(Recording{recording()}.total_us("work_on_usual_stack"), 0);
}

TEST_F(Transparency, a_handler_on_its_alternate_stack_is_sampled) {
    expect_same_behaviour({target("altstack"), "inside", "32768", "0.2"});
    EXPECT_GT(Recording{recording()}.total_us("work_on_altstack"), 0);
}

TEST_F(Transparency, a_handler_that_has_little_room_left_is_sampled) {
    expect_same_behaviour({target("altstack"), "inside", "8192", "0.2"});
    EXPECT_GT(Recording{recording()}.total_us("work_on_altstack"), 0);
}

TEST_F(Transparency, blocking_calls_are_not_interrupted_by_the_sigtrap_source) {
    const Outcome outcome = record({target("eintr"), "30"});
    const Recording seen{recording()};
    if (seen.text_stat("source") != "sigtrap") {
        GTEST_SKIP() << "the source here is " << seen.text_stat("source");
    }
    EXPECT_GT(seen.stat("samples"), 0);
    EXPECT_EQ(outcome.out, run_here({target("eintr"), "30"}).out);
}

TEST_F(Transparency, threads_that_block_all_signals_are_sampled_and_keep_their_mask) {
    const Outcome outcome = record({target("masks"), "2", "0.2"});
    EXPECT_EQ(told(outcome.out, "full"), 2);
    const Recording seen{recording()};
    EXPECT_GT(seen.total_us("blocked_work"), 0.8 * seen.roots_us());
}

TEST_F(Transparency, exceptions_and_long_jumps_work_on) {
    const Outcome outcome = record({target("jumps"), "--rounds", "100000"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(told(outcome.out, "caught"), 100000);
    EXPECT_EQ(told(outcome.out, "jumped"), 100000);
    EXPECT_GT(Recording{recording()}.stat("samples"), 0);
}

class SigtrapUser : public Session, public testing::WithParamInterface<const char*> {};

TEST_P(SigtrapUser, behaves_the_same) {
    expect_same_behaviour({target("sigtrap_user"), GetParam()});
}

INSTANTIATE_TEST_SUITE_P(Modes, SigtrapUser,
                         testing::Values("handler", "info", "blocked", "sigwait", "sigtimedwait",
                                         "ignored", "asked", "ppoll", "raise"),
                         [](const auto& mode) { return std::string{mode.param}; });

// What a program sends itself is not seen there either: a limit, named in docs/sampling.md.
TEST_F(Transparency, a_signalfd_shows_no_sample) {
    const Outcome outcome =
        sample({"--freq", "10k", "-o", recording(), "--", target("sigtrap_user"), "signalfd"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_TRUE(outcome.out.starts_with("signalfd before 0 after 0")) << outcome.out;
}

TEST_F(Transparency, a_child_that_lives_on_holds_nobody_up_and_is_listed) {
    const std::filesystem::path fifo = file("fifo");
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    const Outcome outcome = sample({"-o", recording(), "--", target("leaves_child"), fifo});
    const auto child = static_cast<pid_t>(told(outcome.out, "child"));
    ASSERT_GT(child, 0) << outcome.out;
    EXPECT_EQ(kill(child, 0), 0) << "it was to live on";
    EXPECT_NE(outcome.err.find(std::to_string(child)), std::string::npos) << outcome.err;
    close(open(fifo.c_str(), O_WRONLY | O_CLOEXEC));  // lets it end
}

/// What is left running of a command that starts another process and ends at once.
class LeftBehind : public Session, public testing::WithParamInterface<const char*> {};

TEST_P(LeftBehind, is_listed_though_it_had_no_time_to_join) {
    const std::filesystem::path fifo = file("fifo");
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    constexpr int kTries = 10;  // in some of them it joins
    for (int i = 0; i < kTries; ++i) {
        const Outcome outcome =
            sample({"--clock", GetParam(), "--force", "-o", recording(), "--", "sh", "-c",
                    "(exec >/dev/null 2>&1; read word <\"$0\") & echo child=$!", fifo});
        const auto child = static_cast<pid_t>(told(outcome.out, "child"));
        ASSERT_GT(child, 0) << outcome.out;
        EXPECT_NE(outcome.err.find("still running when the command ended, recorded until then: sh "
                                   "(" +
                                   std::to_string(child) + ")"),
                  std::string::npos)
            << outcome.err;
        close(open(fifo.c_str(), O_WRONLY | O_CLOEXEC));  // lets it end
    }
}

INSTANTIATE_TEST_SUITE_P(Clocks, LeftBehind, testing::Values("cpu", "wall"),
                         [](const auto& clock) { return std::string{clock.param}; });

}  // namespace
}  // namespace sample::e2e
