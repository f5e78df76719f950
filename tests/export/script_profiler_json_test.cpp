#include "export/script_profiler_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace sample::exports {
namespace {

using callgraph::Function;
using callgraph::Node;
using callgraph::Profile;

std::string write(const Profile& profile) {
    std::string text;
    EXPECT_TRUE(write_script_profiler_json(profile, to_string_sink(text)).has_value());
    return text;
}

/// A root with category "main" and below it one node a function.
Profile profile_of(std::vector<Function> functions) {
    constexpr std::uint64_t kEach = 2'500;
    Profile profile;
    profile.start_unix_ms = 1000;
    profile.end_unix_ms = 3000;
    profile.nodes.resize(2);
    profile.nodes[0].children = {NodeId{1}};
    profile.categories = {{"main", NodeId{1}}};
    profile.functions = std::move(functions);
    for (std::uint32_t id = 1; id <= profile.functions.size(); ++id) {
        Node node;
        node.parent = NodeId{1};
        node.function = FunctionId{id};
        node.total_ns = node.self_ns = kEach;
        node.samples = node.self_samples = 1;
        profile.nodes[1].children.push_back(NodeId{id + 1});
        profile.nodes.push_back(node);
        profile.functions[id - 1].total_ns = kEach;
    }
    profile.nodes[0].total_ns = profile.nodes[1].total_ns = kEach * profile.functions.size();
    profile.nodes[0].samples = profile.nodes[1].samples = profile.functions.size();
    return profile;
}

Function function(std::string name, std::string source = {}, std::uint32_t line = 0) {
    Function result;
    result.name = std::move(name);
    result.source = std::move(source);
    result.line = line;
    return result;
}

TEST(ScriptProfilerJson, writes_optional_fields_only_where_known) {
    Profile profile = profile_of({function("f", "a.c", 7), function("")});
    profile.functions[0].flags = callgraph::kNative | callgraph::kPlugin;
    profile.gc = FunctionId{2};
    profile.scale = 2.5;
    const auto json = nlohmann::json::parse(write(profile));
    EXPECT_EQ(json["Version"], 2);
    EXPECT_EQ(json["SessionStartTime"], 1000);
    EXPECT_EQ(json["SessionEndTime"], 3000);
    EXPECT_EQ(json["GCFuncId"], 2);
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
    profile.nodes[1].children = {NodeId{2}};
    profile.nodes[2].children = {NodeId{3}};
    profile.nodes[3].parent = NodeId{2};
    profile.nodes[2].total_ns = profile.nodes[1].total_ns;
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
