#include "callgraph/stats.h"

#include "recording_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <initializer_list>
#include <string>
#include <vector>

namespace sample::callgraph {
namespace {

bool has_note(const Profile& profile, const std::string& part) {
    const auto& notes = profile.stats.notes;
    return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
        return note.find(part) != std::string::npos;
    });
}

/// One line each: reason, module, samples, nanoseconds.
std::string list(const std::vector<BrokenStacks>& all) {
    constexpr std::array kNames{"unknown",           "no_cfi",      "no_module",
                                "unreadable_memory", "depth_limit", "no_progress",
                                "unsupported_rule"};
    std::string text;
    for (const BrokenStacks& broken : all) {
        text += std::string{kNames.at(static_cast<std::size_t>(broken.reason))} + " " +
                (broken.module.empty() ? "-" : broken.module) + " " +
                std::to_string(broken.samples) + " " + std::to_string(broken.weight) + "\n";
    }
    return text;
}

TEST(Stats, describes_endings) {
    const auto ending = [](trace::EndKind kind, int code) {
        trace::ProcessEnd end;
        end.kind = kind;
        end.code = code;
        return describe_ending(end);
    };
    EXPECT_EQ(ending(trace::EndKind::exited, 3), "exited with 3");
    EXPECT_EQ(ending(trace::EndKind::signaled, SIGSEGV), "killed by SIGSEGV (11)");
    EXPECT_EQ(ending(trace::EndKind::signaled, 40), "killed by signal 40");
    EXPECT_EQ(ending(trace::EndKind::replaced, 0), "replaced by an exec");
    EXPECT_EQ(ending(trace::EndKind::still_running, 0), "still running");
    EXPECT_EQ(ending(trace::EndKind::unknown, 0), "ending unknown");
}

