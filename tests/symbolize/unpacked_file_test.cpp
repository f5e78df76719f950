// Debug files that the cache keeps unpacked: names are those that the compressed file gives, and a
// copy that is damaged or of another file is not used.
#include "symbolize/elf/unpacked_file.h"

#include "symbolize/cache/symbol_cache.h"
#include "tests/built.h"
#include "tests/symbolize/module_image_fixture.h"
#include "tests/trace/symbol_block_fixture.h"

#include <zlib.h>

#include <filesystem>
#include <fstream>

namespace sample::symbolize {
namespace {

namespace fs = std::filesystem;

/// Each parameter is a program or library with debug information.
class UnpackedFileTest : public TempFolderTest, public ::testing::WithParamInterface<const char*> {
protected:
    UnpackedFileTest() {
        const std::string original =
            fs::path{GetParam()}.is_absolute() ? GetParam() : fixture(GetParam());
        module_ = {path("module"), build_id_of(original)};
        const std::string id = to_hex(module_.build_id);
        debug_file_ = path("debug/.build-id/") + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
        fs::create_directories(fs::path{debug_file_}.parent_path());
        run(std::string{OBJCOPY} + " --only-keep-debug --compress-debug-sections=zlib " + original +
            " " + debug_file_);
        run(std::string{OBJCOPY} + " --strip-all " + original + " " + module_.path);
        const std::uint64_t start = section_start(original, ".text");
        const std::uint64_t size = section_bytes(original, ".text").size();
        const std::uint64_t step = 1 + size / 50'000;  // Of most modules each address.
        for (std::uint64_t address = start; address < start + size; address += step) {
            addresses_.push_back(address);
        }
    }

    [[nodiscard]] fs::path in_cache(const std::string& ending) const {
        return fs::path{path("cache")} / (to_hex(module_.build_id) + ending);
    }
    [[nodiscard]] fs::path copy() const { return in_cache(".unpacked"); }
    [[nodiscard]] std::vector<std::string> said(const ModuleSymbols& result) const {
        EXPECT_EQ(result.problem, "");
        return trace::said_by(addresses_, result.symbols);
    }
    [[nodiscard]] std::vector<std::string> found() const {
        return said(symbolize(module_, addresses_, options_));
    }
    /// With a cache that has no names.
    [[nodiscard]] std::vector<std::string> found_with_copy() const {
        fs::remove(in_cache(".names"));
        SymbolCache cache{path("cache")};
        return said(cache.symbolize(module_, addresses_, options_));
    }
    [[nodiscard]] std::string copy_bytes() const {
        std::ifstream in{copy(), std::ios::binary};
        return {std::istreambuf_iterator<char>{in}, {}};
    }
    void put_copy(const std::string& bytes) const {
        std::ofstream{copy(), std::ios::binary} << bytes;
    }
    /// Gives a symbol another name there, as no file has it.
    void put_lies(const std::string& name) const {
        std::string bytes = copy_bytes();
        const std::size_t at = bytes.rfind('\0' + name + '\0');  // In .strtab, the last.
        ASSERT_NE(at, std::string::npos);
        bytes.replace(at + 1, 3, "lie");
        const std::size_t summed = bytes.size() - sizeof(std::uint64_t);
        const std::uint64_t sum = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), summed);
        bytes.replace(summed, sizeof sum, reinterpret_cast<const char*>(&sum), sizeof sum);
        put_copy(bytes);
    }

    ModuleIdentity module_;
    std::string debug_file_;
    std::vector<std::uint64_t> addresses_;
    Options options_{{path("debug")}};
};

class UnpackedFileOfEach : public UnpackedFileTest {};
class UnpackedFileOfOne : public UnpackedFileTest {};

TEST_P(UnpackedFileOfEach, names_every_address_as_the_compressed_file_does) {
    const auto expected = found();
    ASSERT_EQ(expected.size(), addresses_.size());
    EXPECT_EQ(found_with_copy(), expected);  // It is made.
    ASSERT_TRUE(fs::exists(copy()));
    EXPECT_TRUE(found_with_copy() == expected);  // It is read: all lines would be too much to show.
}

const char* const modules[] = {
    "dwarf5_pie",      "dwarf4_fixed",    "library.so",      "inlines_gcc_5",       "inlines_gcc_4",
    "inlines_gcc_lto", "inlines_clang_5", "inlines_clang_4", "inlines_gcc_split_5",
#ifdef HAS_AGENT
    built::kAgent,
#endif
};
INSTANTIATE_TEST_SUITE_P(Modules, UnpackedFileOfEach, ::testing::ValuesIn(modules));

TEST_P(UnpackedFileOfOne, is_used_while_the_debug_file_is_as_it_was) {
    const auto expected = found_with_copy();
    put_lies("hidden");
    const auto with_lies = found_with_copy();
    EXPECT_NE(with_lies, expected);
    EXPECT_EQ(found(), expected);  // Not without a cache.
    run("touch -d '2001-01-01' " + debug_file_);
    EXPECT_EQ(found_with_copy(), expected);
    put_lies("hidden");
    EXPECT_EQ(found_with_copy(), with_lies);  // It was made anew.
    fs::remove(debug_file_);
    EXPECT_EQ(found_with_copy(), found());
}

TEST_P(UnpackedFileOfOne, is_used_without_a_change_that_others_would_see) {
    const auto expected = found_with_copy();
    run("touch -d '2001-01-01' " + copy().string());
    const auto written = fs::last_write_time(copy());
    EXPECT_EQ(found_with_copy(), expected);
    EXPECT_EQ(fs::last_write_time(copy()), written);
}

TEST_P(UnpackedFileOfOne, is_made_anew_if_it_is_damaged) {
    const auto expected = found_with_copy();
    const std::string good = copy_bytes();
    for (std::size_t at = 0; at < good.size(); at += 1 + good.size() / 100) {
        std::string bytes = good;
        bytes[at] = static_cast<char>(~bytes[at]);
        for (const std::string& damaged : {bytes, good.substr(0, at)}) {
            put_copy(damaged);
            EXPECT_EQ(found_with_copy(), expected) << at;
            EXPECT_EQ(copy_bytes(), good) << at;
        }
    }
}

TEST_P(UnpackedFileOfOne, is_not_made_of_what_is_not_compressed_or_is_cut_off) {
    const std::string unpacked = path("uncompressed");
    run(std::string{OBJCOPY} + " --decompress-debug-sections " + debug_file_ + " " + unpacked);
    const auto size = fs::file_size(debug_file_);
    fs::resize_file(debug_file_, size - 1000);
    fs::remove(in_cache(".names"));
    SymbolCache cache{path("cache")};
    EXPECT_NE(cache.symbolize(module_, addresses_, options_).problem, "");
    EXPECT_FALSE(fs::exists(copy()));
    fs::rename(unpacked, debug_file_);
    EXPECT_EQ(found_with_copy(), found());
    EXPECT_FALSE(fs::exists(copy()));
}

INSTANTIATE_TEST_SUITE_P(Modules, UnpackedFileOfOne, ::testing::Values("dwarf5_pie"));

}  // namespace
}  // namespace sample::symbolize
