// Bad input: a clear error, a non-zero exit, and the program never started.
#include "session.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace sample::e2e {
namespace {

class Input : public Session {
protected:
    /// `sample ARGUMENTS -- sh -c 'touch started'` must fail, name `word`, and start nothing.
    void expect_refused(Words arguments, std::string_view word) const {
        const std::filesystem::path started = file("started");
        for (const std::string& part :
             {std::string{"--"}, std::string{"touch"}, started.string()}) {
            arguments.push_back(part);
        }
        const Outcome outcome = sample(arguments);
        EXPECT_NE(outcome.exit_code, 0) << arguments[0];
        EXPECT_EQ(outcome.signal, 0);
        EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
        EXPECT_EQ(outcome.out, "");
        EXPECT_FALSE(std::filesystem::exists(started)) << "the program was started";
    }
    /// `sample report` of a file with these bytes must fail with a message.
    void expect_no_report(const std::string& bytes) const {
        std::ofstream{file("bad.utrace"), std::ios::binary} << bytes;
        const Outcome outcome = sample({"report", file("bad.utrace")});
        EXPECT_GT(outcome.exit_code, 0) << outcome.out;
        EXPECT_NE(outcome.err.find("bad.utrace"), std::string::npos) << outcome.err;
        EXPECT_EQ(outcome.out, "");
    }
};

TEST_F(Input, no_command_is_an_error) {
    const Outcome outcome = sample({"--freq", "1k", "--"});
    EXPECT_GT(outcome.exit_code, 0);
    EXPECT_NE(outcome.err, "");
}

TEST_F(Input, a_missing_command_gives_127) {
    const Outcome outcome = sample({"-o", recording(), "--", "no-such-program-anywhere"});
    EXPECT_EQ(outcome.exit_code, 127);
    EXPECT_NE(outcome.err.find("no-such-program-anywhere"), std::string::npos) << outcome.err;
}

TEST_F(Input, a_file_that_is_not_executable_gives_126) {
    std::ofstream{file("data")} << "no program\n";
    const Outcome outcome = sample({"-o", recording(), "--", file("data")});
    EXPECT_EQ(outcome.exit_code, 126);
    EXPECT_NE(outcome.err.find("data"), std::string::npos) << outcome.err;
    EXPECT_EQ(sample({"-o", file("other"), "--", "/"}).exit_code, 126);
}

TEST_F(Input, a_frequency_outside_the_range_is_refused_with_the_range) {
    expect_refused({"--freq", "0"}, "10000");
    expect_refused({"--freq", "-5"}, "10000");
    expect_refused({"--freq", "100M"}, "10000");
    expect_refused({"--freq", "often"}, "10000");
}

TEST_F(Input, an_unknown_option_is_refused) {
    expect_refused({"--no-such-option"}, "--no-such-option");
}

TEST_F(Input, an_unknown_source_or_time_is_refused) {
    expect_refused({"--source", "crystal-ball"}, "sigtrap");
    expect_refused({"--time", "soon"}, "10s");
}

TEST_F(Input, an_existing_output_is_refused_before_the_program_starts) {
    std::ofstream{recording()} << "precious";
    expect_refused({"-o", recording()}, "--force");
    std::ifstream kept{recording()};
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>{kept}, {}), "precious");
    EXPECT_EQ(sample({"--quiet", "--force", "-o", recording(), "--", "true"}).exit_code, 0);
}

TEST_F(Input, an_output_that_cannot_be_written_is_refused_before_the_program_starts) {
    expect_refused({"-o", file("no/such/folder/r.utrace")}, "no/such/folder");
    expect_refused({"-o", file("").string()}, file("").string());
}

TEST_F(Input, an_export_that_cannot_be_written_is_refused_before_the_program_starts) {
    expect_refused({"-o", recording(), "--export", "json=" + file("no/such/x.json").string()},
                   "no/such");
    expect_refused({"-o", recording(), "--export", "poem=" + file("x").string()}, "json");
}

TEST_F(Input, a_static_program_runs_with_a_note) {
    const Outcome outcome = sample({"-o", recording(), "--", target("hello_static")});
    EXPECT_EQ(outcome.out, "hello\n");
    EXPECT_EQ(outcome.exit_code, 7);
    EXPECT_NE(outcome.err.find("static"), std::string::npos) << outcome.err;
}

TEST_F(Input, a_setuid_program_runs_with_a_note) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "making a setuid program takes root";
    }
    const std::filesystem::path program = file("hello_setuid");
    std::filesystem::copy_file(target("hello"), program);
    ASSERT_EQ(chown(program.c_str(), 65534, 65534), 0);
    ASSERT_EQ(chmod(program.c_str(), 04755), 0);
    const Outcome outcome = sample({"-o", recording(), "--", program});
    EXPECT_EQ(outcome.out, "hello\n");
    EXPECT_EQ(outcome.exit_code, 7);
    EXPECT_NE(outcome.err.find("setuid"), std::string::npos) << outcome.err;
}

TEST_F(Input, what_is_no_recording_is_said_to_be_none) {
    expect_no_report("");
    expect_no_report("just some text\n");
    expect_no_report(std::string(100'000, '\0'));
    expect_no_report(std::string(100'000, '\xff'));
    EXPECT_GT(sample({"report", file("missing.utrace")}).exit_code, 0);
    EXPECT_GT(sample({"export", "--format", "json", file("missing.utrace")}).exit_code, 0);
    EXPECT_GT(sample({"report", file("")}).exit_code, 0);
}

TEST_F(Input, a_cut_recording_is_read_up_to_its_cut_and_says_so) {
    // Names lie behind the end: kept_names_e2e.cpp cuts those.
    ASSERT_EQ(
        sample({"--quiet", "--no-symbols", "-o", recording(), "--", target("three_leaves"), "0.5"})
            .exit_code,
        0);
    const auto size = std::filesystem::file_size(recording());
    double before = 0;
    for (const double part : {0.3, 0.6, 0.9, 0.999}) {
        const std::filesystem::path cut = file("cut.utrace");
        std::filesystem::copy_file(recording(), cut,
                                   std::filesystem::copy_options::overwrite_existing);
        std::filesystem::resize_file(cut,
                                     static_cast<std::uintmax_t>(part * static_cast<double>(size)));
        const Outcome report = sample({"report", cut});
        ASSERT_EQ(report.signal, 0) << part;
        if (report.exit_code == 0) {
            EXPECT_NE((report.out + report.err).find("the end of the recording is missing"),
                      std::string::npos)
                << part << report.out << report.err;
            const double samples = Recording{cut}.stat("samples");
            EXPECT_GE(samples, before) << part;
            before = samples;
        }
    }
    EXPECT_GT(before, 0) << "nothing was read of a recording cut at its very end";
    EXPECT_GE(Recording{recording()}.stat("samples"), before);
}

}  // namespace
}  // namespace sample::e2e
