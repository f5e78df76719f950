#include "sampler/source/tasks.h"
#include "tests/sampler/child_process.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <fstream>
#include <string>
#include <thread>

namespace sample::source {
namespace {

std::string status_of(const char* users, int filters, const char* state = "S (sleeping)") {
    return std::string{"Name:\tUid:\nState:\t"} + state + "\nUid:\t" + users +
           "\nGid:\t1\t1\t1\t1\nGroups:\t4 5 \nSeccomp:\t" + (filters != 0 ? "2" : "0") +
           "\nSeccomp_filters:\t" + std::to_string(filters) + "\n";
}

TEST(TaskRights, exceed_those_of_another_user) {
    const TaskRights root = parse_rights(status_of("0\t0\t0\t0", 0));
    const TaskRights nobody = parse_rights(status_of("9\t9\t9\t9", 0));
    EXPECT_TRUE(root.exceed(nobody));
    EXPECT_TRUE(nobody.exceed(root));
    EXPECT_FALSE(root.exceed(root));
    EXPECT_TRUE(root.exceed(parse_rights(status_of("0\t9\t0\t9", 0))));
}

TEST(TaskRights, exceed_those_with_more_filters) {
    const TaskRights free = parse_rights(status_of("0\t0\t0\t0", 0));
    const TaskRights held = parse_rights(status_of("0\t0\t0\t0", 2));
    EXPECT_TRUE(free.exceed(held));
    EXPECT_FALSE(held.exceed(free));
}

TEST(TaskRights, are_not_compared_with_those_of_the_dead) {
    const TaskRights root = parse_rights(status_of("0\t0\t0\t0", 0));
    EXPECT_FALSE(root.exceed(parse_rights(status_of("9\t9\t9\t9", 1, "Z (zombie)"))));
    EXPECT_FALSE(root.exceed(parse_rights("")));
}

TEST(TaskRights, are_read_of_a_thread_of_this_process) {
    const Fd folder{open_task_folder()};
    const TaskRights mine = rights_of(folder.get(), ::getpid());
    EXPECT_TRUE(mine.is_known);
    std::thread{[&] { EXPECT_FALSE(rights_of(folder.get(), ::gettid()).exceed(mine)); }}.join();
    EXPECT_FALSE(rights_of(folder.get(), 1 << 30).is_known);
}

TEST(DroppedRights, are_no_capability_and_none_by_an_exec) {
    collector::Child child{[] {
        const bool is_once = drop_rights();
        const bool is_again = drop_rights();
        if (!is_once || !is_again) {
            ::_exit(1);
        }
        std::ifstream file{"/proc/self/status"};
        int found = 0;
        for (std::string line; std::getline(file, line);) {
            found += line == "CapPrm:\t0000000000000000" || line == "CapEff:\t0000000000000000" ||
                             line == "CapInh:\t0000000000000000" || line == "NoNewPrivs:\t1"
                         ? 1
                         : 0;
        }
        ::_exit(found == 4 ? 0 : 2);
    }};
    EXPECT_EQ(child.reap(), 0);
}

}  // namespace
}  // namespace sample::source
