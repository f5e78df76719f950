// Damage to the files that belong to a module: its debug file, its .dwo files and packages, what it
// shares with others.
//
// SAMPLE_HOSTILE_ROUNDS and SAMPLE_HOSTILE_SEED make it go on for longer, and elsewhere.
#include "tests/built.h"
#include "tests/symbolize/damaged_files.h"
#include "tests/symbolize/support.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace sample::symbolize {
namespace {

unsigned setting(const char* name, unsigned otherwise) {
    const char* const value = std::getenv(name);
    return value != nullptr ? static_cast<unsigned>(std::stoul(value)) : otherwise;
}

class HostilePartsTest : public TempFolderTest {
protected:
    /// Addresses all over the functions of a program.
    void name_in(const std::string& app) {
        for (const auto& [name, address] : symbols_of(app)) {
            addresses_.insert(addresses_.end(), {address, address + 1, address + 9});
        }
    }

    /// Reads `app` while `victim`, one of its files, is damaged in many ways.
    void expect_survived(const std::string& app, const std::string& victim) {
        std::ifstream in{victim, std::ios::binary};
        const std::string whole{std::istreambuf_iterator<char>{in}, {}};
        ASSERT_GT(whole.size(), 100U);
        const auto damage = [&, seed = setting("SAMPLE_HOSTILE_SEED", 7)](unsigned number) {
            std::seed_seq seeds{seed, number};
            std::mt19937 random{seeds};
            std::string damaged = whole;
            std::string where = "overwritten:";
            for (std::size_t flip = random() % 12; flip > 0; --flip) {
                const std::size_t at = random() % damaged.size();
                damaged[at] = static_cast<char>(random() % 4 == 0 ? 0xff : random());
                where += " " + std::to_string(at);
            }
            if (number % 8 == 0) {
                damaged.resize(random() % damaged.size());
                where += " and cut off at " + std::to_string(damaged.size());
            }
            std::ofstream{victim, std::ios::binary | std::ios::trunc} << damaged;
            return where;
        };
        symbolize::expect_survived(
            {setting("SAMPLE_HOSTILE_ROUNDS", 40), damage, [&] {
                 const ModuleSymbols result = symbolize({app, {}}, addresses_, {{path("root")}});
                 return result.symbols.runs.size() == addresses_.size();
             }});
    }

    std::vector<std::uint64_t> addresses_;
};

class HostileSplitTest : public HostilePartsTest,
                         public ::testing::WithParamInterface<const char*> {
protected:
    void SetUp() override {
        std::filesystem::copy(std::string{built::kSplitBuilds} + "/" + GetParam(), path("build"),
                              std::filesystem::copy_options::recursive);
        name_in(app());
    }
    [[nodiscard]] std::string app() const { return path("build/bin/app"); }
};

TEST_P(HostileSplitTest, survives_damage_to_a_dwo_file) {
    const std::string other = path("build/obj/functions.dwo");
    expect_survived(app(),
                    std::filesystem::exists(other) ? other : path("build/obj/functions.c.dwo"));
}

TEST_P(HostileSplitTest, survives_damage_to_a_package) {
    std::filesystem::remove_all(path("build/obj"));
    std::filesystem::rename(path("build/llvm.dwp"), app() + ".dwp");
    expect_survived(app(), app() + ".dwp");
}

TEST_P(HostileSplitTest, survives_damage_to_the_skeletons) {
    expect_survived(app(), app());
}

INSTANTIATE_TEST_SUITE_P(Compilers, HostileSplitTest,
                         ::testing::Values("gcc_dwarf4", "gcc_dwarf5", "clang_dwarf4",
                                           "clang_dwarf5"),
                         [](const auto& build) { return std::string{build.param}; });

class HostileSharedTest : public HostilePartsTest,
                          public ::testing::WithParamInterface<const char*> {
protected:
    void SetUp() override {
        std::filesystem::copy(std::string{built::kSharedBuilds} + "/" + GetParam(), path("bin"));
        name_in(path("bin/first"));
    }
};

TEST_P(HostileSharedTest, survives_damage_to_the_shared_file) {
    expect_survived(path("bin/first"), path("bin/common.debug"));
}

TEST_P(HostileSharedTest, survives_damage_to_the_program) {
    expect_survived(path("bin/first"), path("bin/first"));
}

INSTANTIATE_TEST_SUITE_P(Forms, HostileSharedTest, ::testing::Values("gnu4", "standard5"),
                         [](const auto& form) { return std::string{form.param}; });

TEST_F(HostilePartsTest, survives_damage_to_a_debug_file) {
    const std::string app = path("app");
    name_in(fixture("dwarf5_pie"));
    run(std::string{OBJCOPY} + " --only-keep-debug " + fixture("dwarf5_pie") + " " + app +
        ".debug");
    run(std::string{OBJCOPY} + " --strip-all --add-gnu-debuglink=" + app + ".debug " +
        fixture("dwarf5_pie") + " " + app);
    expect_survived(app, app + ".debug");
}

TEST_F(HostilePartsTest, survives_damage_to_packed_symbols) {
    const std::string app = path("app");
    name_in(fixture("dwarf5_pie"));
    run(std::string{OBJCOPY} + " -S " + fixture("dwarf5_pie") + " " + path("mini"));
    run(std::string{XZ} + " " + path("mini"));
    run(std::string{OBJCOPY} + " -S --add-section .gnu_debugdata=" + path("mini.xz") + " " +
        fixture("dwarf5_pie") + " " + app);
    expect_survived(app, app);
}

}  // namespace
}  // namespace sample::symbolize
