#include "callgraph/tree.h"
#include "core/mapped_file.h"
#include "export/formats.h"
#include "import/readers.h"
#include "tests/built.h"
#include "tests/export/function_list.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace sample::imports {
namespace {

using callgraph::function;
using callgraph::Node;
using callgraph::Profile;
using callgraph::profile_of;

std::string published_example() {
    auto file = MappedFile::open(std::string{built::kData} + "/json/published_example.json");
    EXPECT_TRUE(file.has_value());
    const auto bytes = file->bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string write(const Profile& profile) {
    std::string text;
    EXPECT_TRUE(
        exports::write_script_profiler_json(profile, exports::to_string_sink(text)).has_value());
    return text;
}

TEST(ScriptProfilerJson, round_trips_the_published_example) {
    const std::string example = published_example();
    const auto profile = read_script_profiler_json(example);
    ASSERT_TRUE(profile.has_value()) << profile.error().message();
    const auto before = nlohmann::json::parse(example);
    const auto after = nlohmann::json::parse(write(*profile));
    EXPECT_EQ(before, after);
}

TEST(ScriptProfilerJson, reads_the_published_example_as_a_profile) {
    const auto profile = read_script_profiler_json(published_example());
    ASSERT_TRUE(profile.has_value());
    EXPECT_EQ(profile->nodes.size(), 11U);
    EXPECT_EQ(profile->nodes[0].total, 10'276'000U);
    ASSERT_EQ(profile->categories.size(), 2U);
    EXPECT_EQ(profile->categories[1].name, "Heartbeat");
    const Node& main = profile->node(NodeId{2});
    EXPECT_EQ(profile->function(main.function).name, "main");
    EXPECT_EQ(main.self, 0U);
    const auto callees = profile->children(main);
    EXPECT_EQ(std::distance(callees.begin(), callees.end()), 2);
    EXPECT_EQ(profile->function(FunctionId{8}).source, "[C]");
    EXPECT_EQ(profile->functions[1].self, 1'267'000U);
    EXPECT_EQ(profile->stats.wall_ns, 684'000'000U);
    EXPECT_TRUE(profile->stats.notes.empty());
}

TEST(ScriptProfilerJson, reads_back_what_it_wrote) {
    Profile profile = profile_of({function("f", "a.c", 7), function("g")});
    profile.memory = FunctionId{1};
    profile.functions[1].samples = 1;
    profile.is_net = true;
    profile.scale = 0.1;
    profile.nodes[2].inlining = callgraph::Inlining::all;
    profile.nodes[2].call_line = 12;
    profile.nodes[3].inlining = callgraph::Inlining::some;
    const std::string text = write(profile);
    const auto back = read_script_profiler_json(text);
    ASSERT_TRUE(back.has_value()) << back.error().message();
    EXPECT_EQ(write(*back), text);
    EXPECT_EQ(back->memory, FunctionId{1});
    EXPECT_EQ(back->nodes[1].samples, 2U);
    EXPECT_EQ(back->nodes[1].self, 1000U);
    EXPECT_TRUE(back->is_net);
    EXPECT_EQ(back->scale, 0.1);
    EXPECT_EQ(back->nodes[2].inlining, callgraph::Inlining::all);
    EXPECT_EQ(back->nodes[2].call_line, 12U);
    EXPECT_EQ(back->nodes[3].inlining, callgraph::Inlining::some);
}

TEST(ScriptProfilerJson, reads_trees_of_any_depth) {
    constexpr std::uint32_t kDepth = 100'000;
    Profile profile = profile_of({function("f")});
    const Node leaf = profile.nodes[2];
    for (std::uint32_t id = 3; id < kDepth; ++id) {
        Node node = leaf;
        node.parent = NodeId{id - 1};
        profile.nodes.push_back(node);
    }
    callgraph::link_children(profile.nodes);
    const auto back = read_script_profiler_json(write(profile));
    ASSERT_TRUE(back.has_value()) << back.error().message();
    EXPECT_EQ(back->nodes.size(), kDepth);
    EXPECT_EQ(back->functions[0].total, 2000U);
}

TEST(ScriptProfilerJson, skips_what_it_does_not_know) {
    const auto profile = read_script_profiler_json(R"({"New":{"a":[1,{"b":null}],"Version":9},
        "Version":2,"Categories":[{"Name":"c","NodeId":1,"Color":[1.5]}],
        "Nodes":[{"TotalDuration":1,"Extra":{"TotalDuration":-1},"More":-3}],
        "Functions":[{"TotalDuration":1,"X":[[]],"Y":2.5,"Z":"s"}]})");
    ASSERT_TRUE(profile.has_value()) << profile.error().message();
    EXPECT_EQ(profile->nodes[1].total, 1000U);
}

TEST(ScriptProfilerJson, raises_a_total_below_the_sum_of_its_children) {
    const auto profile = read_script_profiler_json(R"({"Version":2,
        "Categories":[{"Name":"c","NodeId":1}],
        "Nodes":[{"TotalDuration":1,"FunctionIds":[1],"NodeIds":[2]},{"TotalDuration":5}],
        "Functions":[{"TotalDuration":5}]})");
    ASSERT_TRUE(profile.has_value()) << profile.error().message();
    EXPECT_EQ(profile->nodes[1].total, 5000U);
    EXPECT_EQ(profile->nodes[1].self, 0U);
    ASSERT_EQ(profile->stats.notes.size(), 1U);
}

