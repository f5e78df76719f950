// Where a stripped module's names are found: debug files by build-id and by link, debuginfod's
// cache, compressed sections, mini debug information.
#include "symbolize/elf/debug_file.h"

#include "core/fd.h"
#include "tests/built.h"
#include "tests/symbolize/module_image_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

namespace sample::symbolize {
namespace {

constexpr const char* kObjcopy = OBJCOPY;

TEST_F(ModuleImageTest, finds_a_debug_file_by_build_id) {
    const std::string file = strip("dwarf5_pie");
    const std::string id = to_hex(build_id_of(fixture("dwarf5_pie")));
    const std::string folder = path("root/.build-id/") + id.substr(0, 2);
    std::filesystem::create_directories(folder);
    std::filesystem::rename(file + ".debug", folder + "/" + id.substr(2) + ".debug");
    expect_hidden_is_named(hidden(file, "dwarf5_pie", path("root")));
    EXPECT_FALSE(hidden(file, "dwarf5_pie", path("elsewhere")).found);
}

TEST_F(ModuleImageTest, finds_a_debug_file_below_any_of_the_roots) {
    const std::string file = strip("dwarf5_pie");
    const std::string id = to_hex(build_id_of(fixture("dwarf5_pie")));
    const std::string folder = path("second/.build-id/") + id.substr(0, 2);
    std::filesystem::create_directories(folder);
    std::filesystem::rename(file + ".debug", folder + "/" + id.substr(2) + ".debug");
    const std::uint64_t address = symbols_of(fixture("dwarf5_pie")).at("hidden");
    expect_hidden_is_named(symbolize_one(file, address, {{path("first"), path("second")}}));
}

// The folders that the environment names, restored at the end.
class DebuginfodCacheTest : public ModuleImageTest {
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

/// A debuginfod server that has one file, for whatever it is asked.
class OneFileServer {
public:
    explicit OneFileServer(const std::string& file)
        : listening_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        std::ostringstream content;
        content << std::ifstream{file, std::ios::binary}.rdbuf();
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(::bind(listening_.get(), generic, size), 0);
        EXPECT_EQ(::listen(listening_.get(), 4), 0);
        EXPECT_EQ(::getsockname(listening_.get(), generic, &size), 0);
        const std::string url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
        ::setenv("DEBUGINFOD_URLS", url.c_str(), 1);
        ::setenv("DEBUGINFOD_TIMEOUT", "10", 1);
        answering_ = std::thread{[this, body = content.str()] { answer(body); }};
    }
    ~OneFileServer() {
        ::unsetenv("DEBUGINFOD_URLS");
        ::unsetenv("DEBUGINFOD_TIMEOUT");
        ::shutdown(listening_.get(), SHUT_RDWR);
        answering_.join();
    }
    OneFileServer(const OneFileServer&) = delete;
    OneFileServer& operator=(const OneFileServer&) = delete;

