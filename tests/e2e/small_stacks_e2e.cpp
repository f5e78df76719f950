// Samples are taken on stacks of the profiler's own: the program's stacks are never written over,
// however small they are, and its handlers run where they run without it.
#include "each_source.h"

namespace sample::e2e {
namespace {

class SmallStacks : public EachSource {
protected:
    void expect_no_word_changed(const char* kind, const char* bytes, const char* work) const {
        SCOPED_TRACE(std::string{kind} + " " + bytes);
        expect_same({target("stack_canaries"), kind, bytes, "0.2"});
        const Recording seen = recorded();
        // Samples came there: how many, against those of the start, the machine says.
        EXPECT_GT(seen.total_us(work), 0.1 * seen.roots_us());
    }
    /// With a signal that the program alone uses, and, where `shared`, with that of the samples,
    /// but for `timer` and `thread` (signals_e2e.cpp says why).
    void expect_same_places(const char* mode, bool shared) const {
        SCOPED_TRACE(mode);
        expect_same({target("signal_places"), mode});
        expect_sampled();
        if (shared) {
            const bool is_perf = std::string{GetParam()} == "perf";
            expect_same({target("signal_places"), mode, is_perf ? "urg" : "trap"});
        }
    }
};

TEST_P(SmallStacks, coroutines_have_their_neighbours_left_alone) {
    for (const char* kind : {"ucontext", "assembly", "thread"}) {
        expect_no_word_changed(kind, "2048", "coroutine_work");
        expect_no_word_changed(kind, "4096", "coroutine_work");
    }
}

TEST_P(SmallStacks, an_alternate_stack_may_serve_other_purposes) {
    expect_no_word_changed("reused", "65536", "work_beside");
    expect_no_word_changed("reused", "8192", "work_beside");
    expect_no_word_changed("reused", "2048", "work_beside");
}

TEST_P(SmallStacks, an_alternate_stack_has_its_neighbours_left_alone) {
    expect_no_word_changed("armed", "16384", "work_beside");
}

TEST_P(SmallStacks, sigaltstack_answers_as_the_kernel) {
    expect_same_places("answers", true);
    expect_same_places("inside", true);
    expect_same_places("autodisarm", false);
}

TEST_P(SmallStacks, handlers_run_where_the_kernel_would_put_them) {
    expect_same_places("places", true);
    expect_same_places("burst", true);
}

TEST_P(SmallStacks, registers_survive_a_handler) {
    expect_same_places("registers", true);
}

TEST_P(SmallStacks, handlers_have_the_masks_and_flags_that_were_set) {
    expect_same_places("masks", false);
    expect_same_places("actions", true);
}

TEST_P(SmallStacks, handlers_may_be_left_by_a_jump) {
    expect_same_places("jump", true);
    expect_same_places("left", false);
}

TEST_P(SmallStacks, children_have_stacks_and_handlers_of_their_own) {
    expect_same_places("child", true);
}

TEST_P(SmallStacks, a_thousand_threads_have_a_stack_each) {
    expect_same_places("threads", false);
}

TEST_P(SmallStacks, threads_without_memory_for_a_stack_are_not_sampled) {
    expect_same_places("none", false);
    const Recording seen = recorded();
    // Of 40 threads 15 have one. What is not known of the others is apart, or the process's.
    EXPECT_GT(seen.unseen_us(), 0.3 * seen.roots_us());
}

TEST_P(SmallStacks, a_stack_that_overflows_ends_the_program_as_it_would) {
    for (const char* mode : {"overflow", "overflow-bare", "overflow-inside"}) {
        expect_same_places(mode, false);
    }
}

SAMPLE_FOR_EACH_SOURCE(SmallStacks);

class SmallStacksByTheWall : public Session {};

TEST_F(SmallStacksByTheWall, coroutines_have_their_neighbours_left_alone) {
    for (const char* kind : {"ucontext", "assembly", "thread"}) {
        const Outcome outcome =
            sample({"--quiet", "--clock", "wall", "--freq", "10k", "--force", "-o", recording(),
                    "--", target("stack_canaries"), kind, "2048", "0.2"});
        EXPECT_EQ(outcome.out, "broken=0\n");
        EXPECT_EQ(outcome.exit_code, 0);
        EXPECT_GT(Recording{recording()}.total_us("coroutine_work"), 0);
    }
}

}  // namespace
}  // namespace sample::e2e
