// The program itself in a folder of its own, for the tests of what its user meets.
#pragma once

#include "core/fd.h"
#include "tests/built.h"
#include "tests/cli/folder_test.h"
#include "tests/trace/test_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace sample::cli {

struct Outcome {
    int code = -1;  ///< Exit status, or 128 + signal.
    std::string out;
    std::string err;
};

class SampleProgram : public FolderTest {
protected:
    void write(const std::string& name, const std::string& text) const {
        std::ofstream{path(name), std::ios::binary} << text;
    }

    /// Runs `sample WORDS` by the shell in the test's folder; `before` it, say "cat file |".
    [[nodiscard]] Outcome run(const std::string& words, const std::string& before = "") const {
        const std::string line = "cd '" + folder_.string() + "' && { " + before +
                                 " LC_ALL=C.UTF-8 '" + built::kSample + "' " + words +
                                 "; } >.out 2>.err </dev/null";
        // NOLINTNEXTLINE(concurrency-mt-unsafe,cert-env33-c): a test's own words
        const int status = std::system(line.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content(".out"),
                content(".err")};
    }

    /// 1000 samples of 1 ms: 600 in a stack of two frames, 400 in its first frame. Without the end
    /// of the session if not `whole`.
    void record(const std::string& name, bool whole = true) const {
        Fd file{::open(path(name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
        trace::SessionStart session;
        session.start_ns = 5'000'000'000;
        session.start_unix_ns = 1'700'000'000'000'000'000;
        session.period = 1'000'000;
        session.requested_hz = 1000;
        session.source = "sigtrap";
        session.command_line = "./app --fast";
        session.tool_version = "test";
        auto writer = trace::TestWriter::create(std::move(file), session);
        ASSERT_TRUE(writer.has_value());
        trace::Process process;
        process.id = ProcessId{1};
        process.pid = 100;
        process.executable = "/usr/bin/app";
        process.command_line = "./app --fast";
        process.source = "sigtrap";
        writer->record(process);
        writer->record(trace::Thread{ThreadId{1}, ProcessId{1}, 100, session.start_ns, "app"});
        writer->record(
            trace::Module{ModuleId{1}, trace::ModuleKind::elf, false, "/nonexistent/app", {}});
        const NodeId outer = writer->node(NodeId{}, ModuleId{1}, 0x1000);
        const NodeId inner = writer->node(outer, ModuleId{1}, 0x2000);
        for (std::uint64_t i = 0; i < 1000; ++i) {
            writer->sample({ThreadId{1}, session.start_ns + i * 1'000'000,
                            i % 5 < 3 ? inner : outer, 1'000'000});
        }
        ASSERT_TRUE(writer->flush(trace::FlushMode::everything).has_value());
        if (whole) {
            trace::ProcessEnd end;
            end.id = ProcessId{1};
            end.kind = trace::EndKind::signaled;
            end.code = 11;
            end.cpu_ns = 1'000'000'000;
            writer->record(end);
            ASSERT_TRUE(writer->finish({session.start_ns + 1'100'000'000, false, {}}).has_value());
        }
    }
};

}  // namespace sample::cli
