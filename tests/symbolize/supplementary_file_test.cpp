// Debug information that dwz moved to a file that programs share, in both forms of the link to it.
#include "symbolize/dwarf/supplementary_file.h"

#include "tests/built.h"
#include "tests/symbolize/support.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace sample::symbolize {
namespace {

/// What fixtures/build_shared made, in a folder of the test's own.
class SharedDebugTest : public TempFolderTest, public ::testing::WithParamInterface<const char*> {
protected:
    void SetUp() override {
        std::filesystem::copy(std::string{built::kSharedBuilds} + "/" + GetParam(), path("bin"));
        hidden_ = symbols_of(path("bin/first")).at("hidden");
        run(std::string{OBJCOPY} + " -N hidden " + path("bin/first"));
    }

    [[nodiscard]] ModuleSymbols name_hidden() const {
        const std::vector<std::uint64_t> addresses{hidden_};
        return symbolize({path("bin/first"), {}}, addresses, {{path("root"), path("root2")}});
    }

    // The function's name lies in the shared file.
    void expect_named() const {
        const ModuleSymbols result = name_hidden();
        EXPECT_EQ(result.problem, "");
        const Symbol symbol = symbols_in(result).at(0);
        EXPECT_EQ(symbol.name, "hidden");
        EXPECT_EQ(symbol.line, begin_of("hidden", "functions.c"));
        EXPECT_EQ(symbol.source, std::string{built::kFixtureSources} + "/functions.c");
    }

    void expect_missing() const {
        const ModuleSymbols result = name_hidden();
        EXPECT_FALSE(symbols_in(result).at(0).found);
        EXPECT_NE(result.problem.find("common.debug is not found"), std::string::npos)
            << result.problem;
    }

    std::uint64_t hidden_ = 0;
};

TEST_P(SharedDebugTest, is_found_from_the_program) {
    expect_named();
}

TEST_P(SharedDebugTest, is_found_from_the_real_place_of_the_debug_file) {
    const std::string app = path("bin/first");
    run(std::string{OBJCOPY} + " --only-keep-debug " + app + " " + app + ".debug");
    run(std::string{OBJCOPY} + " --strip-all " + app);
    const std::string id = to_hex(build_id_of(app));
    const std::string folder = path("root2/.build-id/") + id.substr(0, 2);
    std::filesystem::create_directories(folder);
    std::filesystem::create_directories(path("root2/usr/bin"));
    std::filesystem::rename(app + ".debug", path("root2/usr/bin/first.debug"));
    std::filesystem::rename(path("bin/common.debug"), path("root2/usr/bin/common.debug"));
    std::filesystem::create_symlink(path("root2/usr/bin/first.debug"),
                                    folder + "/" + id.substr(2) + ".debug");
    expect_named();
}

TEST_P(SharedDebugTest, is_found_below_a_root_by_its_id) {
    const std::string section =
        std::string{GetParam()}.starts_with("gnu") ? ".note.gnu.build-id" : ".debug_sup";
    // Both end with the 20 bytes of the id.
    const std::vector<std::uint8_t> bytes = section_bytes(path("bin/common.debug"), section);
    ASSERT_GT(bytes.size(), 20U);
    const std::string id = to_hex(std::span{bytes}.last(20));
    const std::string folder = path("root2/.build-id/") + id.substr(0, 2);
    std::filesystem::create_directories(folder);
    std::filesystem::rename(path("bin/common.debug"), folder + "/" + id.substr(2) + ".debug");
    expect_named();
}

TEST_P(SharedDebugTest, may_be_missing) {
    std::filesystem::remove(path("bin/common.debug"));
    expect_missing();
    ASSERT_EQ(::mkfifo(path("bin/common.debug").c_str(), 0600), 0);
    expect_missing();
}

TEST_P(SharedDebugTest, is_not_used_if_it_is_of_another_build) {
    const std::string other = std::string{GetParam()}.ends_with('4') ? "5" : "4";
    std::string from = GetParam();
    from.back() = other[0];
    std::filesystem::copy_file(std::string{built::kSharedBuilds} + "/" + from + "/common.debug",
                               path("bin/common.debug"),
                               std::filesystem::copy_options::overwrite_existing);
    expect_missing();
}

INSTANTIATE_TEST_SUITE_P(Forms, SharedDebugTest,
                         ::testing::Values("gnu4", "gnu5", "standard4", "standard5"),
                         [](const auto& form) { return std::string{form.param}; });

TEST(SupplementaryFile, of_one_file_alone_needs_no_other) {
    const std::string file = std::string{built::kSharedBuilds} + "/single/first";
    const Symbol symbol = symbolize_one(file, symbols_of(file).at("hidden"));
    EXPECT_EQ(symbol.name, "hidden");
    EXPECT_EQ(symbol.line, begin_of("hidden", "functions.c"));
}

std::optional<SupplementaryLink> parse(const std::vector<unsigned char>& bytes) {
    return parse_debug_sup(std::as_bytes(std::span{bytes}));
}

TEST(DebugSup, names_a_file_and_its_checksum) {
    const std::vector<unsigned char> section{5, 0, 0, 'a', 'b', 0, 2, 0x12, 0x34};
    const auto link = parse(section);
    ASSERT_TRUE(link);
    EXPECT_FALSE(link->is_supplementary);
    EXPECT_EQ(link->file_name, "ab");
    ASSERT_EQ(link->checksum.size(), 2U);
    EXPECT_EQ(link->checksum[1], 0x34);
}

TEST(DebugSup, may_not_parse) {
    const std::vector<unsigned char> whole{5, 0, 1, 0, 2, 0x12, 0x34};
    EXPECT_TRUE(parse(whole));
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_FALSE(parse({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}));
    }
    EXPECT_FALSE(parse({4, 0, 1, 0, 2, 0x12, 0x34})) << "the version";
    EXPECT_FALSE(parse({5, 0, 1, 0, 0, 0x12, 0x34})) << "no checksum";
    EXPECT_FALSE(parse({5, 0, 1, 0, 0x82, 0, 0x34})) << "too long a checksum";
}

}  // namespace
}  // namespace sample::symbolize
