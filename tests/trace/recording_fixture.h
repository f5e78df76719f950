// What the tests of trace/ share: a temporary file, a sink that keeps everything, and a small
// recording with every kind of record in it.
#pragma once

#include "core/fd.h"
#include "core/mapped_file.h"
#include "tests/trace/test_writer.h"
#include "trace/recording_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::trace {

[[nodiscard]] inline std::vector<std::byte> bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span{text});
    return {bytes.begin(), bytes.end()};
}

/// A file in a directory of its own, both removed at the end.
class TemporaryFile {
public:
    TemporaryFile() {
        std::string pattern = testing::TempDir() + "sample-trace-XXXXXX";
        directory_ = mkdtemp(pattern.data());
        path_ = directory_ + "/recording.utrace";
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    TemporaryFile(TemporaryFile&&) = delete;
    TemporaryFile& operator=(TemporaryFile&&) = delete;
    ~TemporaryFile() {
        unlink(path_.c_str());
        rmdir(directory_.c_str());
    }

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] Fd open() const {
        return Fd{::open(path_.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600)};
    }
    [[nodiscard]] std::vector<std::byte> bytes() const {
        auto mapped = MappedFile::open(path_);
        if (!mapped) {
            return {};
        }
        return {mapped->bytes().begin(), mapped->bytes().end()};
    }

private:
    std::string directory_;
    std::string path_;
};

/// Keeps every record, and a line of text for each, in the order of the file.
class KeepingSink : public RecordSink {
public:
    std::vector<SessionStart> sessions;
    std::vector<Metric> metrics;
    std::vector<Process> processes;
    std::vector<ProcessEnd> process_ends;
    std::vector<UnprofiledProgram> unprofiled;
    std::vector<Thread> threads;
    std::vector<ThreadName> thread_names;
    std::vector<Module> modules;
    std::vector<ModuleLoad> module_loads;
    std::vector<StackNode> nodes;
    std::vector<Sample> samples;
    std::vector<Sample> bookings;
    std::vector<SessionEnd> session_ends;
    std::vector<Attachment> attachments;
    std::vector<ZoneEdge> zones;
    std::vector<Instrumentation> said;
    std::vector<std::string> log;

    void record(const Record& record) override {
        std::visit([this](const auto& one) { keep(one); }, record);
    }
    void node(const StackNode& node) override {
        nodes.push_back(node);
        log.push_back("node " + std::to_string(node.id.value));
    }
    void sample(const Sample& sample) override {
        const std::string time = std::to_string(sample.time_ns);
        (sample.is_booking ? bookings : samples).push_back(sample);
        log.push_back(sample.is_booking
                          ? "booking " + time
                          : "sample " + time + " " + std::to_string(sample.node.value));
    }
    void zone(const ZoneEdge& edge) override { zones.push_back(edge); }
    void instrumentation(const Instrumentation& one) override { said.push_back(one); }
    void add(Attachment&& attachment) {
        log.push_back("attachment " + std::to_string(attachment.module.value));
        attachments.push_back(std::move(attachment));
    }

private:
    void keep(const SessionStart& one) { keep(sessions, one, "session " + one.command_line); }
    void keep(const Metric& one) { keep(metrics, one, "metric " + one.name); }
    void keep(const Process& one) { keep(processes, one, "process ", one.id.value); }
    void keep(const ProcessEnd& one) { keep(process_ends, one, "process end ", one.id.value); }
    void keep(const UnprofiledProgram& one) {
        keep(unprofiled, one, "unprofiled " + one.executable);
    }
    void keep(const Thread& one) { keep(threads, one, "thread ", one.id.value); }
    void keep(const ThreadName& one) { keep(thread_names, one, "thread name " + one.name); }
    void keep(const Module& one) { keep(modules, one, "module ", one.id.value); }
    void keep(const ModuleLoad& one) { keep(module_loads, one, "module load ", one.module.value); }
    void keep(const SessionEnd& one) { keep(session_ends, one, "session end"); }

    template <class Any>
    void keep(std::vector<Any>& records, const Any& record, std::string line) {
        records.push_back(record);
        log.push_back(std::move(line));
    }
    template <class Any>
    void keep(std::vector<Any>& records, const Any& record, const char* what, std::uint32_t id) {
        keep(records, record, what + std::to_string(id));
    }
};

/// The same with what lies behind the end.
inline Result<ReadOutcome> read_recording(std::span<const std::byte> file, KeepingSink& sink) {
    return read_recording(file, sink, [&](Attachment&& one) { sink.add(std::move(one)); });
}

