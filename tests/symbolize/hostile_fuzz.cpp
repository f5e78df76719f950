// Cut-off and damaged files: every address gets an answer, nothing crashes, nothing hangs. Each
// damaged file is read in a child, so that a crash inside elfutils is counted and named too.
#include "tests/symbolize/support.h"

#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
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

    /// Names everything in `content` in a child of its own; how the child ended, 0 if well.
    int end_of_reading(const std::string& content) {
        std::ofstream{path("damaged"), std::ios::binary | std::ios::trunc} << content;
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(20);
            const ModuleSymbols result =
                symbolize({path("damaged"), {}}, addresses_, {{"/nowhere"}});
            const std::vector<Symbol> symbols = symbols_in(result);
            bool whole = symbols.size() == addresses_.size();
            for (const Symbol& symbol : symbols) {
                whole = whole && !symbol.name.empty();
            }
            ::_exit(whole ? 0 : 1);
        }
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        return status;
    }

    std::string whole_;
    std::vector<std::uint64_t> addresses_;
};

TEST_F(HostileTest, survives_files_that_are_cut_off) {
    for (std::size_t size = 0; size < whole_.size(); size += size < 256 ? 7 : 251) {
        EXPECT_EQ(end_of_reading(whole_.substr(0, size)), 0) << "cut off at " << size;
    }
}

TEST_F(HostileTest, survives_flipped_bits) {
    std::mt19937 random{2};
    for (int round = 0; round < 300; ++round) {
        std::string damaged = whole_;
        std::string where;
        for (int flip = 0; flip < 8; ++flip) {
            const std::size_t at = random() % damaged.size();
            damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
            where += " " + std::to_string(at);
        }
        EXPECT_EQ(end_of_reading(damaged), 0) << "flipped bytes:" << where;
    }
}

TEST_F(HostileTest, survives_flipped_bits_in_the_headers) {
    std::mt19937 random{3};
    const std::size_t headers_bytes = std::size_t{40} * 64;
    const std::size_t section_headers = whole_.size() - headers_bytes;
    for (int round = 0; round < 200; ++round) {
        std::string damaged = whole_;
        const std::size_t start = round % 2 == 0 ? 0 : section_headers;
        const std::size_t at = start + random() % (round % 2 == 0 ? 1024 : headers_bytes);
        damaged[at] = static_cast<char>(random());
        EXPECT_EQ(end_of_reading(damaged), 0) << "overwritten byte: " << at;
    }
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
    std::mt19937 random{4};
    for (int round = 0; round < 150; ++round) {
        std::string damaged = whole_;
        std::string where;
        for (int change = 0; change < 4; ++change) {
            const std::size_t at = start + random() % size;
            damaged[at] =
                change % 2 == 0 ? static_cast<char>(random()) : static_cast<char>(damaged[at] ^ 1);
            where += " " + std::to_string(at);
        }
        EXPECT_EQ(end_of_reading(damaged), 0) << "changed bytes:" << where;
    }
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
