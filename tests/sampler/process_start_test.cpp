// What the collector keeps ready for processes that start.
#include "sampler/collector/code/elf_facts.h"
#include "sampler/collector/process/area_mapping.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace sample::collector {
namespace {

TEST(SpareArea, gives_each_process_an_area_of_its_own) {
    SpareArea spare{1'000'000, 100};
    spare.prepare(2.0);
    spare.prepare(2.0);
    const auto first = spare.take(2.0, false);
    const auto second = spare.take(2.0, false);
    ASSERT_TRUE(first);
    ASSERT_TRUE(second);
    EXPECT_NE(&(*first)->area(), &(*second)->area());
    for (const auto& made : {*first, *second}) {
        const capture::AreaHeader& header = made->area().header;
        EXPECT_EQ(header.period_ns, 1'000'000U);
        EXPECT_EQ(header.gap_ticks, 3'000'000U);
        EXPECT_EQ(header.max_depth, 100U);
        EXPECT_EQ(header.is_root, 0U);
    }
}

TEST(SpareArea, the_root_has_its_mark) {
    SpareArea spare{1'000'000, 100};
    spare.prepare(2.0);
    const auto root = spare.take(2.0, true);
    ASSERT_TRUE(root);
    EXPECT_EQ((*root)->area().header.is_root, 1U);
}

TEST(GoPrograms, this_is_no_go_program_nor_is_one_that_is_gone) {
    GoPrograms programs;
    EXPECT_FALSE(programs.is_go(::getpid()));
    EXPECT_FALSE(programs.is_go(::getpid()));
    EXPECT_FALSE(programs.is_go(-1));
}

}  // namespace
}  // namespace sample::collector
