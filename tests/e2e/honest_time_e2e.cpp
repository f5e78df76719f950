// What threads, functions, the kernel and sleeps get, against what the clocks of the program say.
// The short versions of bench/figures/honest.py: bounds here are wide, and none is a time.
//
// Shares are bounded by six standard deviations of a quarter of the samples, since a busy machine
// makes some samples stand for several periods.
#include "kernel_setting.h"
#include "session.h"
#include "tests/built.h"

#include <array>
#include <chrono>
#include <ostream>

namespace sample::e2e {
namespace {

constexpr const char* kUnseen = "[kernel, caller unseen]";

/// Microseconds of one thread, by the view threads.
struct ThreadTime {
    std::string name;
    bool is_first = false;
    double us = 0;
};

class HonestTime : public Session {
protected:
    [[nodiscard]] Outcome record_by(const std::string& source, const Words& command,
                                    const Words& options = {"--freq", "10k"}) const {
        Words words = {"--quiet", "--force", "--source", source, "-o", recording()};
        words.insert(words.end(), options.begin(), options.end());
        words.emplace_back("--");
        words.insert(words.end(), command.begin(), command.end());
        Outcome outcome = sample(words);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(Recording{recording()}.text_stat("source"), source);
        return outcome;
    }

    [[nodiscard]] std::vector<ThreadTime> threads() const {
        const Outcome view = sample({"report", "--view", "threads", "--json", recording()});
        const auto parsed = nlohmann::json::parse(view.out);
        std::vector<ThreadTime> threads;
        for (const auto& thread : parsed["threads"]) {
            threads.push_back({thread["name"], thread["pid"] == thread["tid"],
                               thread[thread.contains("wall_us") ? "wall_us" : "cpu_us"]});
        }
        return threads;
    }

    [[nodiscard]] double thread_us(std::string_view name) const {
        double sum = 0;
        for (const ThreadTime& thread : threads()) {
            sum += thread.name == name ? thread.us : 0;
        }
        return sum;
    }

