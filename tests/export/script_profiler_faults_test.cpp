// The checker finds what it is there for: each rule is broken once.
#include "tests/export/script_profiler_faults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace sample::exports {
namespace {

using Json = nlohmann::json;

Json good() {
    return Json::parse(R"({
        "Version": 2, "SessionStartTime": 1, "SessionEndTime": 2, "GCFuncId": 2,
        "Categories": [{"Name": "main", "NodeId": 1}, {"Name": "worker", "NodeId": 4}],
        "Nodes": [{"TotalDuration": 5, "FunctionIds": [1, 2], "NodeIds": [2, 3]},
                  {"TotalDuration": 3}, {"TotalDuration": 2}, {"TotalDuration": 0}],
        "Functions": [{"TotalDuration": 3, "Name": "f", "Source": "a.c", "Line": 7, "Flags": 1},
                      {"TotalDuration": 2, "Name": "GC"}]})");
}

struct Breakage {
    const char* name;
    std::function<void(Json&)> apply;
    const char* fault;
};

class ScriptProfilerFaults : public testing::TestWithParam<Breakage> {};

TEST(ScriptProfilerDocument, without_a_fault_has_none) {
    EXPECT_EQ(script_profiler_faults(good()), std::vector<std::string>{});
}

TEST_P(ScriptProfilerFaults, are_found) {
    Json broken = good();
    GetParam().apply(broken);
    const std::vector<std::string> faults = script_profiler_faults(broken);
    EXPECT_EQ(std::count(faults.begin(), faults.end(), GetParam().fault), 1)
        << testing::PrintToString(faults);
}

INSTANTIATE_TEST_SUITE_P(
    Each, ScriptProfilerFaults,
    testing::Values(
        Breakage{"version", [](Json& d) { d["Version"] = 1; }, "root: Version is not 2"},
        Breakage{"time", [](Json& d) { d["SessionEndTime"] = -1; },
                 "root: SessionEndTime is no time"},
        Breakage{"array", [](Json& d) { d.erase("Nodes"); }, "root: Nodes is no array"},
        Breakage{"gc", [](Json& d) { d["GCFuncId"] = 3; }, "root: GCFuncId names no function"},
        Breakage{"duration", [](Json& d) { d["Functions"][0].erase("TotalDuration"); },
                 "function 1: no TotalDuration"},
        Breakage{"fraction", [](Json& d) { d["Functions"][0]["TotalDuration"] = 2.5; },
                 "function 1: TotalDuration is no count"},
        Breakage{"line", [](Json& d) { d["Functions"][0]["Line"] = "7"; },
                 "function 1: Line is no count"},
        Breakage{"name", [](Json& d) { d["Functions"][1]["Name"] = ""; },
                 "function 2: Name is no text"},
        Breakage{"flag", [](Json& d) { d["Functions"][0]["Flags"] = 4; },
                 "function 1: a flag that the format does not know"},
        Breakage{"node", [](Json& d) { d["Nodes"][1].erase("TotalDuration"); },
                 "node 2: no TotalDuration"},
        Breakage{"half", [](Json& d) { d["Nodes"][0].erase("NodeIds"); },
                 "node 1: one of FunctionIds and NodeIds is missing"},
        Breakage{"lengths", [](Json& d) { d["Nodes"][0]["NodeIds"].push_back(4); },
                 "node 1: FunctionIds and NodeIds differ in length"},
        Breakage{"range", [](Json& d) { d["Nodes"][0]["NodeIds"][1] = 5; },
                 "node 1: a child's id is out of range"},
        Breakage{"zero", [](Json& d) { d["Nodes"][0]["FunctionIds"][1] = 0; },
                 "node 1: a child's id is out of range"},
        Breakage{"twice", [](Json& d) { d["Nodes"][0]["FunctionIds"][1] = 1; },
                 "node 1: two children of one function"},
        Breakage{"alike",
                 [](Json& d) {
                     d["Functions"][1] = d["Functions"][0];
                     d["Functions"][1].erase("Flags");
                 },
                 "node 1: two children that readers take for one"},
        Breakage{"sum", [](Json& d) { d["Nodes"][0]["TotalDuration"] = 4; },
                 "node 1: less than its children"},
        Breakage{"category", [](Json& d) { d["Categories"][1].erase("Name"); },
                 "categories: one without a name or a node"},
        Breakage{"categories", [](Json& d) { d["Categories"][1]["Name"] = "main"; },
                 "categories: two of one name"},
        Breakage{"lost", [](Json& d) { d["Categories"].erase(1); },
                 "node 4: no category leads to it"},
        Breakage{"shared", [](Json& d) { d["Categories"][1]["NodeId"] = 3; },
                 "node 3: it is reached twice"}),
    [](const testing::TestParamInfo<Breakage>& each) { return std::string{each.param.name}; });

}  // namespace
}  // namespace sample::exports
