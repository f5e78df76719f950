// Threads of every kind: each is found, sampled where the source reaches it, and its time is
// accounted for where not.
#include "each_source.h"
#include "edges.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sample::e2e {
namespace {

class Threads : public EachSource {
protected:
    [[nodiscard]] bool is(const char* source) const { return std::string{GetParam()} == source; }

    /// The last names of the recording's threads.
    [[nodiscard]] std::multiset<std::string> names() const {
        std::multiset<std::string> found;
        for (const auto& [name, process] : names_and_processes()) {
            found.insert(name);
        }
        return found;
    }

    /// The same, each with its process's.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> names_and_processes() const {
        const Outcome report = sample({"report", "--view", "threads", "--json", recording()});
        std::vector<std::pair<std::string, std::string>> found;
        const auto seen = nlohmann::json::parse(report.out);
        for (const auto& thread : seen.at("threads")) {
            found.emplace_back(thread.at("name").get<std::string>(),
                               thread.at("process").get<std::string>());
        }
        return found;
    }

    /// `function` took so long; what of it has no stack is said to have none.
    static void expect_work(const Recording& seen, const char* function, double worked_us) {
        EXPECT_GT(seen.total_us(function), 0.1 * worked_us) << function;
        EXPECT_LE(seen.total_us(function), 1.05 * worked_us) << function;
        EXPECT_GE(seen.total_us(function) + seen.unseen_us(), 0.95 * worked_us) << function;
    }

    /// Two threads of `kind` worked: as their own clocks say, and with whole stacks.
    void expect_two_workers(const char* kind) const {
        SCOPED_TRACE(kind);
        const Outcome outcome = record_by_source({target("thread_kinds"), kind, "0.15"});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        const Recording seen = recorded();
        // Of the first of the two; the other's is the same by its budget.
        const double worked_us = 2 * told(outcome.out, "worker_cpu_ns") / 1000;
        expect_work(seen, "kind_work", worked_us);
        EXPECT_NEAR(seen.roots_us(), seen.stat("process_cpu_us"), 0.03 * seen.roots_us());
        EXPECT_LE(seen.stat("incomplete_stacks"), 0.01 * seen.stat("samples"));
        EXPECT_EQ(seen.stat("threads"), 3);
    }

    /// The target many_threads makes `threads`, as `how` says: all are known, and so is their time.
    void expect_all_counted(int threads, const Words& how) const {
        Words line = {target("many_threads"), std::to_string(threads)};
        line.insert(line.end(), how.begin(), how.end());
        const Outcome outcome = record_by_source(line);
        ASSERT_EQ(told(outcome.out, "made"), threads) << outcome.err;
        const Recording seen = recorded();
        EXPECT_EQ(seen.stat("threads"), threads + 1);
        EXPECT_EQ(seen.stat("lost"), 0);
        EXPECT_NEAR(seen.used_us(), told(outcome.out, "process_cpu_us"),
                    0.05 * told(outcome.out, "process_cpu_us"));
    }
};

TEST_P(Threads, of_libcs_and_the_languages_own_calls_are_sampled) {
    for (const char* kind : {"pthread", "std", "c11"}) {
        expect_two_workers(kind);
    }
}

TEST_P(Threads, that_libc_calls_timers_functions_in_and_what_these_make_are_sampled) {
    for (const char* kind : {"timer", "timer-made"}) {
        SCOPED_TRACE(kind);
        const Outcome outcome = record_by_source({target("thread_kinds"), kind, "0.15"});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        const Recording seen = recorded();
        expect_work(seen, "kind_work", 2 * told(outcome.out, "worker_cpu_ns") / 1000);
        EXPECT_NEAR(seen.roots_us(), seen.stat("process_cpu_us"), 0.03 * seen.roots_us());
        EXPECT_LE(seen.stat("incomplete_stacks"), 0.01 * seen.stat("samples"));
    }
}