TEST(Stats, of_a_whole_recording_has_every_measured_figure) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    for (int i = 0; i < 10; ++i) {
        maker.sample(thread, maker.stack({"main"}), 100'000);
    }
    trace::ProcessEnd end;
    end.id = ProcessId{1};
    end.kind = trace::EndKind::exited;
    end.cpu_ns = 1'010'000;
    end.handler_count = 10;
    end.handler_sum_ns = 4'000;
    end.handler_p99_ns = 700;
    end.agent_rss_bytes = 4096;
    end.agent_cpu_ns = 5'000;
    maker.recording.record(end);
    maker.end();
    const Profile profile = maker.profile();
    const Stats& stats = profile.stats;
    EXPECT_TRUE(stats.whole);
    EXPECT_TRUE(stats.notes.empty()) << stats.notes.front();
    EXPECT_EQ(stats.requested_hz, 10'000U);
    EXPECT_EQ(stats.wall_ns, 2'000'000'000U);
    EXPECT_EQ(stats.samples, 10U);
    EXPECT_EQ(stats.effective_samples, 10.0);
    EXPECT_EQ(stats.process_cpu_ns, 1'010'000U);
    EXPECT_NEAR(stats.achieved_hz.value_or(0), 9901, 1);
    EXPECT_EQ(stats.handler_ns_mean, 400.0);
    EXPECT_EQ(stats.handler_ns_p99, 700U);
    EXPECT_EQ(stats.agent_rss_bytes, 4096U);
    EXPECT_EQ(stats.agent_cpu_ns, 5'000U);
    EXPECT_EQ(stats.clock, "cpu");
    EXPECT_EQ(stats.threads, 1U);
    EXPECT_EQ(stats.processes, 1U);
    EXPECT_EQ(profile.start_unix_ms, 1'700'000'000'000U);
    EXPECT_EQ(profile.end_unix_ms, 1'700'000'002'000U);
    ASSERT_EQ(profile.processes.size(), 1U);
    EXPECT_EQ(profile.processes[0].cpu_ns, 1'010'000U);
    ASSERT_EQ(profile.threads.size(), 1U);
    EXPECT_EQ(profile.threads[0].total, 1'000'000U);
    EXPECT_EQ(profile.threads[0].process, "app");
}

TEST(Stats, of_samples_of_unequal_weight_tell_how_many_equal_ones_they_are_worth) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    for (const std::uint64_t weight : {1U, 1U, 1U, 1U, 6U}) {
        maker.sample(thread, maker.stack({"main"}), weight);
    }
    maker.end();
    EXPECT_EQ(maker.profile().stats.effective_samples, 2.5);
}

/// Of a process that was sent for 100 samples; empty: none about them.
std::string note_of_late_samples(const std::string& source, std::uint64_t late) {
    RecordingMaker maker;
    const ProcessId process = maker.process("/usr/bin/app", 100, "", source);
    maker.sample(maker.thread(process, "app", 100), maker.stack({"main"}), 100'000);
    trace::ProcessEnd end;
    end.id = process;
    end.kind = trace::EndKind::exited;
    end.sent = 100;
    end.way_ns = 700'000;
    end.late = late;
    maker.recording.record(end);
    maker.end();
    const Stats stats = maker.profile().stats;
    EXPECT_EQ(stats.signal_way_ns_mean, 7'000.0);
    EXPECT_EQ(stats.late_samples, late);
    const auto note =
        std::find_if(stats.notes.begin(), stats.notes.end(), [](const std::string& each) {
            return each.find("of the samples came late") != std::string::npos;
        });
    return note == stats.notes.end() ? "" : *note;
}

TEST(Stats, of_samples_that_came_late_are_told_and_noted_where_they_are_many) {
    EXPECT_EQ(note_of_late_samples("thread", 10), "");
    const std::string note = note_of_late_samples("thread", 11);
    EXPECT_EQ(note.find("11 % of the samples came late, 7 us in the mean after they were sent for"),
              0U)
        << note;
    EXPECT_NE(note.find("--source sigtrap"), std::string::npos) << note;
}

TEST(Stats, of_late_samples_where_a_thread_took_over_name_what_keeps_the_events) {
    const std::string note = note_of_late_samples("sigtrap", 11);
    EXPECT_NE(note.find("kernel.perf_event_paranoid"), std::string::npos) << note;
    EXPECT_EQ(note.find("--source"), std::string::npos) << note;
}

TEST(Stats, counts_a_thread_that_execs_once_and_one_with_a_used_id_again) {
    RecordingMaker maker;
    const ProcessId shell = maker.process("/bin/sh");
    maker.thread(shell, "sh", 100);
    maker.thread(shell, "first", 101);
    maker.thread(shell, "second", 101);
    maker.thread(maker.process("/usr/bin/app"), "app", 100);
    EXPECT_EQ(maker.profile().stats.threads, 3U);
}

TEST(Stats, leaves_out_what_was_not_measured) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"main"}), 100'000);
    const Stats stats = maker.profile().stats;
    EXPECT_FALSE(stats.process_cpu_ns.has_value());
    EXPECT_FALSE(stats.handler_ns_mean.has_value());
    EXPECT_FALSE(stats.handler_ns_p99.has_value());
    EXPECT_FALSE(stats.signal_way_ns_mean.has_value());
    EXPECT_FALSE(stats.agent_rss_bytes.has_value());
    EXPECT_EQ(Recording{}.weights().size(), 0U);
    EXPECT_FALSE(build_profile(Recording{}, {}).stats.achieved_hz.has_value());
}

TEST(Stats, counts_stacks_whose_root_says_that_they_broke_off) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId incomplete = maker.frame({}, "-", maker.pseudo(trace::kStackIncomplete));
    const NodeId truncated = maker.frame({}, "-", maker.pseudo(trace::kStackTruncated));
    maker.sample(thread, maker.frame(maker.frame(incomplete, "f"), "g"), 1);
    maker.sample(thread, maker.frame(truncated, "f"), 1);
    maker.sample(thread, maker.frame(truncated, "g"), 1);
    maker.sample(thread, maker.stack({"main"}), 1);
    const Profile profile = maker.profile();
    EXPECT_EQ(profile.stats.incomplete_stacks, 1U);
    EXPECT_EQ(profile.stats.truncated_stacks, 2U);
    EXPECT_EQ(profile.threads[0].incomplete_stacks, 1U);
}

