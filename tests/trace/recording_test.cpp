#include "tests/trace/recording_fixture.h"
#include "trace/records.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

namespace sample::trace {
namespace {

TEST(Recording, gives_back_every_record) {
    const KeepingSink kept = read_whole(small_recording());
    const std::uint64_t start = a_session().start_ns;

    ASSERT_EQ(kept.sessions.size(), 1U);
    const SessionStart& session = kept.sessions[0];
    EXPECT_EQ(session.start_ns, start);
    EXPECT_EQ(session.start_unix_ns, a_session().start_unix_ns);
    EXPECT_EQ(session.period, 100'000U);
    EXPECT_EQ(session.requested_hz, 10'000U);
    EXPECT_EQ(session.clock, Clock::wall);
    EXPECT_EQ(session.source, "sigtrap");
    EXPECT_EQ(session.source_reason, "");
    EXPECT_EQ(session.command_line, "/opt/app/bin/app --mode fast");
    EXPECT_EQ(session.tool_version, "0.1.0");

    ASSERT_EQ(kept.processes.size(), 1U);
    const Process& process = kept.processes[0];
    EXPECT_EQ(process.id, ProcessId{1});
    EXPECT_EQ(process.pid, 4321U);
    EXPECT_EQ(process.parent_pid, 4320U);
    EXPECT_EQ(process.start_ns, start);
    EXPECT_EQ(process.executable, "/opt/app/bin/app");
    EXPECT_EQ(process.command_line, "app --mode fast");
    EXPECT_EQ(process.source, "sigtrap");

    ASSERT_EQ(kept.modules.size(), 2U);
    EXPECT_EQ(kept.modules[0].kind, ModuleKind::elf);
    EXPECT_EQ(kept.modules[0].path, "/opt/app/bin/app");
    EXPECT_EQ(kept.modules[0].build_id, (std::vector<std::uint8_t>{1, 2, 3, 4}));
    EXPECT_FALSE(kept.modules[0].plugin);
    EXPECT_EQ(kept.modules[1].kind, ModuleKind::pseudo);
    EXPECT_EQ(kept.modules[1].path, kNotSampled);

    ASSERT_EQ(kept.module_loads.size(), 1U);
    EXPECT_EQ(kept.module_loads[0].module, ModuleId{1});
    EXPECT_EQ(kept.module_loads[0].process, ProcessId{1});
    EXPECT_EQ(kept.module_loads[0].base, 0x555500000000U);
    EXPECT_EQ(kept.module_loads[0].start, 0x555500001000U);
    EXPECT_EQ(kept.module_loads[0].size, 0x20000U);
    EXPECT_EQ(kept.module_loads[0].time_ns, start);

    ASSERT_EQ(kept.threads.size(), 2U);
    EXPECT_EQ(kept.threads[1].id, ThreadId{2});
    EXPECT_EQ(kept.threads[1].process, ProcessId{1});
    EXPECT_EQ(kept.threads[1].tid, 4322U);
    EXPECT_EQ(kept.threads[1].start_ns, start + 10);
    EXPECT_EQ(kept.threads[1].name, "app");
    ASSERT_EQ(kept.thread_names.size(), 1U);
    EXPECT_EQ(kept.thread_names[0].id, ThreadId{2});
    EXPECT_EQ(kept.thread_names[0].name, "worker");

    ASSERT_EQ(kept.process_ends.size(), 1U);
    const ProcessEnd& end = kept.process_ends[0];
    EXPECT_EQ(end.id, ProcessId{1});
    EXPECT_EQ(end.kind, EndKind::signaled);
    EXPECT_EQ(end.code, 11);
    EXPECT_EQ(end.end_ns, start + 6'000'000);
    EXPECT_EQ(end.cpu_ns, 5'900'000U);
    EXPECT_EQ(end.lost, 3U);
    EXPECT_EQ(end.handler_count, 40U);
    EXPECT_EQ(end.handler_sum_ns, 80'000U);
    EXPECT_EQ(end.handler_p99_ns, 9'000U);
    EXPECT_EQ(end.agent_rss_bytes, 1U << 20);
    EXPECT_EQ(end.unwind_table_bytes, 1U << 18);

    ASSERT_EQ(kept.unprofiled.size(), 1U);
    EXPECT_EQ(kept.unprofiled[0].pid, 77U);
    EXPECT_EQ(kept.unprofiled[0].parent_pid, 76U);
    EXPECT_EQ(kept.unprofiled[0].start_ns, start + 4'000'000);
    EXPECT_EQ(kept.unprofiled[0].executable, "/bin/busybox");
    EXPECT_EQ(kept.unprofiled[0].reason, "it is static");

    ASSERT_EQ(kept.session_ends.size(), 1U);
    EXPECT_EQ(kept.session_ends[0].end_ns, start + 7'000'000);
    EXPECT_TRUE(kept.session_ends[0].stopped_early);
    EXPECT_EQ(kept.session_ends[0].note, "stopped by --time");
}

TEST(Recording, says_what_is_counted_instead_of_time) {
    SessionStart session = a_session();
    session.event = "page-faults";
    session.unit = "page-faults";
    session.period = 1;
    const KeepingSink kept = read_whole(record(session, [](TestWriter& writer) {
        define_one_of_each(writer);
        const NodeId node = writer.node(NodeId{}, ModuleId{1}, 1);
        writer.sample(Sample{ThreadId{1}, 5'000, node, 1});
        writer.sample(Sample{ThreadId{1}, 6'000, node, 2'000});
    }));
    ASSERT_EQ(kept.sessions.size(), 1U);
    EXPECT_EQ(kept.sessions[0].event, "page-faults");
    EXPECT_EQ(kept.sessions[0].unit, "page-faults");
    ASSERT_EQ(kept.samples.size(), 2U);
    EXPECT_EQ(kept.samples[0].weight, 1U);
    EXPECT_EQ(kept.samples[1].weight, 2'000U);
    EXPECT_EQ(read_whole(small_recording()).sessions[0].unit, "");
}

TEST(Recording, keeps_the_extremes_of_every_number) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    constexpr std::uint64_t kMostWeight = (std::uint64_t{1} << 62) - 1;
    SessionStart session = a_session();
    session.start_ns = session.start_unix_ns = session.period = kMost;
    const auto file = record(session, [&](TestWriter& writer) {
        define_one_of_each(writer);
        writer.record(ProcessEnd{ProcessId{1}, EndKind::exited,
                                 std::numeric_limits<std::int32_t>::min(), kMost, kMost, kMost,
                                 kMost, kMost, kMost, kMost});
        const NodeId high = writer.node(NodeId{}, ModuleId{1}, kMost);
        const NodeId low = writer.node(high, ModuleId{1}, 0);
        writer.sample(Sample{ThreadId{1}, kMost, high, 0});
        writer.sample(Sample{ThreadId{1}, 0, low, kMostWeight});
        writer.sample(Sample{ThreadId{1}, 1'000'000, NodeId{}, 1});
        writer.sample(Sample{ThreadId{1}, kMost, low, kMostWeight, true});
        writer.sample(Sample{ThreadId{1}, 0, low, 0, true});
    });
    const KeepingSink kept = read_whole(file);
    EXPECT_EQ(kept.sessions.at(0).period, kMost);
    EXPECT_EQ(kept.process_ends.at(0).code, std::numeric_limits<std::int32_t>::min());
    EXPECT_EQ(kept.process_ends.at(0).agent_rss_bytes, kMost);
    ASSERT_EQ(kept.nodes.size(), 2U);
    EXPECT_EQ(kept.nodes[0].address, kMost);
    EXPECT_EQ(kept.nodes[1].address, 0U);
    ASSERT_EQ(kept.samples.size(), 3U);
    EXPECT_EQ(kept.samples[0].time_ns, kMost / 1000 * 1000);
    EXPECT_EQ(kept.samples[0].weight, 0U);
    EXPECT_EQ(kept.samples[1].time_ns, 0U);
    EXPECT_EQ(kept.samples[1].weight, kMostWeight);
    EXPECT_EQ(kept.samples[2].node, NodeId{});
    EXPECT_EQ(kept.samples[2].weight, 1U);
    ASSERT_EQ(kept.bookings.size(), 2U);
    EXPECT_EQ(kept.bookings[0].weight, kMostWeight);
    EXPECT_EQ(kept.bookings[1].weight, 0U);
}

TEST(Recording, keeps_text_as_it_is_whatever_its_script) {
    const std::string text = "日本語 \xF0\x9F\x94\xA5 na\u00efve \xff\xfe|";
    SessionStart session = a_session();
    session.command_line = text;
    session.source_reason = text;
    const auto file = record(session, [&](TestWriter& writer) {
        writer.record(Process{ProcessId{1}, 1, 0, 0, text, text, text, text});
        writer.record(Thread{ThreadId{1}, ProcessId{1}, 1, 0, text});
        writer.record(Module{ModuleId{1}, ModuleKind::jit, true, text, {0xff}});
    });
    const KeepingSink kept = read_whole(file);
    EXPECT_EQ(kept.sessions.at(0).command_line, text);
    EXPECT_EQ(kept.sessions.at(0).source_reason, text);
    EXPECT_EQ(kept.processes.at(0).executable, text);
    EXPECT_EQ(kept.processes.at(0).source_reason, text);
    EXPECT_EQ(kept.threads.at(0).name, text);
    EXPECT_EQ(kept.modules.at(0).path, text);
    EXPECT_EQ(kept.modules.at(0).kind, ModuleKind::jit);
    EXPECT_TRUE(kept.modules.at(0).plugin);
}

TEST(Recording, cuts_long_text_at_its_limit_and_marks_the_cut) {
    const std::string huge(200'000, 'x');
    SessionStart session = a_session();
    session.command_line = huge;
    session.source = huge;
    const auto file = record(session, [&](TestWriter& writer) {
        writer.record(Process{ProcessId{1}, 1, 0, 0, huge, huge, huge, huge});
        writer.record(Module{ModuleId{1}, ModuleKind::elf, false, huge,
                             std::vector<std::uint8_t>(100'000, 7)});
        writer.record(ModuleLoad{ModuleId{1}, ProcessId{1}, 0, 0, 0, 0});
        writer.record(Thread{ThreadId{1}, ProcessId{1}, 1, 0, huge});
    });
    const KeepingSink kept = read_whole(file);
    const auto is_cut = [](const std::string& text, std::size_t limit) {
        return text.size() == limit && text.starts_with("xxx") && text.ends_with("x\u2026");
    };
    EXPECT_TRUE(is_cut(kept.sessions.at(0).command_line, kMaxCommandLineBytes));
    EXPECT_TRUE(is_cut(kept.sessions.at(0).source, kMaxTextBytes));
    EXPECT_TRUE(is_cut(kept.processes.at(0).command_line, kMaxCommandLineBytes));
    EXPECT_TRUE(is_cut(kept.processes.at(0).executable, kMaxPathBytes));
    EXPECT_TRUE(is_cut(kept.modules.at(0).path, kMaxPathBytes));
    EXPECT_EQ(kept.modules.at(0).build_id.size(), kMaxBuildIdBytes);
    EXPECT_TRUE(is_cut(kept.threads.at(0).name, kMaxTextBytes));
}

TEST(Recording, writes_important_events_at_every_flush_and_samples_once_a_second) {
    const TemporaryFile file;
    auto writer = TestWriter::create(file.open(), a_session());
    ASSERT_TRUE(writer);
    define_one_of_each(*writer);
    const NodeId node = writer->node(NodeId{}, ModuleId{1}, 1);
    writer->sample(Sample{ThreadId{1}, 5'000'000'000, node, 100'000});
    ASSERT_TRUE(writer->flush());
    KeepingSink early;
    ASSERT_TRUE(read_recording(file.bytes(), early));
    EXPECT_EQ(early.threads.size(), 1U);
    EXPECT_EQ(early.samples.size(), 0U);
    const std::uint64_t size = writer->bytes_written();
    ASSERT_TRUE(writer->flush());
    EXPECT_EQ(writer->bytes_written(), size);

    writer->sample(Sample{ThreadId{1}, 6'000'000'000, node, 100'000});
    ASSERT_TRUE(writer->flush());
    KeepingSink late;
    const auto outcome = read_recording(file.bytes(), late);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(late.samples.size(), 2U);
    EXPECT_FALSE(outcome->whole);
    EXPECT_EQ(outcome->problem, "");
}

TEST(Recording, holds_more_threads_than_the_container_numbers) {
    constexpr std::uint32_t kThreads = 17'000;
    const auto file = record(a_session(), [](TestWriter& writer) {
        define_one_of_each(writer);
        for (std::uint32_t i = 2; i <= kThreads; ++i) {
            writer.record(Thread{ThreadId{i}, ProcessId{1}, i, 0, "t"});
        }
        writer.sample(Sample{ThreadId{kThreads}, 0, NodeId{}, 1});
    });
    const KeepingSink kept = read_whole(file);
    EXPECT_EQ(kept.threads.size(), kThreads);
    EXPECT_EQ(kept.samples.at(0).thread, ThreadId{kThreads});
}

TEST(Recording, reports_records_that_refer_to_nothing) {
    const auto error_of = [](auto fill) {
        const TemporaryFile file;
        auto writer = TestWriter::create(file.open(), a_session());
        EXPECT_TRUE(writer);
        fill(*writer);
        const auto status = writer->flush();
        EXPECT_FALSE(status);
        EXPECT_FALSE(writer->finish(SessionEnd{}));
        KeepingSink kept;
        EXPECT_TRUE(read_recording(file.bytes(), kept));
        EXPECT_EQ(kept.sessions.size(), 1U);
        return status ? std::string{} : status.error().message();
    };
    EXPECT_NE(error_of([](TestWriter& writer) {
                  writer.record(Process{ProcessId{2}, 1, 0, 0, "", "", "", ""});
              }).find("not defined: a Process"),
              std::string::npos);
    EXPECT_NE(error_of([](TestWriter& writer) {
                  writer.sample(Sample{ThreadId{1}, 0, NodeId{}, 1});
              }).find("not defined: a Sample"),
              std::string::npos);
    EXPECT_NE(error_of([](TestWriter& writer) {
                  writer.node(NodeId{1}, ModuleId{1}, 1);
              }).find("not defined: a StackNode"),
              std::string::npos);
    EXPECT_NE(error_of([](TestWriter& writer) {
                  define_one_of_each(writer);
                  writer.sample(Sample{ThreadId{1}, 0, NodeId{1}, 1});
              }).find("not defined: a Sample"),
              std::string::npos);
    // A batch has a byte for its metric: the 257th would be taken for the first.
    EXPECT_NE(error_of([](TestWriter& writer) {
                  define_one_of_each(writer);
                  for (std::uint32_t id = 2; id <= 257; ++id) {
                      writer.record(Metric{MetricId{id}, "m", "", ""});
                  }
                  writer.sample(Sample{ThreadId{1}, 0, NodeId{}, 1, false, MetricId{257}});
              }).find("not defined: a Sample"),
              std::string::npos);
}

TEST(Recording, carries_several_metrics) {
    const KeepingSink kept = read_whole(record(a_session(), [](TestWriter& writer) {
        define_one_of_each(writer);
        writer.record(Metric{MetricId{2}, "allocated", "bytes", "what malloc was asked for"});
        const NodeId node = writer.node(NodeId{}, ModuleId{1}, 16);
        for (std::uint64_t i = 1; i <= 1000; ++i) {
            writer.sample(Sample{ThreadId{1}, i * 1000, node, 100'000});
            writer.sample(Sample{ThreadId{1}, i * 1000, node, 64 * i, false, MetricId{2}});
        }
    }));
    ASSERT_EQ(kept.metrics.size(), 1U);
    EXPECT_EQ(kept.metrics[0].name, "allocated");
    EXPECT_EQ(kept.metrics[0].unit, "bytes");
    std::map<std::uint32_t, std::uint64_t> sums;
    for (const Sample& sample : kept.samples) {
        sums[sample.metric.value] += sample.weight;
    }
    EXPECT_EQ(sums, (std::map<std::uint32_t, std::uint64_t>{{1, 100'000'000}, {2, 32'032'000}}));
}

TEST(Recording, ends_where_it_has_more_metrics_than_a_batch_can_name) {
    const auto file = record(a_session(), [](TestWriter& writer) {
        define_one_of_each(writer);
        for (std::uint32_t id = 2; id <= 257; ++id) {
            writer.record(Metric{MetricId{id}, "m", "", ""});
        }
    });
    KeepingSink kept;
    const auto outcome = read_recording(file, kept);
    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->whole);
    EXPECT_NE(outcome->problem.find("more than 256 metrics"), std::string::npos)
        << outcome->problem;
    EXPECT_EQ(kept.metrics.size(), 255U) << "beside the session's own";
}

TEST(Tee, hands_everything_to_all_and_says_which_failed_first) {
    KeepingSink kept;
    RecordingWriter broken{Fd{}};
    KeepingSink also_kept;
    Tee tee{{&kept, &broken, &also_kept}};
    tee.record(a_session());
    tee.node(StackNode{NodeId{1}, NodeId{}, ModuleId{1}, 16});
    tee.sample(Sample{ThreadId{1}, 5, NodeId{1}, 7});
    EXPECT_FALSE(tee.flush(FlushMode::everything));
    EXPECT_EQ(kept.log.size(), 3U);
    EXPECT_EQ(also_kept.log, kept.log);
}

TEST(Recording, writer_can_be_moved) {
    const TemporaryFile file;
    auto created = TestWriter::create(file.open(), a_session());
    ASSERT_TRUE(created);
    TestWriter writer = std::move(created).value();
    write_small_recording(writer);
    TestWriter other = std::move(writer);
    ASSERT_TRUE(other.finish(SessionEnd{}));
    EXPECT_EQ(read_whole(file.bytes()).samples.size(), 40U);
}

}  // namespace
}  // namespace sample::trace
