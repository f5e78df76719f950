// Code made at run time in the test program itself: how its maps and dumps are found and kept.
#include "sampler/collector/code/jit_code.h"

#include "tests/core/jitdump_builder.h"
#include "tests/sampler/process_fixture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace sample::collector {
namespace {

std::string content_of(int fd) {
    std::string text(4096, '\0');
    const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return text;
}

/// Executable memory, and below /tmp a map and in the test's folder a dump that name it.
class JitCodeTest : public ProfiledProcessTest {
protected:
    JitCodeTest() {
        std::string pattern = testing::TempDir() + "jit-code-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
        recorder.begin("test", "");
    }
    ~JitCodeTest() override {
        ::munmap(code_, kBytes);
        if (marker_ != nullptr) {
            ::munmap(marker_, kBytes);
        }
        std::filesystem::remove_all(folder_);
        std::filesystem::remove(map_path());
    }
    [[nodiscard]] std::uint64_t code() const { return reinterpret_cast<std::uint64_t>(code_); }
    [[nodiscard]] static std::string map_path() {
        return "/tmp/perf-" + std::to_string(::getpid()) + ".map";
    }
    [[nodiscard]] std::string dump_path() const {
        return folder_ + "/jit-" + std::to_string(::getpid()) + ".dump";
    }
    /// What was added to `dump` since.
    void write_dump() {
        if (!file_.is_open()) {
            file_ = Fd{::open(dump_path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
        }
        const std::string more = dump.bytes.substr(written_);
        ASSERT_EQ(::write(file_.get(), more.data(), more.size()),
                  static_cast<ssize_t>(more.size()));
        written_ = dump.bytes.size();
    }
    void map_dump() {
        write_dump();
        marker_ = ::mmap(nullptr, kBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file_.get(), 0);
        ASSERT_NE(marker_, MAP_FAILED);
    }
    /// So many ns after the test began.
    [[nodiscard]] std::uint64_t ticks_at(std::uint64_t ns) const {
        return base_ticks_ +
               static_cast<std::uint64_t>(static_cast<double>(ns) * clock.ticks_per_ns());
    }
    [[nodiscard]] std::uint64_t ns_at(std::uint64_t ns) const { return clock.to_ns(ticks_at(ns)); }

    static constexpr std::size_t kBytes = 4096;
    jitdump::Builder dump{static_cast<std::uint32_t>(::getpid()), 77};
    AddressMap map;

private:
    std::uint64_t base_ticks_ = __rdtsc();
    std::string folder_;
    void* code_ =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void* marker_ = nullptr;
    Fd file_;
    std::size_t written_ = 0;
};

TEST_F(JitCodeTest, knows_a_dump_by_its_name) {
    EXPECT_TRUE(JitCode::is_dump("/home/u/.debug/jit/x/jit-123.dump"));
    EXPECT_TRUE(JitCode::is_dump("/tmp/jit-1.dump (deleted)"));
    for (const char* path : {"/tmp/jit-.dump", "/tmp/jit-1.dump.so", "/tmp/xjit-1.dump",
                             "/tmp/jit-1x.dump", "/tmp/jit-1.dump/libfoo.so", ""}) {
        EXPECT_FALSE(JitCode::is_dump(path)) << path;
    }
}

TEST_F(JitCodeTest, gives_the_place_in_the_dump) {
    const std::uint64_t place = dump.load(1, "one", code() + 0x10, "12345678");
    map_dump();
    const CodeAddress found = map.locate(Pc{code() + 0x13}, ::getpid(), recorder, 1000);
    EXPECT_EQ(found.address, place + 3);
    const CodeAddress other = map.locate(Pc{code() + 0x100}, ::getpid(), recorder, 1000);
    EXPECT_EQ(other.address, code() + 0x100);
    read_back();
    EXPECT_EQ(path_of(found.module), dump_path());
    EXPECT_EQ(read.modules.at(found.module.value - 1).build_id,
              jitdump::identity_of({static_cast<std::uint32_t>(::getpid()), 77, false}));
    EXPECT_EQ(path_of(other.module), map_path());
}

TEST_F(JitCodeTest, reads_a_dump_while_it_grows) {
    map_dump();
    EXPECT_EQ(map.locate(Pc{code()}, ::getpid(), recorder, 1000).address, code());
    const std::uint64_t place = dump.load(1, "one", code(), "12345678");
    write_dump();
    map.read_on();
    EXPECT_EQ(map.locate(Pc{code()}, ::getpid(), recorder, 1000).address, place);
}

TEST_F(JitCodeTest, finds_a_dump_that_comes_after_the_code) {
    EXPECT_EQ(map.locate(Pc{code()}, ::getpid(), recorder, 0).address, code());
    const std::uint64_t place = dump.load(1, "one", code(), "12345678");
    map_dump();
    EXPECT_EQ(map.locate(Pc{code()}, ::getpid(), recorder, 999'999'999).address, code());
    EXPECT_EQ(map.locate(Pc{code()}, ::getpid(), recorder, 1'000'000'000).address, place);
}

TEST_F(JitCodeTest, keeps_the_dump_though_its_name_is_gone) {
    const std::uint64_t place = dump.load(1, "one", code(), "12345678");
    map_dump();
    const CodeAddress found = map.locate(Pc{code()}, ::getpid(), recorder, 1000);
    ASSERT_EQ(found.address, place);
    std::filesystem::remove(dump_path());
    map.finish(::getpid());
    const auto kept = recorder.kept_files().find(found.module);
    ASSERT_NE(kept, recorder.kept_files().end());
    EXPECT_EQ(content_of(kept->second.get()), dump.bytes);
}

TEST_F(JitCodeTest, keeps_what_the_map_had_at_the_end) {
    const CodeAddress found = map.locate(Pc{code()}, ::getpid(), recorder, 0);
    std::ofstream{map_path()} << "1000 10 at the end\n";
    map.finish(::getpid());
    std::ofstream{map_path(), std::ios::trunc} << "another program's\n";
    map.finish(::getpid());
    ASSERT_EQ(recorder.kept_files().count(found.module), 1U);
    EXPECT_EQ(content_of(recorder.kept_files().at(found.module).get()), "1000 10 at the end\n");
}

TEST_F(JitCodeTest, does_not_follow_links_or_take_what_is_no_file) {
    const CodeAddress found = map.locate(Pc{code()}, ::getpid(), recorder, 0);
    std::filesystem::create_symlink("/etc/passwd", map_path());
    map.finish(::getpid());
    EXPECT_EQ(recorder.kept_files().count(found.module), 0U);
}

TEST_F(JitCodeTest, does_not_believe_another_users_map) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can give files away";
    }
    const CodeAddress found = map.locate(Pc{code()}, ::getpid(), recorder, 0);
    std::ofstream{map_path()} << "1000 10 forged\n";
    ASSERT_EQ(::chown(map_path().c_str(), 12345, 12345), 0);
    map.finish(::getpid());
    EXPECT_EQ(recorder.kept_files().count(found.module), 0U);
    ASSERT_EQ(recorder.notes().size(), 1U);
    EXPECT_NE(recorder.notes()[0].find("does not belong"), std::string::npos);
}

/// This process forks now.
InheritedCode forked_at(std::uint64_t time_ns) {
    return {perf_map_of(::getpid(), ::getpid()), time_ns};
}

TEST_F(JitCodeTest, a_child_has_what_its_parents_map_had_at_the_fork_and_its_own) {
    std::ofstream{map_path()} << "1000 10 before\n2000 10 not who";
    AddressMap child;
    child.inherit(map.for_child(forked_at(5)));
    AddressMap grandchild;
    std::ofstream{map_path(), std::ios::app} << "le\n3000 10 after\n";
    EXPECT_EQ(child.locate(Pc{code()}, ::getpid(), recorder, 0).address, code());
    grandchild.inherit(child.for_child(forked_at(6)));
    const CodeAddress found = grandchild.locate(Pc{code()}, ::getpid(), recorder, 0);
    std::filesystem::remove(map_path());
    std::ofstream{map_path()} << "4000 10 own\n";
    grandchild.finish(::getpid());
    ASSERT_EQ(recorder.kept_files().count(found.module), 1U);
    EXPECT_EQ(content_of(recorder.kept_files().at(found.module).get()),
              "1000 10 before\n"
              "1000 10 before\n2000 10 not whole\n3000 10 after\n"
              "4000 10 own\n");
}

TEST_F(JitCodeTest, a_child_has_its_parents_map_though_it_writes_none) {
    std::ofstream{map_path()} << "1000 10 before\n";
    AddressMap child;
    child.inherit(map.for_child(forked_at(5)));
    const CodeAddress found = child.locate(Pc{code()}, ::getpid(), recorder, 0);
    std::filesystem::remove(map_path());
    child.finish(::getpid());
    ASSERT_EQ(recorder.kept_files().count(found.module), 1U);
    EXPECT_EQ(content_of(recorder.kept_files().at(found.module).get()), "1000 10 before\n");
}

TEST_F(JitCodeTest, a_child_hands_on_no_map_of_another_user) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can give files away";
    }
    std::ofstream{map_path()} << "1000 10 forged\n";
    ASSERT_EQ(::chown(map_path().c_str(), 12345, 12345), 0);
    EXPECT_TRUE(map.for_child(forked_at(5)).maps.empty());
}

// Parent and child write to one dump; here the test is the child of process 7.
TEST_F(JitCodeTest, of_a_dump_a_child_believes_its_own_records_and_those_before_the_fork) {
    dump = jitdump::Builder{7, 77};
    dump.pid = 7;
    const std::uint64_t before = dump.load(10, "before", code(), "12345678");
    dump.load(30, "the parent's", code(), "12345678");
    map_dump();
    map.inherit({{}, 20});
    EXPECT_EQ(map.locate(Pc{code()}, ::getpid(), recorder, 1000).address, before);
    dump.pid = static_cast<std::uint32_t>(::getpid());
    const std::uint64_t own = dump.load(40, "its own", code(), "12345678");
    write_dump();
    map.read_on();
    EXPECT_EQ(map.locate(Pc{code()}, ::getpid(), recorder, 1000).address, own);
}

TEST_F(JitCodeTest, believes_records_that_do_not_say_whose_they_are) {
    dump.pid = 0;
    const std::uint64_t place = dump.load(10, "anybody's", code(), "12345678");
    map_dump();
    EXPECT_EQ(map.locate(Pc{code()}, ::getpid(), recorder, 1000).address, place);
}

TEST_F(JitCodeTest, of_a_dump_a_parent_does_not_believe_its_childs_records) {
    const std::uint64_t own = dump.load(10, "its own", code(), "12345678");
    dump.pid = 12345;
    dump.load(20, "a child's", code(), "12345678");
    map_dump();
    EXPECT_EQ(map.locate(Pc{code()}, ::getpid(), recorder, 1000).address, own);
}

TEST_F(JitCodeTest, does_not_believe_a_map_that_is_older_than_the_process) {
    const CodeAddress found = map.locate(Pc{code()}, ::getpid(), recorder, 0);
    std::ofstream{map_path()} << "1000 10 of another process of that number\n";
    std::filesystem::last_write_time(
        map_path(), std::filesystem::file_time_type::clock::now() - std::chrono::hours{24 * 365});
    EXPECT_TRUE(map.for_child(forked_at(5)).maps.empty());
    map.finish(::getpid());
    EXPECT_EQ(recorder.kept_files().count(found.module), 0U);
    ASSERT_EQ(recorder.notes().size(), 1U);
    EXPECT_NE(recorder.notes()[0].find("is older than process"), std::string::npos);
}

TEST_F(JitCodeTest, says_that_it_cannot_follow_a_dump_of_other_times) {
    dump = jitdump::Builder{7, 1, 1};
    dump.load(1, "one", code(), "12345678");
    map_dump();
    EXPECT_EQ(map.locate(Pc{code()}, ::getpid(), recorder, 1000).address, code());
    ASSERT_EQ(recorder.notes().size(), 1U);
    EXPECT_NE(recorder.notes()[0].find("CLOCK_MONOTONIC"), std::string::npos);
}

TEST_F(JitCodeTest, a_frame_that_stays_is_another_function_once_its_code_is_another) {
    start(0);
    const std::uint64_t one = dump.load(ns_at(1'000'000), "one", code(), "12345678");
    const std::uint64_t two = dump.load(ns_at(2'000'000), "two", code(), "12345678");
    map_dump();
    const auto sample = [&](std::uint64_t ns, std::uint16_t kept) {
        HandSample taken{{exact(kApp + ns)}, kept};
        if (kept == 0) {
            taken.fresh.push_back(calls_at(code() + 4));
        }
        taken.ticks = ticks_at(ns);
        test.add_sample(main, taken);
    };
    sample(1'100'000, 0);
    sample(1'200'000, 1);
    sample(2'100'000, 1);  // told of before the samples came
    sample(2'200'000, 1);
    process->drain();
    const std::uint64_t three = dump.load(ns_at(3'000'000), "three", code(), "12345678");
    write_dump();
    sample(3'100'000, 1);  // told of since
    end(0);
    std::vector<std::uint64_t> places;
    for (const trace::Sample& taken : read.samples) {
        places.push_back(
            read.nodes.at(read.nodes.at(taken.node.value - 1).parent.value - 1).address);
    }
    EXPECT_EQ(places, (std::vector{one + 4, one + 4, two + 4, two + 4, three + 4}));
}

}  // namespace
}  // namespace sample::collector