    [[nodiscard]] int requests() const { return requests_; }

private:
    void answer(const std::string& body) {
        for (;;) {
            const Fd client{::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
            if (!client.is_open()) {
                return;
            }
            std::string request(4096, '\0');
            static_cast<void>(::recv(client.get(), request.data(), request.size(), 0));
            ++requests_;
            const std::string head =
                "HTTP/1.0 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
            for (const std::string& part : {head, body}) {
                static_cast<void>(::send(client.get(), part.data(), part.size(), MSG_NOSIGNAL));
            }
        }
    }

    Fd listening_;
    std::atomic<int> requests_{0};
    std::thread answering_;
};

// Nobody is asked for what is not there, whatever the user's environment tells debuginfod's client.
TEST_F(DebuginfodCacheTest, is_all_that_is_used_of_debuginfod) {
    const std::string file = strip("dwarf5_pie");
    const OneFileServer server{file + ".debug"};
    ::setenv("DEBUGINFOD_CACHE_PATH", path("cache").c_str(), 1);
    const std::string shares = std::string{built::kSharedBuilds} + "/gnu5/first";
    std::filesystem::copy_file(shares, path("shares"));
    EXPECT_FALSE(hidden(file, "dwarf5_pie").found);
    EXPECT_NE(symbolize({path("shares"), {}}, addresses_).problem, "");
    EXPECT_NE(symbolize({path("gone"), build_id_of(file)}, addresses_).problem, "");
    EXPECT_EQ(server.requests(), 0);
}

TEST_F(DebuginfodCacheTest, is_filled_by_servers_that_are_to_be_asked) {
    const std::string file = strip("dwarf5_pie");
    std::filesystem::rename(file + ".debug", path("served"));
    const std::uint64_t address = symbols_of(fixture("dwarf5_pie")).at("hidden");
    ::setenv("DEBUGINFOD_CACHE_PATH", path("cache").c_str(), 1);
    const OneFileServer server{path("served")};
    expect_hidden_is_named(symbolize_one(file, address, {{"/nowhere"}, true}));
    EXPECT_EQ(server.requests(), 1);
    // From the cache, from now on.
    expect_hidden_is_named(symbolize_one(file, address, {{"/nowhere"}}));
    EXPECT_EQ(server.requests(), 1);
}

TEST_F(DebuginfodCacheTest, is_not_believed_if_a_server_gave_another_builds_file) {
    const std::string file = strip("dwarf5_pie");
    std::filesystem::remove(file + ".debug");
    strip("dwarf4_fixed");
    const std::uint64_t address = symbols_of(fixture("dwarf5_pie")).at("hidden");
    ::setenv("DEBUGINFOD_CACHE_PATH", path("cache").c_str(), 1);
    const OneFileServer server{path("dwarf4_fixed.debug")};
    EXPECT_FALSE(symbolize_one(file, address, {{"/nowhere"}, true}).found);
    EXPECT_EQ(server.requests(), 1);
}

TEST_F(ModuleImageTest, finds_a_debug_file_by_link) {
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

TEST_F(ModuleImageTest, checks_a_linked_file_without_build_id_by_its_checksum) {
    strip("no_build_id");
    const std::string file =
        strip("no_build_id", "--add-gnu-debuglink=" + path("no_build_id.debug"));
    expect_hidden_is_named(hidden(file, "no_build_id"));
    std::ofstream{file + ".debug", std::ios::app} << "changed";
    EXPECT_FALSE(hidden(file, "no_build_id").found);
}

TEST_F(ModuleImageTest, does_not_take_another_builds_debug_file) {
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

TEST_F(ModuleImageTest, may_have_its_sections_compressed) {
    const std::string file = path("packed");
    for (const char* method : {"zlib", "zlib-gnu"}) {
        run(std::string{kObjcopy} + " -N hidden --compress-debug-sections=" + method + " " +
            fixture("dwarf5_pie") + " " + file);
        expect_hidden_is_named(hidden(file, "dwarf5_pie"));
    }
}

// Unpacked, a section is larger than all of the file.
TEST_F(ModuleImageTest, is_not_taken_for_cut_off_where_its_sections_are_compressed) {
    run(std::string{kObjcopy} + " --dump-section .debug_str=" + path("str") + " " +
        fixture("dwarf5_pie") + " " + path("copy"));  // Without a copy it writes the file anew.
    std::ofstream{path("str"), std::ios::app | std::ios::binary} << std::string(1 << 20, 'x')
                                                                 << '\0';
    run(std::string{kObjcopy} + " --update-section .debug_str=" + path("str") + " " +
        fixture("dwarf5_pie") + " " + path("large"));
    run(std::string{kObjcopy} + " --compress-debug-sections " + path("large") + " " +
        path("packed"));
    ASSERT_LT(std::filesystem::file_size(path("packed")), 1U << 20U);
    const std::vector<std::uint64_t> addresses{symbols_of(fixture("dwarf5_pie")).at("hidden")};
    const ModuleSymbols result =
        symbolize({path("packed"), build_id_of(fixture("dwarf5_pie"))}, addresses);
    EXPECT_EQ(result.problem, "");
    expect_hidden_is_named(symbols_in(result).at(0));
}

TEST_F(ModuleImageTest, may_have_its_sections_compressed_in_a_way_that_is_not_known) {
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
TEST_F(ModuleImageTest, reads_mini_debug_information) {
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

}  // namespace
}  // namespace sample::symbolize
