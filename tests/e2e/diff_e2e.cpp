// `sample diff` of real recordings. What is asserted holds whatever the machine is doing: shares of
// one run's time, which other programs slow down all alike, with effects many times the noise.
#include "session.h"

#include <string>

namespace sample::e2e {
namespace {

class Diff : public Session {
protected:
    /// Records the program for so many seconds of CPU time, at a frequency at which no machine's
    /// samples take much of them.
    void record_as(const std::string& name, const std::string& program,
                   const std::string& seconds) const {
        const Outcome outcome =
            sample({"--quiet", "--freq", "2k", "-o", file(name), "--", target(program), seconds});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    }

    [[nodiscard]] Outcome diff(const std::string& a, const std::string& b,
                               const Words& options = {}) const {
        // The work of a step is an inlined call.
        Words words{"diff", "--fold", "inlined"};
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
    record_as("a", "steps", "1");
    record_as("b", "steps_slower", "1");
    // Its share grows from a third to a half of 2,000 samples: 10 standard deviations, of which
    // the interval takes three. The others lose what it gains.
    const Outcome outcome = diff("a", "b", {"--normalize", "--fail-above", "1%", "--json"});
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
    EXPECT_NE(outcome.err.find("step_two"), std::string::npos) << outcome.err;
    const auto found = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(verdict(found, "step_two("), "worse") << outcome.out;
    EXPECT_NE(verdict(found, "step_one("), "worse");
    EXPECT_NE(verdict(found, "step_three("), "worse");
    const Outcome back = diff("b", "a", {"--normalize", "--fail-above", "20%", "--json"});
    EXPECT_EQ(back.exit_code, 0) << back.err;
    EXPECT_EQ(verdict(nlohmann::json::parse(back.out), "step_two("), "better");
}

TEST_F(Diff, several_recordings_a_side_find_it_by_a_function_that_did_not_change) {
    Words words{"diff", "--fold", "inlined", "--normalize-by", "step_one", "--json"};
    Words after{"--"};
    for (const char* run : {"1", "2", "3"}) {
        record_as(std::string{"a"} + run, "steps", "0.5");
        record_as(std::string{"b"} + run, "steps_slower", "0.5");
        words.push_back(file(std::string{"a"} + run));
        after.push_back(file(std::string{"b"} + run));
    }
    words.insert(words.end(), after.begin(), after.end());
    // 2 instead of 1, each of some 1,000 samples a side: 9 standard deviations. Three runs tell
    // their spread so badly that an interval takes five of them once in a thousand times.
    const Outcome outcome = sample(words);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto found = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(found["a"].size(), 3U);
    EXPECT_EQ(verdict(found, "step_two("), "worse");
    EXPECT_EQ(verdict(found, "step_one("), "within_noise");
    words.insert(words.begin() + 1, {"--normalize-by", "no_such_function"});
    words.erase(words.begin() + 5, words.begin() + 7);
    const Outcome refused = sample(words);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.err.find("has no time of a function called 'no_such_function'"),
              std::string::npos)
        << refused.err;
}

TEST_F(Diff, two_recordings_of_one_program_pass_the_gate) {
    record_as("a", "steps", "0.5");
    record_as("b", "steps", "0.5");
    const Outcome outcome =
        diff("a", "b", {"--normalize", "--confidence", "99.9999", "--fail-above", "5", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto found = nlohmann::json::parse(outcome.out);
    for (const char* name : {"step_one(", "step_two(", "step_three("}) {
        EXPECT_EQ(verdict(found, name), "within_noise") << name;
    }
}

TEST_F(Diff, a_recording_groups_memory_management_as_its_json_profile_does) {
    record_as("a", "allocs", "0.2");
    const Outcome exported = sample({"export", "--format", "json", "-o", file("b"), file("a")});
    ASSERT_EQ(exported.exit_code, 0) << exported.err;
    const Outcome outcome = diff("a", "b", {"--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("[memory]"), std::string::npos);
    EXPECT_EQ(outcome.out.find("\"worse\""), std::string::npos);
    EXPECT_EQ(outcome.out.find("\"better\""), std::string::npos);
}

TEST_F(Diff, a_recording_equals_itself) {
    record_as("a", "steps", "0.5");
    const Outcome outcome = diff("a", "a", {"--fail-above", "0", "--view", "paths", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find("\"worse\""), std::string::npos);
    EXPECT_EQ(outcome.out.find("\"better\""), std::string::npos);
    EXPECT_NE(outcome.out.find("\"within_noise\""), std::string::npos);
}

}  // namespace
}  // namespace sample::e2e
