// What the tests of trace/ share: a temporary file, a visitor that keeps everything, and a small
// recording with every kind of record in it.
#pragma once

#include "core/fd.h"
#include "core/mapped_file.h"
#include "trace/recording_reader.h"
#include "trace/recording_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sample::trace {

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
class KeepingVisitor : public RecordingVisitor {
public:
    std::vector<SessionStart> sessions;
    std::vector<Process> processes;
    std::vector<ProcessEnd> process_ends;
    std::vector<UnprofiledProgram> unprofiled;
    std::vector<Thread> threads;
    std::vector<ThreadName> thread_names;
    std::vector<Module> modules;
    std::vector<ModuleLoad> module_loads;
    std::vector<StackNode> nodes;
    std::vector<Sample> samples;
    std::vector<Booking> bookings;
    std::vector<SessionEnd> session_ends;
    std::vector<Attachment> attachments;
    std::vector<std::string> log;

    void on_session_start(const SessionStart& session) override {
        keep(sessions, session, "session " + session.command_line);
    }
    void on_process(const Process& process) override {
        keep(processes, process, "process " + std::to_string(process.id.value));
    }
    void on_process_end(const ProcessEnd& end) override {
        keep(process_ends, end, "process end " + std::to_string(end.id.value));
    }
    void on_unprofiled(const UnprofiledProgram& program) override {
        keep(unprofiled, program, "unprofiled " + program.executable);
    }
    void on_thread(const Thread& thread) override {
        keep(threads, thread, "thread " + std::to_string(thread.id.value));
    }
    void on_thread_name(const ThreadName& name) override {
        keep(thread_names, name, "thread name " + name.name);
    }
    void on_module(const Module& module) override {
        keep(modules, module, "module " + std::to_string(module.id.value));
    }
    void on_module_load(const ModuleLoad& load) override {
        keep(module_loads, load, "module load " + std::to_string(load.module.value));
    }
    void on_node(const StackNode& node) override {
        keep(nodes, node, "node " + std::to_string(node.id.value));
    }
    void on_sample(const Sample& sample) override {
        keep(samples, sample,
             "sample " + std::to_string(sample.time_ns) + " " + std::to_string(sample.node.value));
    }
    void on_booking(const Booking& booking) override {
        keep(bookings, booking, "booking " + std::to_string(booking.time_ns));
    }
    void on_session_end(const SessionEnd& end) override { keep(session_ends, end, "session end"); }
    void on_attachment(Attachment&& attachment) override {
        log.push_back("attachment " + std::to_string(attachment.module.value));
        attachments.push_back(std::move(attachment));
    }

private:
    template <class Record>
    void keep(std::vector<Record>& records, const Record& record, std::string line) {
        records.push_back(record);
        log.push_back(std::move(line));
    }
};

inline SessionStart a_session() {
    SessionStart session;
    session.start_ns = 1'000'000'000'000;
    session.start_unix_ns = 1'700'000'000'000'000'000;
    session.period_ns = 100'000;
    session.requested_hz = 10'000;
    session.clock = Clock::wall;
    session.source = "sigtrap";
    session.source_reason = "";
    session.command_line = "/opt/app/bin/app --mode fast";
    session.tool_version = "0.1.0";
    return session;
}

/// Writes a small recording with every kind of record; several packets.
inline void write_small_recording(RecordingWriter& writer) {
    const std::uint64_t start = a_session().start_ns;
    writer.process(Process{ProcessId{1}, 4321, 4320, start, "/opt/app/bin/app", "app --mode fast",
                           "sigtrap", ""});
    writer.module(Module{ModuleId{1}, ModuleKind::elf, false, "/opt/app/bin/app", {1, 2, 3, 4}});
    writer.module(Module{ModuleId{2}, ModuleKind::pseudo, false, kNotSampled, {}});
    writer.module_load(
        ModuleLoad{ModuleId{1}, ProcessId{1}, 0x555500000000, 0x555500001000, 0x20000, start});
    writer.thread(Thread{ThreadId{1}, ProcessId{1}, 4321, start, "app"});
    writer.thread(Thread{ThreadId{2}, ProcessId{1}, 4322, start + 10, "app"});
    writer.thread_name(ThreadName{ThreadId{2}, "worker"});
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
    writer.unprofiled(UnprofiledProgram{77, 76, start + 4'000'000, "/bin/busybox", "it is static"});
    const NodeId rest = writer.node(NodeId{}, ModuleId{2}, 0);
    writer.booking(Booking{ThreadId{2}, start + 5'000'000, rest, 77'777});
    writer.process_end(ProcessEnd{ProcessId{1}, EndKind::signaled, 11, start + 6'000'000, 5'900'000,
                                  3, 40, 80'000, 9'000, 1 << 20, 1 << 18});
}

/// The bytes of that recording.
inline std::vector<std::byte> small_recording() {
    const TemporaryFile file;
    auto writer = RecordingWriter::create(file.open(), a_session());
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
    auto writer = RecordingWriter::create(file.open(), session);
    EXPECT_TRUE(writer) << writer.error().message();
    fill(*writer);
    const auto finished = writer->finish(SessionEnd{});
    EXPECT_TRUE(finished) << finished.error().message();
    return file.bytes();
}

inline KeepingVisitor read_whole(std::span<const std::byte> file) {
    KeepingVisitor visitor;
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
inline void define_one_of_each(RecordingWriter& writer) {
    writer.process(Process{ProcessId{1}, 10, 1, 0, "/bin/a", "a", "perf", "no sigtrap"});
    writer.module(Module{ModuleId{1}, ModuleKind::elf, false, "/bin/a", {}});
    writer.thread(Thread{ThreadId{1}, ProcessId{1}, 10, 0, "a"});
}

}  // namespace sample::trace
