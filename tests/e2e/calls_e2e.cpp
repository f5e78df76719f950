// Every way past the functions that the agent wraps by name: calls by number, libc's other names,
// and children made past the fork handlers. docs/safety.md lists them.
#include "session.h"

#include <algorithm>
#include <string>

namespace sample::e2e {
namespace {

/// How it is sampled: a source, or the clock `wall`.
Words flags_of(const std::string& source) {
    return source == "wall" ? Words{"--clock", "wall"} : Words{"--source", source};
}

class Calls : public Session {
protected:
    [[nodiscard]] Outcome sample_by(const std::string& source, const Words& command,
                                    const char* frequency = "10k") const {
        Words arguments{"--quiet", "--force", "-o", recording(), "--freq", frequency};
        for (const std::string& flag : flags_of(source)) {
            arguments.push_back(flag);
        }
        arguments.emplace_back("--");
        arguments.insert(arguments.end(), command.begin(), command.end());
        return sample(arguments);
    }
    /// The command prints, says and ends the same bare and when it is sampled so.
    void expect_same(const Words& command, const std::string& source,
                     const char* frequency = "10k") const {
        expect_same(run_here(command), sample_by(source, command, frequency));
    }
    static void expect_same(const Outcome& bare, const Outcome& sampled) {
        EXPECT_EQ(sampled.out, bare.out);
        EXPECT_EQ(sampled.err, bare.err);
        EXPECT_EQ(sampled.exit_code, bare.exit_code);
        EXPECT_EQ(sampled.signal, bare.signal);
    }
};

constexpr const char* kSources[] = {"sigtrap", "perf", "thread", "wall"};

class ChildWays : public Calls, public testing::WithParamInterface<const char*> {};

TEST_P(ChildWays, behave_the_same_whatever_the_child_does) {
    for (const char* source : kSources) {
        SCOPED_TRACE(source);
        Words command{target("child_ways"), GetParam(), "2"};
        if (std::string{source} != "sigtrap") {
            command.emplace_back("without-urg");  // may be lost (docs/sources.md)
        }
        expect_same(command, source);
    }
    expect_same({target("child_ways"), GetParam(), "4"}, "sigtrap", "1k");
}

INSTANTIATE_TEST_SUITE_P(, ChildWays,
                         testing::Values("fork", "_Fork", "clone", "__clone", "shared-files",
                                         "fork-number", "clone-number", "clone3-number", "raw",
                                         "vfork"),
                         [](const auto& way) {
                             std::string name = way.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

class InterruptedCalls : public Calls, public testing::WithParamInterface<const char*> {};

TEST_P(InterruptedCalls, end_when_a_signal_comes_and_not_before) {
    expect_same({target("interrupted_calls"), "20"}, GetParam());
    expect_same({target("interrupted_calls"), "20", "restart"}, GetParam());
}

INSTANTIATE_TEST_SUITE_P(, InterruptedCalls, testing::Values("sigtrap", "perf", "thread", "wall"),
                         [](const auto& source) { return std::string{source.param}; });

class RecordedChildren : public Calls, public testing::WithParamInterface<const char*> {};

TEST_P(RecordedChildren, are_processes_of_the_recording) {
    expect_same({target("child_ways"), GetParam(), "1"}, "sigtrap");
    const Recording seen{recording()};
    // The parent, and 13 children that do something; three of them and what they start exec.
    const double fewest = 1 + 13;
    EXPECT_GT(seen.stat("processes"), fewest);
}

INSTANTIATE_TEST_SUITE_P(, RecordedChildren,
                         testing::Values("_Fork", "clone", "__clone", "fork-number", "clone-number",
                                         "clone3-number"),
                         [](const auto& way) {
                             std::string name = way.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

class SignalWays : public Calls, public testing::WithParamInterface<const char*> {};

TEST_P(SignalWays, give_what_they_give_without_us) {
    for (const char* signal : {"trap", "urg"}) {
        SCOPED_TRACE(signal);
        // A signal of the program's own is lost if it comes while one of this thread's waits for a
        // processor, as standard signals do not queue (docs/sampling.md).
        if (std::string{GetParam()} == "thread" && std::string{signal} == "urg") {
            continue;
        }
        const Words command{target("signal_ways"), signal};
        const Outcome bare = run_here(command);
        Outcome sampled = sample_by(GetParam(), command);
        // A signal that comes while a sample waits is lost with it, another one each time
        // (docs/sources.md).
        const bool varies = std::string{GetParam()} != "sigtrap";
        constexpr int kMostTries = 30;
        for (int tries = 1; varies && tries < kMostTries && sampled.out != bare.out; ++tries) {
            sampled = sample_by(GetParam(), command);
        }
        expect_same(bare, sampled);
    }
}

INSTANTIATE_TEST_SUITE_P(, SignalWays, testing::ValuesIn(kSources),
                         [](const auto& source) { return std::string{source.param}; });

class ExitWays : public Calls, public testing::WithParamInterface<const char*> {};

TEST_P(ExitWays, leave_the_same_status) {
    for (const char* way :
         {"exit", "_exit", "_Exit", "quick_exit", "abort", "return", "daemon", "exit-number",
          "exit_group-number", "pthread_exit", "thrd_exit", "last-thread"}) {
        SCOPED_TRACE(way);
        expect_same({target("exit_ways"), way}, GetParam());
    }
}

INSTANTIATE_TEST_SUITE_P(, ExitWays, testing::ValuesIn(kSources),
                         [](const auto& source) { return std::string{source.param}; });

TEST_F(Calls, rights_and_namespaces_change_by_number_as_without_us) {
    for (const char* source : kSources) {
        SCOPED_TRACE(source);
        expect_same({target("rights_ways")}, source);
    }
}

TEST_F(Calls, a_new_image_without_the_agent_meets_no_signal_of_ours) {
    for (const char* source : {"sigtrap", "perf", "thread", "timer", "wall"}) {
        SCOPED_TRACE(source);
        expect_same({"sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exec \"$0\"",
                     target("met_signals_static")},
                    source);
    }
}

// Not `timer`, whose signals the kernel sends during an exec, too (docs/sources.md).
TEST_F(Calls, where_libc_blocks_signals_no_sample_waits_to_be_met) {
    for (const char* source : {"sigtrap", "perf", "thread", "wall"}) {
        for (const char* way : {"callback", "instruction"}) {
            SCOPED_TRACE(std::string{source} + " " + way);
            expect_same({target("hidden_masks"), way, target("met_signals_static")}, source);
        }
    }
}

TEST_F(Calls, who_spawns_a_child_has_its_number_before_a_signal_comes) {
    for (const char* source : kSources) {
        SCOPED_TRACE(source);
        expect_same({target("spawns"), file(".")}, source);
    }
}

TEST_F(Calls, programs_and_children_may_be_started_on_a_small_stack) {
    for (const char* bytes : {"4096", "8192", "65536"}) {
        SCOPED_TRACE(bytes);
        // Our handler's own needs are another matter: hardly a sample is taken.
        expect_same({target("small_stacks"), bytes, "3"}, "sigtrap", "1");
    }
}

TEST_F(Calls, an_end_by_quick_exit_or_by_number_is_told) {
    for (const char* way : {"quick_exit", "exit-number", "exit_group-number"}) {
        expect_same({target("exit_ways"), way}, "sigtrap");
        const Recording seen{recording()};
        EXPECT_EQ(seen.stats()["process_list"][0]["ending"], "exited with 5") << way;
    }
}

}  // namespace
}  // namespace sample::e2e
