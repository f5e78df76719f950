// Libraries that come and go under the profiler: what was known of one is never said of another.
//
// SAMPLE_CHURN_LOADS sets how often each of the four threads loads one (default 100).
#include "edges.h"
#include "session.h"

#include <cstdlib>
#include <regex>

namespace sample::e2e {
namespace {

class Churn : public Session {};

/// What the target promises of the function's callers; empty: nothing.
std::string only_caller(const std::string& function) {
    static const std::regex pattern{
        "(host_call<|plugin_entry_|plugin_middle_|host_back<)([0-7])u?>?.*|.* "
        "(host_call<|host_back<)([0-7])u?>.*"};
    std::smatch match;
    if (!std::regex_match(function, match, pattern)) {
        return {};
    }
    const std::string name = match[1].matched ? match[1] : match[3];
    const std::string copy = match[2].matched ? match[2] : match[4];
    if (name == "host_call<") {
        return "churn(";
    }
    if (name == "plugin_entry_") {
        return "host_call<" + copy;
    }
    return (name == "plugin_middle_" ? "plugin_entry_" : "plugin_middle_") + copy;
}

TEST(ChurnTruth, names_the_only_caller) {
    EXPECT_EQ(only_caller("host_back<3u>(unsigned long)"), "plugin_middle_3");
    EXPECT_EQ(only_caller("unsigned long host_back<3u>(unsigned long)"), "plugin_middle_3");
    EXPECT_EQ(only_caller("plugin_middle_0"), "plugin_entry_0");
    EXPECT_EQ(only_caller("plugin_entry_7"), "host_call<7");
    EXPECT_EQ(only_caller("host_call<7u>(unsigned long (*)())"), "churn(");
    EXPECT_EQ(only_caller("main"), "");
}

TEST_F(Churn, shows_no_library_in_anothers_place) {
    const char* wanted = std::getenv("SAMPLE_CHURN_LOADS");  // NOLINT(concurrency-mt-unsafe)
    const std::string loads = wanted == nullptr ? "100" : wanted;
    const std::string folder = std::filesystem::path{target("churn")}.parent_path();
    const Outcome ran = record({target("churn"), folder, loads});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(told(ran.out, "loads"), 4 * std::strtod(loads.c_str(), nullptr));
    EXPECT_EQ(told(ran.out, "descriptors_after"), told(ran.out, "descriptors_before"));
    EXPECT_LE(told(ran.out, "anonymous_kib_after"), told(ran.out, "anonymous_kib_before") + 1024);

    const Recording seen = whole_recording();
    // While a library is unloaded the others' rules are not read: stacks that end there are cut.
    double right = 0;
    for (const Edge& edge : edges_of(seen.exported())) {
        const std::string caller = only_caller(edge.callee);
        if (caller.empty()) {
            continue;
        }
        if (edge.caller.find(caller) != std::string::npos) {
            right += edge.total_us;
        } else if (!edge.caller.starts_with("[stack") && edge.caller != "[unknown]") {
            ADD_FAILURE() << edge.callee << " below " << edge.caller << ", " << edge.total_us
                          << " us";
        }
    }
    EXPECT_GT(right, 0);
    EXPECT_GT(seen.total_us("plugin_middle_"), 0);
}

TEST_F(Churn, shows_what_a_library_does_while_it_goes) {
    const std::string folder = std::filesystem::path{target("unloads")}.parent_path();
    const Outcome ran = record({target("unloads"), folder, "100"});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const double first_us = told(ran.out, "leaves_1_ns") / 1000;
    const double second_us = told(ran.out, "leaves_2_ns") / 1000;

    const Recording seen = whole_recording();
    const double first = seen.total_us("plugin_leaves_1");
    const double both = first + seen.total_us("plugin_leaves_2");
    expect_share(first, both, first_us / (first_us + second_us), seen.stat("effective_samples"));
    EXPECT_GT(both + seen.unseen_us(), 0.9 * (first_us + second_us));
}

}  // namespace
}  // namespace sample::e2e
