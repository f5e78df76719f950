// What every source must pass: one suite, run for each by `--source`.
//
// The bounds are those of figures_e2e: 3 % for sums, six standard deviations and a point for
// shares. What a source may do that others may not is in the tables at the top.
#include "session.h"
#include "tests/built.h"

#include <csignal>
#include <ostream>

namespace sample::e2e {
namespace {

struct SourceKind {
    const char* name;
    bool interrupts;   ///< Blocking calls may return EINTR.
    bool sees_kernel;  ///< Who called into the kernel; else the time alone is known.

    friend std::ostream& operator<<(std::ostream& out, const SourceKind& kind) {
        return out << kind.name;
    }
};

class Source : public Session, public testing::WithParamInterface<SourceKind> {
protected:
    [[nodiscard]] Outcome record_by_source(const Words& command,
                                           const char* frequency = "10k") const {
        Words words = {"--quiet",       "--force", "--freq",    frequency, "--source",
                       GetParam().name, "-o",      recording(), "--"};
        words.insert(words.end(), command.begin(), command.end());
        return sample(words);
    }

    /// What was recorded, once it is made sure that it was by this source and nothing else.
    [[nodiscard]] Recording seen() const {
        Recording result{recording()};
        EXPECT_EQ(result.text_stat("source"), GetParam().name);
        EXPECT_EQ(result.text_stat("source_reason"), "");
        EXPECT_GT(result.stat("samples"), 0);
        return result;
    }

