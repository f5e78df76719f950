// sample/profiling_info.hpp reads what `sample` reads, and nothing else.
#include "sample/profiling_info.hpp"

#include "import/readers.h"
#include "tests/built.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace sample::api {
namespace {

using profiler::deserialize;
using profiler::ProfilingInfo;

std::string published_example() {
    std::ifstream in{std::string{built::kImportData} + "/json/published_example.json"};
    return {std::istreambuf_iterator<char>{in}, {}};
}

TEST(ProfilingInfo, of_the_published_example) {
    const std::optional<ProfilingInfo> info = deserialize(published_example());
    ASSERT_TRUE(info.has_value());
    EXPECT_EQ(info->version, 2U);
    EXPECT_EQ(info->session_start_time, 1704850750514U);
    EXPECT_EQ(info->session_end_time, 1704850751198U);
    EXPECT_FALSE(info->gc_function_id.has_value());
    ASSERT_EQ(info->categories.size(), 2U);
    EXPECT_EQ(info->categories[0].name, "Parallel Luau");
    EXPECT_EQ(info->categories[0].node_id, 4U);
    ASSERT_EQ(info->nodes.size(), 10U);
    const profiler::Node& main = info->node(2);
    ASSERT_EQ(main.children.size(), 2U);
    EXPECT_EQ(main.children[1].function_id, 5U);
    EXPECT_EQ(main.children[1].node_id, 7U);
    EXPECT_EQ(main.total_duration, 2530U);
    EXPECT_EQ(main.duration, 0U);
    EXPECT_EQ(info->node(3).duration, 1267U);
    EXPECT_EQ(info->function(1).name, "main");
    EXPECT_FALSE(info->function(1).source.has_value());
    EXPECT_EQ(label(info->function(4)), "Workspace.Actor.Script:1");
}

TEST(ProfilingInfo, has_flags_as_fields) {
    const auto info = deserialize(
        R"({"Version":2,"GCFuncId":3,"Unit":"page-faults","Categories":[],"Nodes":[],"Functions":[
        {"TotalDuration":1,"Flags":1},{"TotalDuration":2,"Flags":2},{"TotalDuration":3,"Flags":7}]})");
    ASSERT_TRUE(info.has_value());
    EXPECT_TRUE(info->function(1).is_native);
    EXPECT_FALSE(info->function(1).is_plugin);
    EXPECT_FALSE(info->function(2).is_native);
    EXPECT_TRUE(info->function(2).is_plugin);
    EXPECT_TRUE(info->function(3).is_native && info->function(3).is_plugin);
    EXPECT_EQ(label(info->function(3)), "<anonymous>");
    EXPECT_EQ(info->gc_function_id, 3U);
    EXPECT_EQ(info->unit, "page-faults");
}

TEST(ProfilingInfo, has_no_negative_time) {
    const auto info = deserialize(
        R"({"Version":2,"Categories":[{"Name":"a","NodeId":1}],"Functions":[{"TotalDuration":9}],
        "Nodes":[{"TotalDuration":5,"FunctionIds":[1],"NodeIds":[2]},{"TotalDuration":9}]})");
    ASSERT_TRUE(info.has_value());
    EXPECT_EQ(info->node(1).duration, 0U);
}

TEST(ProfilingInfo, has_texts_as_they_were_meant) {
    const auto info = deserialize(
        "{\"Version\":2,\"Categories\":[],\"Nodes\":[],\"Functions\":[{\"TotalDuration\":1,"
        "\"Name\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00\xc3\xa9\"}]}");
    ASSERT_TRUE(info.has_value());
    EXPECT_EQ(info->function(1).name,
              "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9");
}

/// A document around one field.
std::string around(const char* field) {
    return std::string{R"({"Version":2,"Categories":[{"Name":"a","NodeId":1}],)"
                       R"("Nodes":[{"TotalDuration":5},{"TotalDuration":4},{"TotalDuration":3}],)"
                       R"("Functions":[{"TotalDuration":5},{"TotalDuration":1}])"} +
           field + "}";
}

