// Stacks deeper than what is kept of them: both ends are there, and it is said that the middle is
// not.
#include "edges.h"
#include "session.h"

#include <algorithm>

namespace sample::e2e {
namespace {

class DeepStacks : public Session {
protected:
    /// Records a recursion so deep, with whatever options, at a frequency at which no machine's
    /// samples take much of its time.
    [[nodiscard]] Recording recorded(const std::string& depth, const Words& options = {}) const {
        Words words{"--quiet", "--freq", "2k", "-o", recording()};
        words.insert(words.end(), options.begin(), options.end());
        for (const std::string& word :
             {std::string{"--"}, target("recursion"), depth, std::string{"0.5"}}) {
            words.push_back(word);
        }
        const Outcome ran = sample(words);
        EXPECT_EQ(ran.exit_code, 0) << ran.err;
        cpu_us_ = told(ran.out, "work_cpu_ns") / 1000;
        bottom_us_ = told(ran.out, "bottom_cpu_ns") / 1000;
        return whole_recording();
    }
    /// Microseconds of the nodes `callee` right below a `caller`.
    static double below(const Recording& seen, std::string_view caller, std::string_view callee) {
        double sum = 0;
        for (const Edge& edge : edges_of(seen.exported())) {
            sum += edge.caller.starts_with(caller) && edge.callee.starts_with(callee)
                       ? edge.total_us
                       : 0;
        }
        return sum;
    }
    /// All that the target did, but for what goes into starting it and into the way down.
    void expect_under_main(const Recording& seen) const {
        EXPECT_EQ(seen.stat("incomplete_stacks"), 0);
        // Just after the way down, all that is known of the root's end may be main.
        EXPECT_GE(below(seen, "main", "descend") + below(seen, "main", "[frames elided]") +
                      seen.unseen_us(),
                  0.95 * cpu_us_);
        EXPECT_GE(seen.total_us("bottom") + seen.unseen_us(), 0.95 * bottom_us_);
        EXPECT_LE(seen.total_us("bottom"), 1.05 * bottom_us_);
    }

private:
    mutable double cpu_us_ = 0;
    mutable double bottom_us_ = 0;
};

TEST_F(DeepStacks, hang_under_main) {
    const Recording seen = recorded("20000");
    expect_under_main(seen);
    EXPECT_GE(seen.stat("truncated_stacks"), 0.9 * seen.stat("samples"));
    EXPECT_GE(below(seen, "[frames elided]", "descend"), 0.9 * seen.total_us("bottom"));
}

TEST_F(DeepStacks, hang_under_main_with_a_low_limit) {
    for (const char* depth : {"150", "2000", "20000"}) {
        std::filesystem::remove(recording());
        const Recording seen = recorded(depth, {"--max-stack", "128"});
        expect_under_main(seen);
        EXPECT_GE(seen.stat("truncated_stacks"), 0.9 * seen.stat("samples"));
        EXPECT_GE(below(seen, "[frames elided]", "descend"), 0.9 * seen.total_us("bottom"));
    }
}

TEST_F(DeepStacks, are_whole_below_the_limit) {
    const Recording seen = recorded("110", {"--max-stack", "128"});
    expect_under_main(seen);
    EXPECT_EQ(seen.stat("truncated_stacks"), 0);
    EXPECT_EQ(seen.total_us("[frames elided]"), 0);
}

TEST_F(DeepStacks, hang_under_the_known_root_where_it_is_out_of_reach) {
    const Recording seen = recorded("200000");
    EXPECT_EQ(seen.stat("incomplete_stacks"), 0);
    EXPECT_GE(seen.stat("truncated_stacks"), 0.9 * seen.stat("samples"));
    EXPECT_GE(below(seen, "descend", "bottom"), 0.9 * seen.total_us("bottom"));
    EXPECT_GE(below(seen, "main", "descend") + below(seen, "main", "[frames elided]"),
              0.9 * seen.total_us("bottom"));
    EXPECT_GE(seen.stat("guessed_stacks"), 0.5 * seen.stat("samples"));
}

}  // namespace
}  // namespace sample::e2e
