// The instructions of made-up bytes.
#include "symbolize/code/disassembler.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace sample::symbolize {
namespace {

std::vector<std::byte> bytes(const std::vector<int>& values) {
    std::vector<std::byte> result;
    result.reserve(values.size());
    for (const int value : values) {
        result.push_back(static_cast<std::byte>(value));
    }
    return result;
}

Disassembler x86(AssemblySyntax syntax = AssemblySyntax::att) {
    auto made = Disassembler::create(EM_X86_64, syntax);
    EXPECT_TRUE(made) << made.error().message();
    return std::move(*made);
}

TEST(Disassembler, names_where_calls_and_jumps_go) {
    // call 0x2000; jne 0x1000; jmp 0x1000; call *%rax; mov 0x10(%rip),%rax
    const auto code = bytes({0xe8, 0xfb, 0x0f, 0x00, 0x00, 0x75, 0xf9, 0xeb, 0xf7, 0xff, 0xd0, 0x48,
                             0x8b, 0x05, 0x10, 0x00, 0x00, 0x00});
    const auto namer = [](std::uint64_t address) {
        return address == 0x2000 ? std::string{"<compute(int)>"} : std::string{};
    };
    const auto found = x86().disassemble(0x1000, code, namer);
    ASSERT_EQ(found.size(), 5U);
    EXPECT_EQ(found[0].text, "call   0x2000 <compute(int)>");
    EXPECT_EQ(found[0].target, 0x2000U);
    EXPECT_EQ(found[1].target, 0x1000U);
    EXPECT_EQ(found[2].target, 0x1000U);
    EXPECT_EQ(found[3].target, 0U);
    EXPECT_EQ(found[4].text, "mov    0x10(%rip),%rax        # 0x1022");
}

TEST(Disassembler, writes_intel_syntax_if_asked) {
    const auto found = x86(AssemblySyntax::intel).disassemble(0, bytes({0x48, 0x89, 0xe5}));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].text, "mov    rbp,rsp");
}

TEST(Disassembler, covers_any_bytes_without_gaps) {
    // NOLINTNEXTLINE(bugprone-random-generator-seed): the same bytes in every run, on purpose
    std::mt19937 random{5};
    Disassembler disassembler = x86();
    for (std::size_t size = 0; size < 400; ++size) {
        std::vector<std::byte> code(size);
        for (std::byte& byte : code) {
            byte = static_cast<std::byte>(random());
        }
        std::uint64_t next = 0xfffffffffffff000;
        for (const Instruction& each : disassembler.disassemble(next, code)) {
            ASSERT_EQ(each.address, next);
            ASSERT_GT(each.size, 0);
            ASSERT_FALSE(each.text.empty());
            ASSERT_EQ(each.text.find('\n'), std::string::npos);
            next += each.size;
        }
        ASSERT_EQ(next, 0xfffffffffffff000 + size);
    }
}

TEST(Disassembler, outlines_the_same_instructions) {
    const auto code = bytes({0xe8, 0xfb, 0x0f, 0x00, 0x00, 0x48, 0x89, 0xe5, 0x75, 0xf6, 0xc3});
    Disassembler disassembler = x86();
    const auto whole = disassembler.disassemble(0x1000, code);
    const auto outline = disassembler.outline(0x1000, code);
    ASSERT_EQ(outline.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_EQ(outline[i].address, whole[i].address);
        EXPECT_EQ(outline[i].size, whole[i].size);
        EXPECT_EQ(outline[i].target, whole[i].target);
        EXPECT_EQ(outline[i].text, "");
    }
    EXPECT_EQ(disassembler.disassemble(0x1000, code).front().text, whole.front().text);
}

TEST(Disassembler, shows_what_is_cut_off_as_bad) {
    const auto found = x86().disassemble(0x1000, bytes({0x90, 0xe8, 0x01}));
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].text, "nop");
    EXPECT_EQ(found[1].text, ".byte 0xe8");
    EXPECT_EQ(found[1].size, 1);
}

TEST(Disassembler, refuses_the_code_of_other_processors) {
    const auto made = Disassembler::create(EM_AARCH64);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::unsupported);
    EXPECT_NE(made.error().message().find("--source"), std::string::npos);
}

}  // namespace
}  // namespace sample::symbolize