TEST(Stats, counts_broken_stacks_by_reason_and_outermost_module) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const ModuleId incomplete = maker.pseudo(trace::kStackIncomplete);
    const ModuleId foo = maker.module("/lib/libfoo.so");
    const ModuleId foo_plugin = maker.module("/lib/libfoo.so", trace::ModuleKind::elf, true);
    const ModuleId jit = maker.module("[jit]", trace::ModuleKind::jit);
    const auto base = [&](StackBreak reason) { return maker.base(incomplete, reason); };
    const NodeId no_cfi = base(StackBreak::no_cfi);
    const NodeId in_foo = maker.frame(no_cfi, "f", foo);
    maker.sample(thread, maker.frame(in_foo, "leaf"), 50);
    maker.sample(thread, in_foo, 30);
    maker.sample(thread, maker.frame(no_cfi, "f", foo_plugin), 20);
    maker.sample(thread, maker.frame(no_cfi, "main"), 10);
    const NodeId in_jit = maker.frame(base(StackBreak::no_module), "j", jit);
    maker.sample(thread, maker.frame(in_jit, "memcpy", foo), 70);
    maker.sample(thread, maker.frame(base(StackBreak::unreadable_memory), "f", foo), 5);
    maker.sample(thread, base(static_cast<StackBreak>(77)), 2);
    maker.sample(thread, maker.stack({"main"}), 1'000);
    const Stats stats = maker.profile().stats;
    EXPECT_EQ(stats.incomplete_stacks, 7U);
    EXPECT_EQ(stats.incomplete, 187U);
    EXPECT_EQ(stats.truncated_stacks, 0U);
    EXPECT_EQ(list(stats.broken_stacks),
              "no_cfi /lib/libfoo.so 3 100\n"
              "no_module - 1 70\n"
              "no_cfi /usr/bin/app 1 10\n"
              "unreadable_memory /lib/libfoo.so 1 5\n"
              "unknown - 1 2\n");
}

TEST(Stats, counts_a_stack_with_elided_frames_as_truncated_not_as_incomplete) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const ModuleId elided = maker.pseudo(trace::kFramesElided);
    const NodeId main = maker.stack({"main", "recurse"});
    const NodeId leaf = maker.frame(maker.frame(main, "-", elided), "recurse");
    maker.sample(thread, leaf, 7);
    maker.sample(thread, main, 1);
    // Its root end broke off, too: that is the worse.
    const NodeId broken = maker.base(maker.pseudo(trace::kStackIncomplete), StackBreak::no_cfi);
    maker.sample(thread, maker.frame(maker.frame(broken, "f"), "-", elided), 3);
    // Without its root end, as it was before there were markers.
    const NodeId cut = maker.frame({}, "-", maker.pseudo(trace::kStackTruncated));
    maker.sample(thread, maker.frame(cut, "recurse"), 2);
    const Stats stats = maker.profile().stats;
    EXPECT_EQ(stats.truncated_stacks, 2U);
    EXPECT_EQ(stats.truncated, 9U);
    EXPECT_EQ(stats.incomplete_stacks, 1U);
    EXPECT_EQ(list(stats.broken_stacks),
              "depth_limit - 1 7\n"
              "no_cfi /usr/bin/app 1 3\n"
              "depth_limit /usr/bin/app 1 2\n");
}

TEST(Stats, counts_stacks_with_a_guessed_frame) {
    RecordingMaker maker;
    const ThreadId thread = maker.main_thread();
    const NodeId main = maker.stack({"main"});
    const NodeId guessed = maker.guessed_frame(main, "work");
    maker.sample(thread, maker.frame(guessed, "leaf"), 5);
    maker.sample(thread, guessed, 3);
    maker.sample(thread, maker.frame(maker.frame(main, "work"), "leaf"), 2);
    const NodeId base = maker.base(maker.pseudo(trace::kStackIncomplete), StackBreak::no_cfi);
    maker.sample(thread, maker.guessed_frame(base, "work"), 1);
    const Stats stats = maker.profile().stats;
    EXPECT_EQ(stats.guessed_stacks, 3U);
    EXPECT_EQ(stats.guessed, 9U);
    EXPECT_EQ(stats.incomplete_stacks, 1U);
}

TEST(Stats, has_the_largest_unwind_tables_of_any_process) {
    RecordingMaker maker;
    for (const std::uint64_t bytes : {300U, 700U, 500U}) {
        trace::ProcessEnd end;
        end.id = maker.process("/usr/bin/app");
        end.unwind_table_bytes = bytes;
        maker.recording.record(end);
    }
    EXPECT_EQ(maker.profile().stats.unwind_table_bytes, 700U);
    EXPECT_FALSE(RecordingMaker{}.profile().stats.unwind_table_bytes.has_value());
}

