// Call stacks of another program's file, which are addresses, become nodes of the modules that it
// names.
#include "tests/trace/engine_file.h"
#include "trace/recording_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sample::trace {
namespace {

using Bytes = std::vector<std::byte>;

Bytes addresses(std::initializer_list<std::uint64_t> values) {
    Bytes out;
    for (const std::uint64_t value : values) {
        wire::append(out, value, 8);
    }
    return out;
}

class StacksSink final : public KeepingSink {
public:
    void memory(const MemoryEvent& event) override { stacks.push_back(event.call_stack); }
    std::vector<std::uint32_t> stacks;
};

/// An engine's file with modules and stacks, in the order in which it is told of them.
class StacksFile {
public:
    explicit StacksFile(FieldType base = FieldType::u64)
        : load_{file_.type("Diagnostics", "ModuleLoad", true,
                           {{"Base", base},
                            {"Size", FieldType::u32},
                            {"Name", FieldType::wide_text},
                            {"ImageId", FieldType::bytes}})},
          spec_{file_.type("Memory", "CallstackSpec", false,
                           {{"CallstackId", FieldType::u32}, {"Frames", FieldType::bytes}})},
          alloc_{file_.type("Memory", "Alloc", false,
                            {{"Address", FieldType::u64},
                             {"CallstackId", FieldType::u32},
                             {"Size", FieldType::u32},
                             {"AlignmentPow2_SizeLower", FieldType::u8},
                             {"RootHeap", FieldType::u8}})} {}

    void init(std::uint64_t shift) {
        const auto& init =
            file_.type("Diagnostics", "ModuleInit", true,
                       {{"ModuleBaseShift", FieldType::u8}, {"SymbolFormat", FieldType::text}});
        file_.event(1, init, {shift}, {bytes_of("dwarf")});
    }
    void load(std::u16string_view name, std::uint64_t base, std::uint64_t size,
              std::string_view id = "") {
        file_.event(1, load_, {base, size}, {wide_bytes(name), bytes_of(id)});
    }
    void stack(std::uint64_t number, std::initializer_list<std::uint64_t> frames) {
        file_.event(5, spec_, {number}, {addresses(frames)});
    }
    void alloc(std::uint64_t stack) {
        file_.event(5, alloc_, {0x1000 * ++allocations_, stack, 16, 0, 0}, {});
    }
    [[nodiscard]] StacksSink read() const {
        StacksSink sink;
        const auto outcome = read_recording(file_.bytes(), sink);
        EXPECT_TRUE(outcome && outcome->whole) << outcome->problem;
        EXPECT_EQ(outcome->unknown_events, 0U);
        return sink;
    }

private:
    EngineFile file_;
    const EventSpec& load_;
    const EventSpec& spec_;
    const EventSpec& alloc_;
    std::uint64_t allocations_ = 0;
};

std::vector<std::string> lines_of(const std::vector<StackNode>& nodes) {
    std::vector<std::string> lines;
    for (const StackNode& node : nodes) {
        char line[64] = {};
        std::snprintf(line, sizeof line, "%u below %u: module %u + 0x%llx", node.id.value,
                      node.parent.value, node.module.value,
                      static_cast<unsigned long long>(node.address));
        lines.emplace_back(line);
    }
    return lines;
}

using Nodes = std::vector<std::string>;

TEST(ForeignStacks, are_nodes_of_the_modules_that_they_lie_in) {
    StacksFile file;
    file.alloc(7);
    file.stack(7, {0x401010, 0x10000, 0x402020, 0x3});
    file.stack(9, {0x401018, 0x402020, 0x3});
    file.alloc(9);
    file.alloc(8);
    // Also behind their use.
    file.load(u"/opt/game", 0x400000, 0x10000, "\x01\x02");
    file.load(u"libengine.so", 0x10000, 0x100);
    const StacksSink read = file.read();
    ASSERT_EQ(read.modules.size(), 3U);
    EXPECT_EQ(read.modules[0].path, "/opt/game");
    EXPECT_EQ(read.modules[0].build_id, (std::vector<std::uint8_t>{1, 2}));
    EXPECT_EQ(read.modules[1].path, "libengine.so");
    EXPECT_EQ(read.modules[1].build_id, std::vector<std::uint8_t>{});
    EXPECT_EQ(read.modules[2].kind, ModuleKind::pseudo);
    // Where a call returns to is behind it: 0x10000 is no address of the library's.
    EXPECT_EQ(lines_of(read.nodes),
              (Nodes{"1 below 0: module 3 + 0x3", "2 below 1: module 1 + 0x201f",
                     "3 below 2: module 3 + 0x10000", "4 below 3: module 1 + 0x100f",
                     "5 below 2: module 1 + 0x1017"}));
    EXPECT_EQ(read.stacks, (std::vector<std::uint32_t>{4, 5, 0}));
    std::vector<std::pair<std::uint32_t, std::size_t>> told;
    for (const Instrumentation& said : read.said) {
        if (const auto* const stack = std::get_if<CallStack>(&said)) {
            told.emplace_back(stack->id, stack->frames.size());
        }
    }
    EXPECT_EQ(told, (std::vector<std::pair<std::uint32_t, std::size_t>>{{4, 4}, {5, 3}}));
}

TEST(ForeignStacks, are_of_no_module_where_several_were) {
    StacksFile file;
    file.load(u"first.so", 0x1000, 0x1000);
    file.load(u"other.so", 0x1800, 0x1000);
    file.load(u"first.so", 0x1000, 0x1000);
    file.load(u"empty.so", 0x5000, 0);
    file.load(u"endless.so", UINT64_MAX - 0x10, UINT32_MAX);
    file.stack(1, {0x1001});
    file.stack(2, {0x1801});
    file.stack(3, {0x2001});
    file.stack(4, {0x2801});
    file.stack(5, {0x5001});
    file.stack(6, {UINT64_MAX & ~kGuessedFrame});
    const StacksSink read = file.read();
    EXPECT_EQ(read.modules.size(), 4U);
    EXPECT_EQ(lines_of(read.nodes),
              (Nodes{"1 below 0: module 1 + 0x0", "2 below 0: module 4 + 0x1801",
                     "3 below 0: module 2 + 0x800", "4 below 0: module 4 + 0x2801",
                     "5 below 0: module 4 + 0x5001", "6 below 0: module 4 + 0xbfffffffffffffff"}));
}

TEST(ForeignStacks, know_bases_that_are_shifted_to_fit) {
    StacksFile narrow{FieldType::u32};
    narrow.init(12);
    narrow.load(u"a.so", 0x7f0000000, 0x1000);
    narrow.load(u"b.so", 0x55500, 0x1000);
    narrow.stack(1, {0x55500123});
    EXPECT_EQ(lines_of(narrow.read().nodes), Nodes{"1 below 0: module 2 + 0x122"});
    StacksFile wide_one;
    wide_one.init(12);
    wide_one.load(u"b.so", 0x55500000, 0x1000);
    wide_one.stack(1, {0x55500123});
    EXPECT_EQ(lines_of(wide_one.read().nodes), Nodes{"1 below 0: module 1 + 0x122"});
}

}  // namespace
}  // namespace sample::trace
