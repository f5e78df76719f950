// Writes a recording: records in, a .utrace file out.
//
// Samples are the mass of it. A stack is interned once as a node; a sample is then a few bits of
// time and a node, kept in its thread's batch until that is worth a packet. Everything else is
// written by the next flush(). Whatever a record refers to precedes it in the file, wherever the
// file is cut. The format: docs/format-utrace.md.
//
// Errors: the void calls cannot fail on their own; the first failure (ENOSPC, EPIPE, or a record
// that refers to something undefined) is kept, every later record is dropped, and flush() and
// finish() report it. The file stays readable up to its last whole packet.
#pragma once

#include "core/fd.h"
#include "core/ids.h"
#include "core/result.h"
#include "trace/records.h"

#include <cstdint>
#include <memory>

namespace sample::trace {

/// What a flush() has to write.
enum class FlushMode : std::uint8_t {
    worthwhile,  ///< Samples only if more than a second of them waits: cheap to call often.
    everything,
};

/// Movable; not thread-safe. Not async-signal-safe.
///
/// Ids of processes, threads and modules are given by the caller: dense, from 1, in the order of
/// their definitions. Memory: some 40 bytes a node, and at most 4 KB for each thread that was
/// sampled within the last second.
class RecordingWriter {
public:
    /// Takes `file`, open for writing at the recording's first byte: a regular file, pipe or socket
    /// (EPIPE comes back as an error, SIGPIPE is not raised). Writes the header, the schema and
    /// the session before it returns. Long texts are cut: command lines to 16 KiB, paths to
    /// 4 KiB, the others to 1 KiB.
    static Result<RecordingWriter> create(Fd file, const SessionStart& session);

    RecordingWriter(RecordingWriter&&) noexcept;
    RecordingWriter& operator=(RecordingWriter&&) noexcept;
    RecordingWriter(const RecordingWriter&) = delete;
    RecordingWriter& operator=(const RecordingWriter&) = delete;
    /// Writes nothing: what was not flushed is lost.
    ~RecordingWriter();

    void process(const Process& process);
    /// Also writes out the samples of the process's threads.
    void process_end(const ProcessEnd& end);
    void unprofiled(const UnprofiledProgram& program);
    void thread(const Thread& thread);
    void thread_name(const ThreadName& name);
    void module(const Module& module);
    void module_load(const ModuleLoad& load);

    /// The node below `parent` (0: the empty stack) for an address in `module`: the known id, or a
    /// new one. After a failure: the empty stack. Hot: one hash lookup.
    NodeId node(NodeId parent, ModuleId module, std::uint64_t address);
    /// The id of a node that is known; else none.
    [[nodiscard]] NodeId find_node(NodeId parent, ModuleId module, std::uint64_t address) const;
    [[nodiscard]] std::uint32_t nodes() const;
    /// Times come back floored to whole microseconds, weights (below 2^62 ns) exactly. Samples of
    /// one thread are read back in the order of these calls; those of different threads are not in
    /// the order of time. Hot: no system call but when a buffer of 64 KiB is full.
    void sample(const Sample& sample);
    void booking(const Booking& booking);

    /// Writes whole packets to the file. With `worthwhile`, a killed writer loses at most the
    /// samples of the last second before its last flush().
    Result<void> flush(FlushMode mode = FlushMode::worthwhile);
    /// Writes everything and the end of the session; the writer is not to be used after that.
    Result<void> finish(const SessionEnd& end);

    /// The size of the recording in the file; what waits for a flush() is not counted.
    [[nodiscard]] std::uint64_t bytes_written() const;

private:
    class Impl;
    explicit RecordingWriter(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace sample::trace
