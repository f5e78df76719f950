// The judge, on made-up walks.
#include "tests/unwind/differential/compare.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sample::unwind::differential {
namespace {

/// Links are possible unless said otherwise.
class MadeUpEvidence final : public Evidence {
public:
    void say(std::uint64_t callee, std::uint64_t caller, Link link) {
        links_[{callee, caller}] = link;
    }
    [[nodiscard]] Link link(std::uint64_t callee, std::uint64_t caller) const override {
        const auto found = links_.find({callee, caller});
        return found == links_.end() ? Link::possible : found->second;
    }

private:
    std::map<std::pair<std::uint64_t, std::uint64_t>, Link> links_;
};

class Compare : public ::testing::Test {
protected:
    Difference compare_with(StopReason reason) { return compare({ours, reason}, theirs, evidence); }

    std::vector<std::uint64_t> ours{1, 2, 3, 4};
    ReferenceWalk theirs{{1, 2, 3, 4}, ReferenceWalk::kNever, 0, BadRead::none};
    MadeUpEvidence evidence;
};

TEST_F(Compare, finds_the_same_frames_equal) {
    EXPECT_EQ(compare_with(StopReason::root).kind, Kind::equal);
    EXPECT_TRUE(is_explained(compare_with(StopReason::root)));
}

TEST_F(Compare, takes_a_zero_frame_for_the_end) {
    theirs.frames.push_back(0);
    EXPECT_EQ(compare_with(StopReason::root).verdict, Verdict::equal);
}

TEST_F(Compare, prefers_a_walk_to_the_root_over_one_that_gave_up) {
    theirs.frames = {1, 2};
    theirs.end = -8;
    theirs.bad_read = BadRead::below_stack;
    const Difference difference = compare_with(StopReason::root);
    EXPECT_EQ(difference.kind, Kind::goes_on);
    EXPECT_EQ(difference.verdict, Verdict::ours);
    EXPECT_EQ(difference.cause, Cause::below_stack);
    EXPECT_EQ(difference.at, 2U);
}

TEST_F(Compare, names_what_stopped_libunwind) {
    theirs.frames = {1, 2};
    theirs.bad_read = BadRead::beyond_stack;
    EXPECT_EQ(compare_with(StopReason::root).cause, Cause::beyond_stack);
    theirs.bad_read = BadRead::elsewhere;
    EXPECT_EQ(compare_with(StopReason::root).cause, Cause::bad_read);
    theirs.bad_read = BadRead::none;
    theirs.end = -10;
    EXPECT_EQ(compare_with(StopReason::root).cause, Cause::refused);
    theirs.end = 0;
    EXPECT_EQ(compare_with(StopReason::root).cause, Cause::ended);
    theirs.first_guess = 2;
    EXPECT_EQ(compare_with(StopReason::root).cause, Cause::no_rule);
}

TEST_F(Compare, blames_us_for_frames_that_nobody_called) {
    theirs.frames = {1, 2};
    evidence.say(3, 4, Link::refuted);
    const Difference difference = compare_with(StopReason::root);
    EXPECT_EQ(difference.verdict, Verdict::theirs);
    EXPECT_FALSE(is_explained(difference));
}

TEST_F(Compare, leaves_open_what_has_neither_root_nor_proven_call) {
    theirs.frames = {1, 2};
    const Difference difference = compare_with(StopReason::no_cfi);
    EXPECT_EQ(difference.verdict, Verdict::open);
    EXPECT_FALSE(is_explained(difference));
    evidence.say(3, 4, Link::proven);
    EXPECT_EQ(compare_with(StopReason::no_cfi).verdict, Verdict::ours);
}

TEST_F(Compare, blames_us_for_stopping_where_libunwind_has_a_rule) {
    ours = {1, 2};
    const Difference difference = compare_with(StopReason::unsupported_rule);
    EXPECT_EQ(difference.kind, Kind::stops_short);
    EXPECT_EQ(difference.verdict, Verdict::theirs);
    EXPECT_EQ(difference.cause, Cause::other_rule);
    EXPECT_FALSE(is_explained(difference));
}

TEST_F(Compare, prefers_no_frame_to_one_that_nobody_called) {
    ours = {1, 2};
    evidence.say(2, 3, Link::refuted);
    EXPECT_EQ(compare_with(StopReason::no_module).verdict, Verdict::ours);
}

TEST_F(Compare, tells_a_guess_that_holds_from_one_that_does_not) {
    ours = {1, 2};
    theirs.first_guess = 2;
    EXPECT_EQ(compare_with(StopReason::no_cfi).verdict, Verdict::their_guess);
    theirs.end = -8;
    EXPECT_EQ(compare_with(StopReason::no_cfi).verdict, Verdict::open);
    evidence.say(2, 3, Link::refuted);
    EXPECT_EQ(compare_with(StopReason::no_cfi).verdict, Verdict::ours);
    EXPECT_TRUE(is_explained(compare_with(StopReason::no_cfi)));
}

TEST_F(Compare, knows_that_nothing_called_the_root) {
    ours = {1, 2};
    evidence.say(2, 3, Link::refuted);
    const Difference difference = compare_with(StopReason::root);
    EXPECT_EQ(difference.kind, Kind::beyond_root);
    // A root that has a rule: a zero that a wrong table led both to.
    EXPECT_EQ(difference.verdict, Verdict::open);
    EXPECT_FALSE(is_explained(difference));
    theirs.first_guess = 2;
    EXPECT_EQ(compare_with(StopReason::root).verdict, Verdict::ours);
    theirs.first_guess = ReferenceWalk::kNever;
    evidence.say(2, 3, Link::proven);
    EXPECT_EQ(compare_with(StopReason::root).verdict, Verdict::theirs);
}

TEST_F(Compare, does_not_excuse_a_root_that_is_none) {
    ours = {1, 2};
    theirs.first_guess = 2;
    EXPECT_EQ(compare_with(StopReason::root).verdict, Verdict::their_guess);
    EXPECT_FALSE(is_explained(compare_with(StopReason::root)));
    EXPECT_TRUE(is_explained(compare_with(StopReason::no_cfi)));
}

TEST_F(Compare, judges_two_ways_by_their_calls) {
    theirs.frames = {1, 2, 30, 40};
    evidence.say(2, 30, Link::refuted);
    EXPECT_EQ(compare_with(StopReason::root).kind, Kind::other_frame);
    EXPECT_EQ(compare_with(StopReason::root).verdict, Verdict::ours);

    evidence.say(2, 30, Link::proven);
    evidence.say(2, 3, Link::refuted);
    EXPECT_EQ(compare_with(StopReason::root).verdict, Verdict::theirs);
    EXPECT_FALSE(is_explained(compare_with(StopReason::root)));
}

TEST_F(Compare, judges_two_ways_without_refuted_calls_by_the_root) {
    theirs.frames = {1, 2, 30};
    theirs.end = -8;
    EXPECT_EQ(compare_with(StopReason::root).verdict, Verdict::ours);
    EXPECT_EQ(compare_with(StopReason::no_cfi).verdict, Verdict::open);
    theirs.end = 0;
    EXPECT_EQ(compare_with(StopReason::no_cfi).verdict, Verdict::theirs);
    // A guess ends at any zero: that is no root.
    theirs.first_guess = 2;
    EXPECT_EQ(compare_with(StopReason::no_cfi).verdict, Verdict::open);
}

TEST_F(Compare, tells_another_leaf_from_a_common_one) {
    theirs.frames = {10};
    EXPECT_EQ(compare_with(StopReason::root).at, 0U);
    EXPECT_EQ(compare_with(StopReason::root).kind, Kind::other_frame);
}

}  // namespace
}  // namespace sample::unwind::differential
