// Reads a recording back into records, ours and, without samples, those of other programs.
#pragma once

#include "core/result.h"
#include "trace/attachments.h"
#include "trace/event_reader.h"
#include "trace/record_sink.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace sample::trace {

struct ReadOutcome {
    bool whole = false;       ///< Read to the end of the session.
    bool is_foreign = false;  ///< Another program's: it has no samples.
    /// What is damaged or cut, for people. Empty: nothing is; if it is not whole, it is what a
    /// session had written at some time.
    std::string problem;
    std::string attachments_problem;  ///< Why attachments are missing, for people; empty: none is.
    /// What of the instrumentation could not be made sense of, for people; empty: nothing.
    std::string instrumentation_problem;
    std::uint64_t bytes_used = 0;
    std::uint64_t unknown_events = 0;  ///< Of types that this version does not know: skipped.
};

/// Gets what lies behind the session's end. An attachment's module may be undefined, and its bytes
/// are not checked.
using AttachmentReceiver = std::function<void(Attachment&&)>;

/// Reads the recording `file` (all of it in memory, mapped for instance) and hands its records to
/// `sink` in the order of the file: ids can be used as indices without a check. A file that was cut
/// off anywhere, that grows still, or that is damaged from some point on, is no error: everything
/// up to the last good packet is delivered, and the outcome is not whole, or lacks attachments if
/// the end of the session came before that.
///
/// A .utrace file of another program is read as a session of one process without samples
/// (trace/foreign_recording.h); it is whole if it could be read to its end.
///
/// Errors: empty; not a recording (another kind of file, or a .utrace file without events); made by
/// a newer version. Hostile bytes never crash or hang it, and its memory is bounded (trace/
/// event_reader.h, trace/instrumentation_reader.h) but for 40 bytes a stack node and the largest
/// attachment. O(decoded size).
///
/// `passed` is told of parts of the file that may be given back (core/mapped_file.h) until it is
/// read again; a foreign one is read twice.
Result<ReadOutcome> read_recording(std::span<const std::byte> file, RecordSink& sink,
                                   const AttachmentReceiver& receive = {},
                                   const Passed& passed = {});

}  // namespace sample::trace