TEST(ScriptProfilerJson, leaves_out_nodes_that_no_category_leads_to) {
    const auto profile = read_script_profiler_json(R"({"Version":2,
        "Categories":[{"Name":"c","NodeId":3}],
        "Nodes":[{"TotalDuration":9,"FunctionIds":[1],"NodeIds":[2]},{"TotalDuration":5},
                 {"TotalDuration":7,"FunctionIds":[1],"NodeIds":[4]},{"TotalDuration":4}],
        "Functions":[{"TotalDuration":5}]})");
    ASSERT_TRUE(profile.has_value()) << profile.error().message();
    ASSERT_EQ(profile->nodes.size(), 3U);
    EXPECT_EQ(profile->nodes[0].total, 7000U);
    EXPECT_EQ(profile->nodes[2].total, 4000U);
    EXPECT_EQ(profile->nodes[2].parent, NodeId{1});
    EXPECT_EQ(profile->stats.notes.size(), 1U);
}

struct Refusal {
    const char* what;
    const char* text;
    const char* message;
};

// NOLINTNEXTLINE(readability-identifier-naming): how GoogleTest finds it
void PrintTo(const Refusal& refusal, std::ostream* out) {
    *out << refusal.what;
}

class Refused : public testing::TestWithParam<Refusal> {};

TEST_P(Refused, with_its_place) {
    const auto profile = read_script_profiler_json(GetParam().text);
    ASSERT_FALSE(profile.has_value());
    EXPECT_NE(profile.error().message().find(GetParam().message), std::string::npos)
        << profile.error().message();
}

#define DOCUMENT(CATEGORIES, NODES, FUNCTIONS)                         \
    R"({"Version":2,"Categories":[)" CATEGORIES R"(],"Nodes":[)" NODES \
    R"(],"Functions":[)" FUNCTIONS "]}"
#define CATEGORY R"({"Name":"c","NodeId":1})"
#define FUNCTION R"({"TotalDuration":1})"

