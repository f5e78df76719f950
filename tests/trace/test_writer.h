// A recording as tests spell it out.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "trace/node_table.h"
#include "trace/recording_writer.h"

#include <cstdint>
#include <utility>

namespace sample::trace {

/// A file that gives stacks their ids, as the collector does.
class TestWriter {
public:
    /// Errors: the file's.
    static Result<TestWriter> create(Fd file, const SessionStart& session) {
        TestWriter writer{RecordingWriter{std::move(file)}};
        writer.record(session);
        if (auto flushed = writer.flush(); !flushed) {
            return unexpected(flushed.error());
        }
        return writer;
    }

    void record(const Record& record) { writer_.record(record); }
    void sample(const Sample& sample) { writer_.sample(sample); }
    NodeId node(NodeId parent, ModuleId module, std::uint64_t address) {
        const std::uint32_t known = nodes_.size();
        const NodeId node = nodes_.intern(parent, module, address);
        if (node.value > known) {
            writer_.node({node, parent, module, address});
        }
        return node;
    }
    Result<void> flush(FlushMode mode = FlushMode::worthwhile) { return writer_.flush(mode); }
    Result<void> finish(const SessionEnd& end) {
        writer_.record(end);
        return writer_.flush(FlushMode::everything);
    }
    [[nodiscard]] std::uint64_t bytes_written() const { return writer_.bytes_written(); }
    [[nodiscard]] RecordingWriter& writer() { return writer_; }

private:
    explicit TestWriter(RecordingWriter writer) : writer_{std::move(writer)} {}

    RecordingWriter writer_;
    NodeTable nodes_;
};

}  // namespace sample::trace
