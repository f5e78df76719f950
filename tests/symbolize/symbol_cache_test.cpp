// The cache of names: what it gives is what would be found, or nothing; whoever writes, whatever is
// in its files, and however little room there is.
#include "symbolize/cache/symbol_cache.h"

#include "symbolize/cache/cache_file.h"
#include "tests/symbolize/support.h"
#include "tests/trace/symbol_block_fixture.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sample::symbolize {
namespace {

namespace fs = std::filesystem;

class SymbolCacheTest : public TempFolderTest {
protected:
    SymbolCacheTest() {
        module_ = {path("program"), build_id_of(fixture("dwarf5_pie"))};
        fs::copy_file(fixture("dwarf5_pie"), module_.path);
        for (const auto& [name, address] : symbols_of(fixture("dwarf5_pie"))) {
            addresses_.push_back(address);
        }
    }

    [[nodiscard]] std::string folder() const { return path("cache"); }
    [[nodiscard]] fs::path file() const {
        return fs::path{folder()} / (to_hex(module_.build_id) + ".names");
    }
    /// Everything that is said of the addresses, through the cache.
    [[nodiscard]] std::vector<std::string> cached(const CacheLimits& limits = {}) const {
        SymbolCache cache{folder(), limits};
        return said(cache.symbolize(module_, addresses_, options_));
    }
    [[nodiscard]] std::vector<std::string> said(const ModuleSymbols& result) const {
        return trace::said_by(addresses_, result.symbols);
    }
    [[nodiscard]] std::vector<std::string> found() const {
        return said(symbolize(module_, addresses_, options_));
    }
    /// Makes the cache say what no file does; and that it was asked shows.
    void put_lies() const {
        std::ifstream in{file(), std::ios::binary};
        const std::string text{std::istreambuf_iterator<char>{in}, {}};
        auto kept = decode_cache_file(std::as_bytes(std::span{text}));
        ASSERT_TRUE(kept);
        for (FunctionSymbol& function : kept->block.symbols.functions) {
            function.name = "a lie";
        }
        write(encode_cache_file(*kept));
    }
    void write(std::span<const std::byte> bytes) const {
        std::ofstream{file(), std::ios::binary}.write(
            static_cast<const char*>(static_cast<const void*>(bytes.data())),
            static_cast<std::streamsize>(bytes.size()));
    }
    static bool holds_lies(const std::vector<std::string>& lines) {
        return !lines.empty() && lines.front().find("a lie") != std::string::npos;
    }

