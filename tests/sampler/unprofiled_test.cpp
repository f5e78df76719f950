#include "sampler/collector/joining/unprofiled.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace sample::collector {
namespace {

constexpr pid_t kNobody = 0x3fffff;  // above pid_max's most: no such process

control::Unprofiled said_of(pid_t pid) {
    control::Unprofiled said;
    said.reason = control::NotProfiled::static_program;
    said.pid = said.sender_pid = static_cast<std::uint32_t>(pid);
    said.parent_pid = 1;
    std::strcpy(said.path.data(), "/bin/static");
    return said;
}

using Heard = UnprofiledPrograms::Heard;

constexpr std::uint64_t kLong = 2'000'000'000;

TEST(UnprofiledPrograms, lists_one_that_is_gone_once_it_cannot_be_taken_back) {
    UnprofiledPrograms programs;
    programs.announced(said_of(kNobody), kNobody, 10);
    EXPECT_TRUE(programs.settle(20, Heard::up_to_a_moment_ago).empty());
    const auto listed = programs.settle(kLong, Heard::up_to_a_moment_ago);
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].pid, static_cast<std::uint32_t>(kNobody));
    EXPECT_EQ(listed[0].parent_pid, 1U);
    EXPECT_EQ(listed[0].start_ns, 10U);
    EXPECT_EQ(listed[0].executable, "/bin/static");
    EXPECT_NE(listed[0].reason.find("statically linked"), std::string::npos);
    EXPECT_TRUE(programs.settle(kLong + 1, Heard::everything).empty()) << "listed once";
}

TEST(UnprofiledPrograms, waits_for_the_exec_but_not_for_ever) {
    UnprofiledPrograms programs;
    programs.announced(said_of(::getpid()), ::getpid(), 0);
    EXPECT_TRUE(programs.settle(1'000, Heard::up_to_a_moment_ago).empty())
        << "this process runs another program";
    EXPECT_TRUE(programs.settle(kLong, Heard::up_to_a_moment_ago).empty());
    programs.has_run(::getpid());
    EXPECT_TRUE(programs.settle(kLong + 1, Heard::everything).empty()) << "it was given up";
}

TEST(UnprofiledPrograms, lists_what_runs_the_announced_file) {
    struct stat own = {};
    ASSERT_EQ(::stat("/proc/self/exe", &own), 0);
    control::Unprofiled said = said_of(::getpid());
    said.device = own.st_dev;
    said.inode = own.st_ino;
    UnprofiledPrograms programs;
    programs.announced(said, ::getpid(), 0);
    EXPECT_EQ(programs.settle(1, Heard::up_to_a_moment_ago).size(), 1U);
}

TEST(UnprofiledPrograms, lists_what_has_been_replaced_again) {
    UnprofiledPrograms programs;
    programs.announced(said_of(::getpid()), ::getpid(), 0);
    programs.has_run(::getpid());
    EXPECT_EQ(programs.settle(1, Heard::up_to_a_moment_ago).size(), 1U);
}

TEST(UnprofiledPrograms, forgets_what_is_taken_back) {
    UnprofiledPrograms programs;
    control::Unprofiled said = said_of(kNobody);
    programs.announced(said, kNobody, 0);
    // Its end is seen before its last word is heard.
    EXPECT_TRUE(programs.settle(1, Heard::up_to_a_moment_ago).empty());
    said.reason = control::NotProfiled::none;
    programs.announced(said, kNobody, 2);
    EXPECT_TRUE(programs.settle(kLong, Heard::everything).empty());
}

TEST(UnprofiledPrograms, knows_a_sender_of_another_namespace_by_its_own_number) {
    UnprofiledPrograms programs;
    control::Unprofiled said = said_of(5);
    programs.announced(said, kNobody, 0);
    const auto listed = programs.settle(1, Heard::everything);
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].pid, static_cast<std::uint32_t>(kNobody));
}

}  // namespace
}  // namespace sample::collector
