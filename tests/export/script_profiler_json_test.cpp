#include "callgraph/tree.h"
#include "export/formats.h"
#include "tests/export/function_list.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace sample::exports {
namespace {

using callgraph::function;
using callgraph::Function;
using callgraph::Profile;
using callgraph::profile_of;

std::string write(const Profile& profile) {
    std::string text;
    EXPECT_TRUE(write_script_profiler_json(profile, to_string_sink(text)).has_value());
    return text;
}

TEST(ScriptProfilerJson, writes_optional_fields_only_where_known) {
    Profile profile = profile_of({function("f", "a.c", 7), function("")});
    profile.functions[0].flags = callgraph::kNative | callgraph::kPlugin;
    profile.memory = FunctionId{2};
    profile.scale = 2.5;
    profile.is_net = true;
    const auto json = nlohmann::json::parse(write(profile));
    EXPECT_EQ(json["Version"], 2);
    EXPECT_EQ(json["SessionStartTime"], 1000);
    EXPECT_EQ(json["SessionEndTime"], 3000);
    EXPECT_EQ(json["GCFuncId"], 2);
    EXPECT_EQ(json["Net"], 1);
    EXPECT_EQ(json["Scale"], 2.5);
    EXPECT_EQ(json["Categories"], nlohmann::json::parse(R"([{"Name":"main","NodeId":1}])"));
    EXPECT_EQ(json["Nodes"][0],
              nlohmann::json::parse(
                  R"({"TotalDuration":5,"FunctionIds":[1,2],"NodeIds":[2,3],"Samples":2})"));
    EXPECT_EQ(json["Functions"][0],
              nlohmann::json::parse(
                  R"({"Source":"a.c","Name":"f","Line":7,"TotalDuration":2,"Flags":3})"));
    EXPECT_EQ(json["Functions"][1], nlohmann::json::parse(R"({"TotalDuration":2})"));
}

TEST(ScriptProfilerJson, gives_siblings_that_readers_would_confuse_different_names) {
    std::vector<Function> functions(5, function("init", "lib.so"));
    functions[1].flags = callgraph::kPlugin;
    functions[2].module = 1;
    functions[4] = function("init (2)", "lib.so");
    Profile profile = profile_of(functions);
    profile.modules.push_back({"other.so", "/lib/other.so", ""});
    const auto json = nlohmann::json::parse(write(profile));
    std::vector<std::string> names;
    for (const auto& each : json["Functions"]) {
        names.push_back(each["Name"]);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"init", "init [plugin]", "init [other.so]",
                                               "init (3)", "init (2)"}));
}

TEST(ScriptProfilerJson, keeps_equal_names_that_are_never_siblings) {
    Profile profile = profile_of({function("f", "a.c", 1), function("f", "a.c", 1)});
    profile.functions[1].flags = callgraph::kNative;
    profile.nodes[3].parent = NodeId{2};
    callgraph::link_children(profile.nodes);
    profile.nodes[2].total = profile.nodes[1].total;
    const auto json = nlohmann::json::parse(write(profile));
    EXPECT_EQ(json["Functions"][0]["Name"], "f");
    EXPECT_EQ(json["Functions"][1]["Name"], "f");
}

TEST(ScriptProfilerJson, escapes_names_and_replaces_what_is_not_utf8) {
    const auto json =
        nlohmann::json::parse(write(profile_of({function("a\"b\\\n\x01"), function("\xff\xfe")})));
    EXPECT_EQ(json["Functions"][0]["Name"], "a\"b\\\n\x01");
    EXPECT_EQ(json["Functions"][1]["Name"], "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(ScriptProfilerJson, passes_a_sinks_failure_on) {
    const Sink full = [](std::string_view) -> Result<void> {
        return unexpected(Error{ErrorCode::system, ENOSPC, "x.json"});
    };
    const auto written = write_script_profiler_json(profile_of({function("f")}), full);
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().errno_value, ENOSPC);
}

}  // namespace
}  // namespace sample::exports
