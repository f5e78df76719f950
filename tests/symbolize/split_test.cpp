// Split DWARF: .dwo files in a build folder that was moved, beside the program, replaced and
// missing, and packages of them as two tools make them. Where the compiler left them is
// names_test.cpp's.
#include "tests/built.h"
#include "tests/symbolize/support.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace sample::symbolize {
namespace {

/// What fixtures/build_split made, in a folder of the test's own: build/, named after its compiler.
class SplitTest : public TempFolderTest, public ::testing::WithParamInterface<const char*> {
protected:
    void SetUp() override {
        const std::string made = std::string{built::kSplitBuilds} + "/" + GetParam();
        std::filesystem::copy(made, path("build"), std::filesystem::copy_options::recursive);
        std::ifstream{made + "/hidden_address"} >> std::hex >> hidden_;
        ASSERT_NE(hidden_, 0U);
    }

    /// Instead of the .dwo files the package `name`.
    void package(const std::string& name) {
        std::filesystem::remove_all(path("build/obj"));
        std::filesystem::rename(path("build/") + name, app() + ".dwp");
    }

    [[nodiscard]] std::string app() const { return path("build/bin/app"); }

    /// Of one source.
    [[nodiscard]] std::string dwo(const std::string& source) const {
        const std::string stem = path("build/obj/") + source.substr(0, source.rfind('.'));
        return std::filesystem::exists(stem + ".dwo") ? stem + ".dwo"
                                                      : path("build/obj/") + source + ".dwo";
    }

    [[nodiscard]] ModuleSymbols name_hidden(const std::string& file) const {
        const std::vector<std::uint64_t> addresses{hidden_};
        return symbolize({file, {}}, addresses, {{path("root")}});
    }

    void expect_named(const std::string& file) const {
        const ModuleSymbols result = name_hidden(file);
        EXPECT_EQ(result.problem, "");
        const Symbol symbol = symbols_in(result).at(0);
        EXPECT_EQ(symbol.name, "hidden");
        EXPECT_EQ(symbol.line, begin_of("hidden", "functions.c"));
        EXPECT_EQ(symbol.source, std::string{built::kFixtureSources} + "/functions.c");
    }

    void expect_missing(const std::string& file) const {
        const ModuleSymbols result = name_hidden(file);
        EXPECT_FALSE(symbols_in(result).at(0).found);
        EXPECT_NE(result.problem.find("1 .dwo file not found"), std::string::npos)
            << result.problem;
        EXPECT_NE(result.problem.find("functions"), std::string::npos) << result.problem;
    }

    std::uint64_t hidden_ = 0;
};

TEST_P(SplitTest, is_found_if_the_build_folder_was_moved) {
    expect_named(app());
}

TEST_P(SplitTest, is_found_beside_the_program) {
    for (const auto& entry : std::filesystem::directory_iterator{path("build/obj")}) {
        std::filesystem::rename(entry.path(),
                                path("build/bin/") + entry.path().filename().string());
    }
    expect_named(app());
}

TEST_P(SplitTest, is_found_for_a_program_in_a_debug_file) {
    run(std::string{OBJCOPY} + " --only-keep-debug " + app() + " " + app() + ".debug");
    run(std::string{OBJCOPY} + " --strip-all --add-gnu-debuglink=" + app() + ".debug " + app());
    expect_named(app());
    package("llvm.dwp");
    expect_named(app());
}

TEST_P(SplitTest, is_found_in_a_package) {
    package("llvm.dwp");
    expect_named(app());
    // Below a debug root, as a distribution would install it.
    const std::string folder = path("root") + path("build/bin");
    std::filesystem::create_directories(folder);
    std::filesystem::rename(path("build/bin/app.dwp"), folder + "/app.dwp");
    expect_named(app());
}

TEST_P(SplitTest, is_found_in_a_package_with_compressed_sections) {
    package("llvm.dwp");
    run(std::string{OBJCOPY} + " --compress-debug-sections " + path("build/bin/app.dwp"));
    expect_named(app());
}

TEST_P(SplitTest, is_found_in_a_package_of_either_tool) {
    if (std::filesystem::exists(path("build/binutils.dwp"))) {
        package("binutils.dwp");
        expect_named(app());
    } else {
        EXPECT_TRUE(std::string{GetParam()}.ends_with("dwarf5")) << "which that tool can't";
    }
}

TEST_P(SplitTest, says_which_files_are_missing) {
    std::filesystem::remove_all(path("build/obj"));
    expect_missing(app());
}

TEST_P(SplitTest, does_not_take_another_units_file) {
    const std::string name = dwo("functions.c");
    std::filesystem::rename(dwo("main.c"), name);
    expect_missing(app());
    // Nor does it wait for somebody to write to a FIFO.
    std::filesystem::remove(name);
    ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
    expect_missing(app());
}

TEST_P(SplitTest, does_not_take_another_programs_package) {
    std::filesystem::remove_all(path("build/obj"));
    const std::string other =
        std::string{GetParam()} == "gcc_dwarf4" ? "clang_dwarf4" : "gcc_dwarf4";
    std::filesystem::copy(std::string{built::kSplitBuilds} + "/" + other + "/llvm.dwp",
                          app() + ".dwp");
    expect_missing(app());
}

INSTANTIATE_TEST_SUITE_P(Compilers, SplitTest,
                         ::testing::Values("gcc_dwarf4", "gcc_dwarf5", "clang_dwarf4",
                                           "clang_dwarf5"),
                         [](const auto& build) { return std::string{build.param}; });

}  // namespace
}  // namespace sample::symbolize
