#include "callgraph/label.h"
#include "callgraph/transforms.h"
#include "callgraph/tree.h"
#include "core/text.h"
#include "export/formats.h"
#include "export/shared/functions.h"
#include "random_profile.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sample::exports {
namespace {

using callgraph::Function;
using callgraph::Profile;

using Cost = std::array<std::uint64_t, 2>;  ///< Weight, samples.

void add(Cost& to, const Cost& cost) {
    to[0] += cost[0];
    to[1] += cost[1];
}

/// What callgrind_annotate and KCachegrind make of a file, by "file:function".
struct Figures {
    std::map<std::string, Cost> self;
    std::map<std::string, Cost> inclusive;
    std::map<std::string, std::string> object;
    std::map<std::string, std::vector<std::string>> calls;  ///< "line callee".
    std::map<std::string, std::string> head;
    std::vector<std::string> descriptions;
};

/// Inclusive is what the calls into a function cost; without such calls, what it and its own calls
/// cost. Records a test failure for a line that it does not know.
class Reader {
public:
    Figures read(const std::string& text) {
        std::istringstream lines{text};
        for (std::string line; std::getline(lines, line);) {
            if (line.empty() || line[0] == '#') {
                continue;
            }
            if (line[0] >= '0' && line[0] <= '9') {
                read_cost(line);
            } else {
                read_word(line);
            }
        }
        for (const auto& [function, cost] : outgoing_) {
            add(figures_.inclusive[function], cost);
        }
        for (const auto& [function, cost] : figures_.self) {
            add(figures_.inclusive[function], cost);
        }
        for (const auto& [function, cost] : incoming_) {
            figures_.inclusive[function] = cost;
        }
        return std::move(figures_);
    }

private:
    void read_word(const std::string& line) {
        const std::size_t end = line.find_first_of(":=");
        ASSERT_NE(end, std::string::npos) << line;
        const std::string key = line.substr(0, end);
        const std::string value = line.substr(end + 1);
        if (line[end] == ':') {
            const std::string text = value.substr(std::min<std::size_t>(1, value.size()));
            (key == "desc" ? figures_.descriptions.emplace_back() : figures_.head[key]) = text;
        } else if (key == "calls") {
            is_call_ = true;
            EXPECT_EQ(value.substr(0, 2), "1 ");
        } else if (key == "ob" || key == "cob") {
            (key == "ob" ? object_ : callee_object_) = name(objects_, value);
        } else if (key == "fl" || key == "cfi") {
            (key == "fl" ? file_ : callee_file_) = name(files_, value);
        } else {
            ASSERT_TRUE(key == "fn" || key == "cfn") << line;
            read_function(key, name(functions_, value));
        }
    }

    void read_function(const std::string& key, const std::string& function) {
        if (key == "fn") {
            function_ = file_ + ":" + function;
            figures_.object[function_] = object_;
            return;
        }
        callee_ = (callee_file_.empty() ? file_ : callee_file_) + ":" + function;
        const std::string& object = callee_object_.empty() ? object_ : callee_object_;
        const auto known = figures_.object.try_emplace(callee_, object).first;
        EXPECT_EQ(known->second, object) << callee_;
        callee_file_.clear();
        callee_object_.clear();
    }

    void read_cost(const std::string& line) {
        std::istringstream numbers{line};
        std::string at;
        Cost cost{};
        numbers >> at >> cost[0] >> cost[1];
        EXPECT_FALSE(numbers.fail()) << line;
        if (is_call_) {
            add(incoming_[callee_], cost);
            add(outgoing_[function_], cost);
            figures_.calls[function_].push_back(at + " " + callee_);
        } else {
            add(figures_.self[function_], cost);
        }
        is_call_ = false;
    }

    static std::string name(std::map<std::string, std::string>& names, const std::string& value) {
        const std::size_t end = value.find(')') + 1;
        EXPECT_TRUE(value.starts_with('(')) << value;
        std::string& known = names[value.substr(0, end)];
        if (end < value.size()) {
            EXPECT_TRUE(known.empty()) << value;
            known = value.substr(end + 1);
        }
        EXPECT_FALSE(known.empty()) << value;
        return known;
    }

    Figures figures_;
    std::map<std::string, Cost> incoming_;
    std::map<std::string, Cost> outgoing_;
    std::map<std::string, std::string> objects_;
    std::map<std::string, std::string> files_;
    std::map<std::string, std::string> functions_;
    std::string object_;
    std::string file_;
    std::string function_;
    std::string callee_object_;
    std::string callee_file_;
    std::string callee_;
    bool is_call_ = false;
};

std::string written(const Profile& profile) {
    std::string text;
    EXPECT_TRUE(write_callgrind(profile, to_string_sink(text)).has_value());
    return text;
}

Figures figures_of(const Profile& profile) {
    return Reader{}.read(written(profile));
}

/// By the name that the file has for it.
std::map<std::string, const Function*> functions_of(const Profile& profile) {
    const std::vector<std::string> names = unique_names(profile);
    std::map<std::string, const Function*> functions;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const Function& function = profile.functions[i];
        std::string name{source_file(profile, function)};
        name = (name.empty() ? "???" : name) + ":" + names[i];
        EXPECT_TRUE(functions.emplace(one_line(name), &function).second) << name;
    }
    return functions;
}

