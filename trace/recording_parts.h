// A recording in parts: each is a whole file by itself, which every reader reads, and together they
// have what one file would have.
//
//   records ─▶ the part that is being written ─ when it is full ─▶ it ends, and the next one begins
//
// A part that ends while the session goes on has all that a session's end has: the ends of its
// processes (still running), of what is open in them, and its own. The next one begins at the same
// moment with the same processes, and with definitions as it comes to need them. Times before a
// part's start, of what came late, are its start: weights stay.
//
// The CPU time of a process is split by what its samples weigh in each part. What is told once at
// its end (samples that were lost, the handler's times, memory) is of all its parts together.
// Blocks of memory are not carried over.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "trace/open_spans.h"
#include "trace/part_definitions.h"
#include "trace/record_sink.h"
#include "trace/recording_writer.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace sample::trace {

/// When a part is full.
struct PartLimits {
    std::uint64_t time_ns = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
};

/// An instant on CLOCK_MONOTONIC and CLOCK_REALTIME.
struct PartMoment {
    std::uint64_t ns = 0;
    std::uint64_t unix_ns = 0;
};

/// Where the parts lie. Its calls come from within RecordingParts::flush(), in this order.
class PartFiles {
public:
    virtual ~PartFiles() = default;
    /// A file for the next part. Errors: the part that is being written goes on.
    virtual Result<Fd> make_next() = 0;
    /// The next part has begun in that file, which is the current one from here on. Errors: as
    /// above; the file is not written to any more.
    virtual Result<void> put_in_place() = 0;
    /// The part before it is complete: its modules by their ids - 1, as the session numbers them.
    virtual void ended(std::span<const ModuleId> modules) = 0;
    /// Why the part goes on that was to end. Said at each try.
    virtual void trouble(const Error& error) = 0;

protected:
    PartFiles() = default;
    PartFiles(const PartFiles&) = default;
    PartFiles& operator=(const PartFiles&) = default;
};

/// Not thread-safe. Memory: that of RecordingWriter, PartDefinitions and OpenSpans.
class RecordingParts final : public RecordSink {
public:
    /// The first part goes to `file`; `files` outlives it.
    RecordingParts(Fd file, PartLimits limits, PartFiles& files, std::function<PartMoment()> clock);

    void record(const Record& record) override;
    void node(const StackNode& node) override { definitions_.define(node); }
    void sample(const Sample& sample) override;
    void zone(const ZoneEdge& edge) override { open_.add(edge); }
    void instrumentation(const Instrumentation& said) override;
    void memory(const MemoryEvent& event) override;
    /// Ends the part if it is full: call it often. Errors: the writer's of any part.
    Result<void> flush(FlushMode mode) override;

    /// The modules of the part that is being written, by its own ids - 1, as the session numbers
    /// them.
    [[nodiscard]] std::span<const ModuleId> modules() const { return definitions_.modules(); }

private:
    void add(const SessionStart& start);
    void add(const ProcessEnd& end);
    void add(const UnprofiledProgram& program);
    void add(const ThreadName& name) { definitions_.change(name); }
    void add(const SessionEnd& end);
    template <class Definition>
    void add(const Definition& definition) {
        definitions_.define(definition);
    }

    void say(const ZoneNote& note) { open_.add(note); }
    void say(const FrameEdge& edge) { open_.add(edge); }
    void say(const RegionBegin& begin) { open_.add(begin); }
    void say(const RegionEnd& end) { open_.add(end); }
    void say(const RaisedEvent& event);
    void say(const ThreadGroup& group) { definitions_.change(group); }
    void say(const ChannelToggle& toggle) { definitions_.change(toggle); }
    template <class Said>
    void say(const Said& said);

    void write(ZoneEdge edge);
    template <class Said>
    void write(Said said);

    [[nodiscard]] bool is_full(std::uint64_t now_ns) const;
    void turn(PartMoment now);
    void end_processes(std::uint64_t end_ns, bool goes_on);
    [[nodiscard]] std::map<ProcessId, std::uint64_t> weights_here();

    std::unique_ptr<RecordingWriter> part_;
    PartLimits limits_;
    PartFiles& files_;
    std::function<PartMoment()> clock_;
    SessionStart session_;
    std::uint64_t number_ = 0;       ///< Of the part, from 1; 0: the session has not begun.
    std::uint64_t tried_ns_ = 0;     ///< When the part began, or could not be ended,
    std::uint64_t tried_bytes_ = 0;  ///< and its size then.
    bool has_ended_ = false;
    Result<void> failure_;
    PartDefinitions definitions_;
    OpenSpans open_;
    std::vector<std::uint64_t> weights_;  ///< Of the session's metric, by the part's ThreadId - 1.
    ZoneNoteId last_note_;                ///< Of the part.
    std::vector<RaisedEvent> important_;  ///< Said again in each part.
    std::size_t important_bytes_ = 0;
};

}  // namespace sample::trace