inline SessionStart a_session() {
    SessionStart session;
    session.start_ns = 1'000'000'000'000;
    session.start_unix_ns = 1'700'000'000'000'000'000;
    session.period = 100'000;
    session.requested_hz = 10'000;
    session.clock = Clock::wall;
    session.source = "sigtrap";
    session.source_reason = "";
    session.command_line = "/opt/app/bin/app --mode fast";
    session.tool_version = "0.1.0";
    return session;
}

/// Writes a small recording with every kind of record; several packets.
inline void write_small_recording(TestWriter& writer) {
    const std::uint64_t start = a_session().start_ns;
    writer.record(Process{ProcessId{1}, 4321, 4320, start, "/opt/app/bin/app", "app --mode fast",
                          "sigtrap", ""});
    writer.record(Module{ModuleId{1}, ModuleKind::elf, false, "/opt/app/bin/app", {1, 2, 3, 4}});
    writer.record(Module{ModuleId{2}, ModuleKind::pseudo, false, kNotSampled, {}});
    writer.record(
        ModuleLoad{ModuleId{1}, ProcessId{1}, 0x555500000000, 0x555500001000, 0x20000, start});
    writer.record(Thread{ThreadId{1}, ProcessId{1}, 4321, start, "app"});
    writer.record(Thread{ThreadId{2}, ProcessId{1}, 4322, start + 10, "app"});
    writer.record(ThreadName{ThreadId{2}, "worker"});
    const NodeId root = writer.node(NodeId{}, ModuleId{1}, 0x1000);
    const NodeId caller = writer.node(root, ModuleId{1}, 0x1100);
    for (std::uint32_t i = 0; i < 40; ++i) {
        const NodeId leaf = writer.node(caller, ModuleId{1}, 0x1200 + 4 * std::uint64_t{i % 7});
        const std::uint64_t time = start + 100'000 * std::uint64_t{i} + 17 * std::uint64_t{i};
        writer.sample(Sample{ThreadId{1 + i % 2}, time, leaf, i == 5 ? 123'457U : 100'000U});
        if (i == 20) {
            ASSERT_TRUE(writer.flush(FlushMode::everything));
        }
    }
    writer.record(UnprofiledProgram{77, 76, start + 4'000'000, "/bin/busybox", "it is static"});
    const NodeId rest = writer.node(NodeId{}, ModuleId{2}, 0);
    writer.sample(Sample{ThreadId{2}, start + 5'000'000, rest, 77'777, true});
    writer.record(ProcessEnd{ProcessId{1}, EndKind::signaled, 11, start + 6'000'000, 5'900'000, 3,
                             40, 80'000, 9'000, 1 << 20, 1 << 18});
}

/// The bytes of that recording.
inline std::vector<std::byte> small_recording() {
    const TemporaryFile file;
    auto writer = TestWriter::create(file.open(), a_session());
    EXPECT_TRUE(writer) << writer.error().message();
    write_small_recording(*writer);
    const auto finished =
        writer->finish(SessionEnd{a_session().start_ns + 7'000'000, true, "stopped by --time"});
    EXPECT_TRUE(finished) << finished.error().message();
    EXPECT_EQ(writer->bytes_written(), file.bytes().size());
    return file.bytes();
}

/// Records one file: `fill` gets the writer; the session's end follows.
template <class Fill>
std::vector<std::byte> record(const SessionStart& session, const Fill& fill) {
    const TemporaryFile file;
    auto writer = TestWriter::create(file.open(), session);
    EXPECT_TRUE(writer) << writer.error().message();
    fill(*writer);
    const auto finished = writer->finish(SessionEnd{});
    EXPECT_TRUE(finished) << finished.error().message();
    return file.bytes();
}

inline KeepingSink read_whole(std::span<const std::byte> file) {
    KeepingSink visitor;
    const auto outcome = read_recording(file, visitor);
    EXPECT_TRUE(outcome) << outcome.error().message();
    if (outcome) {
        EXPECT_TRUE(outcome->whole) << outcome->problem;
        EXPECT_EQ(outcome->bytes_used, file.size());
        EXPECT_EQ(outcome->unknown_events, 0U);
    }
    return visitor;
}

/// A process, a module and a thread: what samples need.
inline void define_one_of_each(TestWriter& writer) {
    writer.record(Process{ProcessId{1}, 10, 1, 0, "/bin/a", "a", "perf", "no sigtrap"});
    writer.record(Module{ModuleId{1}, ModuleKind::elf, false, "/bin/a", {}});
    writer.record(Thread{ThreadId{1}, ProcessId{1}, 10, 0, "a"});
}

}  // namespace sample::trace