INSTANTIATE_TEST_SUITE_P(
    Documents, Refused,
    testing::Values(
        Refusal{"Empty", "", "malformed JSON"},
        Refusal{"CutOff", R"({"Version":2,"Nodes":[{)", "malformed JSON at byte 24"},
        Refusal{"Trailing", DOCUMENT("", "", "") "x", "malformed JSON"},
        Refusal{"NotAnObject", "[]", "the document must be an object, not an array"},
        Refusal{"Version1", R"({"Version":1})", "version 1 of the format is not supported"},
        Refusal{"NoVersion", R"({"Categories":[],"Nodes":[],"Functions":[]})",
                "Version is missing"},
        Refusal{"NoNodes", R"({"Version":2,"Categories":[],"Functions":[]})", "Nodes is missing"},
        Refusal{"Twice", R"({"Version":2,"Version":2})", "Version appears twice"},
        Refusal{"NodesNotArray", R"({"Version":2,"Nodes":{}})",
                "Nodes must be an array, not an object"},
        Refusal{"NodeNotObject", DOCUMENT(CATEGORY, R"({"TotalDuration":1},7)", ""),
                "Nodes must hold objects, not a number"},
        Refusal{"Inlined", DOCUMENT(CATEGORY, R"({"TotalDuration":1,"Inlined":3})", ""),
                "node 1: Inlined must be 0, 1 or 2"},
        Refusal{"CallLine", DOCUMENT(CATEGORY, R"({"TotalDuration":1,"CallLine":4294967296})", ""),
                "node 1: CallLine has more than 32 bits"},
        Refusal{"CategoryNotObject", DOCUMENT(R"({"Name":"c","NodeId":1,"x":0},7)", "", ""),
                "Categories must hold objects, not a number"},
        Refusal{"NegativeDuration", DOCUMENT("", R"({"TotalDuration":1},{"TotalDuration":-1})", ""),
                "node 2: TotalDuration must be an integer from 0 to 2^64-1, not a negative"},
        Refusal{"FractionalDuration", DOCUMENT("", R"({"TotalDuration":1.5})", ""),
                "node 1: TotalDuration must be an integer"},
        Refusal{"HugeDuration", DOCUMENT("", R"({"TotalDuration":99999999999999999999})", ""),
                "node 1: TotalDuration must be an integer"},
        Refusal{"OverflowingDuration", DOCUMENT("", R"({"TotalDuration":18446744073709552})", ""),
                "node 1: TotalDuration overflows"},
        Refusal{
            "OverflowingSum",
            DOCUMENT(R"({"Name":"c","NodeId":1},{"Name":"d","NodeId":2})",
                     R"({"TotalDuration":18446744073709551},{"TotalDuration":18446744073709551})",
                     ""),
            "the sum of its children overflows"},
        Refusal{"StringDuration", DOCUMENT("", "", R"({"TotalDuration":"1"})"),
                "function 1: TotalDuration must be an integer from 0 to 2^64-1, not a string"},
        Refusal{"NoDuration", DOCUMENT("", "{}", ""), "node 1: TotalDuration is missing"},
        Refusal{"NullName", DOCUMENT("", "", R"({"TotalDuration":1,"Name":null})"),
                "function 1: Name must be a string, not null"},
        Refusal{"NumberName", DOCUMENT(R"({"Name":7,"NodeId":1})", "", ""),
                "category 1: Name must be a string, not a number"},
        Refusal{"FractionalLine", DOCUMENT("", "", R"({"TotalDuration":1,"Line":1.5})"),
                "function 1: Line must be an integer"},
        Refusal{"HugeLine", DOCUMENT("", "", R"({"TotalDuration":1,"Line":4294967296})"),
                "function 1: Line has more than 32 bits"},
        Refusal{"IdsWithoutNodes", DOCUMENT("", R"({"TotalDuration":1,"FunctionIds":[]})", ""),
                "node 1: FunctionIds and NodeIds must be there both or neither"},
        Refusal{"DifferentLengths",
                DOCUMENT("", R"({"TotalDuration":1,"FunctionIds":[1,2],"NodeIds":[1]})", ""),
                "node 1: FunctionIds has 2 entries and NodeIds 1"},
        Refusal{"StringId", DOCUMENT("", R"({"TotalDuration":1,"FunctionIds":["1"]})", ""),
                "node 1: FunctionIds must hold ids, not a string"},
        Refusal{"NestedId", DOCUMENT("", R"({"TotalDuration":1,"FunctionIds":[[1]]})", ""),
                "node 1: FunctionIds must hold ids, not an array"},
        Refusal{
            "NoSuchNode",
            DOCUMENT(CATEGORY, R"({"TotalDuration":1,"FunctionIds":[1],"NodeIds":[2]})", FUNCTION),
            "node 1: there is no node 2"},
        Refusal{
            "NodeZero",
            DOCUMENT(CATEGORY, R"({"TotalDuration":1,"FunctionIds":[1],"NodeIds":[0]})", FUNCTION),
            "node 1: there is no node 0"},
        Refusal{
            "NoSuchFunction",
            DOCUMENT(CATEGORY,
                     R"({"TotalDuration":1,"FunctionIds":[2],"NodeIds":[2]},{"TotalDuration":1})",
                     FUNCTION),
            "node 1: there is no function 2"},
        Refusal{"NoSuchCategoryNode", DOCUMENT(CATEGORY, "", ""),
                "category \"c\": there is no node 1"},
        Refusal{"NoSuchGc",
                R"({"Version":2,"GCFuncId":1,"Categories":[],"Nodes":[],"Functions":[]})",
                "GCFuncId: there is no function 1"},
        Refusal{"GcZero", R"({"Version":2,"GCFuncId":0})", "GCFuncId must be the id"},
        Refusal{
            "TwoParents",
            DOCUMENT(CATEGORY R"(,{"Name":"d","NodeId":2})",
                     R"({"TotalDuration":1,"FunctionIds":[1],"NodeIds":[2]},{"TotalDuration":1})",
                     FUNCTION),
            "node 1: node 2 has a parent already"},
        Refusal{"TwoCategoriesOneNode",
                DOCUMENT(CATEGORY "," CATEGORY, R"({"TotalDuration":1})", ""),
                "node 1 has a parent already"},
        Refusal{"OwnChild",
                DOCUMENT("", R"({"TotalDuration":1,"FunctionIds":[1],"NodeIds":[1]})", FUNCTION),
                "node 1 is its own ancestor"},
        Refusal{
            "Cycle",
            DOCUMENT(CATEGORY,
                     R"({"TotalDuration":1},{"TotalDuration":1,"FunctionIds":[1],"NodeIds":[3]},)"
                     R"({"TotalDuration":1,"FunctionIds":[1],"NodeIds":[2]})",
                     FUNCTION),
            "node 2 is its own ancestor"},
        Refusal{"TwoChildrenOfOneFunction",
                DOCUMENT(CATEGORY,
                         R"({"TotalDuration":1,"FunctionIds":[1,1],"NodeIds":[2,3]},)"
                         R"({"TotalDuration":1},{"TotalDuration":1})",
                         FUNCTION),
                "node 1: two children for function 1"},
        Refusal{"NotUtf8", "{\"Version\":2,\"x\":\"\xff\"}", "malformed JSON"},
        Refusal{"BadScale", R"({"Version":2,"Scale":0})", "Scale must be greater than 0"},
        Refusal{"BadNet", R"({"Version":2,"Net":2})", "Net must be 0 or 1"}),
    [](const auto& refusal) { return std::string{refusal.param.what}; });

