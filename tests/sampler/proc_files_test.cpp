#include "sampler/collector/process/proc_files.h"

#include "tests/sampler/child_process.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <optional>

namespace sample::collector {
namespace {

std::uint64_t own_cpu_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(now.tv_nsec);
}

void burn(std::uint64_t ns) {
    const std::uint64_t end = own_cpu_ns() + ns;
    while (own_cpu_ns() < end) {
    }
}

TEST(ProcFiles, names_this_program) {
    std::array<char, PATH_MAX> path{};
    ASSERT_NE(::realpath("/proc/self/exe", path.data()), nullptr);
    EXPECT_EQ(executable_of(::getpid()), path.data());
    EXPECT_NE(command_line_of(::getpid()).find("sampler_collector_test"), std::string::npos);
}

TEST(ProcFiles, knows_a_process_that_its_first_thread_has_left) {
    Child child{[] {
        pthread_t thread{};
        ::pthread_create(
            &thread, nullptr, [](void*) -> void* { return ::pause(), nullptr; }, nullptr);
        ::syscall(SYS_exit, 0);  // as pthread_exit() would in the end
    }};
    while (status_of(child.pid()).find("State:\tZ") == std::string::npos) {
        ::usleep(1'000);
    }
    EXPECT_EQ(executable_of(child.pid()), executable_of(::getpid()));
    EXPECT_EQ(command_line_of(child.pid()), command_line_of(::getpid()));
    EXPECT_FALSE(mappings_of(child.pid()).empty());
    EXPECT_EQ(::access(living_path(child.pid(), "root/proc").c_str(), F_OK), 0);
}

TEST(ProcFiles, tells_a_processs_system_time) {
    // As getrusage() has it, but for its parts of a tick.
    const auto system_us = [] {
        rusage used{};
        ::getrusage(RUSAGE_SELF, &used);
        return static_cast<std::uint64_t>(used.ru_stime.tv_sec * 1'000'000 + used.ru_stime.tv_usec);
    };
    for (int i = 0; i < 30'000; ++i) {
        static_cast<void>(executable_of(::getpid()));
    }
    const std::uint64_t before_us = system_us();
    const std::uint64_t told_us = stat_of(::getpid()).value().system_cpu_ns / 1'000;
    const auto tick_us = static_cast<std::uint64_t>(1'000'000 / ::sysconf(_SC_CLK_TCK));
    EXPECT_GE(told_us + tick_us, before_us);
    EXPECT_LE(told_us, system_us());
}

TEST(ProcFiles, separates_arguments_by_spaces) {
    Child child{[] { ::execlp("sleep", "sleep", "100", "0", nullptr); }};
    while (command_line_of(child.pid()).rfind("sleep", 0) != 0) {
        ::usleep(1'000);
    }
    EXPECT_EQ(command_line_of(child.pid()), "sleep 100 0");
}

TEST(ProcFiles, names_a_thread) {
    std::array<char, 16> before{};
    ::prctl(PR_GET_NAME, before.data());
    ::prctl(PR_SET_NAME, "with ) a space");
    EXPECT_EQ(thread_name_of(::getpid(), ::gettid()), "with ) a space");
    ::prctl(PR_SET_NAME, before.data());
}

TEST(ProcFiles, knows_when_a_process_was_started) {
    const auto now = [] {
        return std::chrono::nanoseconds{std::chrono::system_clock::now().time_since_epoch()}
            .count();
    };
    constexpr std::int64_t kTickNs = 10'000'000;
    const std::int64_t before = now();
    const Child child{[] { ::pause(); }};
    const std::int64_t after = now();
    const std::optional<std::int64_t> start = start_time_ns(child.pid());
    ASSERT_TRUE(start);
    EXPECT_GE(*start, before - 2 * kTickNs);
    EXPECT_LE(*start, after + 2 * kTickNs);
    EXPECT_FALSE(start_time_ns(0));
}

TEST(ProcFiles, knows_the_parent) {
    EXPECT_EQ(parent_of(::getpid()), ::getppid());
    EXPECT_EQ(parent_of(0), 0);
}

TEST(ProcFiles, knows_who_is_traced) {
    EXPECT_EQ(tracer_in(status_of(::getpid())), 0);
    Child child{[] {
        ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        ::raise(SIGSTOP);
    }};
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WSTOPPED | WNOWAIT), 0);
    EXPECT_NE(tracer_in(status_of(child.pid())), 0);
}

TEST(ProcFiles, lists_mappings) {
    void* mapped = ::mmap(nullptr, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    const auto start = reinterpret_cast<std::uint64_t>(mapped);
    const std::vector<Mapping> mappings = mappings_of(::getpid());
    const auto at = std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& mapping) {
        return start >= mapping.start && start < mapping.end;
    });
    ASSERT_NE(at, mappings.end());
    EXPECT_TRUE(at->executable);
    EXPECT_EQ(at->path, "");
    ::munmap(mapped, 8192);

