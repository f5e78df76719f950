// Python's csv module reads our CSV export: every function with the figures of the report.
#include "reported.h"
#include "session.h"

#include <string>

namespace sample::e2e {
namespace {

using Json = nlohmann::json;

class ReadByPython : public Session {};

TEST_F(ReadByPython, csv_has_the_reports_figures) {
    ASSERT_EQ(record({target("two_loops"), "0.2"}).exit_code, 0);
    const Outcome exported = sample({"export", "--format", "csv", "-o", "-", recording()});
    ASSERT_EQ(exported.exit_code, 0) << exported.err;
    const Outcome read = run_here({"python3", "-c",
                                   "import csv, json, sys\n"
                                   "text = open(0, encoding='utf-8', newline='')\n"
                                   "print(json.dumps(list(csv.DictReader(text, strict=True))))"},
                                  {.input = exported.out});
    ASSERT_EQ(read.exit_code, 0) << read.err;
    Shown shown;
    for (const Json& row : Json::parse(read.out)) {
        auto& [self, total] = shown[row.at("name")];
        self += std::stoull(row.at("self [ns]").get<std::string>());
        total = std::stoull(row.at("total [ns]").get<std::string>());
    }
    expect_same_figures(shown, reported_functions(recording(), {}, label_of), 1000);
}

}  // namespace
}  // namespace sample::e2e
