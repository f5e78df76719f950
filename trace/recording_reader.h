// Reads a recording back into records.
#pragma once

#include "core/result.h"
#include "trace/attachments.h"
#include "trace/records.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sample::trace {

/// Is handed the records of a recording, one call each, in the order of the file. What a record
/// refers to was handed over before it: ids can be used as indices without a check. The default
/// does nothing.
class RecordingVisitor {
public:
    RecordingVisitor() = default;
    virtual ~RecordingVisitor();

    virtual void on_session_start(const SessionStart& /*session*/) {}  ///< Once, and first.
    virtual void on_process(const Process& /*process*/) {}
    virtual void on_process_end(const ProcessEnd& /*end*/) {}  ///< Samples may still follow it.
    virtual void on_unprofiled(const UnprofiledProgram& /*program*/) {}
    virtual void on_thread(const Thread& /*thread*/) {}
    virtual void on_thread_name(const ThreadName& /*name*/) {}
    virtual void on_module(const Module& /*module*/) {}
    virtual void on_module_load(const ModuleLoad& /*load*/) {}
    virtual void on_node(const StackNode& /*node*/) {}  ///< Ids 1, 2, 3, …
    /// In order for each thread (in batches of up to some thousands), not across threads.
    virtual void on_sample(const Sample& /*sample*/) {}
    virtual void on_booking(const Booking& /*booking*/) {}
    virtual void on_session_end(const SessionEnd& /*end*/) {}
    /// Behind the session's end. Its module may be undefined, and its bytes are not checked.
    virtual void on_attachment(Attachment&& /*attachment*/) {}

protected:
    RecordingVisitor(const RecordingVisitor&) = default;
    RecordingVisitor(RecordingVisitor&&) = default;
    RecordingVisitor& operator=(const RecordingVisitor&) = default;
    RecordingVisitor& operator=(RecordingVisitor&&) = default;
};

struct ReadOutcome {
    bool whole = false;               ///< Read to the end of the session.
    std::string problem;              ///< Why it is not whole, for people; empty if it is.
    std::string attachments_problem;  ///< Why attachments are missing, for people; empty: none is.
    std::uint64_t bytes_used = 0;
    std::uint64_t unknown_events = 0;  ///< Of types that this version does not know: skipped.
};

/// Reads the recording `file` (all of it in memory, mapped for instance). A file that was cut off
/// anywhere, or that is damaged from some point on, is no error: everything up to the last good
/// packet is delivered, and the outcome is not whole, or lacks attachments if the end of the
/// session came before that.
///
/// Errors: empty; not a recording (another kind of file, or a .utrace file without our events);
/// made by a newer version. Hostile bytes never crash or hang it, and its memory is bounded but
/// for 40 bytes a stack node and the largest attachment. O(decoded size).
Result<ReadOutcome> read_recording(std::span<const std::byte> file, RecordingVisitor& visitor);

}  // namespace sample::trace
