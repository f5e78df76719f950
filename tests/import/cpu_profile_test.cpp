#include "core/mapped_file.h"
#include "import/import.h"
#include "import_fixture.h"
#include "tests/built.h"

#include <gtest/gtest.h>

#include <string>

namespace sample::imports {
namespace {

using callgraph::Profile;

std::string node(int id, const std::string& name, const std::string& more = "") {
    return R"({"id":)" + std::to_string(id) + R"(,"callFrame":{"functionName":")" + name +
           R"(","scriptId":"0","url":"a.js","lineNumber":)" + std::to_string(id) +
           R"(,"columnNumber":0})" + more + "}";
}

/// (root) → main → f, and (garbage collector) beside it.
std::string file_of(const std::string& more) {
    return R"({"nodes":[)" + node(1, "(root)", R"(,"children":[2,4],"hitCount":0)") + "," +
           node(2, "main", R"(,"children":[3],"hitCount":2)") + "," +
           node(3, "f", R"(,"hitCount":5)") + "," + node(4, "(garbage collector)") + "]" + more +
           "}";
}

constexpr const char* kTimes =
    R"(,"startTime":100,"endTime":120,"samples":[2,3,4,2],"timeDeltas":[5,2,4,8])";

TEST(CpuProfile, lets_each_sample_last_until_the_next) {
    const Profile profile = imported(file_of(kTimes));
    EXPECT_EQ(totals(profile), (Totals{{"main", {7000, 3000}},
                                       {"f", {4000, 4000}},
                                       {"(garbage collector)", {8000, 8000}}}));
    EXPECT_TRUE(profile.is_time());
    EXPECT_EQ(profile.stats.clock, "wall");
    EXPECT_EQ(profile.stats.samples, 4U);
    EXPECT_EQ(profile.stats.wall_ns, 20'000U);
    EXPECT_EQ(moments(profile, 0), (std::vector<Moment>{{"main", 7000, 2000},
                                                        {"f", 11'000, 4000},
                                                        {"(garbage collector)", 19'000, 8000},
                                                        {"main", 20'000, 1000}}));
    EXPECT_EQ(function_called(profile, "f").source, "a.js");
    EXPECT_EQ(function_called(profile, "f").line, 4U) << "the file counts from 0";
    ASSERT_TRUE(profile.memory.has_value());
    EXPECT_EQ(profile.function(*profile.memory).name, "(garbage collector)");
}

TEST(CpuProfile, tells_functions_of_one_line_apart) {
    const auto frame = [](int id, const std::string& column) {
        return R"({"id":)" + std::to_string(id) +
               R"(,"callFrame":{"functionName":"","url":"min.js","lineNumber":0,"columnNumber":)" +
               column + R"(},"hitCount":)" + std::to_string(id);
    };
    std::string text = R"({"nodes":[)" + frame(1, "10") + R"(,"children":[2]},)";
    text += frame(2, "90") + "}]}";
    const Profile profile = imported(text);
    EXPECT_EQ(totals(profile),
              (Totals{{"(anonymous) (column 11)", {3, 1}}, {"(anonymous) (column 91)", {2, 2}}}));
}

TEST(CpuProfile, puts_late_samples_where_they_belong) {
    const Profile profile = imported(
        file_of(R"(,"startTime":100,"endTime":120,"samples":[2,3,2],"timeDeltas":[5,10,-6])"));
    EXPECT_EQ(
        moments(profile, 0),
        (std::vector<Moment>{{"main", 9000, 4000}, {"main", 15'000, 6000}, {"f", 20'000, 5000}}));
}

TEST(CpuProfile, counts_hits_where_there_are_no_times) {
    const Profile profile = imported(file_of(""));
    EXPECT_EQ(totals(profile), (Totals{{"main", {7, 2}}, {"f", {5, 5}}}));
    EXPECT_EQ(profile.metric.unit, "samples");
    EXPECT_EQ(profile.stats.samples, 7U);
}

TEST(CpuProfile, reads_parents_in_any_order_and_the_protocols_answer) {
    const Profile profile =
        imported(R"({"profile":{"nodes":[)" + node(3, "", R"(,"parent":2,"hitCount":5)") + "," +
                 node(2, "main", R"(,"parent":1)") + "," + node(1, "(root)") + "]}}");
    EXPECT_EQ(totals(profile), (Totals{{"main", {5, 0}}, {"(anonymous)", {5, 5}}}));
}

/// `node --cpu-prof` of Node.js 20. What the figures are was added up from the file by hand.
TEST(CpuProfile, of_node_has_the_times_of_its_samples) {
    const auto file = MappedFile::open(std::string{built::kData} + "/cpuprofile/node");
    ASSERT_TRUE(file.has_value());
    const auto bytes = file->bytes();
    const Profile profile = imported({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    EXPECT_EQ(profile.nodes[0].total, 189'461'000U);
    EXPECT_EQ(profile.stats.samples, 62U);
    EXPECT_EQ(function_called(profile, "leaf").self, 151'271'000U);
    EXPECT_EQ(function_called(profile, "leaf").source, "file:///src/work.js");
    EXPECT_EQ(function_called(profile, "middle").line, 2U);
}

TEST(CpuProfile, refuses_with_the_place) {
    const auto refused = [](const std::string& text, const std::string& part) {
        expect_refusal(text, Format::cpuprofile, "cpuprofile: " + part);
    };
    refused(R"({"samples":[]})", "nodes is missing");
    refused(R"({"nodes":[{"id":1}]})", "nodes[0]: callFrame is missing");
    refused(R"({"nodes":[)" + node(1, "a") + "," + node(1, "b") + "]}", "nodes[1]: its id, 1, app");
    refused(R"({"nodes":[)" + node(1, "a", R"(,"children":[9])") + "]}", "there is no node 9");
    refused(R"({"nodes":[)" + node(1, "a", R"(,"parent":9)") + "]}", "there is no node 9");
    refused(R"({"nodes":[)" + node(1, "a", R"(,"children":[2])") + "," +
                node(3, "a", R"(,"children":[2])") + "," + node(2, "b") + "]}",
            "node 2 has two parents");
    refused(R"({"nodes":[)" + node(1, "a", R"(,"parent":2)") + "," +
                node(2, "b", R"(,"parent":1)") + "]}",
            "nodes are below each other in a circle");
    refused(file_of(R"(,"samples":[2,9],"timeDeltas":[1,1])"), "samples[1]: there is no such node");
    refused(file_of(R"(,"samples":[2],"timeDeltas":[1,1])"), "has 1 samples and 2 timeDeltas");
    refused(file_of(R"(,"samples":[2],"timeDeltas":[1e300])"), "samples[0]: is later than 62 bits");
}

}  // namespace
}  // namespace sample::imports
