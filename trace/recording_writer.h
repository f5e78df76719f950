// The file as a sink: records in, a .utrace file out.
//
// Samples are the mass of it. One is a few bits of time and a node, kept in its thread's batch
// until that is worth a packet. Everything else is written by the next flush(). Whatever a record
// refers to precedes it in the file, wherever the file is cut: so it can be read while it grows.
// The format: docs/format-utrace.md.
//
// Errors: the void calls cannot fail on their own; the first failure (ENOSPC, EPIPE, or a record
// that refers to something undefined) is kept, every later record is dropped, and flush() reports
// it. The file stays readable up to its last whole packet.
#pragma once

#include "core/fd.h"
#include "trace/record_sink.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sample::trace {

/// Movable; not thread-safe. Not async-signal-safe. Memory: some 20 bytes a node, at most 4 KB for
/// each thread and metric that was sampled within the last second, and what InstrumentationWriter
/// says.
class RecordingWriter final : public RecordSink {
public:
    /// Takes `file`, open for writing at the recording's first byte: a regular file, pipe or socket
    /// (EPIPE comes back as an error, SIGPIPE is not raised).
    explicit RecordingWriter(Fd file);

    RecordingWriter(RecordingWriter&&) noexcept;
    RecordingWriter& operator=(RecordingWriter&&) noexcept;
    RecordingWriter(const RecordingWriter&) = delete;
    RecordingWriter& operator=(const RecordingWriter&) = delete;
    /// Writes nothing: what was not flushed is lost.
    ~RecordingWriter() override;

    /// SessionStart writes the header at once. Long texts are cut: command lines to 16 KiB, paths
    /// to 4 KiB, the others to 1 KiB. The end of a process writes the samples of its threads.
    void record(const Record& record) override;
    void node(const StackNode& node) override;
    /// Times come back floored to whole microseconds, weights (below 2^62) exactly. Hot: no system
    /// call but when a buffer of 64 KiB is full.
    void sample(const Sample& sample) override;
    /// Times come back exactly. Hot, as sample().
    void zone(const ZoneEdge& edge) override;
    /// Long texts are cut to 1 KiB, paths to 4 KiB, arguments of messages and notes to 32 KiB. What
    /// the container cannot hold is counted in the file: what threads beyond the 16,379th say;
    /// values of counters beyond the 65,535th; an event of the program's own of more than 512 KiB
    /// (64 KiB if it is important), or whose bytes are not its type's.
    void instrumentation(const Instrumentation& said) override;
    void memory(const MemoryEvent& event) override;

    /// Writes whole packets to the file. With `worthwhile`, a killed writer loses at most the
    /// samples and the instrumentation of the last second before its last flush(). Call it whenever
    /// all threads have been asked: events with serial numbers wait for the one after the next.
    Result<void> flush(FlushMode mode = FlushMode::worthwhile) override;

    /// The size of the recording in the file; what waits for a flush() is not counted.
    [[nodiscard]] std::uint64_t bytes_written() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sample::trace
