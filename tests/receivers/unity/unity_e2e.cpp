// Unity's native plug-ins in programs that are recorded: what they are told, call by call, and what
// they say, in the recording. Plug-ins of gcc and of clang.
#include "tests/built.h"
#include "tests/e2e/run.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace sample::e2e {
namespace {

using Lines = std::vector<std::string>;
using Words = std::vector<std::string>;

const std::string plugins = std::string{built::kUnityPlugins} + "/";
const std::string program = std::string{built::kUnityPrograms} + "/unity_program";
const std::string tiny_host = std::string{built::kUnityPrograms} + "/unity_tiny_host";
const std::string player_plugin = built::kPlayerPlugin;

Lines lines_of(const std::string& text) {
    Lines lines;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// A folder of the test's own, with what `sample` made of one command in it.
class Recorded {
public:
    explicit Recorded(const Words& options, const Words& command = {program}) {
        Words words{built::kSample, "-o", recording_.string(), "--force", "--quiet",
                    "--freq",       "off"};
        words.insert(words.end(), options.begin(), options.end());
        words.emplace_back("--");
        words.insert(words.end(), command.begin(), command.end());
        outcome = run(words);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    }
    ~Recorded() { std::filesystem::remove(recording_); }
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;
    Recorded(Recorded&&) = delete;
    Recorded& operator=(Recorded&&) = delete;

    /// A view's list of that name.
    [[nodiscard]] nlohmann::json view(const std::string& name) const {
        const Outcome seen =
            run({built::kSample, "report", "--view", name, "--json", recording_.string()});
        EXPECT_EQ(seen.exit_code, 0) << seen.err;
        return nlohmann::json::parse(seen.out);
    }
    /// How often each zone is there, by "category: name".
    [[nodiscard]] std::map<std::string, int> zones() const {
        std::map<std::string, int> found;
        const nlohmann::json all = view("zones");
        for (const auto& zone : all["zones"]) {
            const auto& category = zone["category"];
            found[(category.is_null() ? "" : category.get<std::string>() + ": ") +
                  zone["name"].get<std::string>()] += zone["count"].get<int>();
        }
        return found;
    }
    /// The last value of each, by name.
    [[nodiscard]] std::map<std::string, double> counters() const {
        std::map<std::string, double> last;
        const nlohmann::json all = view("counters");
        for (const auto& counter : all["counters"]) {
            last[counter["name"]] = counter["last"];
        }
        return last;
    }
    [[nodiscard]] std::string dump() const {
        return run({built::kSample, "trace", "dump", recording_.string()}).out;
    }

    Outcome outcome;

private:
    std::filesystem::path recording_ = std::filesystem::temp_directory_path() /
                                       ("unity-" + std::to_string(::getpid()) + ".utrace");
};

class UnityPlugin : public testing::TestWithParam<const char*> {
protected:
    static std::string plugin(const std::string& name) {
        return plugins + name + "-" + GetParam() + ".so";
    }
};

INSTANTIATE_TEST_SUITE_P(Compilers, UnityPlugin, testing::Values(UNITY_TEST_COMPILERS),
                         [](const auto& each) { return std::string{each.param}; });

TEST_P(UnityPlugin, is_told_what_the_program_says_call_by_call) {
    const Recorded recorded{{"--trace", "default,memory", "--unity-plugin", plugin("tells")}};
    const Lines all = lines_of(recorded.outcome.out);
    ASSERT_GT(all.size(), 39U);
    EXPECT_EQ(all[0].substr(0, 18), "category 0 Render ");
    EXPECT_EQ(all[38].substr(0, 17), "category 38 Text ");
    EXPECT_EQ((Lines{all.begin() + 39, all.end()}),
              (Lines{"marker Profiler.Default of 1 flags 2",
                     "marker GC.Alloc of 17 flags 0",
                     "marker GC.Collect of 17 flags 0",
                     "thread /Main Thread",
                     "thread group/speaker",
                     "frame",
                     "marker outer of 1 flags 2",
                     "begin outer",
                     "category 39 Own category 123456ff",
                     "marker inner of 39 flags 2",
                     "begin inner",
                     "end inner",
                     "marker noted of 1 flags 2",
                     "begin noted i64:4 f64:0.500000 s:text",
                     "end noted",
                     "begin Profiler.Default id:0 s16:made u32:1",
                     "end Profiler.Default",
                     "begin GC.Collect",
                     "end GC.Collect",
                     "end outer",
                     "marker apples of 1 flags 130",
                     "single apples i64:5",
                     "marker load of 1 flags 130",
                     "single load f64:0.250000",
                     "single GC.Alloc i64:48",
                     "flow 0 77",
                     "flow 3 77",
                     "flow 2 77",
                     "marker waits of 1 flags 2",
                     "begin waits",
                     "end waits",
                     "begin Profiler.Default id:0 s16:coroutine u32:1",
                     "end Profiler.Default",
                     "frame",
                     "unloaded"}));
    const auto zones = recorded.zones();
    EXPECT_EQ(zones.at("Own category: inner"), 1);
    EXPECT_EQ(zones.at("outer"), 1);
}

TEST_P(UnityPlugin, of_the_documents_push_pop_example_is_told_of_zones) {
    for (const char* version : {"document_push_pop", "document_push_pop_2020"}) {
        const Recorded recorded{{"--unity-plugin", plugin(version)}};
        EXPECT_EQ(lines_of(recorded.outcome.out),
                  (Lines{"push outer", "push inner", "pop", "push noted", "pop",
                         "push Profiler.Default", "pop", "push GC.Collect", "pop", "pop",
                         "push waits", "pop", "push Profiler.Default", "pop"}));
    }
}

TEST_P(UnityPlugin, of_the_documents_marker_example_is_recorded) {
    for (const char* version : {"document_markers", "document_markers_2020"}) {
        const std::string path = plugin(version);
        const Recorded recorded{{"--unity-plugin", path},
                                {std::string{built::kUnityPrograms} + "/unity_calls_work", path}};
        EXPECT_EQ(recorded.zones().at("Other: MyPluginMethod"), 3);
    }
}

TEST_P(UnityPlugin, in_c_and_cpp_is_recorded_with_all_it_says) {
    const Recorded recorded{{"--trace", "default,memory", "--unity-plugin", plugin("says_c"),
                             "--unity-plugin", plugin("says_cpp")}};
    EXPECT_EQ(lines_of(recorded.outcome.out),
              (Lines{"available 1", "available 1", "same marker 1", "C++ unloaded", "C unloaded"}));
    EXPECT_EQ(recorded.outcome.err, "");
    const auto zones = recorded.zones();
    EXPECT_EQ(zones.at("C category: C marker"), 102);
    EXPECT_EQ(zones.at("C++ category: C++ marker"), 100);
    EXPECT_EQ(zones.at("outer"), 1);
    const std::string dump = recorded.dump();
    // In CBOR: six values, of which the first is small, -3.
    EXPECT_NE(dump.find("Metadata=[166,101,115,109,97,108,108,34,"), std::string::npos);
    EXPECT_NE(dump.find("87 in all"), std::string::npos);
    for (const char* said : {"C area.C object", "C balls", "C++ load"}) {
        EXPECT_NE(dump.find(said), std::string::npos) << said;
    }
    EXPECT_EQ(recorded.counters().at("C++ marker"), 100);
    const nlohmann::json log = recorded.view("log");
    ASSERT_EQ(log["log"].size(), 1U);
    EXPECT_EQ(log["log"][0]["text"], "C log");
}

TEST_P(UnityPlugin, of_a_release_player_finds_no_profiler_and_markers_for_it_alone) {
    const Recorded recorded{
        {"--unity-release", "--unity-plugin", plugin("tells"), "--unity-plugin", plugin("says_c")}};
    Lines events;
    for (const std::string& line : lines_of(recorded.outcome.out)) {
        const std::string word = line.substr(0, line.find(' '));
        if (word == "available" || word == "begin" || word == "end") {
            events.push_back(line);
        }
    }
    EXPECT_EQ(events, (Lines{"available 0", "begin C release marker", "end C release marker"}));
    EXPECT_FALSE(recorded.zones().contains("C category: C marker"));
    EXPECT_EQ(recorded.zones().at("C category: C release marker"), 1);
}

TEST_P(UnityPlugin, that_throws_is_said_and_survived) {
    for (const char* way : {"throws_in_load", "throws_in_callback"}) {
        const Recorded recorded{{"--unity-plugin", plugin(way)}};
        EXPECT_NE(recorded.outcome.err.find("has thrown an exception"), std::string::npos);
        EXPECT_EQ(recorded.outcome.err.find("exception"), recorded.outcome.err.rfind("exception"));
        EXPECT_EQ(recorded.outcome.out, "");
        EXPECT_EQ(recorded.zones().at("outer"), 1);
    }
}

TEST_P(UnityPlugin, that_registers_five_times_is_refused_once) {
    const Recorded recorded{{"--unity-plugin", plugin("registers_five_times")}};
    EXPECT_EQ(lines_of(recorded.outcome.out),
              (Lines{"registration 1: 0", "registration 2: 0", "registration 3: 0",
                     "registration 4: 0", "registration 5: 1"}));
    EXPECT_NE(recorded.outcome.err.find("was refused, as four are registered"), std::string::npos);
}

TEST_P(UnityPlugin, that_frees_its_name_keeps_it_in_the_recording) {
    const Recorded recorded{{"--unity-plugin", plugin("frees_its_name")}};
    EXPECT_EQ(recorded.outcome.out, "nothing there: 1\n");
    EXPECT_EQ(recorded.zones().at("Other: freed name"), 1);
}

TEST_P(UnityPlugin, that_unregisters_inside_its_callback_is_told_no_more) {
    const Recorded recorded{{"--unity-plugin", plugin("unregisters_inside")}};
    const Lines lines = lines_of(recorded.outcome.out);
    ASSERT_FALSE(lines.empty());
    // New markers make it register again.
    EXPECT_EQ(lines, (Lines{"call 1 of outer", "call 2 of inner", "call 3 of noted",
                            "call 4 of apples", "call 5 of load", "call 6 of waits"}));
}

TEST_P(UnityPlugin, that_leaves_callbacks_is_said) {
    for (const char* way : {"has_no_unload", "leaves_callbacks"}) {
        const Recorded recorded{{"--unity-plugin", plugin(way)}};
        EXPECT_NE(recorded.outcome.err.find("has left callbacks registered"), std::string::npos);
        EXPECT_EQ(recorded.zones().at("outer"), 1);
    }
}

TEST(UnityPlayer, what_a_player_says_is_recorded_by_the_plugin) {
    for (const char* version : {"v2", "v1"}) {
        const Recorded recorded{{"--trace", "default"}, {tiny_host, player_plugin, version}};
        const bool has_flows = version == std::string{"v2"};
        EXPECT_EQ(recorded.outcome.out,
                  has_flows ? "registered 10\nleft 0\n" : "registered 9\nleft 0\n");
        EXPECT_EQ(recorded.zones(), (std::map<std::string, int>{{"PlayerLoop", 10},
                                                                {"Physics: Physics.Step", 10},
                                                                {"My \u00e4\U0001f600", 10}}));
        const auto zones = recorded.view("zones");
        EXPECT_EQ(zones["ends_without_begin"], 0);
        EXPECT_EQ(zones["flows"], has_flows ? 10 : 0);
        EXPECT_NE(recorded.dump().find("UnityMain"), std::string::npos);
        EXPECT_EQ(recorded.counters(),
                  (std::map<std::string, double>{{"Draw Calls", 9}, {"GC.Alloc", 10'000}}));
    }
}

TEST(UnityPlayer, plugin_registers_nothing_without_the_agent) {
    const Outcome outcome = run({tiny_host, player_plugin});
    EXPECT_EQ(outcome.out, "registered 0\nleft 0\n");
    EXPECT_EQ(outcome.exit_code, 0);
}

TEST(UnityPlayer, plugin_works_in_our_own_host) {
    const Recorded recorded{{"--unity-plugin", player_plugin}};
    const auto zones = recorded.zones();
    EXPECT_EQ(zones.at("outer"), 1);  // The program's own.
    EXPECT_EQ(zones.at("Scripts: outer"), 1);
    EXPECT_EQ(zones.at("made"), 2);
    EXPECT_EQ(zones.at("GC: GC.Collect"), 1);
}

TEST(UnityHostAlone, loads_plugins_without_an_agent) {
    const Outcome outcome =
        run({program}, {.settings = {{"LD_PRELOAD", built::kUnityHost},
                                     {"SAMPLE_UNITY_PLUGIN",
                                      plugins + "says_cpp-gcc.so:" + plugins + "says_c-gcc.so"}}});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(lines_of(outcome.out),
              (Lines{"available 1", "same marker 1", "available 1", "C unloaded", "C++ unloaded"}));
}

TEST(UnityHostAlone, says_which_plugin_cannot_be_loaded) {
    const Outcome outcome = run({program}, {.settings = {{"LD_PRELOAD", built::kUnityHost},
                                                         {"SAMPLE_UNITY_PLUGIN", "/nowhere.so"}}});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_NE(outcome.err.find("cannot load the plug-in /nowhere.so"), std::string::npos);
}

TEST(UnityOptions, refuse_what_cannot_be) {
    const Outcome missing = run({built::kSample, "--unity-plugin", "/nowhere.so", "--", program});
    EXPECT_EQ(missing.exit_code, 2);
    EXPECT_NE(missing.err.find("No such file"), std::string::npos);
    const Outcome release = run({built::kSample, "--unity-release", "--", program});
    EXPECT_EQ(release.exit_code, 2);
    EXPECT_NE(release.err.find("add --unity-plugin"), std::string::npos);
}

}  // namespace
}  // namespace sample::e2e
