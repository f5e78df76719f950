// Which file is taken for a module: stripped ones with their debug files, replaced, missing and
// foreign ones.
#include "core/fd.h"
#include "symbolize/debug_file.h"
#include "tests/symbolize/support.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

namespace sample::symbolize {
namespace {

constexpr const char* kObjcopy = OBJCOPY;

class ModuleFileTest : public TempFolderTest {
protected:
    /// A copy of a fixture without symbols and debug information, which are in NAME.debug then.
    std::string strip(const std::string& name, const std::string& link_options = "") {
        std::string stripped = path(name);
        run(std::string{kObjcopy} + " --only-keep-debug " + fixture(name) + " " + stripped +
            ".debug");
        run(std::string{kObjcopy} + " --strip-all " + link_options + " " + fixture(name) + " " +
            stripped);
        return stripped;
    }

    /// "hidden" is not exported: only .symtab or debug information names it.
    static Symbol hidden(const std::string& file, const std::string& built_as,
                         const std::string& debug_root = "/nowhere") {
        return symbolize_one(file, symbols_of(fixture(built_as)).at("hidden"), {{debug_root}});
    }

    static void expect_hidden_is_named(const Symbol& symbol) {
        EXPECT_EQ(symbol.name, "hidden");
        EXPECT_EQ(symbol.line, begin_of("hidden", "functions.c"));
    }

