// Stacks, and what refers to them, go through a recording and come back.
#include "tests/trace/recording_fixture.h"
#include "trace/records.h"

#include <gtest/gtest.h>

#include <random>

namespace sample::trace {
namespace {

TEST(Recording, gives_back_samples_and_bookings_with_their_stacks) {
    const KeepingSink kept = read_whole(small_recording());
    const std::uint64_t start = a_session().start_ns;
    ASSERT_EQ(kept.samples.size(), 40U);
    for (const std::uint32_t thread : {0U, 1U}) {
        std::uint32_t i = thread;
        for (const Sample& sample : kept.samples) {
            if (sample.thread.value != thread + 1) {
                continue;
            }
            const std::uint64_t time = start + 100'000 * std::uint64_t{i} + 17 * std::uint64_t{i};
            EXPECT_EQ(sample.time_ns, time / 1000 * 1000);
            EXPECT_EQ(sample.weight, i == 5 ? 123'457U : 100'000U);
            const StackNode& leaf = kept.nodes.at(sample.node.value - 1);
            EXPECT_EQ(leaf.address, 0x1200 + 4 * (i % 7));
            const StackNode& caller = kept.nodes.at(leaf.parent.value - 1);
            EXPECT_EQ(caller.address, 0x1100U);
            const StackNode& root = kept.nodes.at(caller.parent.value - 1);
            EXPECT_EQ(root.address, 0x1000U);
            EXPECT_EQ(root.parent, NodeId{});
            i += 2;
        }
    }
    ASSERT_EQ(kept.bookings.size(), 1U);
    EXPECT_EQ(kept.bookings[0].thread, ThreadId{2});
    EXPECT_EQ(kept.bookings[0].time_ns, start + 5'000'000);
    EXPECT_EQ(kept.bookings[0].weight, 77'777U);
    EXPECT_EQ(kept.nodes.at(kept.bookings[0].node.value - 1).module, ModuleId{2});
}

TEST(Recording, gives_one_id_to_one_stack) {
    record(a_session(), [](TestWriter& writer) {
        define_one_of_each(writer);
        writer.record(Module{ModuleId{2}, ModuleKind::elf, false, "/lib/b.so", {}});
        const NodeId a = writer.node(NodeId{}, ModuleId{1}, 16);
        EXPECT_EQ(a, NodeId{1});
        EXPECT_EQ(writer.node(NodeId{}, ModuleId{1}, 16), a);
        EXPECT_EQ(writer.node(NodeId{}, ModuleId{2}, 16), NodeId{2});
        EXPECT_EQ(writer.node(a, ModuleId{1}, 16), NodeId{3});
        EXPECT_EQ(writer.node(NodeId{}, ModuleId{1}, 17), NodeId{4});
        for (std::uint64_t i = 0; i < 100'000; ++i) {
            EXPECT_EQ(writer.node(a, ModuleId{1}, 1'000 + 8 * i).value, 5 + i);
        }
        for (std::uint64_t i = 0; i < 100'000; ++i) {
            EXPECT_EQ(writer.node(a, ModuleId{1}, 1'000 + 8 * i).value, 5 + i);
        }
    });
}

TEST(Recording, gives_back_random_stacks_and_samples) {
    std::mt19937 random{42};  // NOLINT(*-msc51-cpp): the same run every time
    std::vector<StackNode> nodes;
    std::vector<Sample> samples;
    const auto file = record(a_session(), [&](TestWriter& writer) {
        define_one_of_each(writer);
        for (std::uint32_t i = 2; i <= 9; ++i) {
            writer.record(Module{ModuleId{i}, ModuleKind::elf, false, std::to_string(i), {}});
        }
        std::uint64_t time = 0;
        for (std::uint32_t i = 0; i < 20'000; ++i) {
            NodeId node;
            for (auto depth = random() % 12; depth > 0; --depth) {
                const ModuleId module{1 + static_cast<std::uint32_t>(random() % 9)};
                const std::uint64_t address =
                    random() % 8 == 0 ? (std::uint64_t{random()} << 32) | random() : random() % 50;
                const NodeId child = writer.node(node, module, address);
                if (child.value == nodes.size() + 1) {
                    nodes.push_back(StackNode{child, node, module, address});
                }
                node = child;
            }
            time += random() % 4 == 0 ? random() : 100'000;
            samples.push_back(Sample{ThreadId{1}, time / 1000 * 1000, node,
                                     random() % 4 == 0 ? random() : 100'000U});
            writer.sample(samples.back());
            if (random() % 64 == 0) {
                ASSERT_TRUE(writer.flush());
            }
        }
    });
    const KeepingSink kept = read_whole(file);
    ASSERT_EQ(kept.nodes.size(), nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        ASSERT_EQ(kept.nodes[i].parent, nodes[i].parent) << i;
        ASSERT_EQ(kept.nodes[i].module, nodes[i].module) << i;
        ASSERT_EQ(kept.nodes[i].address, nodes[i].address) << i;
    }
    ASSERT_EQ(kept.samples.size(), samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
        ASSERT_EQ(kept.samples[i].time_ns, samples[i].time_ns) << i;
        ASSERT_EQ(kept.samples[i].node, samples[i].node) << i;
        ASSERT_EQ(kept.samples[i].weight, samples[i].weight) << i;
    }
}

TEST(Recording, gives_back_which_frames_were_guessed) {
    const auto file = record(a_session(), [](TestWriter& writer) {
        define_one_of_each(writer);
        writer.record(Module{ModuleId{2}, ModuleKind::elf, false, "2", {}});
        // Guessed frames as the first and the second below an address, as reference and as rank.
        for (const std::uint64_t mark : {kGuessedFrame, std::uint64_t{0}, kGuessedFrame}) {
            for (const ModuleId module : {ModuleId{1}, ModuleId{2}}) {
                for (const std::uint64_t address : {0x1000U, 0x1040U, 0xffffff00U}) {
                    const NodeId caller = writer.node(NodeId{}, module, address | mark);
                    for (const std::uint64_t leaf_mark : {std::uint64_t{0}, kGuessedFrame}) {
                        writer.node(caller, ModuleId{1}, (address + 16) | leaf_mark);
                        writer.node(caller, ModuleId{2}, (address + 32) | leaf_mark);
                    }
                }
            }
        }
    });
    const KeepingSink kept = read_whole(file);
    ASSERT_EQ(kept.nodes.size(), 60U);
    std::size_t at = 0;
    for (const std::uint64_t mark : {kGuessedFrame, std::uint64_t{0}}) {
        for (const std::uint32_t module : {1U, 2U}) {
            for (const std::uint64_t address : {0x1000U, 0x1040U, 0xffffff00U}) {
                EXPECT_EQ(kept.nodes[at].module.value, module);
                EXPECT_EQ(kept.nodes[at++].address, address | mark);
                for (const std::uint64_t leaf_mark : {std::uint64_t{0}, kGuessedFrame}) {
                    EXPECT_EQ(kept.nodes[at].module.value, 1U);
                    EXPECT_EQ(kept.nodes[at++].address, (address + 16) | leaf_mark);
                    EXPECT_EQ(kept.nodes[at].module.value, 2U);
                    EXPECT_EQ(kept.nodes[at++].address, (address + 32) | leaf_mark);
                }
            }
        }
    }
}

}  // namespace
}  // namespace sample::trace