TEST_P(Threads, of_a_bare_clone_are_sampled_where_the_source_reaches_them) {
    const bool reaches = is("sigtrap") || is("thread");
    for (const char* kind : {"raw", "raw-inside", "raw-tls"}) {
        SCOPED_TRACE(kind);
        const Outcome outcome = record_by_source({target("thread_kinds"), kind, "0.15"});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.signal;
        const Recording seen{recording()};
        if (reaches) {
            expect_work(seen, "kind_work", 300'000);
        } else {
            EXPECT_EQ(seen.total_us("kind_work"), 0);
        }
        EXPECT_NEAR(seen.roots_us(), seen.stat("process_cpu_us"), 0.03 * seen.roots_us());
    }
}

TEST_P(Threads, without_libcs_thread_control_block_live_on) {
    const Outcome outcome = record_by_source({target("thread_kinds"), "raw-foreign", "0.1"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.signal;
    const Recording seen{recording()};
    EXPECT_EQ(seen.total_us("foreign_work"), 0);
    EXPECT_NEAR(seen.roots_us(), seen.stat("process_cpu_us"), 0.03 * seen.roots_us());
    // Work in its own code is not called the kernel's, but for what is too little for its ticks,
    // which take the sampling thread's time for what the others do.
    EXPECT_LE(seen.total_us("[kernel, caller unseen]"),
              seen.used_us() - told(outcome.out, "user_us") + 20'000);
}

TEST_P(Threads, may_have_any_thread_register) {
    for (const char* way : {"fs-null", "fs-odd", "fs-unmapped", "fs-far", "fs-alone"}) {
        SCOPED_TRACE(way);
        const Outcome outcome = expect_same({target("processor_state"), way});
        if (outcome.exit_code == 77) {
            continue;  // the processor has no instruction for it
        }
        const Recording seen{recording()};
        EXPECT_EQ(seen.total_us("state_work"), 0);
        EXPECT_GT(seen.stat("lost"), 0);
        EXPECT_NEAR(seen.roots_us(), seen.stat("process_cpu_us"), 0.03 * seen.roots_us());
    }
}

TEST_P(Threads, may_have_any_state_of_the_processor) {
    for (const char* way : {"ac", "df", "mxcsr", "x87", "gs"}) {
        SCOPED_TRACE(way);
        expect_same({target("processor_state"), way});
        EXPECT_GT(recorded().total_us("state_work"), 0);
    }
}

TEST_P(Threads, may_have_all_keys_of_libcs) {
    expect_same({target("thread_keys")});
}

// The kernel's, on the process's clock: no signal reaches them, so they are looked at.
TEST_P(Threads, that_serve_an_io_uring_have_their_time) {
    if (run_here({target("ring_worker"), "1"}).exit_code == 77) {
        GTEST_SKIP() << "this kernel polls no ring for us";
    }
    const Outcome outcome = record_by_source({target("ring_worker"), "500"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen = recorded();
    const double worker_us = seen.total_us("[io_uring worker]");
    EXPECT_GE(worker_us, 0.5 * told(outcome.out, "worker_us")) << "but for what came after a look";
    EXPECT_LE(worker_us + seen.total_us("[not sampled]"), seen.stat("process_cpu_us"));
    const auto listed = names();
    EXPECT_EQ(std::count_if(listed.begin(), listed.end(),
                            [](const std::string& name) { return name.rfind("iou-sqp-", 0) == 0; }),
              1);
}

TEST_P(Threads, of_openmp_are_sampled) {
    if (run_here({target("thread_kinds"), "openmp", "0.01"}).exit_code == 77) {
        GTEST_SKIP() << "this compiler has no OpenMP";
    }
    expect_two_workers("openmp");
}

TEST_P(Threads, that_are_older_than_the_agent_are_sampled) {
    const Outcome outcome = record_by_source({target("early_threads"), "0.6"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen = recorded();
    expect_work(seen, "early_work", 600'000);
    expect_work(seen, "late_work", 300'000);
    EXPECT_LE(seen.stat("incomplete_stacks"), 0.01 * seen.stat("samples"));
    EXPECT_EQ(names().count("early-bird"), 1U);
}

TEST_P(Threads, what_a_librarys_constructor_does_is_sampled) {
    const Outcome outcome = record_by_source({target("slow_start"), "0"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen = recorded();
    expect_work(seen, "work_before_main", 200'000);
    EXPECT_LE(seen.total_us("[before sampling]"), 0.2 * 200'000);
}

TEST_P(Threads, a_thousand_at_once_are_all_counted) {
    expect_all_counted(1000, {"1000", "2000"});
}

TEST_P(Threads, ten_thousand_short_ones_are_all_counted) {
    expect_all_counted(10000, {"1", "50"});
}

TEST_P(Threads, with_all_signals_blocked_are_sampled_and_keep_their_mask) {
    for (const char* how : {"pthread_sigmask", "sigprocmask", "inherited", "attribute"}) {
        SCOPED_TRACE(how);
        const Outcome outcome = record_by_source({target("masks"), "2", "0.1", how});
        EXPECT_EQ(told(outcome.out, "full"), 2);
        const Recording seen = recorded();
        expect_work(seen, "blocked_work", 200'000);
    }
}

TEST_P(Threads, stacks_of_contexts_and_coroutines_are_whole) {
    for (const char* kind : {"ucontext", "assembly", "written"}) {
        SCOPED_TRACE(kind);
        // Samples that come back to back would meet the same instruction.
        const Outcome outcome = record_by_source({target("contexts"), kind, "1", "10000"}, "2k");
        ASSERT_EQ(outcome.exit_code, 0) << outcome.signal;
        const Recording seen = recorded();
        // Nothing tells where a switch without tables stands; on cold stacks it takes its time.
        EXPECT_LE(seen.stat("incomplete_us"),
                  0.01 * seen.roots_us() + seen.self_us("switch_without_tables"));
        EXPECT_LE(seen.stat("guessed_stacks"), 0.01 * seen.stat("samples"));
        const double first_us = seen.total_us("first_job");
        const double share = first_us / (first_us + seen.total_us("second_job"));
        EXPECT_NEAR(share, 0.5, six_sigma(0.5, seen.effective_samples()) + 0.02);
        for (const Edge& edge : edges_of(seen.exported())) {
            if (edge.callee.starts_with("first_job") || edge.callee.starts_with("second_job")) {
                EXPECT_NE(edge.caller.find("coroutine_body"), std::string::npos) << edge.caller;
            }
        }
    }
}

TEST_P(Threads, have_the_last_name_that_they_were_given) {
    ASSERT_EQ(record_by_source({target("thread_names")}).exit_code, 0);
    const auto found = names();
    for (const char* name : {"main-last", "self-last", "prctl-last", "other-last"}) {
        EXPECT_EQ(found.count(name), 1U) << name;
    }
    EXPECT_EQ(found.count("short-last"), 10U);
}

TEST_P(Threads, keep_their_name_when_the_process_becomes_another_program) {
    // Long enough for names to be looked at on the way.
    const std::string script =
        "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; exec " + target("two_loops") + " 0.1";
    ASSERT_EQ(record_by_source({"/bin/dash", "-c", script}).exit_code, 0);
    const auto all = names_and_processes();
    const std::set<std::pair<std::string, std::string>> found{all.begin(), all.end()};
    EXPECT_EQ(found, (std::set<std::pair<std::string, std::string>>{{"dash", "dash"},
                                                                    {"two_loops", "two_loops"}}));
}

SAMPLE_FOR_EACH_SOURCE(Threads);

}  // namespace
}  // namespace sample::e2e
