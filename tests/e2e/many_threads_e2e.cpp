// Thousands of threads at once: each has the time that its own clock tells. Those that could not be
// sampled beside the others have theirs apart, and no other thread has any of it.
#include "session.h"

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace sample::e2e {
namespace {

constexpr const char* kFurther = "[further threads]";

class ManyThreads : public Session {
protected:
    /// The target many_threads, by `command`, and what its threads have in the recording.
    void record_threads(const Words& command) {
        const Outcome outcome = record(command);
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        const std::vector<std::uint64_t> tids = all_told(outcome.out, "tid");
        const std::vector<std::uint64_t> clocks = all_told(outcome.out, "cpu_ns");
        ASSERT_EQ(tids.size(), clocks.size());
        main_clock_us = told(outcome.out, "main_cpu_ns") / 1000;
        const auto report = nlohmann::json::parse(
            sample({"report", "--view", "threads", "--json", recording()}).out);
        std::map<std::uint64_t, double> recorded_us;
        for (const auto& thread : report.at("threads")) {
            const double cpu_us = thread.at("cpu_us").get<double>();
            if (thread.at("name") == kFurther) {
                further_us = cpu_us;
            } else if (thread.at("tid") == thread.at("pid")) {
                main_us += cpu_us;  // also before an exec
            } else {
                recorded_us[thread.at("tid").get<std::uint64_t>()] = cpu_us;
            }
        }
        for (std::size_t i = 0; i < tids.size(); ++i) {
            const double clock_us = static_cast<double>(clocks[i]) / 1000;
            missing += recorded_us[tids[i]] < 0.98 * clock_us - kTwoPeriodsUs ? 1 : 0;
            surplus += recorded_us[tids[i]] > 1.25 * clock_us + kTwoPeriodsUs ? 1 : 0;
        }
    }

    static constexpr double kTwoPeriodsUs = 200;

    double main_clock_us = 0;
    double main_us = 0;
    double further_us = 0;
    int missing = 0;  ///< Threads with less in the recording than 0.98 of what their clocks told,
    int surplus = 0;  ///< and with more than that and their ends.

private:
    static std::vector<std::uint64_t> all_told(const std::string& out, const std::string& key) {
        std::vector<std::uint64_t> values;
        std::istringstream lines{out};
        for (std::string line; std::getline(lines, line);) {
            if (line.rfind(key + "=", 0) == 0) {
                values.push_back(std::stoull(line.substr(key.size() + 1)));
            }
        }
        return values;
    }
};

TEST_F(ManyThreads, five_thousand_at_once_have_each_its_own_time) {
    record_threads({target("many_threads"), "5000", "5000", "1000"});
    const Recording seen{recording()};
    EXPECT_EQ(seen.stat("threads"), 5001);
    EXPECT_EQ(missing, 0);
    EXPECT_LE(surplus, 50) << "of 5,000";
    EXPECT_EQ(further_us, 0);
    EXPECT_LT(main_us - main_clock_us, 0.1 * seen.roots_us()) << "the ends of all threads";
}

TEST_F(ManyThreads, beyond_what_can_be_sampled_are_on_no_other_thread) {
    // So few addresses are enough for some thirty threads' samples.
    record_threads({"prlimit", "--as=300000000", target("many_threads"), "200", "200", "5000"});
    const Recording seen{recording()};
    EXPECT_GT(missing, 100);
    EXPECT_LE(surplus, 2) << "of 200";
    EXPECT_GT(further_us, 0.5 * seen.roots_us());
    EXPECT_DOUBLE_EQ(seen.total_us("[not sampled: too many threads]"), further_us);
    EXPECT_LT(main_us - main_clock_us, 0.05 * seen.roots_us());
    EXPECT_NEAR(seen.roots_us(), seen.stat("process_cpu_us"), 0.005 * seen.roots_us());
    EXPECT_EQ(seen.stat("lost"), 0);
    EXPECT_NE(seen.stats().at("notes").dump().find("[further threads]"), std::string::npos);
}

}  // namespace
}  // namespace sample::e2e
