// `sample diff` of real recordings. What is asserted holds whatever the machine is doing: shares of
// one run's time, which other programs slow down all alike, with effects many times the noise.
#include "session.h"

#include <string>

namespace sample::e2e {
namespace {

class Diff : public Session {
protected:
    /// Records the program for half a second of CPU time, at 10 kHz.
    void record_as(const std::string& name, const std::string& program) const {
        const Outcome outcome =
            sample({"--quiet", "--freq", "10k", "-o", file(name), "--", target(program), "0.5"});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    }

    [[nodiscard]] Outcome diff(const std::string& a, const std::string& b,
                               const Words& options = {}) const {
        Words words{"diff"};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {file(a), file(b)});
        return sample(words);
    }

    /// What a function's own time is said to be; empty if it is not there exactly once.
    static std::string verdict(const nlohmann::json& diff, const std::string& name) {
        std::string verdict;
        for (const auto& function : diff["functions"]) {
            if (function["name"].get<std::string>().starts_with(name)) {
                verdict += function["self"]["verdict"].get<std::string>();
            }
        }
        return verdict;
    }
};

TEST_F(Diff, finds_the_function_that_became_slower_in_the_next_version) {
    record_as("a", "steps");
    record_as("b", "steps_slower");
    // Its share grows from a third to 0.39 of 5,000 samples: nine standard deviations.
    const Words options{"--normalize", "--confidence", "99.9", "--fail-above", "1%", "--json"};
    const Outcome outcome = diff("a", "b", options);
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
    EXPECT_NE(outcome.err.find("step_two"), std::string::npos) << outcome.err;
    const auto found = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(verdict(found, "step_two("), "worse");
    // All of them lose share; that is less than step_two gains, so noise may hide it.
    EXPECT_NE(verdict(found, "step_one("), "worse");
    EXPECT_NE(verdict(found, "step_three("), "worse");
    EXPECT_EQ(diff("b", "a", options).exit_code, 0) << "it became faster";
    EXPECT_EQ(diff("a", "b", {"--normalize", "--fail-above", "20%"}).exit_code, 0);
}

TEST_F(Diff, two_recordings_of_one_program_pass_the_gate) {
    record_as("a", "steps");
    record_as("b", "steps");
    const Outcome outcome =
        diff("a", "b", {"--normalize", "--confidence", "99.9999", "--fail-above", "5", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto found = nlohmann::json::parse(outcome.out);
    for (const char* name : {"step_one(", "step_two(", "step_three("}) {
        EXPECT_EQ(verdict(found, name), "within_noise") << name;
    }
}

TEST_F(Diff, a_recording_equals_itself) {
    record_as("a", "steps");
    const Outcome outcome = diff("a", "a", {"--fail-above", "0", "--view", "paths", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find("\"worse\""), std::string::npos);
    EXPECT_EQ(outcome.out.find("\"better\""), std::string::npos);
    EXPECT_NE(outcome.out.find("\"within_noise\""), std::string::npos);
}

}  // namespace
}  // namespace sample::e2e