    static void expect_no_names(const ModuleSymbols& result, const std::string& name) {
        const std::vector<Symbol> symbols = symbols_in(result);
        ASSERT_EQ(symbols.size(), 2U);
        EXPECT_FALSE(symbols[0].found);
        EXPECT_EQ(symbols[0].name, name + "+0x1234");
        EXPECT_EQ(symbols[1].name, name + "+0x10");
    }
    const std::vector<std::uint64_t> addresses_{0x1234, 0x10};
};

TEST_F(ModuleFileTest, puts_the_unnamed_addresses_of_one_function_together) {
    const std::string file = strip("no_debug");
    const std::uint64_t start = symbols_of(fixture("no_debug")).at("hidden");
    const Symbol first = symbolize_one(file, start);
    const Symbol later = symbolize_one(file, start + 3);
    EXPECT_FALSE(later.found);
    EXPECT_EQ(later.start, start);
    EXPECT_EQ(later.name, first.name);
}

TEST_F(ModuleFileTest, names_what_a_stripped_program_exports) {
    const std::string file = strip("dwarf5_pie");
    const auto symbols = symbols_of(fixture("dwarf5_pie"));
    const Symbol leaf = symbolize_one(file, symbols.at("leaf"), {{"/nowhere"}});
    EXPECT_EQ(leaf.name, "leaf");
    EXPECT_EQ(leaf.source, "");
    EXPECT_FALSE(hidden(file, "dwarf5_pie").found);
}

TEST_F(ModuleFileTest, finds_a_debug_file_by_build_id) {
    const std::string file = strip("dwarf5_pie");
    const std::string id = to_hex(build_id_of(fixture("dwarf5_pie")));
    const std::string folder = path("root/.build-id/") + id.substr(0, 2);
    std::filesystem::create_directories(folder);
    std::filesystem::rename(file + ".debug", folder + "/" + id.substr(2) + ".debug");
    expect_hidden_is_named(hidden(file, "dwarf5_pie", path("root")));
    EXPECT_FALSE(hidden(file, "dwarf5_pie", path("elsewhere")).found);
}

TEST_F(ModuleFileTest, finds_a_debug_file_below_any_of_the_roots) {
    const std::string file = strip("dwarf5_pie");
    const std::string id = to_hex(build_id_of(fixture("dwarf5_pie")));
    const std::string folder = path("second/.build-id/") + id.substr(0, 2);
    std::filesystem::create_directories(folder);
    std::filesystem::rename(file + ".debug", folder + "/" + id.substr(2) + ".debug");
    const std::uint64_t address = symbols_of(fixture("dwarf5_pie")).at("hidden");
    expect_hidden_is_named(symbolize_one(file, address, {{path("first"), path("second")}}));
}

// The folders that the environment names, restored at the end.
class DebuginfodCacheTest : public ModuleFileTest {
protected:
    DebuginfodCacheTest() {
        for (const char* name : {"DEBUGINFOD_CACHE_PATH", "XDG_CACHE_HOME", "HOME"}) {
            const char* const value = std::getenv(name);
            before_.emplace_back(
                name, value != nullptr ? std::optional<std::string>{value} : std::nullopt);
            ::unsetenv(name);
        }
    }
    ~DebuginfodCacheTest() override {
        for (const auto& [name, value] : before_) {
            value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
        }
    }

private:
    std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

TEST_F(DebuginfodCacheTest, has_debug_files) {
    const std::string file = strip("dwarf5_pie");
    const std::string id = to_hex(build_id_of(fixture("dwarf5_pie")));
    const std::vector<std::pair<const char*, std::string>> places{
        {"DEBUGINFOD_CACHE_PATH", ""},
        {"XDG_CACHE_HOME", "/debuginfod_client"},
        {"HOME", "/.cache/debuginfod_client"},
        {"HOME", "/.debuginfod_client_cache"}};
    for (const auto& [name, below] : places) {
        std::string folder = path("cache");
        folder.append(below).append("/").append(id);
        std::filesystem::create_directories(folder);
        std::filesystem::copy_file(file + ".debug", folder + "/debuginfo");
        EXPECT_FALSE(hidden(file, "dwarf5_pie").found) << name << " is not set";
        ::setenv(name, path("cache").c_str(), 1);
        expect_hidden_is_named(hidden(file, "dwarf5_pie"));
        ::unsetenv(name);
        std::filesystem::remove_all(path("cache"));
    }
}

TEST_F(DebuginfodCacheTest, has_programs_that_are_gone_elsewhere) {
    const std::string file = fixture("dwarf5_pie");
    const std::string folder = path("cache/") + to_hex(build_id_of(file));
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(file, folder + "/executable");
    ::setenv("DEBUGINFOD_CACHE_PATH", path("cache").c_str(), 1);
    const std::vector<std::uint64_t> leaf{symbols_of(file).at("leaf")};
    EXPECT_EQ(symbols_in(symbolize({path("gone"), build_id_of(file)}, leaf)).at(0).name, "leaf");
}

// The client notes by an empty file that no server had it.
TEST_F(DebuginfodCacheTest, may_say_that_no_server_had_it) {
    const std::string file = strip("dwarf5_pie");
    const std::string folder = path("cache/") + to_hex(build_id_of(fixture("dwarf5_pie")));
    std::filesystem::create_directories(folder);
    std::ofstream{folder + "/debuginfo"} << "";
    ::setenv("DEBUGINFOD_CACHE_PATH", path("cache").c_str(), 1);
    EXPECT_EQ(symbolize_one(file, symbols_of(fixture("dwarf5_pie")).at("leaf")).name, "leaf");
    EXPECT_FALSE(hidden(file, "dwarf5_pie").found);
}

// Nobody is asked for what is not there, whatever the user's environment tells debuginfod's client.
TEST_F(DebuginfodCacheTest, is_all_that_is_used_of_debuginfod) {
    const Fd server{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::bind(server.get(), generic, size), 0);
    ASSERT_EQ(::listen(server.get(), 1), 0);
    ASSERT_EQ(::getsockname(server.get(), generic, &size), 0);
    const std::string url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
    ::setenv("DEBUGINFOD_URLS", url.c_str(), 1);
    ::setenv("DEBUGINFOD_TIMEOUT", "1", 1);
    ::setenv("DEBUGINFOD_CACHE_PATH", path("cache").c_str(), 1);
    const std::string file = strip("dwarf5_pie");
    const std::string shares = std::string{SHARED_BUILDS} + "/gnu5/first";
    std::filesystem::copy_file(shares, path("shares"));
    EXPECT_FALSE(hidden(file, "dwarf5_pie").found);
    EXPECT_NE(symbolize({path("shares"), {}}, addresses_).problem, "");
    EXPECT_NE(symbolize({path("gone"), build_id_of(file)}, addresses_).problem, "");
    EXPECT_EQ(::accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC), -1);
    EXPECT_EQ(errno, EAGAIN);
    ::unsetenv("DEBUGINFOD_URLS");
    ::unsetenv("DEBUGINFOD_TIMEOUT");
}

TEST_F(ModuleFileTest, finds_a_debug_file_by_link) {
    strip("dwarf5_pie");
    const std::string file = strip("dwarf5_pie", "--add-gnu-debuglink=" + path("dwarf5_pie.debug"));
    expect_hidden_is_named(hidden(file, "dwarf5_pie"));
    std::filesystem::create_directory(path(".debug"));
    std::filesystem::rename(file + ".debug", path(".debug/dwarf5_pie.debug"));
    expect_hidden_is_named(hidden(file, "dwarf5_pie"));
    const std::string below_root = path("root") + path("");
    std::filesystem::create_directories(below_root);
    std::filesystem::rename(path(".debug/dwarf5_pie.debug"), below_root + "/dwarf5_pie.debug");
    EXPECT_FALSE(hidden(file, "dwarf5_pie").found);
    expect_hidden_is_named(hidden(file, "dwarf5_pie", path("root")));
}

TEST_F(ModuleFileTest, checks_a_linked_file_without_build_id_by_its_checksum) {
    strip("no_build_id");
    const std::string file =
        strip("no_build_id", "--add-gnu-debuglink=" + path("no_build_id.debug"));
    expect_hidden_is_named(hidden(file, "no_build_id"));
    std::ofstream{file + ".debug", std::ios::app} << "changed";
    EXPECT_FALSE(hidden(file, "no_build_id").found);
}

TEST_F(ModuleFileTest, does_not_take_another_builds_debug_file) {
    strip("dwarf5_pie");
    const std::string file = strip("dwarf5_pie", "--add-gnu-debuglink=" + path("dwarf5_pie.debug"));
    std::stringstream debug;
    debug << std::ifstream{file + ".debug", std::ios::binary}.rdbuf();
    std::string bytes = debug.str();
    const auto build_id = build_id_of(fixture("dwarf5_pie"));
    const std::size_t at = bytes.find(std::string{build_id.begin(), build_id.end()});
    ASSERT_NE(at, std::string::npos);
    bytes[at] = static_cast<char>(~bytes[at]);
    std::ofstream{file + ".debug", std::ios::binary} << bytes;
    EXPECT_FALSE(hidden(file, "dwarf5_pie").found);
}

TEST_F(ModuleFileTest, may_have_its_sections_compressed) {
    const std::string file = path("packed");
    for (const char* method : {"zlib", "zlib-gnu"}) {
        run(std::string{kObjcopy} + " -N hidden --compress-debug-sections=" + method + " " +
            fixture("dwarf5_pie") + " " + file);
        expect_hidden_is_named(hidden(file, "dwarf5_pie"));
    }
}

TEST_F(ModuleFileTest, may_have_its_sections_compressed_in_a_way_that_is_not_known) {
    const std::string packed = std::string{kObjcopy} + " --compress-debug-sections=zstd ";
    strip("dwarf5_pie");
    const std::string file = strip("dwarf5_pie", "--add-gnu-debuglink=" + path("dwarf5_pie.debug"));
    run(packed + fixture("dwarf5_pie") + " " + path("whole"));
    run(packed + file + ".debug");
    const std::vector<std::uint64_t> addresses{symbols_of(fixture("dwarf5_pie")).at("hidden")};
    for (const std::string& with_zstd : {path("whole"), file}) {
        const ModuleSymbols result = symbolize({with_zstd, {}}, addresses);
        EXPECT_EQ(symbols_in(result).at(0).name, "hidden") << "by the symbols";
        EXPECT_EQ(symbols_in(result).at(0).line, 0U);
        EXPECT_NE(result.problem.find("zstd"), std::string::npos) << result.problem;
    }
}

// Symbols that are not exported, packed by xz, beside .dynsym with the exported ones.
TEST_F(ModuleFileTest, reads_mini_debug_information) {
    const std::string file = strip("dwarf5_pie");
    const std::uint64_t leaf = symbols_of(fixture("dwarf5_pie")).at("leaf");
    run(std::string{kObjcopy} + " -S --remove-section=.comment --keep-symbol=hidden " + file +
        ".debug " + path("mini"));
    run(std::string{XZ} + " " + path("mini"));
    const std::string add = std::string{kObjcopy} + " --add-section .gnu_debugdata=";
    run(add + path("mini.xz") + " " + file + " " + path("whole"));
    EXPECT_EQ(hidden(path("whole"), "dwarf5_pie").name, "hidden");
    EXPECT_EQ(symbolize_one(path("whole"), leaf).name, "leaf");
    // Cut off, it says nothing, and the exported ones are still there.
    std::filesystem::resize_file(path("mini.xz"), std::filesystem::file_size(path("mini.xz")) / 2);
    run(add + path("mini.xz") + " " + file + " " + path("cut"));
    EXPECT_FALSE(hidden(path("cut"), "dwarf5_pie").found);
    EXPECT_EQ(symbolize_one(path("cut"), leaf).name, "leaf");
}

TEST_F(ModuleFileTest, is_used_if_its_build_id_is_the_recorded_one) {
    const std::string file = fixture("dwarf5_pie");
    const std::vector<std::uint64_t> addresses{symbols_of(file).at("leaf")};
    const ModuleSymbols result = symbolize({file, build_id_of(file)}, addresses);
    EXPECT_EQ(result.problem, "");
    EXPECT_EQ(symbols_in(result).at(0).name, "leaf");
}

TEST_F(ModuleFileTest, is_not_used_if_it_was_replaced) {
    const ModuleSymbols result =
        symbolize({fixture("dwarf5_pie"), build_id_of(fixture("dwarf4_fixed"))}, addresses_);
    expect_no_names(result, "dwarf5_pie");
    EXPECT_NE(result.problem.find("was replaced"), std::string::npos) << result.problem;
}

TEST_F(ModuleFileTest, is_not_used_if_its_build_id_went) {
    const ModuleSymbols result = symbolize({fixture("no_build_id"), {1, 2, 3}}, addresses_);
    expect_no_names(result, "no_build_id");
    EXPECT_NE(result.problem.find("was replaced"), std::string::npos) << result.problem;
}

TEST_F(ModuleFileTest, may_be_gone) {
    const ModuleSymbols result = symbolize({path("libgone.so.1"), {}}, addresses_);
    expect_no_names(result, "libgone.so.1");
    EXPECT_NE(result.problem.find("is gone"), std::string::npos) << result.problem;
}

TEST_F(ModuleFileTest, may_be_back_after_a_deletion) {
    const std::string file = fixture("dwarf5_pie");
    const std::vector<std::uint64_t> addresses{symbols_of(file).at("leaf")};
    const std::string deleted = file + " (deleted)";
    EXPECT_EQ(symbols_in(symbolize({deleted, build_id_of(file)}, addresses)).at(0).name, "leaf");
    // Nobody can tell whether it is the same, without a build-id.
    EXPECT_FALSE(symbols_in(symbolize({deleted, {}}, addresses)).at(0).found);
    EXPECT_NE(symbolize({deleted, {}}, addresses).problem, "");
}

// Copies of the program under other names, as /proc/PID/root/… names them.
TEST_F(ModuleFileTest, is_found_by_another_way_if_its_path_is_gone_or_replaced) {
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

TEST_F(ModuleFileTest, is_found_by_a_descriptor_that_holds_it) {
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

TEST_F(ModuleFileTest, without_build_id_is_taken_from_where_the_program_ran) {
    const std::string ran = fixture("no_build_id");
    const std::vector<std::uint64_t> leaf{symbols_of(ran).at("leaf")};
    std::filesystem::copy_file(fixture("dwarf4_fixed"), path("app"));
    EXPECT_EQ(symbols_in(symbolize({path("app"), {}, {path("gone"), ran}}, leaf)).at(0).name,
              "leaf");
    EXPECT_EQ(symbols_in(symbolize({ran, {}, {path("gone")}}, leaf)).at(0).name, "leaf");
}

TEST_F(ModuleFileTest, is_not_used_if_no_way_leads_to_the_right_build) {
    std::filesystem::copy_file(fixture("dwarf5_pie"), path("app"));
    const ModuleSymbols result = symbolize(
        {path("gone"), build_id_of(fixture("dwarf4_fixed")), {path("nowhere"), path("app")}},
        addresses_);
    expect_no_names(result, "gone");
    EXPECT_NE(result.problem.find(path("app") + " was replaced"), std::string::npos)
        << result.problem;
}

TEST_F(ModuleFileTest, is_found_by_build_id_if_its_path_is_gone) {
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

TEST_F(ModuleFileTest, may_be_anything_else) {
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

TEST_F(ModuleFileTest, may_be_an_object_file_by_mistake) {
    run("echo 'int f(void){return 1;}' | " + std::string{CC} + " -xc -c - -o " + path("f.o"));
    const ModuleSymbols result = symbolize({path("f.o"), {}}, addresses_);
    expect_no_names(result, "f.o");
    EXPECT_NE(result.problem, "");
}

TEST_F(ModuleFileTest, without_a_name_is_said_to_have_none) {
    const ModuleSymbols result = symbolize({"", {}}, addresses_);
    expect_no_names(result, "[no name]");
    EXPECT_NE(result.problem, "");
}

}  // namespace
}  // namespace sample::symbolize