TEST(Stats, speaks_of_one_lost_sample_as_of_one) {
    const auto notes_of = [](std::uint64_t lost) {
        RecordingMaker maker;
        trace::ProcessEnd end;
        end.id = maker.process("/usr/bin/app");
        end.lost = lost;
        maker.recording.record(end);
        return maker.profile();
    };
    EXPECT_TRUE(has_note(notes_of(1), "1 sample was lost; its time went to"));
    EXPECT_TRUE(has_note(notes_of(2), "2 samples were lost; their time went to"));
}

TEST(Stats, leaves_what_was_lost_to_who_records_from_outside) {
    RecordingMaker maker;
    trace::Process process;
    process.source = trace::kAttachSource;
    trace::ProcessEnd end;
    end.id = process.id = maker.process("/usr/bin/app");
    end.lost = 2;
    maker.recording.record(process);
    maker.recording.record(end);
    EXPECT_FALSE(has_note(maker.profile(), "2 samples were lost"));
}

TEST(Stats, says_that_the_end_is_missing) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"main"}), 100'000);
    trace::ReadOutcome read;
    read.problem = "cut off at byte 77";
    maker.recording.set_read_outcome(read);
    const Profile profile = maker.profile();
    EXPECT_FALSE(profile.stats.whole);
    EXPECT_TRUE(has_note(profile, "end of the recording is missing (cut off at byte 77)"));
    EXPECT_EQ(profile.stats.wall_ns, 100'000U);
}

TEST(Stats, names_the_programs_that_were_not_profiled_once) {
    RecordingMaker fixture;
    for (const std::uint32_t pid : {7U, 8U, 9U}) {
        fixture.recording.record(trace::UnprofiledProgram{
            pid, 1, 5, pid == 9 ? "/bin/su" : "/bin/busybox", pid == 9 ? "setuid" : "static"});
    }
    fixture.end();
    const Profile profile = fixture.profile();
    ASSERT_EQ(profile.unprofiled.size(), 3U);
    EXPECT_EQ(profile.unprofiled[1].pid, 8U);
    EXPECT_EQ(profile.unprofiled[1].parent_pid, 1U);
    EXPECT_EQ(profile.unprofiled[2].reason, "setuid");
    EXPECT_TRUE(has_note(profile, "/bin/busybox (2 processes) was not profiled: static"));
    EXPECT_TRUE(has_note(profile, "/bin/su (1 process) was not profiled: setuid"));
}

TEST(Stats, programs_that_were_not_profiled_for_one_reason_are_named_together) {
    RecordingMaker fixture;
    std::uint32_t pid = 7;
    for (const char* program : {"ash", "bash", "bash", "bash", "csh", "csh", "dash", "fish"}) {
        fixture.recording.record(trace::UnprofiledProgram{pid++, 1, 5, program, "static"});
    }
    fixture.end();
    EXPECT_TRUE(has_note(fixture.profile(),
                         "bash (3 processes), csh (2 processes), ash (1 process)"
                         ", and 2 more were not profiled: static"));
}

