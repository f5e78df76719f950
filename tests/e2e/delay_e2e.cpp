// --delay: nothing of what came before is in the recording, and everything after it is.
#include "each_source.h"

namespace sample::e2e {
namespace {

/// The notes of a recording, one behind the other.
std::string notes_of(const Recording& seen) {
    std::string all;
    for (const auto& note : seen.stats()["notes"]) {
        all += note.get<std::string>() + "\n";
    }
    return all;
}

class Delay : public EachSource {
protected:
    /// The delay ends in the second of the three phases.
    [[nodiscard]] Outcome record_phases(const Words& options) const {
        Words arguments = {"--quiet", "--force", "--delay", "800ms", "-o", recording()};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const Words command = {"--", target("phases"), "200", "1500", "1900"};
        arguments.insert(arguments.end(), command.begin(), command.end());
        return sample(arguments);
    }

    static void expect_later_phases(const Recording& seen) {
        EXPECT_EQ(seen.total_us("first_phase"), 0);
        EXPECT_GT(seen.total_us("second_phase"), 0);
        EXPECT_GT(seen.total_us("third_phase"), 0);
        EXPECT_NE(notes_of(seen).find("sampling began 800.000 ms after the start, as asked"),
                  std::string::npos)
            << notes_of(seen);
    }
};

TEST_P(Delay, only_what_comes_later_is_recorded) {
    const Outcome outcome = record_phases({"--source", GetParam()});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen = recorded();
    expect_later_phases(seen);
    EXPECT_NEAR(seen.roots_us() / seen.stat("process_cpu_us"), 1, 0.01);
}

SAMPLE_FOR_EACH_SOURCE(Delay);

TEST_F(Session, a_delay_that_outlasts_the_program_is_why_nothing_is_sampled) {
    const Outcome outcome = sample(
        {"--quiet", "--delay", "1h", "-o", recording(), "--", target("three_leaves"), "0.1"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::string notes = notes_of(Recording{recording()});
    EXPECT_NE(notes.find("the session was over before"), std::string::npos) << notes;
    EXPECT_EQ(notes.find("never sampled"), std::string::npos) << notes;
}

TEST_F(Session, waits_before_the_delay_are_left_out) {
    const Outcome outcome = sample({"--quiet", "--clock", "wall", "--delay", "500ms", "-o",
                                    recording(), "--", target("phases"), "200", "1000", "1500"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_EQ(seen.total_us("first_phase"), 0);
    EXPECT_GT(seen.total_us("third_phase"), 0);
    for (const auto& thread : seen.exported()["Categories"]) {
        const auto node = thread["NodeId"].get<std::size_t>() - 1;
        EXPECT_LE(seen.exported()["Nodes"].at(node)["TotalDuration"].get<double>(),
                  3.1 * seen.stat("wall_us"))
            << "two threads and a child";
    }
}

TEST_F(Session, events_before_the_delay_are_left_out) {
    const Outcome outcome = sample({"--quiet", "--event", "page-faults", "--delay", "100h", "-o",
                                    recording(), "--", target("faults"), "touch", "5000"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_EQ(seen.roots_us(), 0);
    EXPECT_NE(notes_of(seen).find("page-faults before that are in no figure"), std::string::npos)
        << notes_of(seen);
}

TEST_F(Session, a_delay_longer_than_the_command_is_said) {
    const Outcome outcome =
        sample({"--delay", "1h", "-o", recording(), "--", target("fib"), "0.2"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("the session was over before"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(": the session ended before --delay was over\n"), std::string::npos)
        << outcome.err;
    const Recording seen{recording()};
    EXPECT_EQ(seen.roots_us(), 0);
    EXPECT_EQ(seen.stat("samples"), 0);
}

}  // namespace
}  // namespace sample::e2e
