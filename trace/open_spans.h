// What is open in a program when a part of its recording ends: zones, scopes, frames and regions.
// They end there in the one part and begin there in the next, so that each is right by itself.
//
// A coroutine's zones that are suspended then begin in the part in which they go on. Ids are the
// session's: whoever writes to a part gives them the part's.
#pragma once

#include "trace/instrumentation.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace sample::trace {

/// Not thread-safe. Memory: what is open, and 24 bytes for each thread that had zones.
class OpenSpans {
public:
    /// Takes what belongs into the part.
    struct Out {
        std::function<void(const ZoneEdge&)> zone;
        std::function<void(const Instrumentation&)> say;
    };
    explicit OpenSpans(Out out) : out_{std::move(out)} {}

    // What the session says, in its order; each hands on what the part has to have of it.
    void add(const ZoneEdge& edge);
    /// Is said of the zone that begins next with it.
    void add(ZoneNote note);
    void add(const FrameEdge& edge);
    void add(const RegionBegin& begin);
    void add(const RegionEnd& end);
    /// A scope.
    void add(const RaisedEvent& event);
    /// The session has ended: hands on ends of regions that never began.
    void finish();

    /// Ends at `time_ns` what is open, but for zones, which end with their process; what a thread
    /// that is not `is_alive` left open is forgotten.
    void end_all(std::uint64_t time_ns, const std::function<bool(ThreadId)>& is_alive);
    /// Begins that at `time_ns`, in the next part.
    void begin_all(std::uint64_t time_ns);

private:
    struct Zone {
        ZoneEdge begin;
        std::shared_ptr<const ZoneNote> note;  ///< Mostly none.
    };
    using Zones = std::vector<Zone>;  ///< The innermost last.
    struct Coroutine {
        std::uint64_t part = 0;  ///< In which it was suspended.
        Zones zones;
    };

    void suspend(const ZoneEdge& edge);
    void resume(const ZoneEdge& edge);
    void begin(const Zone& zone) const;
    [[nodiscard]] Zones& zones_of(ThreadId thread);

    Out out_;
    std::uint64_t part_ = 0;
    std::vector<Zones> zones_;                                     ///< By thread's id.
    std::map<ZoneNoteId, std::shared_ptr<const ZoneNote>> notes_;  ///< Whose zones are to begin.
    /// By zone and depth, in the order that they were suspended, as readers see it.
    std::map<std::pair<ZoneId, std::uint32_t>, std::deque<Coroutine>> suspended_;
    std::size_t suspended_count_ = 0;
    std::map<ThreadId, std::vector<RaisedEvent>> scopes_;
    std::map<std::pair<ThreadId, std::uint8_t>, FrameEdge> frames_;
    std::map<std::uint64_t, RegionBegin> regions_;
    std::map<std::uint64_t, RegionEnd> early_ends_;  ///< Of regions whose begin has not come yet.
};

}  // namespace sample::trace
