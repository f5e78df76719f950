// ITT: a client that has a static part of its own, and Debian's libraries.
#include "heard.h"
#include "tests/built.h"

#include <algorithm>

namespace sample::receivers_test {
namespace {

class Itt : public Heard {};

TEST_F(Itt, every_entry_of_the_table_has_a_function) {
    ASSERT_EQ(sample({"--quiet", "--freq", "off", "--trace", "itt", "-o", recording(), "--",
                      built::kIttClient, "names"})
                  .out,
              "missing=0 of 205\n");
}

TEST_F(Itt, without_the_agent_nobody_is_called) {
    const std::string library = std::string{built::kReceivers} + "/libsample-itt.so";
    const e2e::Outcome outcome =
        run_here({built::kIttClient, "say"}, {.settings = {{"INTEL_LIBITTNOTIFY64", library}}});
    EXPECT_EQ(outcome.out, "said\n");
    EXPECT_EQ(outcome.exit_code, 0);
}

TEST_F(Itt, becomes_zones_regions_counters_frames_and_words) {
    record_same("itt", {built::kIttClient, "say"});
    EXPECT_EQ(zones(), (Counts{{"physics: step", 10},
                               {"physics: collide", 10},
                               {"physics: qsort", 1},
                               {"physics: metadata", 20},
                               {"physics: relation", 1},
                               {"physics: before pause", 1},
                               {"physics: after pause", 1},
                               {"net: receive", 1},
                               {"ITT sync: wait mutex door", 1}}));
    EXPECT_EQ(regions(), (Counts{{"physics: load", 1},
                                 {"physics: stream", 1},
                                 {"physics: area", 1},
                                 {"ITT: event", 1}}));
    EXPECT_EQ(frames(), (Counts{{"physics", 3}}));
    std::map<std::string, double> last = counters();
    EXPECT_GE(last["until now: frame, ns"], 1000);
    last.erase("until now: frame, ns");
    EXPECT_EQ(last, (std::map<std::string, double>{{"net: bytes", 49},
                                                   {"net: load", 0.25},
                                                   {"net: delta", -7},
                                                   {"physics: hits", 5},
                                                   {"physics: frame, ns", 1500}}));
    EXPECT_EQ(log(), (std::vector<std::string>{"a marker", "mark: one", "7 of nine", "ITT: pause",
                                               "ITT: resume"}));
    EXPECT_EQ(view("zones")["ends_without_begin"], 0);
    for (const char* text : {"bodies", "level", "one", "relation", "is child of"}) {
        EXPECT_TRUE(has_value(text)) << text;
    }
    EXPECT_FALSE(has_value("and more"));
    const std::vector<std::string> threads = thread_names();
    EXPECT_EQ(std::count(threads.begin(), threads.end(), "worker of ITT"), 1);
}

TEST_F(Itt, copes_with_what_no_program_should_do) {
    record_same("itt", {built::kIttClient, "attack"});
    const Counts found = zones();
    int in_many = 0;
    for (const auto& [name, count] : found) {
        in_many += name.find(": in many") != std::string::npos ? count : 0;
    }
    EXPECT_EQ(in_many, 1000);
    EXPECT_EQ(found.count("domain 999: in many"), 1U);
    EXPECT_EQ(found.at("attack: deep"), 128);
    EXPECT_EQ(found.at("attack: of 7"), 160);
    EXPECT_EQ(found.at("attack: outer"), 1);
    EXPECT_EQ(found.at("other: inner"), 1);
    EXPECT_EQ(found.at("attack: around a fork"), 1);
    EXPECT_EQ(found.count("attack: never"), 0U);
    EXPECT_EQ(found.count("wide: w\xef\xbf\xbd\xef\xbf\xbd\xe2\x82\xac\xf0\x9f\x98\x80"), 1U);
    EXPECT_EQ(regions().at("attack: overlapped"), 8000);
    EXPECT_EQ(counters().at("ITT: ends without a beginning"), 2);
    const nlohmann::json shown = view("zones");
    EXPECT_EQ(shown["ends_without_begin"], 0);
    EXPECT_EQ(shown["lost_zones"], 0);
}

TEST_F(Itt, a_client_may_be_unloaded_and_come_again) {
    record_same("itt", {built::kIttClient, "unload", built::kIttPlugin});
    EXPECT_EQ(zones(), (Counts{{"plugin: in the plugin", 20}, {"plugin: after", 1}}));
}

TEST_F(Itt, what_the_user_has_set_stays) {
    const e2e::Outcome outcome = sample(
        {"--quiet", "--freq", "off", "--trace", "itt,default", "-o", recording(), "--", "env"},
        {.settings = {{"INTEL_LIBITTNOTIFY64", "/other.so"}}});
    EXPECT_NE(outcome.err.find("INTEL_LIBITTNOTIFY64 is set already, to /other.so"),
              std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.out.find("INTEL_LIBITTNOTIFY64=/other.so\n"), std::string::npos);
}

TEST_F(Itt, all_names_the_libraries_and_default_does_not) {
    const auto environment = [this](const std::string& channels) {
        return sample({"--quiet", "--force", "--freq", "off", "--trace", channels, "-o",
                       recording(), "--", "env"})
            .out;
    };
    const std::string all = environment("all");
    for (const char* variable :
         {"INTEL_LIBITTNOTIFY64=/", "NVTX_INJECTION64_PATH=/", "OMP_TOOL_LIBRARIES=/"}) {
        EXPECT_NE(all.find(variable), std::string::npos) << variable;
        EXPECT_EQ(environment("default").find(variable), std::string::npos) << variable;
    }
}

// ---- Debian's libraries, as they are.

TEST_F(Itt, tbb_says_its_tasks) {
    record_same("itt", {built::kTbbProgram});
    const Counts found = zones();
    EXPECT_GE(found.at("tbb: tbb_parallel_reduce"), 1);
    EXPECT_GE(found.at("tbb: tbb_custom"), 1);
}

TEST_F(Itt, libomp_says_its_barriers_and_regions) {
    record_same("itt", {built::kOpenmpProgram}, {.settings = {{"OMP_NUM_THREADS", "4"}}});
    int waits = 0;
    for (const auto& [name, count] : zones()) {
        waits += name.find("wait OMP Join Barrier") != std::string::npos ? count : 0;
    }
    EXPECT_GT(waits, 0);
    int regions = 0;
    for (const auto& [name, last] : counters()) {
        regions += name.find("sum_of_parts$omp$parallel") != std::string::npos && last > 0 ? 1 : 0;
    }
    EXPECT_EQ(regions, 1);
}

TEST_F(Itt, onednn_says_its_primitives) {
    record_same("itt", {built::kDnnlProgram}, {.settings = {{"OMP_NUM_THREADS", "2"}}});
    int primitives = 0;
    for (const auto& [name, count] : zones()) {
        primitives += name.find("dnnl") != std::string::npos ? count : 0;
    }
    EXPECT_GT(primitives, 0);
}

}  // namespace
}  // namespace sample::receivers_test
