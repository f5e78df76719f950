// Which file a module of a process is, whatever the name leads to that the loader was given.
#include "sampler/collector/code/module_file.h"

#include "core/fd.h"
#include "sampler/collector/code/elf_facts.h"
#include "tests/sampler/child_process.h"
#include "tests/sampler/recorder_fixture.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace sample::collector {
namespace {

namespace fs = std::filesystem;

class ModuleFileTest : public RecorderFixture {
protected:
    void SetUp() override {
        recorder.begin("test", "");
        std::string pattern = ::testing::TempDir() + "module-file-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = fs::canonical(pattern);
        fs::permissions(folder_, fs::perms::others_read | fs::perms::others_exec,
                        fs::perm_options::add);
        for (const char* each : {"one", "two"}) {
            fs::create_directory(path(each));
            put(std::string{each} + "/p.so", each);
        }
        before_ = fs::current_path();
    }
    void TearDown() override {
        fs::current_path(before_);
        for (const auto& [address, bytes] : mapped_) {
            ::munmap(address, bytes);
        }
        fs::remove_all(folder_);
    }
    [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
    void put(const std::string& name, const std::string& text) const {
        std::ofstream{path(name)} << text;
    }
    /// Where `file` lies in this process from now on.
    std::uint64_t map(const std::string& file) {
        const Fd opened{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
        void* const at = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, opened.get(), 0);
        EXPECT_NE(at, MAP_FAILED) << file;
        mapped_.emplace_back(at, 4096);
        return reinterpret_cast<std::uint64_t>(at);
    }
    trace::Module know(const std::string& name, std::uint64_t start, pid_t pid = ::getpid(),
                       std::vector<std::uint8_t> build_id = {}) {
        trace::Module module;
        module.path = name;
        module.build_id = std::move(build_id);
        know_module_file(recorder, module, pid, start);
        return module;
    }
    /// What its names are read from: the file's text; "lost": nothing.
    [[nodiscard]] std::string text_of(const trace::Module& module) const {
        const auto files = recorder.module_files();
        const auto other = files.find(module.id);
        if (other != files.end() && other->second.empty()) {
            return "lost";
        }
        std::ifstream file{other == files.end() ? module.path : other->second};
        return {std::istreambuf_iterator<char>{file}, {}};
    }

private:
    fs::path folder_;
    fs::path before_;
    std::vector<std::pair<void*, std::size_t>> mapped_;
};

TEST_F(ModuleFileTest, is_what_is_mapped_where_the_name_is_relative) {
    fs::current_path(path("two"));
    const trace::Module module = know("./p.so", map(path("one/p.so")));
    EXPECT_EQ(module.path, path("one/p.so"));
    EXPECT_EQ(text_of(module), "one");
}

TEST_F(ModuleFileTest, is_what_a_relative_link_leads_to) {
    fs::create_symlink("p.so", path("one/link.so"));
    fs::current_path(path("one"));
    const trace::Module module = know("link.so", map(path("one/p.so")));
    EXPECT_EQ(module.path, path("one/p.so"));
    EXPECT_EQ(text_of(module), "one");
}

TEST_F(ModuleFileTest, is_found_by_a_relative_name_and_its_build_id) {
    std::uint64_t start = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
            *static_cast<std::uint64_t*>(out) = info->dlpi_addr;
            return 1;
        },
        &start);
    const fs::path program = fs::read_symlink("/proc/self/exe");
    const std::vector<std::uint8_t> build_id = read_build_id(program);
    ASSERT_FALSE(build_id.empty());
    const std::string name = "./" + program.filename().string();
    EXPECT_EQ(know(name, start, ::getpid(), build_id).path, program.string());
}

TEST_F(ModuleFileTest, is_not_looked_for_from_our_folder_where_nothing_is_mapped) {
    fs::current_path(path("two"));
    EXPECT_EQ(text_of(know("./p.so", 1)), "lost");
}

TEST_F(ModuleFileTest, is_what_a_link_led_to_when_it_was_loaded) {
    fs::create_directory_symlink("one", path("current"));
    const std::uint64_t start = map(path("current/p.so"));
    fs::remove(path("current"));
    fs::create_directory_symlink("two", path("current"));
    const trace::Module module = know(path("current/p.so"), start);
    EXPECT_EQ(module.path, path("one/p.so"));
    EXPECT_EQ(text_of(module), "one");
}

TEST_F(ModuleFileTest, is_lost_where_a_link_of_another_name_leads_elsewhere_by_now) {
    fs::rename(path("two/p.so"), path("two/q.so"));
    fs::create_symlink("one/p.so", path("lib.so"));
    const std::uint64_t start = map(path("lib.so"));
    fs::remove(path("lib.so"));
    fs::create_symlink("two/q.so", path("lib.so"));
    EXPECT_EQ(text_of(know(path("lib.so"), start)), "lost");
}

TEST_F(ModuleFileTest, is_not_another_library_that_lies_in_its_place_by_now) {
    put("other.so", "other");
    const trace::Module module = know(path("one/p.so"), map(path("other.so")));
    EXPECT_EQ(module.path, path("one/p.so"));
    EXPECT_EQ(text_of(module), "one");
}

TEST_F(ModuleFileTest, is_never_one_that_was_put_in_its_place) {
    const std::uint64_t start = map(path("one/p.so"));
    fs::rename(path("two/p.so"), path("one/p.so"));
    EXPECT_NE(text_of(know(path("one/p.so"), start)), "two");
}

TEST_F(ModuleFileTest, is_lost_to_an_ordinary_user_where_another_was_put_in_its_place) {
    constexpr uid_t kOrdinaryUser = 65534;
    const std::uint64_t start = map(path("one/p.so"));
    fs::rename(path("two/p.so"), path("one/p.so"));
    const uid_t own = ::geteuid();
    if (own == 0) {
        ASSERT_EQ(::seteuid(kOrdinaryUser), 0);
    }
    const trace::Module module = know(path("one/p.so"), start);
    EXPECT_EQ(::seteuid(own), 0);
    EXPECT_EQ(text_of(module), "lost");
    EXPECT_EQ(module.path, path("one/p.so").append(" (deleted)"));
}

TEST_F(ModuleFileTest, is_a_descriptor_of_the_process_and_not_of_ours) {
    constexpr int kNumber = 200;
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
    const Child child{[&] {
        ::dup2(::memfd_create("plug", MFD_CLOEXEC), kNumber);
        const bool is_written = ::write(kNumber, "three", 5) == 5;
        void* const at = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, kNumber, 0);
        if (is_written && ::write(ready[1], &at, sizeof at) == sizeof at) {
            ::pause();
        }
    }};
    std::uint64_t start = 0;
    ASSERT_EQ(::read(ready[0], &start, sizeof start), ssize_t{sizeof start});
    const Fd own{::open(path("two/p.so").c_str(), O_RDONLY | O_CLOEXEC)};
    ASSERT_EQ(::dup2(own.get(), kNumber), kNumber);
    for (const char* name : {"/proc/self/fd/200", "/proc/thread-self/fd/200", "/dev/fd/200"}) {
        const trace::Module module = know(name, start, child.pid());
        EXPECT_EQ(module.path, "/memfd:plug");
        EXPECT_EQ(text_of(module), "three");
    }
    ::close(kNumber);
    ::close(ready[0]);
    ::close(ready[1]);
}

}  // namespace
}  // namespace sample::collector
