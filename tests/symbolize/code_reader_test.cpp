// Code and source text out of the fixtures' files, against what objdump and nm say.
#include "symbolize/code/code_reader.h"

#include "support.h"
#include "symbolize/code/source_reader.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace sample::symbolize {
namespace {

constexpr std::size_t kPlenty = std::size_t{1} << 20;

CodeResult code_of(const std::string& path, const std::vector<std::uint64_t>& addresses,
                   std::size_t budget = kPlenty) {
    return read_code({path, build_id_of(path)}, addresses, budget);
}

/// The size of a symbol, by nm.
std::size_t size_of(const std::string& path, const std::string& symbol) {
    const std::string line = run(std::string{NM} + " -S " + path + " | grep ' " + symbol + "$'");
    return std::stoul(line.substr(line.find(' ') + 1), nullptr, 16);
}

TEST(CodeReader, reads_a_function_whole) {
    const std::string path = fixture("dwarf5_pie");
    const std::uint64_t start = symbols_of(path).at("main");
    const CodeResult result = code_of(path, {start + 1});
    EXPECT_EQ(result.problem, "");
    EXPECT_EQ(result.code.machine, EM_X86_64);
    ASSERT_EQ(result.code.blocks.size(), 1U);
    EXPECT_EQ(result.code.blocks[0].address, start);
    EXPECT_EQ(result.code.blocks[0].bytes.size(), size_of(path, "main"));
}

TEST(CodeReader, names_each_place_as_symbolize_does) {
    const std::string path = fixture("dwarf5_pie");
    const CodeResult result = code_of(path, {symbols_of(path).at("main")});
    ASSERT_EQ(result.code.blocks.size(), 1U);
    const CodeBlock& block = result.code.blocks[0];
    std::vector<std::uint64_t> addresses;
    for (std::size_t i = 0; i < block.bytes.size(); ++i) {
        addresses.push_back(block.address + i);
    }
    const ModuleSymbols peer = symbolize({path, build_id_of(path)}, addresses);
    std::size_t calls = 0;
    for (const std::uint64_t place : result.code.places) {
        if (!block.contains(place)) {
            ++calls;
            continue;
        }
        const auto ours = result.code.frames_at(place);
        const auto theirs = peer.symbols.frames_of(place - block.address);
        ASSERT_EQ(ours.size(), theirs.size()) << std::hex << place;
        for (std::size_t i = 0; i < ours.size(); ++i) {
            EXPECT_EQ(ours[i].line, theirs[i].line) << std::hex << place;
            EXPECT_EQ(result.code.symbols.functions[ours[i].function].name,
                      peer.symbols.functions[theirs[i].function].name);
        }
    }
    EXPECT_GT(calls, 0U) << "main calls something";
}

TEST(CodeReader, takes_each_stub_of_a_plt_for_itself) {
    for (const char* const name : {"dwarf5_pie", "ibt_plt"}) {
        const std::string path = fixture(name);
        const auto stubs = stubs_of(path);
        EXPECT_FALSE(stubs.empty());
        for (const auto& [stub, start] : stubs) {
            const CodeResult result = code_of(path, {start + 4});
            ASSERT_EQ(result.code.blocks.size(), 1U) << stub;
            EXPECT_EQ(result.code.blocks[0].address, start) << stub;
            EXPECT_LE(result.code.blocks[0].bytes.size(), 16U) << stub;
            const auto frames = result.code.frames_at(start);
            ASSERT_EQ(frames.size(), 1U) << stub;
            EXPECT_EQ(result.code.symbols.functions[frames[0].function].name, stub);
        }
    }
}

TEST(CodeReader, stops_at_its_budget_and_goes_on_with_what_fits) {
    const std::string path = fixture("dwarf5_pie");
    const auto symbols = symbols_of(path);
    const std::size_t size = size_of(path, "main");
    std::size_t budget = size - 1;
    const CodeResult none =
        read_code({path, build_id_of(path)}, std::vector{symbols.at("main")}, budget);
    EXPECT_TRUE(none.code.blocks.empty());
    EXPECT_EQ(none.left_out, 1U);
    EXPECT_EQ(budget, size - 1);
    budget = size;
    const CodeResult one = read_code(
        {path, build_id_of(path)}, std::vector{symbols.at("main"), symbols.at("main") + 1}, budget);
    EXPECT_EQ(one.code.blocks.size(), 1U) << "the same function twice";
    EXPECT_EQ(budget, 0U);
}

TEST(CodeReader, refuses_another_build) {
    std::size_t budget = kPlenty;
    const CodeResult result =
        read_code({fixture("dwarf5_pie"), {1, 2, 3}}, std::vector<std::uint64_t>{0x1000}, budget);
    EXPECT_TRUE(result.code.blocks.empty());
    EXPECT_NE(result.problem, "");
}

TEST(CodeReader, has_nothing_where_nothing_is) {
    const CodeResult result = code_of(fixture("dwarf5_pie"), {0x10, ~std::uint64_t{0}});
    EXPECT_TRUE(result.code.blocks.empty());
    EXPECT_TRUE(result.code.places.empty());
}

class SourceReader : public TempFolderTest {
protected:
    void write(const std::string& text) const { std::ofstream{path("a.cpp")} << text; }
    [[nodiscard]] Result<SourceText> read(std::set<std::uint32_t> lines, std::uint32_t context,
                                          std::size_t budget = kPlenty) const {
        return read_source({path("a.cpp"), std::move(lines), context, 0}, budget);
    }
};

TEST_F(SourceReader, reads_lines_with_their_neighbours) {
    write("1\n2\r\n3\n4\n5\n6\n7\n8\n9");
    const auto text = read({2, 3, 9, 100}, 1);
    ASSERT_TRUE(text) << text.error().message();
    ASSERT_EQ(text->pieces.size(), 2U);
    EXPECT_EQ(text->pieces[0].first_line, 1U);
    EXPECT_EQ(text->pieces[0].lines, (std::vector<std::string>{"1", "2", "3", "4"}));
    EXPECT_EQ(text->pieces[1].first_line, 8U);
    EXPECT_EQ(text->pieces[1].lines, (std::vector<std::string>{"8", "9"}));
}

TEST_F(SourceReader, stops_at_its_budget) {
    write("aaaa\nbbbb\ncccc\n");
    std::size_t budget = 11;
    const auto text = read_source({path("a.cpp"), {1, 2, 3}, 0, 0}, budget);
    ASSERT_TRUE(text);
    ASSERT_EQ(text->pieces.size(), 1U);
    EXPECT_EQ(text->pieces[0].lines.size(), 2U);
    EXPECT_EQ(budget, 1U);
}

TEST_F(SourceReader, says_if_the_file_is_newer_than_the_module) {
    write("1\n");
    const std::time_t now = time_of_file(path("a.cpp"));
    std::size_t budget = kPlenty;
    EXPECT_EQ(read_source({path("a.cpp"), {1}, 0, now}, budget)->match, SourceMatch::likely);
    EXPECT_EQ(read_source({path("a.cpp"), {1}, 0, now - 1}, budget)->match, SourceMatch::newer);
}

TEST_F(SourceReader, takes_nothing_as_root_that_others_may_not_read) {
    write("1\n");
    std::filesystem::permissions(path("a.cpp"), std::filesystem::perms::owner_read);
    const auto own = read({1}, 0);
    if (::geteuid() == 0) {
        ASSERT_FALSE(own);
        EXPECT_EQ(own.error().code, ErrorCode::permission);
    } else {
        EXPECT_TRUE(own) << "what is the user's own is his to hand on";
    }
    std::filesystem::permissions(path("a.cpp"), std::filesystem::perms::others_read);
    EXPECT_EQ(read({1}, 0).has_value(), ::geteuid() == 0);
}

TEST_F(SourceReader, refuses_what_is_no_source_file) {
    run("mkfifo " + path("a.cpp"));
    EXPECT_FALSE(read({1}, 0)) << "and does not wait for a writer";
    std::size_t budget = kPlenty;
    EXPECT_EQ(read_source({path("none.cpp"), {1}, 0, 0}, budget).error().code,
              ErrorCode::not_found);
    EXPECT_EQ(read_source({"relative.cpp", {1}, 0, 0}, budget).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace sample::symbolize
