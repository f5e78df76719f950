#include "callgraph/load_recording.h"

#include "callgraph/build_profile.h"
#include "tests/trace/test_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

namespace sample::callgraph {
namespace {

class LoadRecording : public testing::Test {
protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "sample-load-XXXXXX";
        ASSERT_NE(::mkdtemp(folder.data()), nullptr);
        folder_ = folder;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string path() const { return folder_ + "/x.utrace"; }

    /// One process, one thread, main → work with 3 samples of 100 µs, and 7 µs of booked time.
    void write_recording(bool with_end) const {
        Fd file{::open(path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
        ASSERT_TRUE(file.is_open());
        trace::SessionStart session;
        session.start_ns = 1'000'000;
        session.requested_hz = 10'000;
        session.period = 100'000;
        auto writer = trace::TestWriter::create(std::move(file), session);
        ASSERT_TRUE(writer.has_value());
        trace::Process process;
        process.id = ProcessId{1};
        process.pid = 77;
        process.executable = "/usr/bin/app";
        writer->record(process);
        trace::Thread thread;
        thread.id = ThreadId{1};
        thread.process = ProcessId{1};
        thread.tid = 77;
        writer->record(thread);
        writer->record(trace::ThreadName{ThreadId{1}, "app"});
        trace::Module module;
        module.id = ModuleId{1};
        module.path = "/usr/bin/app";
        writer->record(module);
        module.id = ModuleId{2};
        module.kind = trace::ModuleKind::pseudo;
        module.path = trace::kNotSampled;
        writer->record(module);
        const NodeId main = writer->node(NodeId{}, ModuleId{1}, 0x1000);
        const NodeId work = writer->node(main, ModuleId{1}, 0x2000);
        const NodeId rest = writer->node(NodeId{}, ModuleId{2}, 0);
        for (std::uint64_t i = 1; i <= 3; ++i) {
            writer->sample({ThreadId{1}, 1'000'000 + i * 100'000, work, 100'000});
        }
        writer->sample({ThreadId{1}, 1'400'000, rest, 7'000, true});
        ASSERT_TRUE(writer->flush(trace::FlushMode::everything).has_value());
        if (with_end) {
            trace::ProcessEnd end;
            end.id = ProcessId{1};
            end.kind = trace::EndKind::exited;
            end.cpu_ns = 310'000;
            writer->record(end);
            ASSERT_TRUE(writer->finish({3'000'000, false, ""}).has_value());
        }
    }

    std::string folder_;
};

TEST_F(LoadRecording, brings_every_record_into_the_profile) {
    write_recording(true);
    const auto recording = load_recording(path());
    ASSERT_TRUE(recording.has_value()) << recording.error().message();
    EXPECT_EQ(recording->bad_records(), 0U);
    const Profile profile = build_profile(*recording, {});
    EXPECT_TRUE(profile.stats.whole);
    EXPECT_EQ(profile.stats.samples, 3U);
    EXPECT_EQ(profile.stats.sampled, 300'000U);
    EXPECT_EQ(profile.stats.booked, 7'000U);
    EXPECT_EQ(profile.stats.process_cpu_ns, 310'000U);
    EXPECT_EQ(profile.stats.wall_ns, 2'000'000U);
    EXPECT_EQ(profile.nodes[0].total, 307'000U);
    ASSERT_EQ(profile.categories.size(), 1U);
    EXPECT_EQ(profile.categories[0].name, "main");
    ASSERT_EQ(profile.processes.size(), 1U);
    EXPECT_EQ(profile.processes[0].ending, "exited with 0");
}

TEST_F(LoadRecording, reads_one_without_an_end_and_says_so) {
    write_recording(false);
    const auto recording = load_recording(path());
    ASSERT_TRUE(recording.has_value()) << recording.error().message();
    const Profile profile = build_profile(*recording, {});
    EXPECT_FALSE(profile.stats.whole);
    EXPECT_EQ(profile.stats.samples, 3U);
    ASSERT_FALSE(profile.stats.notes.empty());
    EXPECT_NE(profile.stats.notes[0].find("the recording ends before its session"),
              std::string::npos);
    EXPECT_EQ(profile.processes[0].ending, "ending unknown");
}

TEST_F(LoadRecording, names_the_file_that_is_no_recording) {
    const Fd file{::open(path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
    ASSERT_EQ(::write(file.get(), "hello, world", 12), 12);
    const auto recording = load_recording(path());
    ASSERT_FALSE(recording.has_value());
    EXPECT_NE(recording.error().message().find(path()), std::string::npos);
}

TEST_F(LoadRecording, reports_a_missing_file) {
    const auto recording = load_recording(path());
    ASSERT_FALSE(recording.has_value());
    EXPECT_EQ(recording.error().errno_value, ENOENT);
}

}  // namespace
}  // namespace sample::callgraph
