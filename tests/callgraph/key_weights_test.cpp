// Sums by key against a Profile's, and recursion.
#include "callgraph/key_weights.h"

#include "recording_fixture.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sample::callgraph {
namespace {

/// The index of the address of a node.
std::uint32_t address_of(const RecordingMaker& maker, NodeId node) {
    return maker.recording.nodes()[node.value - 1].address;
}

TEST(KeyWeights, count_a_key_once_a_stack) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId outer = maker.frame({}, "fib", {}, 4);
    const NodeId inner = maker.frame(outer, "fib", {}, 4);
    const NodeId leaf = maker.frame(inner, "fib", {}, 8);
    maker.sample(thread, leaf, 100);
    maker.sample(thread, inner, 10);
    maker.book(thread, outer, 1);
    AddressKeys keys{maker.recording.addresses().size(), 3};
    keys.add(address_of(maker, outer), 0, true);  // The call,
    keys.add(address_of(maker, leaf), 1, true);   // the leaf,
    keys.add(address_of(maker, outer), 2, true);  // and both.
    keys.add(address_of(maker, leaf), 2, true);
    const auto weights = weights_by_key(maker.recording, keys);
    ASSERT_EQ(weights.size(), 3U);
    EXPECT_EQ(weights[0].self, 11U);
    EXPECT_EQ(weights[0].total, 111U);
    EXPECT_EQ(weights[0].samples, 2U);
    EXPECT_EQ(weights[1].self, 100U);
    EXPECT_EQ(weights[1].total, 100U);
    EXPECT_EQ(weights[2].self, 111U);
    EXPECT_EQ(weights[2].total, 111U);
    EXPECT_EQ(weights[2].self_samples, 2U);
}

TEST(KeyWeights, have_a_total_without_a_self) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId caller = maker.frame({}, "caller");
    const NodeId callee = maker.frame(caller, "callee");
    maker.sample(thread, callee, 7);
    maker.sample(thread, caller, 2);
    AddressKeys keys{maker.recording.addresses().size(), 1};
    keys.add(address_of(maker, callee), 0, false);
    const auto weights = weights_by_key(maker.recording, keys);
    EXPECT_EQ(weights[0].self, 0U);
    EXPECT_EQ(weights[0].total, 7U);
}

TEST(KeyWeights, of_functions_are_those_of_the_profile) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const std::vector<std::vector<std::string>> stacks{
        {"main", "a", "b", "a"}, {"main", "a"}, {"main", "b", "b", "b"}, {"main"}, {"a", "main"}};
    std::uint64_t weight = 1;
    for (const auto& stack : stacks) {
        maker.sample(thread, maker.stack(stack), weight *= 10);
    }
    AddressKeys keys{maker.recording.addresses().size(), 3};
    const std::vector<std::string> names{"main", "a", "b"};
    for (std::uint32_t i = 0; i < maker.recording.addresses().size(); ++i) {
        const auto& function = maker.symbols.functions[maker.symbols.frames_of(i)[0].function];
        for (std::uint32_t key = 0; key < names.size(); ++key) {
            if (function.name == names[key]) {
                keys.add(i, key, true);
            }
        }
    }
    const auto weights = weights_by_key(maker.recording, keys);
    const Profile profile = maker.profile();
    for (std::uint32_t key = 0; key < names.size(); ++key) {
        const Function function = function_named(profile, names[key]);
        EXPECT_EQ(weights[key].self, function.self) << names[key];
        EXPECT_EQ(weights[key].total, function.total) << names[key];
        EXPECT_EQ(weights[key].samples, function.samples) << names[key];
        EXPECT_EQ(weights[key].self_samples, function.self_samples) << names[key];
    }
}

TEST(KeyWeights, need_no_recursion_for_deep_stacks) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    NodeId node;
    constexpr std::uint32_t kDepth = 200'000;
    for (std::uint32_t i = 0; i < kDepth; ++i) {
        node = maker.frame(node, "fib");
    }
    maker.sample(thread, node, 5);
    AddressKeys keys{maker.recording.addresses().size(), 1};
    keys.add(0, 0, true);
    EXPECT_EQ(weights_by_key(maker.recording, keys)[0].total, 5U);
}

}  // namespace
}  // namespace sample::callgraph