    [[nodiscard]] std::string report(const char* view) const {
        return sample({"report", "--view", view, recording()}).out;
    }
};

double share_bound(double share, const Recording& seen) {
    return six_sigma(share, seen.effective_samples());
}

/// A function within one category, by name.
double below_us(const nlohmann::json& exported, std::size_t node, std::string_view function) {
    const auto& parent = exported["Nodes"].at(node - 1);
    const auto children = parent.value("NodeIds", std::vector<std::size_t>{});
    const auto ids = parent.value("FunctionIds", std::vector<std::size_t>{});
    double sum = 0;
    for (std::size_t child = 0; child < children.size(); ++child) {
        const std::string name = exported["Functions"].at(ids.at(child) - 1)["Name"];
        sum += name.find(function) != std::string::npos
                   ? exported["Nodes"].at(children[child] - 1)["TotalDuration"].get<double>()
                   : below_us(exported, children[child], function);
    }
    return sum;
}

double in_category_us(const Recording& seen, std::string_view category, std::string_view function) {
    double sum = 0;
    for (const auto& one : seen.exported()["Categories"]) {
        if (one["Name"] == category) {
            sum += below_us(seen.exported(), one["NodeId"].get<std::size_t>(), function);
        }
    }
    return sum;
}

class EachSource : public HonestTime, public testing::WithParamInterface<const char*> {
protected:
    /// The part of a program's computing that samples see here. The kernel's part of each interrupt
    /// is seen by who may look into the kernel only.
    [[nodiscard]] double seen_part_of_work() const {
        const Outcome outcome = record_by(GetParam(), {target("ten_functions"), "0.6"});
        return Recording{recording()}.self_us("equal_") / told(outcome.out, "work_cpu_ns") * 1000;
    }
};

TEST_P(EachSource, ten_equal_functions_are_equal) {
    const Outcome outcome = record_by(GetParam(), {target("ten_functions"), "0.6"});
    const Recording seen{recording()};
    double sum = 0;
    std::array<double, 10> each{};
    for (std::size_t index = 0; index < each.size(); ++index) {
        each.at(index) = seen.self_us("equal_" + std::to_string(index));
        sum += each.at(index);
    }
    // The kernel's part of each interrupt is seen by who may look into the kernel only.
    EXPECT_GT(sum + seen.unseen_us(), 0.9 * told(outcome.out, "work_cpu_ns") / 1000);
    for (const double one : each) {
        EXPECT_NEAR(one / sum, 0.1, share_bound(0.1, seen));
    }
}

TEST_P(EachSource, no_more_than_the_time_of_reads_is_the_kernels) {
    const double seen_part = seen_part_of_work();
    const Outcome outcome = record_by(GetParam(), {target("reads"), "200", "60", "0.6"});
    const Recording seen{recording()};
    const double read_us = told(outcome.out, "read_cpu_ns") / 1000;
    const double work_us = told(outcome.out, "work_cpu_ns") / 1000;
    const double whole_us = read_us + work_us;
    const double bound = share_bound(0.6, seen) + 0.02 + seen.late_share();
    const double seen_work_us = seen.total_us("plain_work");
    const double interrupts_us = seen_work_us / seen_part - seen_work_us;
    EXPECT_NEAR((seen.total_us("read_zeros") + seen.total_us(kUnseen) - interrupts_us) / whole_us,
                read_us / whole_us, bound);
    EXPECT_NEAR((seen_work_us + interrupts_us) / whole_us, work_us / whole_us, bound);
}

TEST_P(EachSource, threads_shorter_than_a_period_have_their_time) {
    const Outcome outcome =
        record_by(GetParam(), {target("short_threads"), "300", "300"}, {"--freq", "1k"});
    const double works_us = told(outcome.out, "threads_cpu_ns") / 1000;
    const double ends_too_us =
        told(outcome.out, "process_cpu_us") - told(outcome.out, "main_cpu_ns") / 1000;
    double found_us = 0;
    std::size_t count = 0;
    for (const ThreadTime& thread : threads()) {
        if (!thread.is_first) {
            found_us += thread.us;
            ++count;
        }
    }
    EXPECT_EQ(count, 300U);
    EXPECT_GT(found_us, 0.95 * works_us);
    EXPECT_LT(found_us, 1.05 * ends_too_us);
    EXPECT_NEAR(Recording{recording()}.used_us() / told(outcome.out, "process_cpu_us"), 1, 0.03);
}

TEST_P(EachSource, more_threads_than_processors_have_their_own_time_each) {
    const Outcome outcome = record_by(GetParam(), {target("threads"), "8", "0.3"});
    std::size_t at = 0;
    for (int worker = 1; worker <= 8; ++worker) {
        at = outcome.out.find("worker_cpu_ns=", at);
        ASSERT_NE(at, std::string::npos) << outcome.out;
        const double truth_us = told(outcome.out.substr(at), "worker_cpu_ns") / 1000;
        // Its way in and out is its own, too, and no part of what it says.
        const double share = thread_us("worker-" + std::to_string(worker)) / truth_us;
        EXPECT_GT(share, 0.97);
        EXPECT_LT(share, 1.1);
        ++at;
    }
    EXPECT_EQ(Recording{recording()}.stat("lost"), 0);
}

TEST_P(EachSource, a_sleep_is_no_work_by_the_wall_clock) {
    const Outcome outcome = record_by(GetParam(), {target("sleepy"), "6", "14", "1"},
                                      {"--freq", "10k", "--clock", "wall"});
    const Recording seen{recording()};
    EXPECT_EQ(seen.text_stat("clock"), "wall");
    const double busy_us = told(outcome.out, "busy_ns") / 1000;
    const double waiting_us =
        (told(outcome.out, "idle_ns") + told(outcome.out, "delayed_ns")) / 1000;
    const double whole_us = busy_us + waiting_us;
    const auto share = [&](std::string_view function) {
        return in_category_us(seen, "worker", function) / whole_us;
    };
    // A thread that sleeps is looked at from outside, by a thread that a busy machine delays.
    constexpr double kBound = 0.15;
    EXPECT_GT(thread_us("worker"), 0.95 * whole_us);
    EXPECT_LT(thread_us("worker"), 1.05 * told(outcome.out, "life_ns") / 1000);
    EXPECT_NEAR(share("busy_part"), busy_us / whole_us, kBound) << outcome.out;
    EXPECT_NEAR(share("idle_part") + share("[waiting for a processor]"), waiting_us / whole_us,
                kBound)
        << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(, EachSource, testing::Values("sigtrap", "perf", "thread", "timer"),
                         [](const auto& source) { return std::string{source.param}; });

TEST_F(HonestTime, is_the_kernels_whatever_libcs_clocks_say) {
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome =
        record({target("three_leaves"), "3"}, {{}, {{"LD_PRELOAD", built::kFakeClock}}, {}});
    const std::chrono::duration<double, std::micro> wall = std::chrono::steady_clock::now() - start;
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_LE(seen.used_us(), outcome.cpu_us);
    EXPECT_LE(seen.stat("wall_us"), wall.count());
    EXPECT_GT(seen.total_us("leaf_"), 0.5 * seen.roots_us());
}

struct Interruption {
    const char* source;
    const char* clock;

    friend std::ostream& operator<<(std::ostream& out, const Interruption& one) {
        return out << one.source << " " << one.clock;
    }
};

class BlockingCalls : public HonestTime, public testing::WithParamInterface<Interruption> {};

TEST_P(BlockingCalls, are_left_alone) {
    constexpr double kTimes = 60;
    const Outcome outcome = record_by(GetParam().source, {target("eintr"), "60"},
                                      {"--freq", "10k", "--clock", GetParam().clock});
    EXPECT_EQ(told(outcome.out, "calls"), kTimes);
    EXPECT_GT(Recording{recording()}.stat("samples"), 0);
    for (const char* kind :
         {"epoll_wait", "poll", "nanosleep", "recv", "sem_timedwait", "ppoll_by_number",
          "pselect_by_number", "epoll_pwait_by_number", "sigtimedwait_by_number"}) {
        const double interrupted = told(outcome.out, std::string{"eintr_"} + kind);
        EXPECT_EQ(interrupted, 0) << outcome.out;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Of, BlockingCalls,
    testing::Values(Interruption{"sigtrap", "cpu"}, Interruption{"perf", "cpu"},
                    Interruption{"thread", "cpu"}, Interruption{"sigtrap", "wall"},
                    Interruption{"perf", "wall"}, Interruption{"thread", "wall"}),
    [](const auto& one) { return std::string{one.param.source} + "_" + one.param.clock; });

/// Sources that go by the kernel's timer; the others have their jitter.
class Lockstep : public HonestTime, public testing::WithParamInterface<const char*> {};

TEST_P(Lockstep, work_in_step_with_the_frequency_has_its_shares) {
    (void)record_by(GetParam(), {target("lockstep"), "1", "100"});
    const Recording seen{recording()};
    const std::array<std::pair<const char*, double>, 3> truth{
        {{"fifty", 0.5}, {"thirty", 0.3}, {"twenty", 0.2}}};
    double sum = 0;
    for (const auto& [name, share] : truth) {
        sum += seen.total_us(name);
    }
    for (const auto& [name, share] : truth) {
        EXPECT_NEAR(seen.total_us(name) / sum, share, share_bound(share, seen)) << name;
    }
    EXPECT_NEAR(seen.roots_us() / seen.stat("process_cpu_us"), 1, 0.001);
}

INSTANTIATE_TEST_SUITE_P(, Lockstep, testing::Values("sigtrap", "perf"),
                         [](const auto& source) { return std::string{source.param}; });

/// With a setting that concerns the whole machine: alone, see CMakeLists.txt.
class Throttling : public HonestTime, public testing::WithParamInterface<const char*> {};

TEST_P(Throttling, is_said_and_the_sums_stay) {
    const KernelSetting limit{"perf_event_max_sample_rate", "500"};
    if (!limit.is_set()) {
        GTEST_SKIP() << limit.problem();
    }
    const Outcome outcome = record_by(GetParam(), {target("three_leaves"), "0.5"});
    const Recording seen{recording()};
    EXPECT_LT(seen.stat("achieved_hz"), 9'500);
    EXPECT_NEAR(seen.used_us() / told(outcome.out, "process_cpu_us"), 1, 0.03);
    for (const char* view : {"summary", "stats"}) {
        EXPECT_NE(report(view).find("kernel throttled sampling to"), std::string::npos)
            << report(view);
        EXPECT_NE(report(view).find("perf_event_max_sample_rate is 500"), std::string::npos);
    }
}

TEST_P(Throttling, is_not_said_where_the_rate_is_allowed) {
    const KernelSetting limit{"perf_event_max_sample_rate", "2000"};
    if (!limit.is_set()) {
        GTEST_SKIP() << limit.problem();
    }
    (void)record_by(GetParam(), {target("three_leaves"), "0.5"}, {"--freq", "1k"});
    EXPECT_EQ(report("stats").find("throttled"), std::string::npos) << report("stats");
}

INSTANTIATE_TEST_SUITE_P(, Throttling, testing::Values("sigtrap", "perf"),
                         [](const auto& source) { return std::string{source.param}; });

}  // namespace
}  // namespace sample::e2e
