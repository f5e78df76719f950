// Code made at run time: by the map or the dump that the program writes, each function has its
// name, its lines and its share, also where one took another's address.
#include "session.h"

#include <filesystem>

namespace sample::e2e {
namespace {

/// Bit 0 of a function's flags.
constexpr unsigned kNative = 1;

class Jit : public Session {
protected:
    /// Removes the map of the target that ran: the recording alone must have the names.
    static void remove_map(const Outcome& outcome) {
        const auto pid = static_cast<long>(told(outcome.out, "pid"));
        EXPECT_TRUE(std::filesystem::remove("/tmp/perf-" + std::to_string(pid) + ".map"));
    }
    /// Likewise the dumps in this test's folder.
    void remove_dumps() const {
        int removed = 0;
        for (const auto& entry : std::filesystem::directory_iterator{file("")}) {
            removed +=
                entry.path().extension() == ".dump" && std::filesystem::remove(entry) ? 1 : 0;
        }
        EXPECT_EQ(removed, 1);
    }
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
    const double samples = seen.effective_samples();
    expect_share(seen.self_us("compiled three parts"), all, 0.75, samples);
    expect_share(seen.self_us("compiled_one_part"), all, 0.25, samples);
    EXPECT_EQ(seen.total_us("thrown_away"), 0);
    EXPECT_EQ(seen.total_us("[jit code]"), 0);
    EXPECT_EQ(seen.flags("compiled three parts") & kNative, kNative);
    EXPECT_EQ(seen.flags("calls_compiled") & kNative, 0U);
    EXPECT_EQ(function_named(seen, "compiled_one_part")["Source"], "/src/one.py");
}

TEST_F(Jit, a_perf_map_names_code_and_its_later_lines_win) {
    const Outcome outcome = record({target("jit_map"), "start", "0.7"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    remove_map(outcome);
    expect_map_shares(Recording{recording()});
}

TEST_F(Jit, a_perf_map_may_be_written_at_the_very_end) {
    const Outcome outcome = record({target("jit_map"), "end", "0.7"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    remove_map(outcome);
    expect_map_shares(Recording{recording()});
}

TEST_F(Jit, a_perf_map_names_code_though_the_first_thread_has_left) {
    const Outcome outcome = record({target("jit_map"), "left", "0.7"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    remove_map(outcome);
    expect_map_shares(Recording{recording()});
}

TEST_F(Jit, each_image_of_a_process_has_the_map_that_it_wrote) {
    const Outcome outcome = record({target("jit_map"), "exec", "0.4"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    remove_map(outcome);
    const Recording seen{recording()};
    EXPECT_GT(seen.total_us("calls_compiled"), 1.5 * 400'000);
    expect_map_shares(seen);
}

TEST_F(Jit, a_forked_child_has_its_parents_map_as_it_was_at_the_fork) {
    const Outcome outcome = record({target("jit_map"), "fork", "0.7"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    remove_map(outcome);
    const Recording seen{recording()};
    EXPECT_EQ(seen.stat("processes"), 2);
    EXPECT_EQ(seen.total_us("renamed_by_the_parent"), 0);
    expect_map_shares(seen);
}

TEST_F(Jit, code_that_nothing_names_says_what_it_is) {
    ASSERT_EQ(record({target("jit_map"), "none", "0.3"}).exit_code, 0);
    const Recording seen{recording()};
    EXPECT_GT(seen.self_us("[jit code]"), 0.9 * seen.total_us("calls_compiled"));
    for (const nlohmann::json& function : seen.exported()["Functions"]) {
        EXPECT_NE(function["Name"].get<std::string>().rfind("0x", 0), 0U) << function;
    }
    EXPECT_EQ(seen.flags("[jit code]") & kNative, kNative);
}

/// Microseconds of what functions named `caller` have called of functions named `callee`.
double called_us(const Recording& seen, const std::string& caller, const std::string& callee) {
    const nlohmann::json& nodes = seen.exported()["Nodes"];
    const nlohmann::json& functions = seen.exported()["Functions"];
    using Ids = std::vector<std::size_t>;
    const auto sum = [&](const nlohmann::json& node, const std::string& name, const auto& then) {
        double us = 0;
        const Ids children = node.value("NodeIds", Ids{});
        const Ids ids = node.value("FunctionIds", Ids{});
        for (std::size_t i = 0; i < children.size(); ++i) {
            const auto shown = functions.at(ids.at(i) - 1)["Name"].get<std::string>();
            us += shown.rfind(name, 0) == 0 ? then(nodes.at(children[i] - 1)) : 0;
        }
        return us;
    };
    double us = 0;
    for (const nlohmann::json& node : nodes) {
        us += sum(node, caller, [&](const nlohmann::json& called) {
            return sum(called, callee, [](const nlohmann::json& below) {
                return below["TotalDuration"].get<double>();
            });
        });
    }
    return us;
}

TEST_F(Jit, a_dump_tells_functions_at_one_address_apart) {
    const Outcome outcome = record({target("jit_dump"), file("").string(), "1"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    remove_dumps();
    const Recording seen{recording()};
    const double all = seen.total_us("dumped_short") + seen.total_us("dumped_long");
    EXPECT_GT(all, 0.95 * (seen.total_us("calls_short") + seen.total_us("calls_long") +
                           seen.total_us("calls_either")));
    expect_share(seen.total_us("dumped_long"), all, 0.75, seen.effective_samples());
    EXPECT_GT(called_us(seen, "calls_either", "dumped_"), 0.4 * all);
    // A sample or two may be taken on the way from one to the other.
    const double few = 0.002 * all;
    EXPECT_LT(called_us(seen, "calls_short", "dumped_long"), few);
    EXPECT_LT(called_us(seen, "calls_long", "dumped_short"), few);
    EXPECT_LT(called_us(seen, "dumped_short", "work_for_long"), few);
    EXPECT_LT(called_us(seen, "dumped_long", "work_for_short"), few);
    EXPECT_GT(called_us(seen, "dumped_long", "work_for_long"), 0.3 * all);
    EXPECT_EQ(seen.flags("dumped_long") & kNative, kNative);
    const nlohmann::json function = function_named(seen, "dumped_long");
    EXPECT_EQ(function["Source"], "dumped.src");
    EXPECT_EQ(function["Line"], 10);
}

}  // namespace
}  // namespace sample::e2e