void expect_same(const Profile& profile) {
    Figures figures = figures_of(profile);
    for (const auto& [name, function] : functions_of(profile)) {
        EXPECT_EQ(figures.self[name], (Cost{function->self, function->self_samples})) << name;
        EXPECT_EQ(figures.inclusive[name], (Cost{function->total, function->samples})) << name;
    }
    for (const callgraph::Category& category : profile.categories) {
        const callgraph::Node& node = profile.node(category.node);
        const std::string name = "[category]:" + category.name;
        EXPECT_EQ(figures.inclusive[name], (Cost{node.total, node.samples})) << name;
    }
    Cost sum{};
    for (const auto& [name, cost] : figures.self) {
        add(sum, cost);
    }
    const callgraph::Node& root = profile.nodes[0];
    EXPECT_EQ(sum, (Cost{root.total, root.samples}));
    const std::string total = std::to_string(root.total) + " " + std::to_string(root.samples);
    EXPECT_EQ(figures.head["summary"], total);
    EXPECT_EQ(figures.head["totals"], total);
}

/// Category "app" → a line 1 → b line 2 → a line 3 → c line 4 (self 100, 1 sample).
Profile recursive_profile() {
    Profile profile;
    profile.by_line = true;
    profile.stats.clock = "cpu";
    profile.modules.push_back({"app", "/bin/app", ""});
    for (const char* const name : {"a", "b", "c"}) {
        Function& function = profile.functions.emplace_back();
        function.name = name;
        function.source = "/src/app.c";
        function.module = 1;
        function.total = 100;
        function.samples = 1;
    }
    const std::array<std::uint32_t, 6> functions{0, 0, 1, 2, 1, 3};
    for (std::uint32_t id = 0; id < functions.size(); ++id) {
        callgraph::Node& node = profile.nodes.emplace_back();
        node.parent = NodeId{id == 0 ? 0 : id - 1};
        node.function = FunctionId{functions[id]};
        node.line = id < 2 ? 0 : id - 1;
        node.total = 100;
        node.samples = 1;
    }
    profile.nodes[5].self = profile.functions[2].self = 100;
    profile.nodes[5].self_samples = profile.functions[2].self_samples = 1;
    callgraph::link_children(profile.nodes);
    profile.categories = {{"app", NodeId{1}}};
    return profile;
}

TEST(Callgrind, figures_are_those_of_the_profile) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        expect_same(random_profile(seed));
    }
}

TEST(Callgrind, scaled_figures_and_events_too) {
    Profile profile = callgraph::average(random_profile(1), 25);
    ASSERT_EQ(profile.scale, 5);
    expect_same(profile);
    const auto says = [](const Profile& of, const std::string& line) {
        const auto lines = figures_of(of).descriptions;
        return std::find(lines.begin(), lines.end(), line) != lines.end();
    };
    EXPECT_TRUE(says(profile,
                     "scale: \u00d75: durations are multiplied by this, to a span of time that the "
                     "session did not have"));
    profile = random_profile(2);
    profile.event = profile.metric.unit = "page-faults";
    expect_same(profile);
    EXPECT_EQ(figures_of(profile).head["events"], "page_faults Samples");
}

TEST(Callgrind, calls_that_enter_a_function_again_cost_nothing) {
    const Profile profile = recursive_profile();
    expect_same(profile);
    const auto calls = figures_of(profile).calls;
    const std::string file = "/src/app.c:";
    EXPECT_EQ(calls.at(file + "a"),
              (std::vector<std::string>{"1 " + file + "b", "3 " + file + "c"}));
    EXPECT_EQ(calls.count(file + "b"), 0U) << "a is already at work";
}

TEST(Callgrind, tells_where_the_figures_come_from) {
    Profile profile = random_profile(1);
    profile.stats.lost = 17;
    profile.command_line = "two\nlines";
    Figures figures = figures_of(profile);
    EXPECT_EQ(figures.head["cmd"], "two lines");
    EXPECT_EQ(figures.head["pid"], "100");
    EXPECT_EQ(figures.head["positions"], "line");
    EXPECT_EQ(figures.head["events"], "Nanoseconds Samples");
    EXPECT_EQ(figures.head["event"], "Nanoseconds : CPU time [ns]");
    EXPECT_NE(
        std::find(figures.descriptions.begin(), figures.descriptions.end(), "samples lost: 17"),
        figures.descriptions.end());
    EXPECT_EQ(figures.object.at("/src/a.cpp:function4"), "/opt/program");
}

TEST(Callgrind, a_profile_without_lines_has_its_calls_where_they_are_known) {
    Profile profile = recursive_profile();
    profile.by_line = false;
    for (callgraph::Node& node : profile.nodes) {
        node.line = 0;
    }
    profile.nodes[5].call_line = 33;
    expect_same(profile);
    EXPECT_EQ(figures_of(profile).calls.at("/src/app.c:a")[1], "33 /src/app.c:c");
    EXPECT_TRUE(write_callgrind(Profile{}, to_string_sink(profile.command_line)).has_value());
}

TEST(Callgrind, a_function_without_costs_at_a_line_has_the_line_where_it_begins) {
    Profile profile = recursive_profile();
    for (std::uint32_t i = 0; i < profile.functions.size(); ++i) {
        profile.functions[i].line = 70 + i;
    }
    expect_same(profile);
    const std::string text = written(profile);
    EXPECT_NE(text.find("\n70 0 0\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("\n72 0 0\n"), std::string::npos) << "c has costs at line 4";
}

TEST(Callgrind, passes_a_sinks_failure_on) {
    const Sink full = [](std::string_view) -> Result<void> {
        return unexpected(ErrorCode::system, "full");
    };
    EXPECT_FALSE(write_callgrind(random_profile(1), full).has_value());
}

}  // namespace
}  // namespace sample::exports