    const std::string own = executable_of(::getpid());
    const auto code = std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& mapping) {
        return mapping.path == own && mapping.executable;
    });
    ASSERT_NE(code, mappings.end());
    const auto here = reinterpret_cast<std::uint64_t>(&burn);
    EXPECT_TRUE(here >= code->start && here < code->end);
    EXPECT_GT(code->offset, 0U);
}

TEST(ProcFiles, keeps_the_spaces_of_a_mapped_path) {
    const Fd fd{::memfd_create("two words", MFD_CLOEXEC)};
    ASSERT_EQ(::ftruncate(fd.get(), 4096), 0);
    void* mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd.get(), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    const std::vector<Mapping> mappings = mappings_of(::getpid());
    EXPECT_TRUE(std::any_of(mappings.begin(), mappings.end(), [](const Mapping& mapping) {
        return mapping.path == "/memfd:two words (deleted)" && !mapping.executable;
    }));
    ::munmap(mapped, 4096);
}

TEST(ProcFiles, adds_up_the_resident_bytes_of_a_mapping) {
    constexpr std::size_t kBytes = 262'144;
    const Fd fd{::memfd_create("sample-test-resident", MFD_CLOEXEC)};
    ASSERT_EQ(::ftruncate(fd.get(), kBytes), 0);
    void* mapped = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    EXPECT_EQ(resident_bytes_of(::getpid(), "sample-test-resident"), 0U);
    std::fill_n(static_cast<char*>(mapped), kBytes / 2, 'x');
    EXPECT_EQ(resident_bytes_of(::getpid(), "sample-test-resident"), kBytes / 2);
    EXPECT_EQ(resident_bytes_of(::getpid(), "no such mapping"), 0U);
    ::munmap(mapped, kBytes);
}

TEST(ProcFiles, reads_the_clock_of_a_process) {
    const std::uint64_t before = own_cpu_ns();
    const auto read = process_cpu_ns(::getpid());
    const std::uint64_t after = own_cpu_ns();
    ASSERT_TRUE(read);
    EXPECT_GE(*read, before);
    EXPECT_LE(*read, after);
}

TEST(ProcFiles, reads_the_clock_of_a_zombie) {
    Child child{[] {
        burn(20'000'000);
        ::_exit(0);
    }};
    child.await_death();
    const auto read = process_cpu_ns(child.pid());
    ASSERT_TRUE(read);
    EXPECT_GE(*read, 20'000'000U);
    ASSERT_NE(child.reap(), -1);
    EXPECT_EQ(process_cpu_ns(child.pid()), std::nullopt);
}

TEST(ProcFiles, number_threads_as_their_process_does) {
    const auto own = static_cast<std::uint32_t>(::gettid());
    for (const bool are_same : {true, false}) {
        const ThreadNumbers numbers{::getpid(), are_same};
        EXPECT_EQ(numbers.here(own), ::gettid()) << are_same;
        EXPECT_EQ(numbers.here(0), 0) << are_same;
        EXPECT_EQ(numbers.all().at(own), ::gettid()) << are_same;
    }
}

TEST(ProcFiles, is_empty_for_a_process_that_is_gone) {
    Child child{[] { ::_exit(0); }};
    ASSERT_NE(child.reap(), -1);
    EXPECT_EQ(executable_of(child.pid()), "");
    EXPECT_EQ(command_line_of(child.pid()), "");
    EXPECT_EQ(thread_name_of(child.pid(), child.pid()), "");
    EXPECT_EQ(tracer_in(status_of(child.pid())), 0);
    EXPECT_TRUE(mappings_of(child.pid()).empty());
    EXPECT_EQ(resident_bytes_of(child.pid(), "x"), std::nullopt);
}

}  // namespace
}  // namespace sample::collector
