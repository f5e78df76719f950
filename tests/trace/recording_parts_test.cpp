// A recording in parts: what goes in comes out of all of them together, and each is right by
// itself.
#include "tests/trace/recording_parts_fixture.h"

namespace sample::trace {

TEST(RecordingParts, without_a_turn_are_the_file_that_a_writer_makes) {
    const TemporaryFile file;
    const TemporaryFile other;
    RecordingWriter writer{file.open()};
    class NoFiles : public PartFiles {
        Result<Fd> make_next() override { return unexpected(ErrorCode::system, "none"); }
        Result<void> put_in_place() override { return {}; }
        void ended(std::span<const ModuleId> /*modules*/) override {}
        void trouble(const Error& /*error*/) override {}
    } files;
    RecordingParts parts{other.open(), {}, files, [] { return PartMoment{}; }};
    const auto fill = [](RecordSink& sink) {
        sink.record(a_session());
        sink.record(Process{ProcessId{1}, 10, 1, kFirstStart, "/bin/a", "a", "perf", ""});
        sink.record(Module{ModuleId{1}, ModuleKind::elf, false, "/bin/a", {1}});
        sink.record(ModuleLoad{ModuleId{1}, ProcessId{1}, 0, 1, 2, kFirstStart});
        sink.record(Thread{ThreadId{1}, ProcessId{1}, 10, kFirstStart, "a"});
        sink.record(ThreadName{ThreadId{1}, "worker"});
        sink.instrumentation(ZoneSpec{ZoneId{1}, "frame"});
        sink.instrumentation(CounterSpec{CounterId{1}, ProcessId{1}, "fps"});
        sink.zone({ThreadId{1}, EdgeKind::begin, kFirstStart + 5, ZoneId{1}});
        sink.instrumentation(
            CounterValue{ThreadId{1}, kFirstStart + 6, CounterId{1}, std::int64_t{3}});
        sink.zone({ThreadId{1}, EdgeKind::end, kFirstStart + 7, {}});
        sink.node({NodeId{1}, NodeId{}, ModuleId{1}, 0x10});
        sink.node({NodeId{2}, NodeId{1}, ModuleId{1}, 0x20});
        sink.sample({ThreadId{1}, kFirstStart + 9'000, NodeId{2}, 100'000});
        sink.record(ProcessEnd{ProcessId{1}, EndKind::exited, 3, kFirstStart + kOneSecond, 5});
        sink.record(SessionEnd{kFirstStart + kOneSecond, false, ""});
        EXPECT_TRUE(sink.flush(FlushMode::everything));
    };
    fill(writer);
    fill(parts);
    EXPECT_EQ(other.bytes(), file.bytes());
}

TEST(RecordingParts, have_together_what_went_in) {
    TestParts parts;
    parts.define_one_of_each();
    std::uint64_t whole = 0;
    std::vector<NodeId> nodes{NodeId{}};
    for (std::uint32_t i = 0; i < 300; ++i) {
        nodes.push_back(parts.node(nodes[i / 2], ModuleId{1}, i));
        parts.sample(nodes[(std::size_t{i} * 7) % nodes.size()], 1000 + i);
        whole += 1000 + i;
        if (i % 100 == 99) {
            parts.turn();
        }
    }
    const auto read = parts.finish();
    ASSERT_EQ(read.size(), 4U);
    std::uint64_t sum = 0;
    for (const KeepingSink& part : read) {
        sum += weight_of(part);
    }
    EXPECT_EQ(sum, whole);
}

TEST(RecordingParts, have_the_stacks_that_were_sampled_in_them_alone) {
    TestParts parts;
    parts.define_one_of_each();
    parts.sink->record(Module{ModuleId{2}, ModuleKind::elf, false, "/lib/b", {2}});
    const NodeId root = parts.node(NodeId{}, ModuleId{1}, 0x10);
    parts.node(root, ModuleId{1}, 0x20);
    const NodeId leaf = parts.node(root, ModuleId{2}, 0x30);
    parts.sample(root, 1);
    parts.turn();
    parts.sample(leaf, 2);
    const auto read = parts.finish();
    ASSERT_EQ(read[1].nodes.size(), 2U);
    EXPECT_EQ(read[1].nodes[1].address, 0x30U);
    EXPECT_EQ(read[1].nodes[1].parent, NodeId{1});
    EXPECT_EQ(read[1].samples[0].node, NodeId{2});
    ASSERT_EQ(read[1].modules.size(), 2U);
    EXPECT_EQ(read[1].modules[read[1].nodes[1].module.value - 1].path, "/lib/b");
    EXPECT_EQ(parts.modules, (std::vector<std::vector<ModuleId>>{{ModuleId{1}, ModuleId{2}}}));
}

TEST(RecordingParts, number_their_modules_anew_and_say_how) {
    TestParts parts;
    parts.define_one_of_each();
    parts.sink->record(Module{ModuleId{2}, ModuleKind::elf, false, "/lib/b", {2}});
    parts.sink->record(ModuleLoad{ModuleId{2}, ProcessId{1}, 0x1000, 0x1000, 10, kFirstStart});
    const NodeId node = parts.node(NodeId{}, ModuleId{2}, 0x30);
    parts.turn();
    parts.sample(node, 1);
    parts.turn();
    const auto read = parts.finish();
    ASSERT_EQ(read[1].modules.size(), 1U);
    EXPECT_EQ(read[1].modules[0].path, "/lib/b");
    EXPECT_EQ(parts.modules[1], std::vector{ModuleId{2}});
    ASSERT_EQ(read[1].module_loads.size(), 1U);
    EXPECT_EQ(read[1].module_loads[0].time_ns, kFirstStart + 10 * kOneSecond);
    EXPECT_TRUE(read[2].modules.empty());
}

TEST(RecordingParts, begin_with_what_lives_and_end_with_it) {
    TestParts parts;
    parts.define_one_of_each();
    parts.sink->record(Metric{MetricId{2}, "wall", "", "time"});
    parts.sink->record(Process{ProcessId{2}, 20, 10, kFirstStart, "/bin/b", "b", "perf", ""});
    parts.sink->record(ProcessEnd{ProcessId{2}, EndKind::exited, 0, kFirstStart + 5, 5});
    parts.turn();
    parts.sink->record(ThreadName{ThreadId{1}, "renamed"});
    parts.sink->instrumentation(ThreadGroup{ThreadId{1}, "workers"});
    parts.turn();
    parts.sink->record(Process{ProcessId{3}, 30, 10, parts.now_ns, "/bin/c", "c", "perf", ""});
    parts.sink->record(Thread{ThreadId{2}, ProcessId{3}, 30, parts.now_ns, "c"});
    parts.sample(NodeId{}, 4);
    const auto read = parts.finish();
    const KeepingSink& last = read[2];
    EXPECT_EQ(last.sessions[0].start_ns, kFirstStart + 20 * kOneSecond);
    EXPECT_EQ(last.sessions[0].start_unix_ns, kFirstStart + 20 * kOneSecond + 7);
    EXPECT_EQ(last.metrics.size(), 1U);
    ASSERT_EQ(last.processes.size(), 2U);
    EXPECT_EQ(last.processes[0].executable, "/bin/a");
    EXPECT_EQ(last.processes[0].start_ns, kFirstStart + 20 * kOneSecond);
    EXPECT_EQ(last.processes[1].executable, "/bin/c");
    ASSERT_EQ(last.threads.size(), 2U);
    EXPECT_EQ(last.threads[1].name, "renamed");
    EXPECT_EQ(last.threads[1].start_ns, kFirstStart + 20 * kOneSecond);
    EXPECT_EQ(all_of<ThreadGroup>(last).size(), 1U);
    ASSERT_EQ(read[1].process_ends.size(), 1U);
    EXPECT_EQ(read[1].process_ends[0].kind, EndKind::still_running);
    EXPECT_EQ(read[1].process_ends[0].cpu_ns, 1U) << "0 would be unknown";
    EXPECT_EQ(read[1].process_ends[0].end_ns, kFirstStart + 20 * kOneSecond);
    EXPECT_EQ(read[1].session_ends[0].end_ns, kFirstStart + 20 * kOneSecond);
    EXPECT_NE(read[1].session_ends[0].note.find("part 2"), std::string::npos);
    EXPECT_NE(last.session_ends[0].note.find("part 3"), std::string::npos);
}

TEST(RecordingParts, share_the_time_of_a_process) {
    TestParts parts;
    parts.define_one_of_each();
    const NodeId node = parts.node(NodeId{}, ModuleId{1}, 1);
    parts.sample(node, 300);
    parts.turn();
    parts.sample(node, 500);
    parts.sink->record(ProcessEnd{ProcessId{1}, EndKind::exited, 7, parts.now_ns, 1000, 2});
    const auto read = parts.finish();
    EXPECT_EQ(read[0].process_ends[0].cpu_ns, 300U);
    EXPECT_EQ(read[1].process_ends[0].cpu_ns, 700U);
    EXPECT_EQ(read[1].process_ends[0].code, 7);
    EXPECT_EQ(read[1].process_ends[0].lost, 2U);
}

TEST(RecordingParts, say_no_time_that_nobody_measured) {
    for (const bool is_wall : {false, true}) {
        TestParts parts{TestParts::a_session_of(is_wall ? Clock::wall : Clock::cpu)};
        const char* const source = is_wall ? "perf" : kSourceOff;
        parts.sink->record(Process{ProcessId{1}, 10, 1, kFirstStart, "/bin/a", "a", source, ""});
        parts.turn();
        parts.sink->record(ProcessEnd{ProcessId{1}, EndKind::exited, 0, parts.now_ns, 1000});
        const auto read = parts.finish();
        EXPECT_EQ(read[0].process_ends[0].cpu_ns, 0U);
        EXPECT_EQ(read[1].process_ends[0].cpu_ns, 0U);
    }
}

TEST(RecordingParts, take_what_comes_late) {
    TestParts parts;
    parts.define_one_of_each();
    const NodeId node = parts.node(NodeId{}, ModuleId{1}, 1);
    parts.sink->record(
        ProcessEnd{ProcessId{1}, EndKind::signaled, 9, kFirstStart + kOneSecond, 1000});
    for (int i = 1; i <= 3; ++i) {
        parts.turn();
        parts.sink->sample({ThreadId{1}, kFirstStart + 1, node, 5});
    }
    const auto read = parts.finish();
    ASSERT_EQ(read.size(), 4U);
    for (std::size_t i = 1; i < read.size(); ++i) {
        ASSERT_EQ(read[i].samples.size(), 1U);
        EXPECT_EQ(read[i].samples[0].time_ns, kFirstStart + i * 10 * kOneSecond);
        EXPECT_EQ(read[i].samples[0].weight, 5U);
        ASSERT_EQ(read[i].process_ends.size(), 1U);
        EXPECT_EQ(read[i].process_ends[0].cpu_ns, 5U);
    }
    EXPECT_EQ(read[1].processes[0].executable, "/bin/a");
    EXPECT_EQ(read[1].process_ends[0].kind, EndKind::signaled);
}

TEST(RecordingParts, end_by_their_size) {
    TestParts parts{TestParts::a_session_of(Clock::cpu), {.bytes = 20'000}};
    parts.define_one_of_each();
    std::uint64_t whole = 0;
    for (std::uint32_t i = 0; i < 100; ++i) {
        for (std::uint32_t j = 0; j < 1000; ++j) {
            parts.now_ns += 1000 * (1 + (std::uint64_t{j} * j) % 97);
            parts.sample(parts.node(NodeId{}, ModuleId{1}, i * i * 1000 + 13 * j), 1 + j * j);
            whole += 1 + j * j;
        }
        ASSERT_TRUE(parts.sink->flush(FlushMode::everything));
    }
    std::uint64_t sum = 0;
    const auto read = parts.finish();
    EXPECT_GT(read.size(), 5U);
    for (const KeepingSink& part : read) {
        sum += weight_of(part);
    }
    EXPECT_EQ(sum, whole);
}

TEST(RecordingParts, go_on_in_one_if_the_next_cannot_be_made) {
    TestParts parts;
    parts.define_one_of_each();
    const NodeId node = parts.node(NodeId{}, ModuleId{1}, 1);
    parts.sample(node, 1);
    parts.fails = true;
    parts.turn();
    parts.sample(node, 2);
    parts.fails = false;
    parts.cannot_place = true;
    parts.turn();
    parts.sample(node, 4);
    EXPECT_EQ(parts.troubles, (std::vector<std::string>{"no room", "no such folder"}));
    parts.cannot_place = false;
    parts.turn();
    parts.sample(node, 8);
    const auto read = parts.finish();
    ASSERT_EQ(read.size(), 2U);
    EXPECT_EQ(weight_of(read[0]), 7U);
    EXPECT_EQ(weight_of(read[1]), 8U);
}

}  // namespace sample::trace
