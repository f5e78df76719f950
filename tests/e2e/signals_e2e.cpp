// Programs that use signals themselves, ours among them: their handlers run for their signals, ours
// for ours; nothing that they print and no way in which they end is different.
#include "each_source.h"

namespace sample::e2e {
namespace {

class Signals : public EachSource {
protected:
    /// The program uses the signal that this source's samples come by. Not with `thread` and
    /// `timer`: there a signal of the program's own is lost if it comes while a sample waits for
    /// the thread to run, as standard signals do not queue (docs/sampling.md).
    void expect_same_with_our_signal(const char* program, const char* mode) const {
        SCOPED_TRACE(mode);
        const bool is_perf = std::string{GetParam()} == "perf";
        expect_same({target(program), mode, is_perf ? "urg" : "trap"});
        expect_sampled();
    }
    void expect_same_and_sampled(const char* mode) const {
        SCOPED_TRACE(mode);
        expect_same({target("signal_user"), mode});
        expect_sampled();
    }
};

TEST_P(Signals, the_programs_handler_meets_its_own) {
    expect_same_with_our_signal("sigtrap_user", "handler");
    expect_same_with_our_signal("sigtrap_user", "info");
    expect_same_with_our_signal("signal_user", "sysv");
}

TEST_P(Signals, a_blocked_signal_waits_and_keeps_its_words) {
    expect_same_with_our_signal("sigtrap_user", "blocked");
    expect_same_with_our_signal("signal_user", "pending");
    expect_same_with_our_signal("signal_user", "queued");
}

TEST_P(Signals, who_waits_for_a_signal_gets_no_sample) {
    expect_same_with_our_signal("sigtrap_user", "sigwait");
    expect_same_with_our_signal("sigtrap_user", "sigtimedwait");
}

TEST_P(Signals, one_that_a_wait_opens_ends_it) {
    expect_same_with_our_signal("signal_user", "opened");
}

TEST_P(Signals, what_was_set_is_read_back) {
    expect_same_with_our_signal("sigtrap_user", "asked");
    expect_same_with_our_signal("sigtrap_user", "ignored");
}

TEST_P(Signals, no_sample_passes_for_a_signal_where_none_can_be_queued) {
    expect_same({target("wordless_signals")});
    expect_sampled();
}

TEST_P(Signals, a_handler_may_leave_by_a_jump) {
    expect_same_with_our_signal("signal_user", "jump");
}

TEST_P(Signals, the_programs_handler_runs_with_the_flags_that_it_asked_for) {
    expect_same_with_our_signal("signal_user", "restart");
    expect_same_with_our_signal("signal_user", "interrupt");
    expect_same_with_our_signal("signal_user", "deep");
}

TEST_P(Signals, a_vfork_child_changes_nothing_of_its_parents) {
    expect_same_with_our_signal("signal_user", "vfork");
}

TEST_P(Signals, a_breakpoint_instruction_is_the_programs) {
    for (const char* mode : {"int3", "int3-blocked", "int3-ignored"}) {
        expect_same_and_sampled(mode);
    }
}

TEST_P(Signals, other_timers_of_the_program_go_on) {
    expect_same_and_sampled("profiling");
    expect_same_and_sampled("alarm");
}

TEST_P(Signals, crash_handlers_say_their_words_and_the_program_dies_as_it_would) {
    expect_same_and_sampled("crash");
    expect_same_and_sampled("abort");
}

TEST_P(Signals, a_program_that_is_not_dumpable_is_sampled) {
    expect_same_and_sampled("undumpable");
}

TEST_P(Signals, an_alternate_stack_that_is_too_small_for_us_is_left_alone) {
    for (const char* bytes : {"4096", "5000", "7000", "8192"}) {
        SCOPED_TRACE(bytes);
        expect_same({target("altstack"), "around", bytes, "0.2"});
        EXPECT_GT(recorded().total_us("work_on_usual_stack"), 0);
    }
}

SAMPLE_FOR_EACH_SOURCE(Signals);

}  // namespace
}  // namespace sample::e2e