    ModuleIdentity module_;
    std::vector<std::uint64_t> addresses_;
    Options options_{{path("debug")}};
};

TEST_F(SymbolCacheTest, gives_what_was_found) {
    const auto expected = found();
    ASSERT_GT(expected.size(), 10U);
    EXPECT_EQ(cached(), expected);
    ASSERT_TRUE(fs::exists(file()));
    EXPECT_EQ(cached(), expected);
    put_lies();
    EXPECT_TRUE(holds_lies(cached()));  // So it was the cache that spoke.
}

TEST_F(SymbolCacheTest, asks_only_for_what_is_missing) {
    const auto all = addresses_;
    const auto expected = found();
    std::vector<std::string> lines;
    // In any order, and more than once.
    addresses_ = {all[3], all[1], all[3]};
    const auto part = found();
    EXPECT_EQ(cached(), part);
    EXPECT_EQ(cached(), part);
    put_lies();
    addresses_ = all;
    const auto mixed = cached();
    ASSERT_EQ(mixed.size(), expected.size());
    EXPECT_NE(mixed[1], expected[1]);
    EXPECT_EQ(mixed[2], expected[2]);
    fs::remove(file());
    addresses_ = {all[3], all[1], all[3]};
    EXPECT_EQ(cached(), part);
    addresses_ = all;
    EXPECT_EQ(cached(), expected);
    EXPECT_EQ(cached(), expected);
}

TEST_F(SymbolCacheTest, keeps_a_function_once_whichever_run_asked_for_which_of_its_places) {
    const std::uint64_t start = symbols_of(fixture("dwarf5_pie")).at("main");
    addresses_ = {start, start + 1, start + 2, start + 3};
    const auto expected = found();
    for (std::size_t run = 1; run <= addresses_.size(); ++run) {
        SymbolCache cache{folder()};
        const ModuleSymbols some =
            cache.symbolize(module_, std::span{addresses_}.first(run), options_);
        EXPECT_EQ(some.symbols.functions.size(), 1U);
        EXPECT_LE(some.symbols.files.size(), 2U);  // the unknown one is always there
    }
    put_lies();
    EXPECT_TRUE(holds_lies(cached()));
    fs::remove(file());
    EXPECT_EQ(cached(), expected);
}

TEST_F(SymbolCacheTest, notices_that_the_module_or_its_debug_file_changed) {
    const std::string id = to_hex(module_.build_id);
    const std::string debug =
        path("debug/.build-id/") + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
    ASSERT_FALSE(cached().empty());
    put_lies();
    ASSERT_TRUE(holds_lies(cached()));
    fs::create_directories(fs::path{debug}.parent_path());
    run(std::string{OBJCOPY} + " --only-keep-debug " + fixture("dwarf5_pie") + " " + debug);
    EXPECT_EQ(cached(), found());
    put_lies();
    ASSERT_TRUE(holds_lies(cached()));
    fs::remove(debug);
    EXPECT_EQ(cached(), found());
    put_lies();
    run("touch -d '2001-01-01' " + module_.path);
    EXPECT_EQ(cached(), found());
    put_lies();
    fs::remove(module_.path);
    EXPECT_EQ(cached(), found());
}

TEST_F(SymbolCacheTest, notices_a_linked_debug_file) {
    run(std::string{OBJCOPY} + " --only-keep-debug " + fixture("dwarf5_pie") + " " +
        path("apart.debug"));
    run(std::string{OBJCOPY} + " --strip-all --add-gnu-debuglink=" + path("apart.debug") + " " +
        fixture("dwarf5_pie") + " " + module_.path);
    const auto with_debug_file = found();
    fs::rename(path("apart.debug"), path("away"));
    EXPECT_NE(cached(), with_debug_file);
    fs::rename(path("away"), path("apart.debug"));
    EXPECT_EQ(cached(), with_debug_file);
    EXPECT_EQ(cached(), with_debug_file);
}

TEST_F(SymbolCacheTest, keeps_nothing_that_is_not_sure) {
    const auto stays_empty = [&] {
        (void)cached();
        return fs::is_empty(folder());
    };
    const ModuleIdentity good = module_;
    module_.build_id.clear();
    EXPECT_TRUE(stays_empty());
    module_ = good;
    module_.path = path("gone");
    EXPECT_TRUE(stays_empty());
    module_.other_paths = {good.path};  // As through a process.
    EXPECT_TRUE(stays_empty());
    module_ = good;
    module_.build_id[0] ^= 1;
    EXPECT_TRUE(stays_empty());
    module_ = good;
    module_.path = "[vdso]";
    EXPECT_TRUE(stays_empty());
    module_ = good;
    EXPECT_FALSE(stays_empty());
}

TEST_F(SymbolCacheTest, makes_damaged_files_anew) {
    const auto expected = cached();
    std::ifstream in{file(), std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    const auto good = std::as_bytes(std::span{text});
    for (std::size_t at = 0; at < good.size(); at += 1 + good.size() / 200) {
        std::vector<std::byte> bytes{good.begin(), good.end()};
        bytes[at] ^= std::byte{1};
        EXPECT_FALSE(decode_cache_file(bytes)) << at;
        EXPECT_FALSE(decode_cache_file(good.first(at))) << at;
    }
    write(good.first(good.size() / 2));
    EXPECT_EQ(cached(), expected);
    put_lies();  // It is whole again.
    fs::remove(file());
    fs::create_symlink(path("elsewhere"), file());
    EXPECT_EQ(cached(), expected);
    EXPECT_FALSE(fs::exists(path("elsewhere")));
}

TEST_F(SymbolCacheTest, is_for_its_owner_alone) {
    (void)cached();
    struct stat info {};
    ASSERT_EQ(::stat(folder().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0700U);
    ASSERT_EQ(::stat(file().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    put_lies();
    fs::permissions(file(), fs::perms::group_write, fs::perm_options::add);
    EXPECT_FALSE(holds_lies(cached()));
    fs::permissions(folder(), fs::perms::others_write, fs::perm_options::add);
    EXPECT_FALSE(SymbolCache{folder()}.is_usable());
}

TEST_F(SymbolCacheTest, is_left_out_where_there_is_no_folder) {
    const auto expected = found();
    for (const std::string& folder :
         {std::string{}, std::string{"/proc/nothing/here"}, module_.path}) {
        SymbolCache cache{folder};
        EXPECT_FALSE(cache.is_usable());
        EXPECT_EQ(said(cache.symbolize(module_, addresses_, options_)), expected);
    }
}

TEST_F(SymbolCacheTest, stays_within_its_limits) {
    (void)cached();
    const std::uint64_t size = fs::file_size(file());
    // One file: too large for all addresses, then for any.
    const auto all = addresses_;
    const auto expected = found();
    addresses_.resize(2);
    CacheLimits limits;
    limits.addresses = 3;
    fs::remove(file());
    (void)cached(limits);
    addresses_ = {all[2], all[3]};
    (void)cached(limits);
    put_lies();
    addresses_ = {all[0]};
    EXPECT_FALSE(holds_lies(cached(limits)));
    addresses_ = all;
    limits = {};
    limits.file_bytes = 100;
    EXPECT_EQ(cached(limits), expected);
    EXPECT_FALSE(fs::exists(file()));
    // All of them: those that were unused longest go, and what killed writers left.
    (void)cached();
    const auto put = [&](const std::string& name, const char* age) {
        fs::copy_file(file(), fs::path{folder()} / name);
        run(std::string{"touch -d '"} + age + "' " + folder() + "/" + name);
    };
    put("00.names", "3 days ago");
    put("01.names", "2 days ago");
    put("tmp-1-0-02.names", "1 day ago");
    put("foreign", "3 days ago");
    addresses_.push_back(all[0] + 1);
    limits = {};
    limits.folder_bytes = 3 * size;
    (void)cached(limits);
    EXPECT_FALSE(fs::exists(folder() + "/00.names"));
    EXPECT_TRUE(fs::exists(folder() + "/01.names"));
    EXPECT_FALSE(fs::exists(folder() + "/tmp-1-0-02.names"));
    EXPECT_TRUE(fs::exists(folder() + "/foreign"));
    EXPECT_TRUE(fs::exists(file()));
    EXPECT_EQ(SymbolCache{folder()}.use().modules, 2U);
}

/// A child process that does `work` until it is killed, or once.
template <class Work>
pid_t child(Work work) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::_exit(work() ? 0 : 1);
    }
    return pid;
}

TEST_F(SymbolCacheTest, is_safe_under_writers_at_once) {
    const auto expected = found();
    (void)cached();
    // Each writes another half, over and over; a third reads whatever is there.
    const auto writer = [&](std::size_t half) {
        std::vector<std::uint64_t> mine;
        for (std::size_t i = half; i < addresses_.size(); i += 2) {
            mine.push_back(addresses_[i]);
        }
        addresses_ = mine;
        const auto own = found();
        for (int round = 0; round < 150; ++round) {
            if (round % 2 == 0) {
                fs::remove(file());
            }
            if (cached() != own) {
                return false;
            }
        }
        return true;
    };
    const pid_t first = child([&] { return writer(0); });
    const pid_t second = child([&] { return writer(1); });
    int writers = 2;
    while (writers != 0) {
        for (int reads = 0; reads < 50; ++reads) {
            std::ifstream in{file(), std::ios::binary};
            const std::string text{std::istreambuf_iterator<char>{in}, {}};
            if (in.is_open()) {
                ASSERT_TRUE(decode_cache_file(std::as_bytes(std::span{text}))) << "a torn file";
            }
        }
        ASSERT_EQ(cached(), expected);
        int status = 0;
        if (const pid_t ended = ::waitpid(-1, &status, WNOHANG); ended > 0) {
            EXPECT_TRUE(ended == first || ended == second);
            EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
            --writers;
        }
    }
    for (const auto& entry : fs::directory_iterator{folder()}) {
        EXPECT_FALSE(entry.path().filename().string().starts_with("tmp-")) << entry.path();
    }
}

TEST_F(SymbolCacheTest, does_without_on_a_full_disk) {
    const auto expected = found();
    fs::create_directory(path("mounted"));
    const pid_t pid = child([&] {
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount("none", path("mounted").c_str(), "tmpfs", 0, "size=16k,mode=700") != 0) {
            ::_exit(77);
        }
        // Nothing fits besides.
        std::ofstream{path("mounted/filler")} << std::string(20'000, 'x');
        const std::string folder = path("mounted/cache");
        ::mkdir(folder.c_str(), 0700);
        {
            SymbolCache cache{folder};
            if (said(cache.symbolize(module_, addresses_, options_)) != expected) {
                return false;
            }
        }
        return !fs::exists(folder) || fs::is_empty(folder);
    });
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        GTEST_SKIP() << "a file system of its own needs CAP_SYS_ADMIN";
    }
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(SymbolCacheTest, lies_where_the_base_directories_say) {
    const auto with = [](const char* xdg, const char* home) {
        const auto set = [](const char* name, const char* value) {
            value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
        };
        const char* const old_home = ::getenv("HOME");
        const std::string before = old_home != nullptr ? old_home : "";
        set("XDG_CACHE_HOME", xdg);
        set("HOME", home);
        std::string folder = SymbolCache::default_folder();
        set("XDG_CACHE_HOME", nullptr);
        set("HOME", old_home != nullptr ? before.c_str() : nullptr);
        return folder;
    };
    EXPECT_EQ(with("/x", "/h"), "/x/sample");
    EXPECT_EQ(with("relative", "/tmp"), "/tmp/.cache/sample");
    EXPECT_EQ(with("", "/tmp"), "/tmp/.cache/sample");
    EXPECT_EQ(with("", "/no such home"), "");
    EXPECT_EQ(with(nullptr, nullptr), "");
}

}  // namespace
}  // namespace sample::symbolize