/// The same with other nodes.
std::string with_nodes(const char* nodes) {
    return std::string{R"({"Version":2,"Categories":[{"Name":"a","NodeId":1}],"Nodes":[)"} + nodes +
           R"(],"Functions":[{"TotalDuration":5},{"TotalDuration":1}]})";
}

/// Both readers take it, or both refuse it.
void expect_judged_alike(const std::string& text, bool is_taken) {
    std::string problem;
    EXPECT_EQ(deserialize(text, &problem).has_value(), is_taken) << text << "\n" << problem;
    EXPECT_EQ(problem.empty(), is_taken);
    EXPECT_EQ(imports::read_script_profiler_json(text).has_value(), is_taken) << text;
}

TEST(ProfilingInfo, of_what_sample_takes_is_taken) {
    expect_judged_alike(published_example(), true);
    expect_judged_alike(around(""), true);
    expect_judged_alike(around(R"(,"Later":[1.5e-3,-0,{"a":[true,false,null,"x"]}])"), true);
    expect_judged_alike(around(R"(,"GCFuncId":2)"), true);
    expect_judged_alike(
        with_nodes(
            R"({"TotalDuration":5,"FunctionIds":[1,2],"NodeIds":[2,3]},{"TotalDuration":4},{"TotalDuration":1})"),
        true);
    expect_judged_alike(with_nodes(R"({"TotalDuration":5,"FunctionIds":[],"NodeIds":[]})"), true);
}

TEST(ProfilingInfo, of_what_sample_refuses_is_refused) {
    for (const char* field :
         {R"(,"GCFuncId":0)", R"(,"GCFuncId":3)", R"(,"Version":2)", R"(,"SessionStartTime":-1)",
          R"(,"SessionStartTime":1.5)", R"(,"SessionStartTime":1e3)",
          R"(,"SessionStartTime":18446744073709551616)", R"(,"SessionStartTime":"1")", ",",
          R"(,"x":01)", R"(,"x":1.)", R"(,"x":tru)", R"(,"x":"\x")", R"(,"x":"\ud800")",
          ",\"x\":\"\xff\"", ",\"x\":\"\n\"", R"(,"x":[1,])", R"(,"x":)"}) {
        expect_judged_alike(around(field), false);
    }
    for (
        const char* nodes :
        {R"({"TotalDuration":5,"FunctionIds":[1],"NodeIds":[1]})",
         R"({"TotalDuration":5,"FunctionIds":[1],"NodeIds":[9]})",
         R"({"TotalDuration":5,"FunctionIds":[9],"NodeIds":[2]},{"TotalDuration":4})",
         R"({"TotalDuration":5,"FunctionIds":[1],"NodeIds":[0]})",
         R"({"TotalDuration":5,"FunctionIds":[1]})", R"({})",
         R"({"TotalDuration":5,"FunctionIds":[1],"NodeIds":[]})",
         R"({"TotalDuration":5,"FunctionIds":[1,1],"NodeIds":[2,3]},{"TotalDuration":4},{"TotalDuration":1})",
         R"({"TotalDuration":5,"FunctionIds":[1,2],"NodeIds":[2,2]},{"TotalDuration":4})",
         R"({"TotalDuration":5},{"TotalDuration":4,"FunctionIds":[1],"NodeIds":[3]},{"TotalDuration":4,"FunctionIds":[1],"NodeIds":[2]})"}) {
        expect_judged_alike(with_nodes(nodes), false);
    }
    expect_judged_alike("", false);
    expect_judged_alike("[]", false);
    expect_judged_alike(published_example() + "x", false);
    expect_judged_alike(around((",\"x\":" + std::string(100, '[') + std::string(100, ']')).c_str()),
                        false);
}

TEST(ProfilingInfo, of_a_document_that_is_cut_off_is_refused) {
    const std::string whole = published_example();
    for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
        EXPECT_FALSE(deserialize(whole.substr(0, size)).has_value()) << size;
    }
}

}  // namespace
}  // namespace sample::api
