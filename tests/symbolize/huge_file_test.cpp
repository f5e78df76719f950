// A debug file of a gigabyte, made without writing one: most of it is a hole. What was read of it
// is what the page cache then holds, read-ahead included.
#include "core/fd.h"
#include "tests/symbolize/support.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace sample::symbolize {
namespace {

constexpr std::uint64_t kHole = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostRead = std::uint64_t{32} << 20;

/// Puts a section of that size, which nothing here needs, into a copy of an ELF file.
void write_huge(const std::string& from, const std::string& to) {
    std::ifstream in{from, std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{in}, {}};
    Elf64_Ehdr header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    std::memcpy(sections.data(), &bytes[header.e_shoff], sections.size() * sizeof(Elf64_Shdr));
    const char* const names = &bytes[sections[header.e_shstrndx].sh_offset];
    const auto unneeded = std::ranges::find_if(sections, [names](const Elf64_Shdr& section) {
        return std::string{names + section.sh_name} == ".debug_aranges";
    });
    ASSERT_NE(unneeded, sections.end());
    unneeded->sh_offset = (bytes.size() + 7) / 8 * 8;
    unneeded->sh_size = kHole;
    header.e_shoff = unneeded->sh_offset + kHole;
    std::ofstream out{to, std::ios::binary};
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.seekp(static_cast<std::streamoff>(header.e_shoff));
    out.write(reinterpret_cast<const char*>(sections.data()),
              static_cast<std::streamsize>(sections.size() * sizeof(Elf64_Shdr)));
    out.seekp(0);
    out.write(reinterpret_cast<const char*>(&header), sizeof header);
}

/// How much of the file is in memory.
std::uint64_t cached_bytes(const std::string& path) {
    const Fd file{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
    const std::uint64_t size = std::filesystem::file_size(path);
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages((size + page - 1) / page);
    void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    EXPECT_NE(memory, MAP_FAILED);
    EXPECT_EQ(::mincore(memory, size, pages.data()), 0);
    ::munmap(memory, size);
    return page * static_cast<std::uint64_t>(std::ranges::count_if(
                      pages, [](unsigned char state) { return (state & 1) != 0; }));
}

class HugeFileTest : public TempFolderTest {
protected:
    void expect_named_without_reading_it_whole(const std::string& module,
                                               const std::string& huge) const {
        EXPECT_GT(std::filesystem::file_size(huge), kHole);
        const auto hidden = symbols_of(fixture("dwarf5_pie")).at("hidden");
        const Symbol symbol = symbolize_one(module, hidden, {{path("root")}});
        EXPECT_EQ(symbol.name, "hidden");
        EXPECT_EQ(symbol.line, begin_of("hidden", "functions.c"));
        EXPECT_LT(cached_bytes(huge), kMostRead);
    }
};

TEST_F(HugeFileTest, is_not_read_whole) {
    write_huge(fixture("dwarf5_pie"), path("huge"));
    expect_named_without_reading_it_whole(path("huge"), path("huge"));
}

TEST_F(HugeFileTest, is_not_read_whole_as_a_debug_file) {
    run(std::string{OBJCOPY} + " --only-keep-debug " + fixture("dwarf5_pie") + " " + path("debug"));
    run(std::string{OBJCOPY} + " --strip-all " + fixture("dwarf5_pie") + " " + path("stripped"));
    const std::string id = to_hex(build_id_of(path("stripped")));
    const std::string folder = path("root/.build-id/") + id.substr(0, 2);
    std::filesystem::create_directories(folder);
    const std::string huge = folder + "/" + id.substr(2) + ".debug";
    write_huge(path("debug"), huge);
    expect_named_without_reading_it_whole(path("stripped"), huge);
}

// What the tests above would say if it were: the checksum of a debug file without a build-id is of
// all of it.
TEST_F(HugeFileTest, is_read_whole_for_its_checksum_only) {
    run(std::string{OBJCOPY} + " --only-keep-debug " + fixture("no_build_id") + " " +
        path("debug"));
    write_huge(path("debug"), path("linked.debug"));
    std::filesystem::resize_file(path("linked.debug"), kMostRead * 2);
    run(std::string{OBJCOPY} + " --strip-all --add-gnu-debuglink=" + path("debug") + " " +
        fixture("no_build_id") + " " + path("stripped"));
    std::filesystem::rename(path("linked.debug"), path("debug"));
    const auto hidden = symbols_of(fixture("no_build_id")).at("hidden");
    EXPECT_FALSE(symbolize_one(path("stripped"), hidden, {{path("root")}}).found);
    EXPECT_GT(cached_bytes(path("debug")), kMostRead);
}

}  // namespace
}  // namespace sample::symbolize
