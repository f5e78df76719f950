// Which file is taken for a module: replaced, missing and foreign ones.
#include "core/fd.h"
#include "symbolize/elf/debug_file.h"
#include "tests/symbolize/module_image_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>

namespace sample::symbolize {
namespace {

TEST_F(ModuleImageTest, puts_the_unnamed_addresses_of_one_function_together) {
    for (const char* const name : {"no_debug", "no_search_table"}) {
        const std::string file = strip(name);
        const std::uint64_t start = symbols_of(fixture(name)).at("hidden");
        const Symbol first = symbolize_one(file, start);
        const Symbol later = symbolize_one(file, start + 3);
        EXPECT_FALSE(later.found) << name;
        EXPECT_EQ(later.start, start) << name;
        EXPECT_EQ(later.name, first.name) << name;
    }
}

TEST_F(ModuleImageTest, names_what_a_stripped_program_exports) {
    const std::string file = strip("dwarf5_pie");
    const auto symbols = symbols_of(fixture("dwarf5_pie"));
    const Symbol leaf = symbolize_one(file, symbols.at("leaf"), {{"/nowhere"}});
    EXPECT_EQ(leaf.name, "leaf");
    EXPECT_EQ(leaf.source, "");
    EXPECT_FALSE(hidden(file, "dwarf5_pie").found);
}

TEST_F(ModuleImageTest, is_used_if_its_build_id_is_the_recorded_one) {
    const std::string file = fixture("dwarf5_pie");
    const std::vector<std::uint64_t> addresses{symbols_of(file).at("leaf")};
    const ModuleSymbols result = symbolize({file, build_id_of(file)}, addresses);
    EXPECT_EQ(result.problem, "");
    EXPECT_EQ(symbols_in(result).at(0).name, "leaf");
}

TEST_F(ModuleImageTest, says_where_its_first_byte_lies) {
    EXPECT_EQ(first_address({fixture("dwarf4_fixed"), {}}), 0x400000U);
    EXPECT_EQ(first_address({fixture("dwarf5_pie"), {}}), 0U);
    EXPECT_EQ(first_address({"/nowhere", {}}), 0U);
}

TEST_F(ModuleImageTest, is_not_used_if_it_was_replaced) {
    const ModuleSymbols result =
        symbolize({fixture("dwarf5_pie"), build_id_of(fixture("dwarf4_fixed"))}, addresses_);
    expect_no_names(result, "dwarf5_pie");
    EXPECT_NE(result.problem.find("was replaced"), std::string::npos) << result.problem;
}

TEST_F(ModuleImageTest, is_not_looked_for_in_the_folder_of_whoever_looks) {
    const std::filesystem::path file = fixture("dwarf5_pie");
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(file.parent_path());
    const ModuleSymbols result = symbolize({"./" + file.filename().string(), {}}, addresses_);
    std::filesystem::current_path(before);
    expect_no_names(result, "dwarf5_pie");
    EXPECT_NE(result.problem.find("a folder that is not known"), std::string::npos)
        << result.problem;
}

TEST_F(ModuleImageTest, is_not_used_if_its_build_id_went) {
    const ModuleSymbols result = symbolize({fixture("no_build_id"), {1, 2, 3}}, addresses_);
    expect_no_names(result, "no_build_id");
    EXPECT_NE(result.problem.find("was replaced"), std::string::npos) << result.problem;
}

TEST_F(ModuleImageTest, says_so_if_it_is_cut_off) {
    const std::uint64_t hidden_at = symbols_of(fixture("dwarf5_pie")).at("hidden");
    const auto whole = std::filesystem::file_size(fixture("dwarf5_pie"));
    for (const std::uintmax_t size : {std::uintmax_t{4096}, whole / 2, whole - 1}) {
        std::filesystem::copy_file(fixture("dwarf5_pie"), path("cut"),
                                   std::filesystem::copy_options::overwrite_existing);
        std::filesystem::resize_file(path("cut"), size);
        const std::vector<std::uint64_t> addresses{hidden_at};
        const ModuleSymbols result =
            symbolize({path("cut"), build_id_of(fixture("dwarf5_pie"))}, addresses);
        EXPECT_EQ(result.problem.find(path("cut") + " is cut off"), 0U) << result.problem;
    }
}

TEST_F(ModuleImageTest, says_so_if_its_debug_file_is_cut_off) {
    const std::string file = strip("dwarf5_pie", "--add-gnu-debuglink=" + path("dwarf5_pie.debug"));
    const std::vector<std::uint64_t> addresses{symbols_of(fixture("dwarf5_pie")).at("hidden")};
    EXPECT_EQ(symbolize({file, build_id_of(file)}, addresses).problem, "");
    std::filesystem::resize_file(file + ".debug", 4096);
    const ModuleSymbols result = symbolize({file, build_id_of(file)}, addresses);
    EXPECT_EQ(result.problem.find(file + ".debug is cut off"), 0U) << result.problem;
}

TEST_F(ModuleImageTest, may_be_gone) {
    const ModuleSymbols result = symbolize({path("libgone.so.1"), {}}, addresses_);
    expect_no_names(result, "libgone.so.1");
    EXPECT_NE(result.problem.find("is gone"), std::string::npos) << result.problem;
}

TEST_F(ModuleImageTest, may_be_back_after_a_deletion) {
    const std::string file = fixture("dwarf5_pie");
    const std::vector<std::uint64_t> addresses{symbols_of(file).at("leaf")};
    const std::string deleted = file + " (deleted)";
    EXPECT_EQ(symbols_in(symbolize({deleted, build_id_of(file)}, addresses)).at(0).name, "leaf");
    // Nobody can tell whether it is the same, without a build-id.
    EXPECT_FALSE(symbols_in(symbolize({deleted, {}}, addresses)).at(0).found);
    EXPECT_NE(symbolize({deleted, {}}, addresses).problem, "");
}

// Copies of the program under other names, as /proc/PID/root/… names them.
TEST_F(ModuleImageTest, is_found_by_another_way_if_its_path_is_gone_or_replaced) {
    const std::string file = fixture("dwarf5_pie");
    const std::vector<std::uint64_t> leaf{symbols_of(file).at("leaf")};
    std::filesystem::create_directories(path("root/bin"));
    std::filesystem::copy_file(file, path("root/bin/app"));
    const std::vector<std::string> ways{path("root/nothing"), path("root/bin/app")};
    for (const std::string& gone :
         {path("bin/app"), path("bin/app (deleted)"), fixture("dwarf4_fixed"),
          fixture("dwarf4_fixed") + " (deleted)"}) {
        const ModuleSymbols result = symbolize({gone, build_id_of(file), ways}, leaf);
        EXPECT_EQ(result.problem, "");
        EXPECT_EQ(symbols_in(result).at(0).name, "leaf") << gone;
    }
}

TEST_F(ModuleImageTest, is_found_by_a_descriptor_that_holds_it) {
    const std::string file = path("app");
    std::filesystem::copy_file(fixture("no_debug"), file);
    const auto symbols = symbols_of(file);
    const auto build_id = build_id_of(file);
    const Fd held{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
    std::filesystem::remove(file);
    const std::string way = "/proc/self/fd/" + std::to_string(held.get());
    const std::vector<std::uint64_t> addresses{symbols.at("leaf"), 0x10};
    const ModuleSymbols result = symbolize({file + " (deleted)", build_id, {way}}, addresses);
    EXPECT_EQ(result.problem, "");
    EXPECT_EQ(symbols_in(result).at(0).name, "leaf");
    EXPECT_EQ(symbols_in(result).at(1).name, "app (deleted)+0x10")
        << "named after the recorded path";
}

TEST_F(ModuleImageTest, without_build_id_is_taken_from_where_the_program_ran) {
    const std::string ran = fixture("no_build_id");
    const std::vector<std::uint64_t> leaf{symbols_of(ran).at("leaf")};
    std::filesystem::copy_file(fixture("dwarf4_fixed"), path("app"));
    EXPECT_EQ(symbols_in(symbolize({path("app"), {}, {path("gone"), ran}}, leaf)).at(0).name,
              "leaf");
    EXPECT_EQ(symbols_in(symbolize({ran, {}, {path("gone")}}, leaf)).at(0).name, "leaf");
}

TEST_F(ModuleImageTest, is_not_used_if_no_way_leads_to_the_right_build) {
    std::filesystem::copy_file(fixture("dwarf5_pie"), path("app"));
    const ModuleSymbols result = symbolize(
        {path("gone"), build_id_of(fixture("dwarf4_fixed")), {path("nowhere"), path("app")}},
        addresses_);
    expect_no_names(result, "gone");
    EXPECT_NE(result.problem.find(path("app") + " was replaced"), std::string::npos)
        << result.problem;
}

TEST_F(ModuleImageTest, is_found_by_build_id_if_its_path_is_gone) {
    const std::string file = strip("dwarf5_pie");
    const auto symbols = symbols_of(fixture("dwarf5_pie"));
    const auto build_id = build_id_of(fixture("dwarf5_pie"));
    const std::string id = to_hex(build_id);
    const std::vector<std::uint64_t> addresses{symbols.at("leaf"), symbols.at("hidden")};
    const std::string kept = path("root/.build-id/") + id.substr(0, 2) + "/" + id.substr(2);
    std::filesystem::create_directories(folder_of(kept));
    std::filesystem::copy_file(file, kept);
    const Options options{{path("root")}};
    const ModuleSymbols whole = symbolize({path("gone"), build_id}, addresses, options);
    EXPECT_EQ(whole.problem, "");
    EXPECT_EQ(symbols_in(whole).at(0).name, "leaf");
    EXPECT_FALSE(symbols_in(whole).at(1).found);
    // The debug file alone has the symbols, but no code.
    std::filesystem::rename(file + ".debug", kept + ".debug");
    std::filesystem::remove(kept);
    const ModuleSymbols debug_file = symbolize({path("gone"), build_id}, addresses, options);
    EXPECT_EQ(debug_file.problem, "");
    EXPECT_EQ(symbols_in(debug_file).at(0).name, "leaf");
    expect_hidden_is_named(symbols_in(debug_file).at(1));
}

TEST_F(ModuleImageTest, may_be_anything_else) {
    std::ofstream{path("text")} << "#!/bin/sh\necho hello\n";
    std::ofstream{path("empty")} << "";
    ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
    std::filesystem::create_directory(path("folder"));
    for (const char* name : {"text", "empty", "fifo", "folder"}) {
        const ModuleSymbols result = symbolize({path(name), {}}, addresses_);
        expect_no_names(result, name);
        EXPECT_NE(result.problem.find(path(name)), std::string::npos) << result.problem;
    }
}

TEST_F(ModuleImageTest, may_be_an_object_file_by_mistake) {
    run("echo 'int f(void){return 1;}' | " + std::string{CC} + " -xc -c - -o " + path("f.o"));
    const ModuleSymbols result = symbolize({path("f.o"), {}}, addresses_);
    expect_no_names(result, "f.o");
    EXPECT_NE(result.problem, "");
}

TEST_F(ModuleImageTest, without_a_name_is_said_to_have_none) {
    const ModuleSymbols result = symbolize({"", {}}, addresses_);
    expect_no_names(result, "[no name]");
    EXPECT_NE(result.problem, "");
}

}  // namespace
}  // namespace sample::symbolize
