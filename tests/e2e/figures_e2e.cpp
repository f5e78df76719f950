// What a recording says, against targets whose truth is known. Bounds are six standard deviations
// of the number of samples, or wide; nothing here depends on how fast the machine is.
#include "session.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <regex>

namespace sample::e2e {
namespace {

using Figures = Session;

TEST_F(Figures, three_leaves_have_their_shares) {
    const Outcome outcome = record({target("three_leaves"), "1"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    const double samples = seen.effective_samples();
    expect_share(seen.self_us("leaf_fifty"), seen.roots_us(), 0.5, samples);
    expect_share(seen.self_us("leaf_thirty"), seen.roots_us(), 0.3, samples);
    expect_share(seen.self_us("leaf_twenty"), seen.roots_us(), 0.2, samples);
    EXPECT_LE(seen.stat("incomplete_stacks"), 0.005 * samples);
}

TEST_F(Figures, the_roots_sum_to_the_cpu_time_of_a_cpu_bound_program) {
    const Outcome outcome = record({target("deep"), "1"});
    const Recording seen{recording()};
    EXPECT_NEAR(seen.used_us() / told(outcome.out, "process_cpu_us"), 1, 0.03);
    EXPECT_NEAR(seen.roots_us() / seen.stat("process_cpu_us"), 1, 0.03);
    EXPECT_GT(seen.total_us("level<29u>") + seen.unseen_us(), 0.9 * seen.roots_us());
    EXPECT_GT(seen.self_us("level<0u>") + seen.unseen_us(), 0.9 * seen.roots_us());
}

class KernelTime : public Session, public testing::WithParamInterface<const char*> {};

TEST_P(KernelTime, the_roots_sum_to_the_cpu_time) {
    const Outcome outcome = record({target("syscalls"), GetParam(), "1"});
    const Recording seen{recording()};
    EXPECT_NEAR(seen.used_us() / told(outcome.out, "process_cpu_us"), 1, 0.03);
}

INSTANTIATE_TEST_SUITE_P(Modes, KernelTime, testing::Values("read", "tiny", "mixed"),
                         [](const auto& mode) { return std::string{mode.param}; });

TEST_F(Figures, recursion_counts_once) {
    ASSERT_EQ(record({target("fib"), "30", "20"}).exit_code, 0);
    const Recording seen{recording()};
    EXPECT_GT(seen.total_us("fib(") + seen.unseen_us(), 0.9 * seen.roots_us());
    EXPECT_LE(seen.total_us("fib("), seen.roots_us());
}

TEST_F(Figures, equal_threads_have_equal_shares) {
    const Outcome outcome = record({target("threads"), "4", "0.3"});
    const Recording seen{recording()};
    EXPECT_EQ(seen.stat("threads"), 5);
    EXPECT_NEAR(seen.used_us() / told(outcome.out, "process_cpu_us"), 1, 0.03);
    EXPECT_GT(seen.total_us("worker_main"), 0.8 * 4 * 300'000);
    const Outcome report = sample({"report", "--view", "threads", recording()});
    for (const char* name : {"worker-1", "worker-2", "worker-3", "worker-4"}) {
        EXPECT_NE(report.out.find(name), std::string::npos) << report.out;
    }
}

TEST_F(Figures, plug_ins_are_marked_and_have_their_share) {
    ASSERT_EQ(record({target("plugin_host"), target("plugin.so"), "0.5"}).exit_code, 0);
    const Recording seen{recording()};
    const double both = seen.total_us("plugin_work") + seen.total_us("host_work");
    expect_share(seen.total_us("plugin_work"), both, 0.5, seen.effective_samples());
    EXPECT_EQ(seen.flags("plugin_work") & 2U, 2U);
    EXPECT_EQ(seen.flags("host_work") & 2U, 0U);
}

TEST_F(Figures, a_plug_in_that_was_unloaded_keeps_its_name) {
    ASSERT_EQ(record({target("plugin_host"), target("plugin.so"), "0.5", "100"}).exit_code, 0);
    const Recording seen{recording()};
    EXPECT_GT(seen.total_us("plugin_work"), 0.2 * seen.roots_us());
}

TEST_F(Figures, memory_management_is_the_gc_function) {
    const Outcome outcome = record({target("allocs"), "0.5"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    const nlohmann::json& exported = seen.exported();
    ASSERT_TRUE(exported.contains("GCFuncId"));
    const auto id = exported["GCFuncId"].get<std::size_t>();
    const double gc_us = exported["Functions"].at(id - 1)["TotalDuration"].get<double>();
    EXPECT_GT(gc_us, 0);
    EXPECT_LE(gc_us, seen.total_us("churn_blocks"));
    EXPECT_GT(seen.self_us("plain_work"), 0.5 * told(outcome.out, "plain_cpu_ns") / 1000);
    const auto view = [&](const char* option) {
        return sample({"report", "--view", "callgraph", option, recording()}).out;
    };
    EXPECT_EQ(view("--unit=ms").find("[memory]"), std::string::npos) << "nobody asked for it";
    EXPECT_NE(view("--group=memory").find("[memory]"), std::string::npos);
    // libc's functions around it (mallopt, ptmalloc_init) have names where its symbols are at hand.
    EXPECT_FALSE(std::regex_search(view("--hide=memory"), std::regex{R"(\bmalloc\b)"}));
}

TEST_F(Figures, a_killed_program_keeps_what_was_captured_and_says_how_it_died) {
    for (const auto& [how, name] : {std::pair{"kill", "SIGKILL"}, std::pair{"segv", "SIGSEGV"},
                                    std::pair{"abort", "SIGABRT"}}) {
        const Outcome outcome = record({target("killed"), how, "0.3"});
        const Recording seen{recording()};
        EXPECT_GT(seen.total_us("before_death"), 0.8 * told(outcome.out, "work_cpu_ns") / 1000);
        const Outcome report = sample({"report", recording()});
        EXPECT_NE(report.out.find(name), std::string::npos) << report.out;
    }
}

TEST_F(Figures, exports_while_recording_equal_exports_after_it) {
    const std::filesystem::path live = file("live.json");
    ASSERT_EQ(sample({"--quiet", "-f", "10k", "-o", recording(), "--export",
                      "json=" + live.string(), "--", target("allocs"), "0.1"})
                  .exit_code,
              0);
    std::ifstream text{live};
    const auto exported = nlohmann::json::parse(text, nullptr, false);
    ASSERT_FALSE(exported.is_discarded());
    const Outcome later = sample({"export", "--format", "json", "-o", "-", recording()});
    EXPECT_EQ(exported["Functions"], nlohmann::json::parse(later.out, nullptr, false)["Functions"]);
}

TEST_F(Figures, the_default_output_is_named_after_the_program_and_private) {
    ASSERT_EQ(sample({"--quiet", "--", target("exit_code"), "0"}).exit_code, 0);
    std::filesystem::path found;
    for (const auto& entry : std::filesystem::directory_iterator{file("")}) {
        found = entry.path();
    }
    EXPECT_EQ(found.filename().string().find("sample-exit_code-"), 0U) << found;
    EXPECT_EQ(found.extension(), ".utrace");
    using std::filesystem::perms;
    EXPECT_EQ(std::filesystem::status(found).permissions() & perms::all,
              perms::owner_read | perms::owner_write);
}

TEST_F(Figures, every_promised_statistic_is_there) {
    ASSERT_EQ(record({target("threads"), "2", "0.2"}).exit_code, 0);
    const Recording seen{recording()};
    for (const char* name :
         {"requested_hz", "achieved_hz", "wall_us", "process_cpu_us", "sampled_us", "samples",
          "lost", "truncated_stacks", "incomplete_stacks", "threads", "processes",
          "handler_ns_mean", "handler_ns_p99", "agent_rss_bytes"}) {
        EXPECT_GE(seen.stat(name), 0) << name;
    }
    EXPECT_NE(seen.text_stat("source"), "");
    EXPECT_EQ(seen.text_stat("clock"), "cpu");
}

}  // namespace
}  // namespace sample::e2e
