// Random recordings against a naive reading of the rules: what every profile must satisfy, whatever
// was recorded and whatever was done to it.
#include "callgraph/transforms.h"
#include "callgraph/tree.h"
#include "recording_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sample::callgraph {
namespace {

struct RandomRecording {
    RecordingMaker maker;
    std::uint64_t sum_ns = 0;
    std::uint64_t samples = 0;
    /// By function name: the time of the stacks that it is on.
    std::map<std::string, std::uint64_t> total_of_function;
    std::uint64_t total_of_pair = 0;  ///< Of the stacks that "a" or "b" is on.
};

RandomRecording make_random(std::uint32_t seed) {
    // NOLINTNEXTLINE(bugprone-random-generator-seed): the same tree in every run, on purpose
    std::mt19937 random{seed};
    const auto below = [&random](std::size_t limit) {
        return static_cast<std::uint32_t>(random() % limit);
    };
    const std::vector<std::string> names{"a", "b", "c", "malloc", "free", "d"};
    RandomRecording result;
    RecordingMaker& maker = result.maker;
    const ProcessId process = maker.process("/usr/bin/app");
    std::vector<ThreadId> threads;
    for (std::uint32_t i = 0; i < 3; ++i) {
        threads.push_back(maker.thread(process, "t" + std::to_string(i / 2), 100 + i));
    }
    std::vector<NodeId> nodes{NodeId{}};
    std::vector<std::set<std::string>> names_on{{}};
    for (int i = 0; i < 300; ++i) {
        const std::uint32_t parent = below(nodes.size());
        const std::string& name = names[below(names.size())];
        nodes.push_back(maker.frame(nodes[parent], name, {}, below(4)));
        names_on.push_back(names_on[parent]);
        names_on.back().insert(name);
    }
    for (int i = 0; i < 2000; ++i) {
        const std::uint32_t at = below(nodes.size());
        const std::uint64_t weight = below(3000);
        const bool is_booking = below(10) == 0;
        if (is_booking) {
            maker.book(threads[below(3)], nodes[at], weight);
        } else {
            maker.sample(threads[below(3)], nodes[at], weight);
            ++result.samples;
        }
        result.sum_ns += weight;
        if (names_on[at].contains("a") || names_on[at].contains("b")) {
            result.total_of_pair += weight;
        }
        for (const std::string& name : names_on[at]) {
            result.total_of_function[name] += weight;
        }
    }
    maker.end();
    return result;
}

void expect_consistent(const Profile& profile) {
    constexpr std::uint64_t kNsPerUs = 1000;
    std::uint64_t self_sum = 0;
    std::uint64_t self_samples = 0;
    for (std::uint32_t id = 0; id < profile.nodes.size(); ++id) {
        const Node& node = profile.nodes[id];
        std::uint64_t children = 0;
        std::uint64_t children_us = 0;
        std::uint64_t samples = node.self_samples;
        std::set<std::pair<std::uint32_t, std::uint32_t>> functions;  // and lines
        std::uint64_t previous = ~std::uint64_t{0};
        for (const NodeId child_id : profile.children(node)) {
            const Node& child = profile.node(child_id);
            EXPECT_EQ(child.parent, NodeId{id});
            EXPECT_LE(child.total, previous) << "children are not heaviest first";
            previous = child.total;
            children += child.total;
            children_us += child.total / kNsPerUs;
            samples += child.samples;
            if (id != 0) {
                EXPECT_TRUE(functions.insert({child.function.value, child.line}).second);
            }
        }
        EXPECT_EQ(node.total, node.self + children);
        EXPECT_GE(node.total / kNsPerUs, children_us);
        EXPECT_EQ(node.samples, samples);
        self_sum += node.self;
        self_samples += node.self_samples;
    }
    EXPECT_EQ(profile.nodes[0].total, self_sum);
    EXPECT_EQ(profile.nodes[0].samples, self_samples);
    EXPECT_EQ(preorder(profile).size(), profile.nodes.size());
    const auto below_root = profile.children(NodeId{});
    EXPECT_EQ(profile.categories.size(), std::distance(below_root.begin(), below_root.end()));
    for (const Function& function : profile.functions) {
        EXPECT_LE(function.self, function.total);
        EXPECT_LE(function.total, profile.nodes[0].total);
    }
}

/// Own times by path, names with a blank between, and with `folds_recursion` what is below a
/// function's first call moved there.
std::map<std::string, std::uint64_t> selves_of(const Profile& profile, bool folds_recursion) {
    std::map<std::string, std::uint64_t> selves;
    for (const Node& leaf : profile.nodes) {
        std::vector<FunctionId> upwards;
        for (const Node* node = &leaf; !node->function.is_none();
             node = &profile.node(node->parent)) {
            upwards.push_back(node->function);
        }
        std::vector<std::string> path;
        for (auto function = upwards.rbegin(); function != upwards.rend(); ++function) {
            const std::string& name = profile.function(*function).name;
            const auto before = std::find(path.begin(), path.end(), name);
            if (folds_recursion && before != path.end()) {
                path.erase(before + 1, path.end());
            } else {
                path.push_back(name);
            }
        }
        std::string text;
        for (const std::string& name : path) {
            text += name + " ";
        }
        if (leaf.self != 0) {
            selves[text] += leaf.self;
        }
    }
    return selves;
}

class RandomProfile : public testing::TestWithParam<std::uint32_t> {};

TEST_P(RandomProfile, has_a_function_once_on_each_path_with_recursion_folded) {
    const Profile profile = make_random(GetParam()).maker.profile();
    const Profile folded = fold_recursion(profile);
    expect_consistent(folded);
    EXPECT_EQ(selves_of(folded, false), selves_of(profile, true));
}

TEST_P(RandomProfile, sums_up_to_the_recorded_weights) {
    const RandomRecording random = make_random(GetParam());
    for (const CategoryBy by : {CategoryBy::thread, CategoryBy::process, CategoryBy::module}) {
        const Profile profile = random.maker.profile({by});
        expect_consistent(profile);
        EXPECT_EQ(profile.nodes[0].total, random.sum_ns);
        EXPECT_EQ(profile.nodes[0].samples, random.samples);
        for (const auto& [name, total] : random.total_of_function) {
            EXPECT_EQ(function_named(profile, name).total, total) << name;
        }
    }
}

TEST_P(RandomProfile, never_nests_memory) {
    const Profile profile = make_random(GetParam()).maker.profile_with_memory();
    ASSERT_TRUE(profile.memory.has_value());
    for (const Node& node : profile.nodes) {
        for (NodeId up = node.parent; node.function == *profile.memory && up != NodeId{};
             up = profile.node(up).parent) {
            EXPECT_NE(profile.node(up).function, *profile.memory);
        }
    }
}

TEST_P(RandomProfile, stays_consistent_under_every_transform) {
    const Profile profile = make_random(GetParam()).maker.profile_with_memory();
    expect_consistent(hide_memory(profile));
    expect_consistent(hide_plugins(profile));
    expect_consistent(fold_recursion(profile));
    expect_consistent(focus(profile, "b"));
    expect_consistent(search(profile, "c"));
    expect_consistent(average(profile, 0.37));
    expect_consistent(average(hide_memory(search(profile, "b")), 600));
}

TEST_P(RandomProfile, loses_exactly_memory_when_it_is_hidden) {
    const Profile profile = make_random(GetParam()).maker.profile_with_memory();
    ASSERT_TRUE(profile.memory.has_value());
    const std::uint64_t memory = profile.function(*profile.memory).total;
    EXPECT_EQ(hide_memory(profile).nodes[0].total, profile.nodes[0].total - memory);
}

TEST_P(RandomProfile, focuses_on_a_functions_total) {
    const Profile profile = make_random(GetParam()).maker.profile_with_memory();
    EXPECT_EQ(focus(profile, "b").nodes[0].total, function_named(profile, "b").total);
    EXPECT_EQ(search(profile, "b").nodes[0].total, function_named(profile, "b").total);
}

/// By name, the totals of its nodes.
std::map<std::string, std::uint64_t> category_totals(const Profile& profile) {
    std::map<std::string, std::uint64_t> totals;
    for (const Category& category : profile.categories) {
        totals[category.name] += profile.node(category.node).total;
    }
    return totals;
}

TEST_P(RandomProfile, keeps_its_figures_upside_down) {
    const Profile profile = make_random(GetParam()).maker.profile_with_memory();
    const Profile inverted = invert(profile, {}, 0);
    EXPECT_EQ(inverted.nodes[0].total, profile.nodes[0].total);
    EXPECT_EQ(inverted.nodes[0].samples, profile.nodes[0].samples);
    EXPECT_EQ(category_totals(inverted), category_totals(profile));
    for (const NodeId id : inverted.children(NodeId{})) {
        const Node& node = inverted.node(id);
        if (node.function.is_none()) {
            continue;  // What has no stack at all is a category's own.
        }
        const Function& function = profile.function(node.function);
        EXPECT_EQ(node.total, function.self) << function.name;
        EXPECT_EQ(node.samples, function.self_samples) << function.name;
    }
    const auto categories = category_names(inverted);
    for (const NodeId id : preorder(inverted)) {
        const Node& node = inverted.node(id);
        std::uint64_t callers = 0;
        for (const NodeId child : inverted.children(node)) {
            callers += inverted.node(child).total;
        }
        EXPECT_EQ(callers, inverted.children(node).empty() ? 0 : node.total);
        EXPECT_EQ(inverted.children(node).empty(), categories[id.value] != nullptr);
    }
}

TEST_P(RandomProfile, has_a_functions_figures_above_its_callers) {
    const Profile profile = make_random(GetParam()).maker.profile_with_memory();
    for (std::uint32_t id = 1; id <= profile.functions.size(); ++id) {
        const Profile inverted = invert(profile, {FunctionId{id}}, 0);
        const Function& function = profile.function(FunctionId{id});
        const auto below_root = inverted.children(NodeId{});
        ASSERT_EQ(std::distance(below_root.begin(), below_root.end()), 1);
        const Node& node = inverted.node(*below_root.begin());
        EXPECT_EQ(node.total, function.total) << function.name;
        EXPECT_EQ(node.self, function.self) << function.name;
        EXPECT_EQ(node.samples, function.samples) << function.name;
        EXPECT_EQ(node.self_samples, function.self_samples) << function.name;
    }
}

TEST_P(RandomProfile, scales_its_sum_to_the_nanosecond) {
    const Profile profile = make_random(GetParam()).maker.profile_with_memory();
    const double expected = static_cast<double>(profile.nodes[0].total) * 0.37 / 2;
    EXPECT_NEAR(static_cast<double>(average(profile, 0.37).nodes[0].total), expected, 1);
}

/// Merges "a" with "b" and "c" with "d"; the second of each is a part of the first.
Whole first_of_pair(const Function& function) {
    const bool is_second = function.name == "b" || function.name == "d";
    return is_second ? Whole{std::string(1, static_cast<char>(function.name[0] - 1)), true}
                     : Whole{};
}

TEST_P(RandomProfile, keeps_its_time_when_functions_are_merged) {
    const RandomRecording random = make_random(GetParam());
    const auto to_first = [](const Function& function) { return first_of_pair(function).name; };
    for (const bool by_line : {false, true}) {
        BuildOptions options;
        options.by_line = by_line;
        options.group_memory = true;
        const Profile before = random.maker.profile(options);
        for (const Profile& after : {rename(before, to_first), fold_parts(before, first_of_pair)}) {
            expect_consistent(after);
            EXPECT_EQ(after.nodes[0].total, before.nodes[0].total);
            EXPECT_EQ(after.nodes[0].samples, before.nodes[0].samples);
            EXPECT_EQ(function_named(after, "malloc").total,
                      function_named(before, "malloc").total);
            EXPECT_EQ(function_named(after, "a").total, random.total_of_pair);
            EXPECT_EQ(function_named(after, "b").name, "");
            ASSERT_TRUE(after.memory.has_value());
            EXPECT_EQ(after.function(*after.memory).total, before.function(*before.memory).total);
            EXPECT_EQ(hide_memory(after).nodes[0].total, hide_memory(before).nodes[0].total);
        }
    }
}

TEST_P(RandomProfile, is_the_same_when_functions_are_merged_twice) {
    const Profile profile = make_random(GetParam()).maker.profile_with_memory();
    const auto to_first = [](const Function& function) { return first_of_pair(function).name; };
    const Profile renamed = rename(profile, to_first);
    EXPECT_EQ(drawing(rename(renamed, to_first)), drawing(renamed));
    const Profile folded = fold_parts(profile, first_of_pair);
    EXPECT_EQ(drawing(fold_parts(folded, first_of_pair)), drawing(folded));
    EXPECT_EQ(drawing(rename(profile, [](const Function&) { return std::string{}; })),
              drawing(profile));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomProfile, testing::Range(0U, 12U));

}  // namespace
}  // namespace sample::callgraph
