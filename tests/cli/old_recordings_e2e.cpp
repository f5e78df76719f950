// Recordings that version 0.1.0 made open with the totals that it showed: tests/data/recordings,
// where totals.json is what its own views said of them.
#include "sample_program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <string>

namespace sample::cli {
namespace {

using Json = nlohmann::json;

class OldRecordings : public SampleProgram {
protected:
    [[nodiscard]] Json view(const std::string& name, const std::string& file) const {
        const Outcome outcome =
            run("report --view " + name + " --json '" SAMPLE_OLD_RECORDINGS "/" + file + "'");
        EXPECT_EQ(outcome.code, 0) << file << ": " << outcome.err;
        return Json::parse(outcome.out);
    }
};

TEST_F(OldRecordings, have_the_totals_that_they_had) {
    std::ifstream stream{SAMPLE_OLD_RECORDINGS "/totals.json"};
    const Json totals = Json::parse(stream);
    ASSERT_GE(totals.size(), 5U);
    for (const auto& [file, expected] : totals.items()) {
        SCOPED_TRACE(file);
        const Json stats = view("stats", file);
        const std::string unit = stats.at("unit") == "us" ? "_us" : "_count";
        for (const char* figure : {"samples", "threads", "processes", "lost"}) {
            EXPECT_EQ(stats.at(figure), expected.at(figure)) << figure;
        }
        EXPECT_EQ(stats.at("sampled" + unit), expected.at("sampled"));
        EXPECT_EQ(stats.at("booked" + unit), expected.at("booked"));
        EXPECT_EQ(stats.at("whole"), expected.at("whole"));
        if (!expected.contains("functions")) {
            continue;  // It carries no names.
        }
        const Json functions = view("functions", file).at("functions");
        for (const auto& item : expected.at("functions").items()) {
            const std::string& name = item.key();
            const Json& figures = item.value();
            const auto found =
                std::find_if(functions.begin(), functions.end(),
                             [&](const Json& one) { return one.at("name") == name; });
            ASSERT_NE(found, functions.end()) << name;
            EXPECT_EQ(found->at("total" + unit), figures.at(0)) << name;
            EXPECT_EQ(found->at("self" + unit), figures.at(1)) << name;
        }
    }
}

}  // namespace
}  // namespace sample::cli