TEST(ScriptProfilerJson, refuses_deep_nesting_without_recursion) {
    constexpr std::size_t kDepth = 1'000'000;
    const std::string text =
        R"({"Version":2,"x":)" + std::string(kDepth, '[') + std::string(kDepth, ']') + "}";
    const auto profile = read_script_profiler_json(text);
    ASSERT_FALSE(profile.has_value());
    EXPECT_NE(profile.error().message().find("nested too deeply"), std::string::npos);
}

TEST(ScriptProfilerJson, says_unsupported_of_another_version) {
    EXPECT_EQ(read_script_profiler_json(R"({"Version":3})").error().code, ErrorCode::unsupported);
}

TEST(ScriptProfilerJson, says_what_is_counted_instead_of_time) {
    Profile profile = profile_of({function("a"), function("b")});
    EXPECT_EQ(write(profile).find("\"Unit\""), std::string::npos);
    profile.event = "syscalls:sys_enter_write";
    profile.metric.unit = "events";
    const std::string text = write(profile);
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["Event"], "syscalls:sys_enter_write");
    EXPECT_EQ(json["Unit"], "events");
    EXPECT_EQ(json["Nodes"][0]["TotalDuration"], 5'000);
    EXPECT_EQ(json["Functions"][0]["TotalDuration"], 2'500);
    const auto back = read_script_profiler_json(text);
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(back->event, profile.event);
    EXPECT_EQ(back->metric.unit, "events");
    EXPECT_EQ(back->nodes[0].total, 5'000U);
    EXPECT_EQ(back->functions[0].total, 2'500U);
    EXPECT_EQ(write(*back), text);
}

TEST(ScriptProfilerJson, of_others_has_microseconds_whatever_unit_it_names) {
    const auto read = read_script_profiler_json(
        R"({"Version":2,"Unit":"us","Categories":[{"Name":"m","NodeId":1}],)"
        R"("Nodes":[{"TotalDuration":3}],"Functions":[]})");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_TRUE(read->is_time());
    EXPECT_EQ(read->nodes[0].total, 3'000U);
}

}  // namespace
}  // namespace sample::imports
