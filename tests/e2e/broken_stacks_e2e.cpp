// Stacks through code without unwind tables: either they are incomplete, and the stats name the
// library, or their callers were guessed, and the stats say that. Nothing is silently cut or made
// up.
#include "edges.h"
#include "session.h"

namespace sample::e2e {
namespace {

class BrokenStacks : public Session {
protected:
    [[nodiscard]] nlohmann::json stats() const {
        const Outcome report = sample({"report", "--view", "stats", "--json", recording()});
        EXPECT_EQ(report.exit_code, 0) << report.err;
        return nlohmann::json::parse(report.out, nullptr, false);
    }
};

TEST_F(BrokenStacks, are_counted_for_the_library_without_unwind_tables) {
    ASSERT_EQ(record({target("plugin_host"), target("plugin_without_tables.so"), "1"}).exit_code,
              0);
    const nlohmann::json seen = stats();
    const auto samples = seen.at("samples").get<double>();
    // Half of the work is the library's.
    const double expected = (0.5 - six_sigma(0.5, samples)) * samples - 0.01 * samples;
    double of_library = 0;
    for (const nlohmann::json& broken : seen.at("broken_stacks")) {
        const auto& module = broken.at("module");
        if (module.is_string() && module.get<std::string>() == target("plugin_without_tables.so")) {
            EXPECT_EQ(broken.at("reason"), "no_cfi");
            EXPECT_NE(broken.at("hint").get<std::string>().find("plugin_without_tables.so"),
                      std::string::npos);
            of_library += broken.at("samples").get<double>();
        }
    }
    const auto guessed = seen.at("guessed_stacks").get<double>();
    EXPECT_GE(of_library + guessed, expected);
    EXPECT_LE(seen.at("incomplete_stacks").get<double>() - of_library - guessed, 0.005 * samples);
}

TEST_F(BrokenStacks, are_none_where_every_module_has_unwind_tables) {
    ASSERT_EQ(record({target("plugin_host"), target("plugin.so"), "1"}).exit_code, 0);
    const nlohmann::json seen = stats();
    const double few = 0.005 * seen.at("samples").get<double>();
    EXPECT_LE(seen.at("incomplete_stacks").get<double>(), few);
    EXPECT_LE(seen.at("guessed_stacks").get<double>(), few);
    EXPECT_EQ(seen.at("truncated_stacks"), 0);
}

TEST_F(BrokenStacks, are_none_of_goroutines_and_stripped_ones_have_names) {
    for (const char* program : {"goroutines", "goroutines_stripped"}) {
        SCOPED_TRACE(program);
        ASSERT_EQ(record({target(program), "200"}).exit_code, 0);
        const Recording seen{recording()};
        EXPECT_LE(seen.stat("incomplete_stacks"), 0.01 * seen.stat("samples"));
        double work = 0;
        double right = 0;
        for (const Edge& edge : edges_of(seen.exported())) {
            if (edge.callee == "main.work") {
                work += edge.total_us;
                right += edge.caller == "main.outer" ? edge.total_us : 0;
            }
        }
        EXPECT_GT(work, 0);
        EXPECT_GE(right, 0.99 * work);
    }
}

}  // namespace
}  // namespace sample::e2e
