// Cut-off and damaged files: every address gets an answer, nothing crashes, nothing hangs.
#include "tests/symbolize/damaged_files.h"
#include "tests/symbolize/support.h"

#include <elf.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <sstream>
#include <utility>

namespace sample::symbolize {
namespace {

std::string read_file(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// Where a section's content begins in the file, and its size.
std::pair<std::size_t, std::size_t> section_in_file(const std::string& path,
                                                    const std::string& section) {
    std::istringstream fields{run(std::string{OBJDUMP} + " -hw " + path + " | awk '$2 == \"" +
                                  section + "\" {print $6, $3}'")};
    std::size_t start = 0;
    std::size_t size = 0;
    fields >> std::hex >> start >> size;
    return {start, size};
}

class HostileTest : public TempFolderTest {
protected:
    void SetUp() override {
        whole_ = read_file(fixture("dwarf5_pie"));
        for (const auto& [name, address] : symbols_of(fixture("dwarf5_pie"))) {
            addresses_.push_back(address);
            addresses_.push_back(address + 1);
        }
        for (const auto& [name, address] : stubs_of(fixture("dwarf5_pie"))) {
            addresses_.push_back(address);
        }
    }

    /// Names everything in the files that `damage` makes of the whole one; it says what it did.
    void expect_survived(unsigned files,
                         const std::function<std::string(std::string& whole, unsigned)>& damage) {
        symbolize::expect_survived(
            {files,
             [&](unsigned number) {
                 std::string content = whole_;
                 std::string what = damage(content, number);
                 std::ofstream{path("damaged"), std::ios::binary | std::ios::trunc} << content;
                 return what;
             },
             [&] {
                 const ModuleSymbols result =
                     symbolize({path("damaged"), {}}, addresses_, {{"/nowhere"}});
                 const std::vector<Symbol> symbols = symbols_in(result);
                 return symbols.size() == addresses_.size() &&
                        std::none_of(symbols.begin(), symbols.end(),
                                     [](const Symbol& symbol) { return symbol.name.empty(); });
             }});
    }

    std::string whole_;
    std::vector<std::uint64_t> addresses_;
};

TEST_F(HostileTest, survives_files_that_are_cut_off) {
    std::vector<std::size_t> sizes;
    for (std::size_t size = 0; size < whole_.size(); size += size < 256 ? 7 : 251) {
        sizes.push_back(size);
    }
    expect_survived(static_cast<unsigned>(sizes.size()), [&](std::string& whole, unsigned number) {
        whole.resize(sizes[number]);
        return "cut off at " + std::to_string(sizes[number]);
    });
}

TEST_F(HostileTest, survives_flipped_bits) {
    expect_survived(300, [](std::string& whole, unsigned number) {
        std::mt19937 random{number};
        std::string where = "flipped bytes:";
        for (int flip = 0; flip < 8; ++flip) {
            const std::size_t at = random() % whole.size();
            whole[at] = static_cast<char>(whole[at] ^ (1 << (random() % 8)));
            where += " " + std::to_string(at);
        }
        return where;
    });
}

TEST_F(HostileTest, survives_flipped_bits_in_the_headers) {
    const std::size_t headers_bytes = std::size_t{40} * 64;
    expect_survived(200, [&](std::string& whole, unsigned number) {
        std::mt19937 random{number};
        const bool is_begin = number % 2 == 0;
        const std::size_t start = is_begin ? 0 : whole.size() - headers_bytes;
        const std::size_t at = start + random() % (is_begin ? 1024 : headers_bytes);
        whole[at] = static_cast<char>(random());
        return "overwritten byte: " + std::to_string(at);
    });
}

TEST_F(HostileTest, survives_flipped_bits_in_inlined_calls) {
    const std::string program = fixture("inlines_gcc_5");
    whole_ = read_file(program);
    addresses_.clear();
    for (const auto& [name, address] : symbols_of(program)) {
        for (std::uint64_t i = 0; i < 64; i += 3) {
            addresses_.push_back(address + i);
        }
    }
    const auto [start, size] = section_in_file(program, ".debug_info");
    ASSERT_GT(size, 1000U);
    const auto damage = [begin = start, bytes = size](std::string& whole, unsigned number) {
        std::mt19937 random{number};
        std::string where = "changed bytes:";
        for (int change = 0; change < 4; ++change) {
            const std::size_t at = begin + random() % bytes;
            whole[at] =
                change % 2 == 0 ? static_cast<char>(random()) : static_cast<char>(whole[at] ^ 1);
            where += " " + std::to_string(at);
        }
        return where;
    };
    expect_survived(150, damage);
}

TEST_F(HostileTest, says_that_debug_information_is_damaged) {
    const std::string debug_info = path("debug_info");
    run(std::string{OBJCOPY} +
        " -O binary --only-section=.debug_info --set-section-flags "
        ".debug_info=alloc " +
        fixture("dwarf5_pie") + " " + debug_info);
    const std::string section = read_file(debug_info);
    const std::size_t at = whole_.find(section);
    ASSERT_NE(at, std::string::npos);
    ASSERT_GT(section.size(), 100U);
    std::string damaged = whole_;
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(at), section.size(), '\x77');
    std::ofstream{path("damaged"), std::ios::binary} << damaged;
    const std::vector<std::uint64_t> leaf{symbols_of(fixture("dwarf5_pie")).at("leaf")};
    const ModuleSymbols result = symbolize({path("damaged"), {}}, leaf, {{"/nowhere"}});
    EXPECT_EQ(symbols_in(result).at(0).name, "leaf");
    EXPECT_EQ(symbols_in(result).at(0).line, 0U);
    EXPECT_NE(result.problem.find("debug information"), std::string::npos) << result.problem;
}

TEST_F(HostileTest, says_that_debug_information_cannot_be_read) {
    // Without the other sections, in which libdw would find something to read.
    const std::string file = path("only_debug_info");
    run(std::string{OBJCOPY} + " --wildcard -R '.debug_*' -R '!.debug_info' " +
        fixture("compressed") + " " + file);
    std::string damaged = read_file(file);
    std::istringstream offset{
        run(std::string{READELF} + " -SW " + file +
            " | awk '$2 == \".debug_info\" || $3 == \".debug_info\" "
            "{for (i = 1; i < NF; ++i) if ($i == \"PROGBITS\") print $(i + 2)}'")};
    std::size_t at = 0;
    offset >> std::hex >> at;
    ASSERT_GT(at, 0U);
    damaged.at(at + sizeof(Elf64_Chdr)) = 0x7f;  // Not how zlib begins.
    std::ofstream{path("damaged"), std::ios::binary} << damaged;
    const std::vector<std::uint64_t> leaf{symbols_of(fixture("compressed")).at("leaf")};
    const ModuleSymbols result = symbolize({path("damaged"), {}}, leaf, {{"/nowhere"}});
    EXPECT_EQ(symbols_in(result).at(0).name, "leaf");
    EXPECT_EQ(symbols_in(result).at(0).line, 0U);
    EXPECT_NE(result.problem.find("can't be read"), std::string::npos) << result.problem;
}

}  // namespace
}  // namespace sample::symbolize