TEST(Stats, the_time_of_programs_without_an_agent_is_told_by_program) {
    RecordingMaker fixture;
    const auto add = [&](const char* path, const char* source, std::uint64_t cpu_ns) {
        trace::Process facts;
        facts.pid = 500 + static_cast<std::uint32_t>(fixture.recording.processes().size());
        facts.id = fixture.process(path, facts.pid);
        facts.executable = path;
        facts.source = source;
        fixture.recording.record(facts);
        trace::ProcessEnd end;
        end.id = facts.id;
        end.cpu_ns = cpu_ns;
        fixture.recording.record(end);
    };
    add("/usr/bin/go", "perf", 1'000'000'000);
    add("/lib/asm", trace::kNoSource, 1'000'000'000);
    add("/lib/compile", trace::kNoSource, 3'000'000'000);
    add("/lib/compile", trace::kNoSource, 4'000'000'000);
    fixture.end();
    const Profile profile = fixture.profile();
    EXPECT_EQ(profile.stats.process_cpu_ns, 9'000'000'000U);
    EXPECT_EQ(profile.stats.unprofiled_cpu_ns, 8'000'000'000U);
    EXPECT_TRUE(has_note(profile,
                         "8.000 s of CPU time have no stack, being of programs that were not "
                         "profiled: compile 7.000 s (2 processes), asm 1.000 s (1 process); sample "
                         "attach PID and sample record -a see them from outside"));
}

TEST(Stats, what_the_recorder_said_at_the_end_comes_first_line_by_line) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"main"}), 100'000);
    trace::SessionEnd end;
    end.note = "one thing\n\nanother: it matters\n";
    maker.recording.record(end);
    trace::ProcessEnd lossy;
    lossy.id = maker.process("/usr/bin/app");
    lossy.lost = 7;
    maker.recording.record(lossy);
    const std::vector<std::string> notes = maker.profile().stats.notes;
    ASSERT_GE(notes.size(), 3U);
    EXPECT_EQ(notes[0], "one thing");
    EXPECT_EQ(notes[1], "another: it matters");
}

// The slowest process has few samples, mostly: of all samples its 99 % are no percentile.
TEST(Stats, tell_how_long_the_samples_of_all_processes_took) {
    RecordingMaker maker;
    maker.sample(maker.main_thread(), maker.stack({"main"}), 100'000);
    trace::ProcessEnd one;
    one.id = maker.process("/usr/bin/app", 100);
    one.handler_count = 1000;
    one.handler_sum_ns = 1'000'000;
    one.handler_p99_ns = 2'000;
    maker.recording.record(one);
    trace::ProcessEnd other;
    other.id = maker.process("/usr/bin/app", 101);
    other.handler_count = 1;
    other.handler_sum_ns = other.handler_p99_ns = 9'000'000;
    maker.recording.record(other);
    EXPECT_FALSE(maker.profile().stats.handler_ns_p99.has_value());
    trace::SessionEnd end;
    end.handler_p99_ns = 3'000;
    maker.recording.record(end);
    EXPECT_EQ(maker.profile().stats.handler_ns_p99, 3'000U);
}

TEST(Stats, notes_what_a_reader_has_to_know) {
    RecordingMaker maker;
    const ProcessId app = maker.process("/usr/bin/app", 100);
    maker.process("/usr/bin/static", 101);
    maker.process("/usr/bin/static", 102);
    maker.sample(maker.thread(app, "app", 100), maker.stack({"main"}), 1);
    trace::ProcessEnd end;
    end.id = app;
    end.kind = trace::EndKind::signaled;
    end.code = SIGKILL;
    end.lost = 7;
    maker.recording.record(end);
    trace::Process go;
    go.id = ProcessId{4};
    go.pid = 103;
    go.executable = "/usr/bin/gopher";
    go.source = "perf";
    go.source_reason = "a Go program";
    maker.recording.record(go);
    trace::ReadOutcome read;
    read.unknown_events = 3;
    maker.recording.set_read_outcome(read);
    EXPECT_FALSE(has_note(maker.profile(), "never sampled")) << "it may be in what is missing";
    maker.end();
    const Profile profile = maker.profile();
    EXPECT_TRUE(
        has_note(profile, "static (2 processes), gopher (1 process) were never sampled: ended"));
    EXPECT_TRUE(has_note(profile, "7 samples were lost"));
    EXPECT_TRUE(has_note(profile, "gopher (1 process) was sampled with source perf: a Go program"));
    EXPECT_TRUE(has_note(profile, "3 events of kinds"));
    EXPECT_EQ(profile.processes[0].ending, "killed by SIGKILL (9)");
    EXPECT_TRUE(profile.processes[0].ended_badly);
    EXPECT_EQ(profile.stats.lost, 7U);
}

TEST(Stats, of_a_recording_without_samples_miss_none) {
    RecordingMaker maker;
    trace::SessionStart start = *maker.recording.start();
    start.source = trace::kSourceOff;
    maker.recording.record(start);
    maker.sample(maker.main_thread(), maker.stack({"main"}), 0);
    maker.process("/usr/bin/other", 101);
    maker.end();
    const Stats stats = maker.profile().stats;
    EXPECT_EQ(stats.sampling, Sampling::off);
    EXPECT_EQ(stats.requested_hz, 0U);
    EXPECT_FALSE(stats.achieved_hz.has_value());
    EXPECT_TRUE(stats.notes.empty()) << stats.notes.front();
}

TEST(Stats, of_another_programs_trace_say_what_was_not_understood) {
    RecordingMaker maker;
    maker.process("Game", 0);
    maker.end();
    trace::ReadOutcome read;
    read.is_foreign = true;
    read.problem = "cut off at byte 77";
    read.instrumentation_problem = "1 batch of zones is damaged";
    read.unknown_events = 3;
    maker.recording.set_read_outcome(read);
    const Stats stats = maker.profile().stats;
    EXPECT_EQ(stats.sampling, Sampling::foreign);
    EXPECT_EQ(stats.clock, "");
    EXPECT_EQ(stats.notes,
              (std::vector<std::string>{
                  "the trace could not be read to its end (cut off at byte 77): the figures cover "
                  "what comes before that",
                  "not all that was said could be understood: 1 batch of zones is damaged",
                  "3 events of kinds that this version does not know: sample trace info lists all "
                  "kinds, and sample trace dump shows their events"}));
}

TEST(Stats, count_what_programs_say) {
    RecordingMaker maker;
    trace::RecordSink& sink = maker.recording;
    for (const auto kind : {trace::EdgeKind::begin, trace::EdgeKind::begin, trace::EdgeKind::end}) {
        trace::ZoneEdge edge;
        edge.kind = kind;
        sink.zone(edge);
    }
    trace::RaisedEvent scope;
    scope.scope = trace::ScopeKind::enter;
    sink.instrumentation(scope);
    scope.scope = trace::ScopeKind::leave;
    sink.instrumentation(scope);
    for (const trace::Instrumentation& said : std::initializer_list<trace::Instrumentation>{
             trace::FrameEdge{{}, 1, 0, true}, trace::FrameEdge{{}, 2, 0, false},
             trace::RegionBegin{}, trace::RegionEnd{}, trace::CounterSpec{}, trace::CounterValue{},
             trace::CounterValue{}, trace::MessageSpec{}, trace::Message{}}) {
        sink.instrumentation(said);
    }
    const SaidCounts said = maker.profile().stats.said;
    EXPECT_EQ(said.zones, 2U);
    EXPECT_EQ(said.frames, 1U);
    EXPECT_EQ(said.regions, 1U);
    EXPECT_EQ(said.counters, 1U);
    EXPECT_EQ(said.values, 2U);
    EXPECT_EQ(said.messages, 1U);
    EXPECT_EQ(said.events, 1U);
}

TEST(Stats, of_an_event_has_a_period_and_no_clock) {
    RecordingMaker maker;
    trace::SessionStart start = *maker.recording.start();
    start.event = start.unit = "page-faults";
    start.period = 7;
    maker.recording.record(start);
    const ThreadId thread = maker.main_thread();
    maker.recording.sample({thread, 2'000, maker.frame(NodeId{}, "main"), 7});
    const Profile profile = build_profile(maker.recording, maker.symbols);
    EXPECT_FALSE(profile.is_time());
    EXPECT_EQ(profile.event, "page-faults");
    EXPECT_EQ(profile.metric.unit, "page-faults");
    EXPECT_EQ(profile.stats.period, 7U);
    EXPECT_EQ(profile.stats.requested_hz, 0U);
    EXPECT_EQ(profile.stats.clock, "");
    EXPECT_FALSE(profile.stats.achieved_hz.has_value()) << "no CPU time is known";
    EXPECT_EQ(profile.nodes[0].total, 7U);
    EXPECT_EQ(profile.processes[0].cpu_ns, 0U) << "a count is no CPU time";
}

TEST(Stats, where_threads_that_wait_are_sampled_have_one_rate) {
    for (const bool by_wall : {true, false}) {
        RecordingMaker maker;
        trace::SessionStart start = *maker.recording.start();
        start.clock = by_wall ? trace::Clock::wall : start.clock;
        start.source = by_wall ? start.source : "timer";
        maker.recording.record(start);
        maker.sample(maker.main_thread(), maker.stack({"main"}), 100'000);
        const Stats stats = maker.profile().stats;
        EXPECT_EQ(stats.clock, by_wall ? "wall" : "cpu");
        EXPECT_EQ(stats.requested_hz, 10'000U);
        EXPECT_FALSE(stats.achieved_hz.has_value());
    }
}

}  // namespace
}  // namespace sample::callgraph
