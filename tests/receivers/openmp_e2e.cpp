// OpenMP by OMPT: a program that clang has compiled, with Debian's libomp.
#include "heard.h"
#include "tests/built.h"

#include <algorithm>

namespace sample::receivers_test {
namespace {

class OpenMp : public Heard {};

TEST_F(OpenMp, regions_tasks_loops_and_waits_are_zones) {
    record_same("openmp", {built::kOpenmpProgram});
    const Counts found = zones();
    EXPECT_EQ(found.at("OpenMP: parallel"), 21);
    EXPECT_EQ(found.at("OpenMP: implicit task"), 84);
    EXPECT_EQ(found.at("OpenMP: loop"), 80);
    EXPECT_EQ(found.at("OpenMP: task"), 8);
    EXPECT_EQ(found.at("OpenMP: barrier"), 4);
    EXPECT_EQ(found.at("OpenMP: wait barrier"), 4);
    EXPECT_EQ(found.at("OpenMP: taskwait"), 4);
    EXPECT_EQ(found.at("OpenMP: single"), 1);
    // The end of each region, and that of single.
    EXPECT_EQ(found.at("OpenMP: implicit barrier"), 88);
    EXPECT_EQ(found.at("OpenMP: wait critical"), 4);
    EXPECT_EQ(found.at("OpenMP: wait lock"), 2);
    const nlohmann::json shown = view("zones");
    EXPECT_EQ(shown["ends_without_begin"], 0);
    // A region ends before the next one begins: they do not add up to more than there was.
    for (const nlohmann::json& zone : shown["zones"]) {
        EXPECT_EQ(zone["open"], 0) << zone["name"];
        if (zone["name"] == "parallel") {
            EXPECT_LE(zone["mean_ns"].get<double>() * 21, 1.001 * zone["total_ns"].get<double>());
        }
    }
    EXPECT_TRUE(has_value("openmp_program+0x"));
}

TEST_F(OpenMp, a_runtime_without_the_channel_has_no_tool) {
    record_same("cpu", {built::kOpenmpProgram},
                {.settings = {{"OMP_TOOL_LIBRARIES",
                               std::string{built::kReceivers} + "/libsample-ompt.so"}}});
    EXPECT_EQ(zones(), Counts{});
}

}  // namespace
}  // namespace sample::receivers_test