    /// The function has most of `work_us`, but for what has no stack.
    static void expect_most_of(double work_us, const char* function, const Recording& found) {
        const double own_us = found.total_us(function);
        EXPECT_GT(own_us + found.unseen_us(), (0.8 - found.late_share()) * work_us) << function;
        EXPECT_GT(own_us, 0.1 * work_us) << function;
    }
};

/// The roots' sum is what the program said it had used.
void expect_sum(const Recording& seen, const Outcome& outcome) {
    EXPECT_NEAR(seen.used_us() / told(outcome.out, "process_cpu_us"), 1, 0.03);
    EXPECT_NEAR(seen.roots_us() / seen.stat("process_cpu_us"), 1, 0.03);
}

/// Of each category, by name: categories are the threads.
std::vector<double> thread_sums(const Recording& seen, std::string_view name) {
    std::vector<double> sums;
    const auto& exported = seen.exported();
    for (const auto& category : exported["Categories"]) {
        if (category.value("Name", "").find(name) != std::string::npos) {
            const auto node = category["NodeId"].get<std::size_t>();
            sums.push_back(exported["Nodes"].at(node - 1)["TotalDuration"].get<double>());
        }
    }
    return sums;
}

TEST_P(Source, finds_the_shares_of_three_leaves_and_their_sum) {
    const Outcome outcome = record_by_source({target("three_leaves"), "0.6"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording found = seen();
    const double samples = found.effective_samples();
    const double work_us = told(outcome.out, "work_cpu_ns") / 1000;
    expect_sum(found, outcome);
    const double fifty = found.self_us("leaf_fifty");
    const double thirty = found.self_us("leaf_thirty");
    const double twenty = found.self_us("leaf_twenty");
    const double leaves = fifty + thirty + twenty;
    expect_share(fifty, leaves, 0.5, samples);
    expect_share(thirty, leaves, 0.3, samples);
    expect_share(twenty, leaves, 0.2, samples);
    // Where the kernel is not seen, a sample that comes late, as on a busy machine, stands for one
    // period.
    EXPECT_LE(leaves / work_us, 1.03);
    EXPECT_GE((leaves + found.unseen_us()) / work_us, 0.97 - found.late_share());
    EXPECT_LE(found.stat("incomplete_stacks"), 0.005 * found.stat("samples"));
}

TEST_P(Source, says_how_late_its_signals_are_where_they_have_a_way) {
    ASSERT_EQ(record_by_source({target("three_leaves"), "0.3"}).exit_code, 0);
    const Recording result = seen();
    if (std::string_view{GetParam().name} != "thread") {
        EXPECT_FALSE(result.has_stat("signal_way_ns_mean"));
        EXPECT_FALSE(result.has_stat("late_samples"));
        return;
    }
    EXPECT_GT(result.stat("signal_way_ns_mean"), 0);
    EXPECT_LE(result.stat("late_samples"), result.stat("samples"));
}

// The end of a sample is the next one's begin then, and the program does nothing.
TEST_P(Source, lets_a_program_get_on_where_a_sample_takes_longer_than_a_period) {
    const Outcome outcome =
        run({built::kConfine, "--dear-handlers", "100", sample_path(), "--freq", "10k", "--source",
             GetParam().name, "-o", recording(), "--", target("three_leaves"), "0.5"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_FALSE(outcome.hung);
}

// Nor may it stand still where the agent joins, or stay so because what a sample takes is not found
// out: by chance, so there are twenty starts.
TEST_P(Source, lets_a_program_start_where_a_sample_takes_longer_than_a_period) {
    const Outcome outcome = run({built::kConfine,
                                 "--dear-calls",
                                 "15",
                                 "--dear-handlers",
                                 "100",
                                 "sh",
                                 "-c",
                                 R"(for i in $(seq 20); do "$@" || exit; done)",
                                 "sh",
                                 sample_path(),
                                 "--quiet",
                                 "--freq",
                                 "10k",
                                 "--source",
                                 GetParam().name,
                                 "--force",
                                 "-o",
                                 recording(),
                                 "--",
                                 "sh",
                                 "-c",
                                 ":"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_P(Source, gives_equal_threads_equal_shares) {
    const Outcome outcome = record_by_source({target("threads"), "4", "0.1"});
    const Recording found = seen();
    EXPECT_EQ(found.stat("threads"), 5);
    expect_sum(found, outcome);
    expect_most_of(4 * 100'000, "worker_main", found);
    for (const double sum : thread_sums(found, "worker-")) {
        EXPECT_NEAR(sum / 100'000, 1, 0.03);
    }
}

TEST_P(Source, gives_the_kernel_its_share) {
    const Outcome outcome = record_by_source({target("syscalls"), "file", "0.4"});
    const Recording found = seen();
    expect_sum(found, outcome);
    const double truth = told(outcome.out, "reading_us") / 400'000;
    const double unseen_us = found.total_us("[kernel, caller unseen]");
    const double reading_us = found.total_us("read_zeros");
    const double working_us = found.total_us("burn");
    if (GetParam().sees_kernel) {
        EXPECT_EQ(unseen_us, 0);
        EXPECT_NEAR(reading_us / (reading_us + working_us), truth,
                    six_sigma(truth, found.effective_samples()) + 0.02);
    } else {
        // What the target did before its 0.4 s is in the kernel mostly.
        // So is what a late sample stands for beyond a period: on a busy machine there are many.
        EXPECT_LE(working_us / 400'000, 1 - truth + 0.05);
        EXPECT_GE(working_us / 400'000, 0.6 * (1 - truth));
        EXPECT_GE((working_us + unseen_us) / 400'000, 0.95);
        EXPECT_GE(unseen_us, 0.9 * truth * 400'000);
    }
}

TEST_P(Source, keeps_what_was_captured_of_a_program_that_dies) {
    for (const auto& [how, signal] : {std::pair{"kill", SIGKILL}, {"segv", SIGSEGV}}) {
        const Outcome outcome = record_by_source({target("killed"), how, "0.1"});
        EXPECT_EQ(outcome.signal, signal);
        expect_most_of(told(outcome.out, "work_cpu_ns") / 1000, "before_death", seen());
    }
}

TEST_P(Source, leaves_a_program_alone_whose_collector_was_killed) {
    // Who reads what the program says waits for it, also behind the end of `sample`.
    const Words words{
        "sh",
        "-c",
        "{ \"$0\" --quiet --freq 10k --source \"$1\" -o \"$2\" -- \"$3\"; } 2> /dev/null | cat",
        sample_path(),
        GetParam().name,
        recording().string(),
        target("outlives")};
    const Outcome outcome = run_here(words);
    EXPECT_EQ(outcome.out, "quiet=1\nalone=1\n");
}

TEST_P(Source, leaves_a_program_alone_whose_collector_is_reaped_by_nobody) {
    if (std::string_view{GetParam().name} == "timer") {
        return;  // its threads cannot know: docs/safety.md
    }
    // Who has started `sample` becomes one that waits for nobody, until the command has ended.
    constexpr const char* kScript = R"(
        mkfifo "$4"
        {
            "$0" --quiet --freq 10k --source "$1" -o "$2" -- "$3" 7> "$4" &
            exec cat "$4"
        } 2> /dev/null | cat)";
    const Words words{"sh",
                      "-c",
                      kScript,
                      sample_path(),
                      GetParam().name,
                      recording().string(),
                      target("outlives"),
                      file("over").string()};
    EXPECT_EQ(run_here(words).out, "quiet=1\nalone=1\n");
}

TEST_P(Source, follows_execs) {
    const Outcome outcome =
        record_by_source({"sh", "-c", "exec " + target("three_leaves") + " 0.15"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    expect_most_of(150'000, "leaf_", seen());
}

TEST_P(Source, survives_a_storm_of_execs) {
    for (const char* mode : {"execve", "vfork"}) {
        const Outcome outcome = record_by_source({target("self_exec"), mode, "10"});
        EXPECT_EQ(outcome.out, "execs=10\n") << mode << outcome.err;
        EXPECT_EQ(outcome.exit_code, 0) << mode;
        EXPECT_EQ(outcome.signal, 0) << mode;
    }
    const Outcome outcome = record_by_source({target("exec_churn"), "8", "3"});
    EXPECT_EQ(outcome.out, "execs=8\n") << outcome.err;
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.signal, 0);
}

TEST_P(Source, goes_on_after_a_failing_exec) {
    const Outcome outcome = record_by_source({target("failing_exec"), "20", "0.1"});
    EXPECT_EQ(outcome.out, "failures=20\n") << outcome.err;
    expect_most_of(100'000, "after_failure", seen());
}

TEST_P(Source, follows_forked_children) {
    const Outcome outcome = record_by_source({target("fork_tree"), "1", "2", "0.1"});
    EXPECT_EQ(told(outcome.out, "processes"), 3) << outcome.err;
    const Recording found = seen();
    EXPECT_EQ(found.stat("processes"), 3);
    EXPECT_NEAR(found.used_us() /
                    (told(outcome.out, "process_cpu_us") + told(outcome.out, "children_cpu_us")),
                1, 0.03);
    expect_most_of(200'000, "child_work", found);
    expect_most_of(100'000, "parent_work", found);
}

TEST_P(Source, samples_threads_that_block_all_signals) {
    const Outcome outcome = record_by_source({target("masks"), "2", "0.1"});
    EXPECT_EQ(told(outcome.out, "full"), 2);
    const Recording found = seen();
    expect_most_of(2 * 100'000, "blocked_work", found);
}

TEST_P(Source, outlives_the_programs_closing_of_all_descriptors) {
    const Outcome outcome = record_by_source({target("close_all"), file("written"), "0.1"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(told(outcome.out, "open_before"), 0);
    const Recording found = seen();
    expect_most_of(100'000, "after_closing", found);
}

TEST_P(Source, interrupts_blocking_calls_no_more_than_it_may) {
    const Outcome outcome = record_by_source({target("eintr"), "60"}, "1k");
    EXPECT_EQ(outcome.exit_code, 0);
    (void)seen();
    double interrupted = 0;
    for (const char* call : {"eintr_epoll_wait", "eintr_poll", "eintr_nanosleep", "eintr_recv",
                             "eintr_sem_timedwait"}) {
        ASSERT_GE(told(outcome.out, call), 0) << outcome.out;
        interrupted += told(outcome.out, call);
    }
    RecordProperty("interrupted", std::to_string(interrupted));
    EXPECT_TRUE(interrupted == 0 || GetParam().interrupts) << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(Each, Source,
                         testing::Values(SourceKind{"sigtrap", false, true},
                                         SourceKind{"perf", false, false},
                                         SourceKind{"thread", false, true},
                                         SourceKind{"timer", true, true}),
                         [](const auto& kind) { return std::string{kind.param.name}; });

using RestingThread = Session;

TEST_F(RestingThread, wakes_for_work_and_for_orders_and_hardly_else) {
    const Outcome outcome = sample({"--quiet", "--freq", "10k", "--source", "thread", "--force",
                                    "-o", recording(), "--", target("rests"), "300"});
    EXPECT_LT(told(outcome.out, "wakes"), 16) << outcome.err;
    EXPECT_EQ(told(outcome.out, "agents"), 1);
    const Recording seen{recording()};
    EXPECT_GT(seen.total_us("after_rest"), 0.7 * told(outcome.out, "after_rest_us"));
}

// A look a period would be 10,000.
TEST_F(RestingThread, wakes_the_less_for_waits_the_longer_they_are) {
    const Outcome outcome = sample({"--quiet", "--freq", "10k", "--clock", "wall", "--force", "-o",
                                    recording(), "--", target("rests"), "10", "1000"});
    EXPECT_LT(told(outcome.out, "wakes"), 1000) << outcome.err;
    EXPECT_GT(Recording{recording()}.total_us("sleep"), 1'900'000) << "of two seconds at least";
}

}  // namespace
}  // namespace sample::e2e
