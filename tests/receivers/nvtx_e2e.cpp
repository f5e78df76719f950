// NVTX: a client in C++ and one in Python that have what NVTX's headers have.
#include "heard.h"
#include "tests/built.h"

#include <algorithm>

namespace sample::receivers_test {
namespace {

class Nvtx : public Heard {};

TEST_F(Nvtx, becomes_zones_regions_and_bookmarks) {
    record_same("nvtx", {built::kNvtxClient, "say"});
    EXPECT_EQ(zones(), (Counts{{"NVTX: outer", 10},
                               {"NVTX: w\xc3\xa4ide", 10},
                               {"loading: coloured", 1},
                               {"physics: solver: registered", 1},
                               {"net: receive", 1},
                               {"physics: wait door", 1},
                               {"NVTX: in a thread", 1}}));
    EXPECT_EQ(regions(), (Counts{{"NVTX: range", 1},
                                 {"NVTX: wide range", 1},
                                 {"loading: coloured", 1},
                                 {"physics: solver: registered", 1}}));
    EXPECT_EQ(log(), (std::vector<std::string>{"a mark", "a wide mark", "coloured", "receive"}));
    EXPECT_TRUE(has_value("payload"));
    const std::vector<std::string> threads = thread_names();
    EXPECT_EQ(std::count(threads.begin(), threads.end(), "speaker"), 1);
    EXPECT_EQ(std::count(threads.begin(), threads.end(), "named by another"), 1);
}

TEST_F(Nvtx, copes_with_what_no_program_should_do) {
    record_same("nvtx", {built::kNvtxClient, "attack"});
    const Counts found = zones();
    EXPECT_EQ(found.at("NVTX: deep"), 128);
    EXPECT_EQ(found.at("NVTX: around a fork"), 1);
    EXPECT_EQ(found.at("domain 0: in many"), 1);
    EXPECT_EQ(found.at("domain 999: category 999: in many"), 1);
    EXPECT_EQ(counters().at("NVTX: ends without a beginning"), 2);
    const nlohmann::json shown = view("zones");
    EXPECT_EQ(shown["ends_without_begin"], 0);
    EXPECT_EQ(shown["lost_zones"], 0);
}

TEST_F(Nvtx, more_names_than_there_is_room_for_are_none) {
    record_same("nvtx", {built::kNvtxClient, "many"});
    const auto found = [this](const std::string& name) {
        return sample({"report", "--view", "zones", "--search", name, recording()}).out;
    };
    EXPECT_NE(found("names 60000").find("one of many names 60000"), std::string::npos);
    const std::string none = found("names 69999");
    EXPECT_EQ(none.find("one of many names 69999"), std::string::npos) << none;
    EXPECT_EQ(none.find("damaged"), std::string::npos) << none;
}

TEST_F(Nvtx, what_python_pushes_is_what_is_recorded) {
    record_same("nvtx", {PYTHON, built::kNvtxClientPy});
    EXPECT_EQ(zones(), (Counts{{"NVTX: step", 50}, {"NVTX: part", 49}}));
    EXPECT_EQ(log(), (std::vector<std::string>{"done"}));
}

TEST_F(Nvtx, is_refused_while_the_channel_is_off) {
    record_same("cpu", {built::kNvtxClient, "say"},
                {.settings = {{"NVTX_INJECTION64_PATH",
                               std::string{built::kReceivers} + "/libsample-nvtx.so"}}});
    EXPECT_EQ(zones(), Counts{});
}

}  // namespace
}  // namespace sample::receivers_test
