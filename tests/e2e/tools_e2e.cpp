// Other tools in the same program, or the program itself being one: sanitizers, valgrind,
// debuggers. They say the same as without us, and what is not sampled because of them is said.
#include "each_source.h"

#include <cctype>
#include <sstream>

namespace sample::e2e {
namespace {

/// The lines that hold `text`, without their numbers.
std::string lines_with(const std::string& output, std::string_view text) {
    std::istringstream lines{output};
    std::string found;
    for (std::string line; std::getline(lines, line);) {
        if (line.find(text) != std::string::npos) {
            std::erase_if(line, [](unsigned char letter) { return std::isdigit(letter) != 0; });
            found += line + "\n";
        }
    }
    return found;
}

class Sanitizer : public Session, public testing::WithParamInterface<const char*> {
protected:
    [[nodiscard]] std::string program() const {
        return target(std::string{"sanitized_"} + GetParam());
    }
    void expect_same(const std::string& way) const {
        SCOPED_TRACE(way);
        const Outcome bare = run_here({program(), way});
        const Outcome sampled = sample(
            {"--quiet", "--freq", "10k", "--force", "-o", recording(), "--", program(), way});
        EXPECT_EQ(sampled.out, bare.out);
        EXPECT_EQ(sampled.exit_code, bare.exit_code);
        // The rest has addresses and process ids.
        EXPECT_EQ(lines_with(sampled.err, "SUMMARY"), lines_with(bare.err, "SUMMARY"));
        EXPECT_EQ(lines_with(sampled.err, "runtime error"), lines_with(bare.err, "runtime error"));
        EXPECT_EQ(sampled.err.empty(), bare.err.empty()) << sampled.err;
    }
};

TEST_P(Sanitizer, says_the_same) {
    for (const char* way : {"clean", "overflow", "leak", "race", "shift"}) {
        expect_same(way);
    }
}

TEST_P(Sanitizer, and_its_program_are_sampled) {
    expect_same("children");
    const Recording seen{recording()};
    EXPECT_GT(seen.stat("samples"), 0);
    EXPECT_GE(seen.stat("processes"), 3);  // itself, itself again, and the shell
    EXPECT_GT(seen.total_us("work_sanitized"), 0);
}

TEST_P(Sanitizer, that_is_preloaded_stays_before_us) {
    const Outcome runtime = run_here({"ldd", program()});
    const std::size_t end = runtime.out.find(" =>", runtime.out.find("san.so"));
    if (runtime.out.find("san.so") == std::string::npos) {
        GTEST_SKIP() << "this compiler links the runtime statically, or there is none";
    }
    const std::size_t start = runtime.out.rfind('\t', end) + 1;
    const std::string library = runtime.out.substr(start, end - start);
    const Words command = {"env", "LD_PRELOAD=" + library, program(), "clean"};
    const Outcome bare = run_here(command);
    const Outcome sampled = record(command);
    EXPECT_EQ(sampled.out, bare.out);
    EXPECT_EQ(sampled.err, bare.err);
}

INSTANTIATE_TEST_SUITE_P(, Sanitizer, testing::Values("address", "thread", "leak", "undefined"),
                         [](const auto& name) { return std::string{name.param}; });

class Tool : public EachSource {
protected:
    [[nodiscard]] std::string stats_text() const {
        return sample({"report", "--view", "stats", "--json", recording()}).out;
    }
};

TEST_P(Tool, go_finds_its_handlers_where_it_looks_for_them) {
    expect_same({target("go_program")});
    expect_same({target("go_host"), target("go_library.so")});
}

TEST_P(Tool, valgrind_runs_its_program_unprofiled) {
    const Outcome bare = run_here({"valgrind", "-q", target("exit_code"), "7", "its own words"});
    ASSERT_EQ(bare.exit_code, 7) << bare.err;
    const Outcome sampled =
        record_by_source({"valgrind", "-q", target("exit_code"), "7", "its own words"});
    EXPECT_EQ(sampled.out, bare.out);
    EXPECT_EQ(sampled.err, bare.err);
    EXPECT_EQ(sampled.exit_code, 7);
    EXPECT_NE(stats_text().find("it is valgrind"), std::string::npos) << stats_text();
}

TEST_P(Tool, a_program_that_traces_its_children_sees_no_stop_of_ours) {
    for (const char* way : {"traceme", "traceme-exec", "seize", "seize-exec", "attach"}) {
        SCOPED_TRACE(way);
        const Outcome outcome = expect_same({target("tracing"), way});
        EXPECT_EQ(told(outcome.out, "stops"), 0);
        EXPECT_EQ(told(outcome.out, "exit"), 3);
        if (std::string{way}.find("exec") != std::string::npos) {
            EXPECT_NE(stats_text().find("another profiled process traces it"), std::string::npos);
        }
    }
}

TEST_P(Tool, a_debugger_steps_past_samples_that_were_on_their_way) {
    for (const char* way : {"waitpid", "wait", "wait4", "waitid", "number"}) {
        SCOPED_TRACE(way);
        const Outcome outcome = expect_same({target("steps_through"), "40", way});
        EXPECT_EQ(told(outcome.out, "wrong"), 0);
    }
}

TEST_P(Tool, strace_tells_of_no_signal_of_ours) {
    const Words words = {
        "strace", "-f", "-e", "trace=none", "-o", file("signals"), target("two_loops"), "0.1"};
    // strace first tries its system calls on a child that pauses: a timer may end a pause
    // (docs/sources.md), and strace then gives up before it has begun. One of 10 kHz does so each
    // second time, or oftener.
    const bool is_timer = std::string{GetParam()} == "timer";
    const char* const frequency = is_timer ? "500" : "10k";
    constexpr int kMostTries = 30;
    Outcome sampled = record_by_source(words, frequency);
    for (int tries = 1; is_timer && tries < kMostTries &&
                        sampled.err.find("test_ptrace_seize") != std::string::npos;
         ++tries) {
        sampled = record_by_source(words, frequency);
    }
    EXPECT_EQ(sampled.exit_code, 0) << sampled.err;
    const std::string told = run_here({"cat", file("signals")}).out;
    EXPECT_EQ(lines_with(told, "SIGTRAP") + lines_with(told, "SIGURG"), "");
}

TEST_P(Tool, gdb_stops_at_no_signal_of_ours) {
    const Words words = {"gdb",    "-q",
                         "-nx",    "-batch",
                         "-ex",    "run",
                         "-ex",    "info inferiors",
                         "--args", target("exit_code"),
                         "7",      "its own words"};
    const Outcome bare = run_here(words);
    if (bare.out.find("exited with code 07") == std::string::npos) {
        GTEST_SKIP() << "gdb cannot run a program here: " << bare.err;
    }
    const Outcome sampled = record_by_source(words);
    EXPECT_NE(sampled.out.find("exited with code 07"), std::string::npos) << sampled.out;
    EXPECT_EQ(sampled.out.find("SIGTRAP"), std::string::npos) << sampled.out;
}

SAMPLE_FOR_EACH_SOURCE(Tool);

}  // namespace
}  // namespace sample::e2e
