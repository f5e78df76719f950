// What becomes of a stack: the names of its frames, and what is said of one that is not whole.
#include "core/stack_break.h"
#include "tests/sampler/process_fixture.h"
#include "unwind/walk/walk.h"

namespace sample::collector {
namespace {

using Stack = std::vector<std::string>;

using unwind::StopReason;
constexpr auto kRoot = static_cast<std::uint32_t>(StopReason::root);
constexpr auto kDepthLimit = static_cast<std::uint32_t>(StopReason::depth_limit);
constexpr auto kNoModule = static_cast<std::uint32_t>(StopReason::no_module);
constexpr auto kNoCfi = static_cast<std::uint32_t>(StopReason::no_cfi);
constexpr std::uint64_t kElided = FrameAddress::elided().bits();

std::uint64_t guessed_at(std::uint64_t address) {
    return FrameAddress::guessed(ReturnAddress{address + 1}).bits();
}

TEST_F(ProfiledProcessTest, names_stacks_by_module_and_address) {
    start(0);
    // A return address is looked up inside of the call; the leaf as it stands.
    test.add_sample(main, {{exact(kApp + 0x300), calls_at(kApp + 0x200), calls_at(kApp + 0x100)}});
    test.add_sample(main, {{exact(kApp + 0x304)}, 2});
    end(1'000'000);
    ASSERT_EQ(read.samples.size(), 2U);
    EXPECT_EQ(stack_of(read.samples[0].node),
              (Stack{"/bin/app+256", "/bin/app+512", "/bin/app+768"}));
    EXPECT_EQ(stack_of(read.samples[1].node),
              (Stack{"/bin/app+256", "/bin/app+512", "/bin/app+772"}));
}

TEST_F(ProfiledProcessTest, leaves_our_own_frames_out) {
    start(0);
    test.add_sample(main, {{exact(kApp + 0x300), calls_at(kAgent + 0x10), calls_at(kApp + 0x100)}});
    // The agent's frame counts among those that are kept.
    test.add_sample(main, {{exact(kApp + 0x304)}, 2});
    test.add_sample(main, {{exact(kAgent + 0x20), calls_at(kAgent + 0x10)}});
    end(1'000'000);
    ASSERT_EQ(read.samples.size(), 3U);
    EXPECT_EQ(stack_of(read.samples[0].node), (Stack{"/bin/app+256", "/bin/app+768"}));
    EXPECT_EQ(stack_of(read.samples[1].node), (Stack{"/bin/app+256", "/bin/app+772"}));
    EXPECT_EQ(stack_of(read.samples[2].node), Stack{});
}

TEST_F(ProfiledProcessTest, hangs_stacks_without_their_root_on_a_node_that_says_so) {
    start(0);
    const std::vector<std::uint64_t> frames{exact(kApp + 0x200), calls_at(kApp + 0x100)};
    test.add_sample(main, {frames, 0, kPeriodNs, 0, kNoModule});
    test.add_sample(main, {frames, 0, kPeriodNs, 0, kDepthLimit});
    test.add_sample(main, {frames, 0, kPeriodNs, 0, kRoot});
    // The same frames, kept; but the stack hangs elsewhere now.
    test.add_sample(main, {{}, 2, kPeriodNs, 0, kNoModule});
    end(1'000'000);
    ASSERT_EQ(read.samples.size(), 4U);
    EXPECT_EQ(stack_of(read.samples[0].node),
              (Stack{"[stack incomplete]+2", "/bin/app+256", "/bin/app+512"}));
    EXPECT_EQ(stack_of(read.samples[1].node),
              (Stack{trace::kStackTruncated, "/bin/app+256", "/bin/app+512"}));
    EXPECT_EQ(stack_of(read.samples[2].node), (Stack{"/bin/app+256", "/bin/app+512"}));
    EXPECT_EQ(read.samples[3].node, read.samples[0].node);
}

TEST_F(ProfiledProcessTest, says_why_a_stack_broke_off) {
    const std::vector<std::pair<StopReason, StackBreak>> reasons{
        {StopReason::no_cfi, StackBreak::no_cfi},
        {StopReason::no_module, StackBreak::no_module},
        {StopReason::unreadable_memory, StackBreak::unreadable_memory},
        {StopReason::no_progress, StackBreak::no_progress},
        {StopReason::unsupported_rule, StackBreak::unsupported_rule},
        {static_cast<StopReason>(0xff), StackBreak::unknown},
    };
    start(0);
    for (const auto& [stop, reason] : reasons) {
        test.add_sample(main,
                        {{exact(kApp + 0x100)}, 0, kPeriodNs, 0, static_cast<std::uint32_t>(stop)});
    }
    end(1'000'000);
    ASSERT_EQ(read.samples.size(), reasons.size());
    for (std::size_t i = 0; i < reasons.size(); ++i) {
        const trace::StackNode& leaf = read.nodes.at(read.samples[i].node.value - 1);
        const trace::StackNode& base = read.nodes.at(leaf.parent.value - 1);
        EXPECT_EQ(path_of(base.module), trace::kStackIncomplete);
        EXPECT_EQ(base.address, static_cast<std::uint64_t>(reasons[i].second)) << i;
        EXPECT_TRUE(base.parent.is_none());
    }
}

TEST_F(ProfiledProcessTest, hangs_a_stack_with_its_middle_elided_under_its_root) {
    start(0);
    const std::vector<std::uint64_t> frames{exact(kApp + 0x300), calls_at(kApp + 0x200), kElided,
                                            calls_at(kApp + 0x100)};
    test.add_sample(main, {frames, 0, kPeriodNs, 0, kDepthLimit});
    test.add_sample(main, {{exact(kApp + 0x304)}, 3, kPeriodNs, 0, kRoot});
    // Its root end breaks off, too.
    test.add_sample(main, {{}, 4, kPeriodNs, 0, kNoCfi});
    end(1'000'000);
    ASSERT_EQ(read.samples.size(), 3U);
    EXPECT_EQ(stack_of(read.samples[0].node),
              (Stack{"/bin/app+256", trace::kFramesElided, "/bin/app+512", "/bin/app+768"}));
    EXPECT_EQ(stack_of(read.samples[1].node),
              (Stack{"/bin/app+256", trace::kFramesElided, "/bin/app+512", "/bin/app+772"}));
    EXPECT_EQ(stack_of(read.samples[2].node),
              (Stack{"[stack incomplete]+1", "/bin/app+256", trace::kFramesElided, "/bin/app+512",
                     "/bin/app+772"}));
}

TEST_F(ProfiledProcessTest, marks_the_frames_that_were_guessed) {
    start(0);
    test.add_sample(main, {{exact(kApp + 0x300), guessed_at(kApp + 0x200), calls_at(kApp + 0x100)},
                           0,
                           kPeriodNs,
                           0,
                           kRoot | capture::kStopGuessed});
    test.add_sample(main, {{calls_at(kApp + 0x200)}, 1});
    end(1'000'000);
    ASSERT_EQ(read.samples.size(), 2U);
    const std::string marked = "/bin/app+" + std::to_string(0x200 | trace::kGuessedFrame);
    EXPECT_EQ(stack_of(read.samples[0].node), (Stack{"/bin/app+256", marked, "/bin/app+768"}));
    EXPECT_EQ(stack_of(read.samples[1].node), (Stack{"/bin/app+256", "/bin/app+512"}));
}

TEST_F(ProfiledProcessTest, marks_the_leaf_where_the_guess_was_elided) {
    start(0);
    const std::vector<std::uint64_t> frames{exact(kApp + 0x300), kElided, calls_at(kApp + 0x100)};
    test.add_sample(main, {frames, 0, kPeriodNs, 0, kDepthLimit | capture::kStopGuessed});
    // The same frames, and nothing guessed between them this time.
    test.add_sample(main, {{}, 3, kPeriodNs, 0, kDepthLimit});
    // Our own frame is no leaf.
    test.add_sample(
        main, {{calls_at(kAgent + 0x10)}, 3, kPeriodNs, 0, kDepthLimit | capture::kStopGuessed});
    end(1'000'000);
    ASSERT_EQ(read.samples.size(), 3U);
    const std::string marked = "/bin/app+" + std::to_string(0x300 | trace::kGuessedFrame);
    EXPECT_EQ(stack_of(read.samples[0].node),
              (Stack{"/bin/app+256", trace::kFramesElided, marked}));
    EXPECT_EQ(stack_of(read.samples[1].node),
              (Stack{"/bin/app+256", trace::kFramesElided, "/bin/app+768"}));
    EXPECT_EQ(read.samples[2].node, read.samples[0].node);
}

TEST_F(ProfiledProcessTest, marks_nothing_that_was_not_guessed) {
    start(0);
    // A module that claims to lie above its own addresses: the difference is below zero.
    capture::ModuleRecord odd;
    odd.head = {capture::RecordKind::module, 0, 4, 0};
    odd.start = 0x70000;
    odd.end = 0x80000;
    odd.bias = 0x80000;
    test.write(main, odd, "/odd", 4);
    test.add_sample(main, {{exact(0x70010)}});
    end(1'000'000);
    ASSERT_EQ(read.samples.size(), 1U);
    EXPECT_EQ(read.nodes.at(read.samples[0].node.value - 1).address & trace::kGuessedFrame, 0U);
}

TEST_F(ProfiledProcessTest, names_code_that_nobody_knows) {
    start(0);
    test.add_sample(main, {{exact(0x123)}});
    end(1'000'000);
    ASSERT_EQ(read.samples.size(), 1U);
    EXPECT_EQ(stack_of(read.samples[0].node), Stack{trace::kUnknownCode});
}

}  // namespace
}  // namespace sample::collector
