// Files that are cut off or written over while they are read: no names of them, and nothing worse.
#include "core/mapped_reading.h"
#include "symbolize/code/code_reader.h"
#include "symbolize/elf/elf_file.h"
#include "symbolize/elf/module_image.h"
#include "symbolize/elf/plt.h"
#include "symbolize/elf/symbol_table.h"
#include "tests/symbolize/module_image_fixture.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace sample::symbolize {
namespace {

namespace fs = std::filesystem;

class ChangedFileTest : public ModuleImageTest {
protected:
    std::string copy(const std::string& name) {
        std::string to = path(name);
        fs::copy_file(fixture(name), to, fs::copy_options::overwrite_existing);
        return to;
    }
    /// Reads about everything of a module that there is to read.
    static void read_all(const ModuleImage& image) {
        Dwarf_Addr bias = 0;
        std::string problem;
        static_cast<void>(image.debug_info(bias, problem));
        const SymbolTable symbols{image.module()};
        const PltTable stubs{image.elf()};
        FrameExtents extents{image.unwind_path()};
        static_cast<void>(extents.extent_of(0x1234));
    }
    static void expect_changed(const std::string& text, const std::string& file) {
        EXPECT_NE(text.find(file + " changed while it was read"), std::string::npos) << text;
    }
};

TEST_F(ChangedFileTest, is_told_if_it_is_cut_off_once_it_is_open) {
    for (const std::uintmax_t kept : {0U, 1U, 64U, 4096U, 8192U}) {
        const std::string file = copy("dwarf5_pie");
        const MappedReading reading;
        const auto image = ModuleImage::open({file, build_id_of(file)}, {});
        ASSERT_TRUE(image);
        EXPECT_EQ(changed_text(reading, &*image, file), "");
        fs::resize_file(file, kept);
        read_all(*image);
        EXPECT_TRUE(reading.is_broken()) << kept;
        expect_changed(changed_text(reading, &*image, file), file);
    }
}

TEST_F(ChangedFileTest, is_told_of_the_debug_file) {
    const std::string file = strip("dwarf5_pie", "--add-gnu-debuglink=" + path("dwarf5_pie.debug"));
    const MappedReading reading;
    const auto image = ModuleImage::open({file, build_id_of(file)}, {});
    ASSERT_TRUE(image);
    Dwarf_Addr bias = 0;
    std::string problem;
    ASSERT_NE(image->debug_info(bias, problem), nullptr);
    EXPECT_EQ(changed_text(reading, &*image, file), "");
    fs::resize_file(file + ".debug", 0);
    const SymbolTable symbols{image->module()};
    EXPECT_TRUE(reading.is_broken());
    expect_changed(changed_text(reading, &*image, file), file + ".debug");
}

TEST_F(ChangedFileTest, is_told_if_it_is_written_over) {
    const std::string file = copy("dwarf5_pie");
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours{1});
    const MappedReading reading;
    const auto image = ModuleImage::open({file, build_id_of(file)}, {});
    ASSERT_TRUE(image);
    fs::create_hard_link(file, path("another name"));
    EXPECT_EQ(changed_text(reading, &*image, file), "");
    std::fstream{file, std::ios::in | std::ios::out}.write("\x7f", 1);
    EXPECT_FALSE(reading.is_broken());
    expect_changed(changed_text(reading, &*image, file), file);
}

// What a thread does to a file at chosen moments, from before it is opened to when all is done.
TEST_F(ChangedFileTest, has_its_names_or_none_whenever_it_is_cut_off) {
    const std::string whole = fixture("inlines_gcc_5");
    const std::vector<std::uint64_t> addresses{symbols_of(whole).at("main")};
    const auto id = build_id_of(whole);
    for (int step = 0; step < 80; ++step) {
        const std::string file = copy("inlines_gcc_5");
        std::thread cutter{[&] {
            std::this_thread::sleep_for(std::chrono::microseconds{step * 25});
            fs::resize_file(file, step % 2 == 0 ? 0 : 4096);
        }};
        const ModuleSymbols result = symbolize({file, id}, addresses);
        std::size_t budget = 100'000;
        const CodeResult code = read_code({file, id}, addresses, budget);
        cutter.join();
        const Symbol symbol = symbols_in(result).at(0);
        EXPECT_EQ(symbol.found, result.problem.empty()) << result.problem;
        EXPECT_EQ(symbol.name == "main", symbol.found) << symbol.name;
        EXPECT_EQ(code.code.blocks.empty(), !code.problem.empty()) << code.problem;
        EXPECT_EQ(budget == 100'000, code.code.blocks.empty());
    }
}

}  // namespace
}  // namespace sample::symbolize
