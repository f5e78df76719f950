// The command's end is seen, whether or not it has joined, and a signal ends every wait.
#include "core/fd.h"
#include "session.h"
#include "tests/built.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sample::e2e {
namespace {

class EndOfCommand : public Session {
protected:
    /// `sample -o FILE -- COMMAND` by a shell that has executed `before` first.
    [[nodiscard]] Outcome record_after(const std::string& before,
                                       const std::string& command) const {
        return run_here({"sh", "-c",
                         before + "; exec " + sample_path() + " --quiet -o " +
                             recording().string() + " -- " + command});
    }
};

/// What `sample` says in one line, or nothing.
std::string own_line(const Outcome& outcome) {
    constexpr std::string_view kStart = "sample: nothing was recorded: ";
    const std::size_t at = outcome.err.find(kStart);
    return at == std::string::npos ? "" : outcome.err.substr(at, outcome.err.find('\n', at) - at);
}

TEST_F(EndOfCommand, a_loader_that_fails_is_heard) {
    const Outcome outcome = record({target("without_library"), "0"});
    EXPECT_EQ(outcome.exit_code, 127);
    EXPECT_NE(outcome.err.find("error while loading shared libraries"), std::string::npos)
        << outcome.err;
    EXPECT_NE(own_line(outcome), "") << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(recording()));
}

TEST_F(EndOfCommand, a_constructor_may_end_the_program) {
    const Outcome outcome = record({target("ended_early"), "0"});
    EXPECT_EQ(outcome.exit_code, 9) << outcome.err;
    // Recorded, or said why not: which constructor runs first is the loader's choice.
    EXPECT_NE(std::filesystem::exists(recording()), !own_line(outcome).empty()) << outcome.err;
}

TEST_F(EndOfCommand, is_no_reason_where_the_time_was_over_before) {
    for (int i = 0; i < 5; ++i) {
        const Outcome outcome = sample({"--quiet", "--force", "--time", "1ns", "-o", recording(),
                                        "--", target("three_leaves"), "0.1"});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        // A machine may be busy for so long that all of it is recorded.
        EXPECT_NE(std::filesystem::exists(recording()),
                  own_line(outcome).find("--time was over") != std::string::npos)
            << outcome.err;
        std::filesystem::remove(recording());
    }
}

TEST_F(EndOfCommand, is_another_sessions_if_that_records_us) {
    const Outcome outcome = record(
        {sample_path(), "--quiet", "-o", file("inner.utrace"), "--", target("exit_code"), "7"});
    EXPECT_EQ(outcome.exit_code, 7) << outcome.err;
    EXPECT_NE(own_line(outcome).find("another session records"), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(file("inner.utrace")));
}

TEST_F(EndOfCommand, a_sanitized_program_ends) {
    if (!std::filesystem::exists(target("hello_asan"))) {
        GTEST_SKIP() << "the compiler has no address sanitizer";
    }
    const Outcome outcome = record({target("hello_asan")});
    EXPECT_EQ(outcome.signal, 0);
    EXPECT_NE(std::filesystem::exists(recording()), !own_line(outcome).empty()) << outcome.err;
}

TEST_F(EndOfCommand, little_address_space_harms_nothing) {
    const Outcome limited = record_after("ulimit -v 1000000", "/bin/echo hi");
    EXPECT_EQ(limited.exit_code, 0) << limited.err;
    EXPECT_EQ(limited.out, "hi\n");
    const Outcome within = record({"prlimit", "--as=1000000000", "/bin/echo", "hi"});
    EXPECT_EQ(within.exit_code, 0) << within.err;
    EXPECT_EQ(within.out, "hi\n");
}

TEST_F(EndOfCommand, few_descriptors_harm_nothing) {
    for (int limit = 5; limit <= 40; limit += limit < 24 ? 1 : 8) {
        const Outcome outcome = record_after("ulimit -n " + std::to_string(limit), "/bin/echo hi");
        if (outcome.exit_code != 0) {
            // Too few for `sample` itself, or for the loader: said, not hung.
            EXPECT_NE(outcome.err, "") << limit;
            EXPECT_LT(limit, 16) << outcome.err;
        } else {
            EXPECT_EQ(outcome.out, "hi\n") << limit << outcome.err;
        }
        EXPECT_EQ(outcome.signal, 0) << limit;
        std::filesystem::remove(recording());
    }
}

TEST_F(EndOfCommand, is_seen_of_an_ordinary_users_command) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    ASSERT_EQ(chmod(file("").c_str(), 0777), 0);
    for (const auto& [from, name] : {std::pair{sample_path(), "sample"},
                                     {agent_path(), "libsample.so"},
                                     {std::string{built::kConfine}, "confine"},
                                     {target("without_library"), "program"}}) {
        std::filesystem::copy_file(from, file(name));
        ASSERT_EQ(chmod(file(name).c_str(), 0755), 0);
    }
    const Outcome outcome = run_here({file("confine"), "--user", "65534", file("sample"), "--quiet",
                                      "-o", recording(), "--", file("program"), "0"});
    EXPECT_EQ(outcome.exit_code, 127) << outcome.err;
    EXPECT_NE(own_line(outcome), "") << outcome.err;
}

TEST_F(EndOfCommand, an_unprofiled_command_gets_the_signals) {
    const Outcome outcome =
        run_here({"sh", "-c",
                  sample_path() + " -- " + target("hello_static") + " & wait $!; echo ended=$?"});
    EXPECT_NE(outcome.out.find("ended=7"), std::string::npos) << outcome.out << outcome.err;
}

TEST_F(EndOfCommand, sigterm_ends_an_export_that_nobody_reads) {
    ASSERT_EQ(mkfifo(file("fifo").c_str(), 0600), 0);
    const Outcome outcome =
        run_here({"sh", "-c",
                  sample_path() + " --quiet -o " + recording().string() +
                      " --export folded=" + file("fifo").string() +
                      " -- /bin/true & sleep 2; while kill -TERM $! 2>/dev/null; do sleep 0.1; "
                      "done; wait $!"});
    EXPECT_FALSE(outcome.hung);
}

TEST_F(EndOfCommand, a_signal_ends_a_recording_that_nobody_reads) {
    ASSERT_EQ(mkfifo(file("fifo").c_str(), 0600), 0);
    const Fd reader{open(file("fifo").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)};
    const std::vector<char> page(4096);
    while (write(reader.get(), page.data(), page.size()) > 0) {
    }
    const std::string start =
        sample_path() + " --quiet --force -o " + file("fifo").string() + " -- " + target("endless");
    const Outcome terminated = run_here(
        {"sh", "-c", start + " > /dev/null & sleep 2; kill -TERM $!; wait $!; echo ended=$?"});
    EXPECT_NE(terminated.out.find("ended=143"), std::string::npos) << terminated.err;
}

TEST_F(EndOfCommand, sigterm_is_the_commands) {
    const Outcome outcome = run_here(
        {"sh", "-c",
         sample_path() + " --quiet -o " + recording().string() + " -- " + target("endless") +
             " > said & until [ -s said ]; do sleep 0.05; done; kill -TERM $!; wait $!; "
             "echo ended=$?"});
    EXPECT_NE(outcome.out.find("ended=143"), std::string::npos) << outcome.out << outcome.err;
    EXPECT_TRUE(Recording{recording()}.flag("whole"));
}

}  // namespace
}  // namespace sample::e2e
