// Code made at run time: by the map or the dump that the program writes, each function has its name,
// its lines and its share, also where one took another's address.
#include "session.h"

#include <filesystem>

namespace sample::e2e {
namespace {

/// Bit 0 of a function's flags.
constexpr unsigned kNative = 1;

void expect_share(double part, double whole, double share, double samples) {
    EXPECT_NEAR(part / whole, share, six_sigma(share, samples) + 0.01);
}

class Jit : public Session {
protected:
    ~Jit() override { std::filesystem::remove(map_); }
    /// The file that names the code of the target that ran; removed at the test's end.
    void map_of(const Outcome& outcome) {
        map_ = "/tmp/perf-" + std::to_string(static_cast<long>(told(outcome.out, "pid"))) + ".map";
    }

private:
    std::filesystem::path map_;
};

nlohmann::json function_named(const Recording& seen, const std::string& name) {
    for (const nlohmann::json& function : seen.exported()["Functions"]) {
        if (function["Name"] == name) {
            return function;
        }
    }
    return {};
}

void expect_map_shares(const Recording& seen) {
    const double all = seen.total_us("calls_compiled");
    const double samples = seen.stat("samples");
    expect_share(seen.self_us("compiled three parts"), all, 0.75, samples);
    expect_share(seen.self_us("compiled_one_part"), all, 0.25, samples);
    EXPECT_EQ(seen.total_us("thrown_away"), 0);
    EXPECT_EQ(seen.total_us("[jit]+"), 0);
    EXPECT_EQ(seen.flags("compiled three parts") & kNative, kNative);
    EXPECT_EQ(seen.flags("calls_compiled") & kNative, 0U);
    EXPECT_EQ(function_named(seen, "compiled_one_part")["Source"], "/src/one.py");
}

TEST_F(Jit, a_perf_map_names_code_and_its_later_lines_win) {
    const Outcome outcome = record({target("jit_map"), "start", "0.7"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    map_of(outcome);
    expect_map_shares(Recording{recording()});
}

TEST_F(Jit, a_perf_map_may_be_written_at_the_very_end) {
    const Outcome outcome = record({target("jit_map"), "end", "0.7"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    map_of(outcome);
    expect_map_shares(Recording{recording()});
}

TEST_F(Jit, code_that_nothing_names_says_what_it_is) {
    ASSERT_EQ(record({target("jit_map"), "none", "0.3"}).exit_code, 0);
    const Recording seen{recording()};
    EXPECT_GT(seen.self_us("[jit]+0x"), 0.9 * seen.total_us("calls_compiled"));
    for (const nlohmann::json& function : seen.exported()["Functions"]) {
        EXPECT_NE(function["Name"].get<std::string>().rfind("0x", 0), 0U) << function;
    }
    EXPECT_EQ(seen.flags("[jit]+0x") & kNative, kNative);
}

TEST_F(Jit, a_dump_tells_functions_at_one_address_apart) {
    const Outcome outcome = record({target("jit_dump"), file("").string(), "1"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    const double both = seen.self_us("dumped_short") + seen.self_us("dumped_long");
    EXPECT_GT(both, 0.95 * seen.total_us("calls_dumped"));
    expect_share(seen.self_us("dumped_long"), both, 0.75, seen.stat("samples"));
    EXPECT_EQ(seen.flags("dumped_long") & kNative, kNative);
    const nlohmann::json function = function_named(seen, "dumped_long");
    EXPECT_EQ(function["Source"], "dumped.src");
    EXPECT_EQ(function["Line"], 10);
}

}  // namespace
}  // namespace sample::e2e
