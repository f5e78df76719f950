// The zones of a file: what they are called, and where they begin and end.
#pragma once

#include "trace/event_view.h"
#include "trace/instrumentation_events.h"
#include "trace/reading_state.h"
#include "trace/zone_batch.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace sample::trace {

/// Part of an InstrumentationReader. A zone that is not defined is named "[unknown]".
class ZoneReader {
public:
    /// Of one thread.
    struct OpenZones {
        std::uint64_t last_cycle = 0;
        std::vector<std::uint32_t> known;  ///< The innermost last.
        std::uint64_t deeper = 0;          ///< How many more are open.
    };

    explicit ZoneReader(ReadingState& reading) noexcept : reading_{reading} {}

    void take(const TimerSpecEvent& event);
    void take(const MetadataSpecEvent& event);
    void take(const MetadataEvent& event);
    void take(const ZoneStyleEvent& event);
    /// The edges of zones on `thread`.
    void take_batch(ThreadId thread, OpenZones& its, const EventView& batch,
                    ZoneBatchVersion version);
    /// Ends what is open.
    void end_thread(ThreadId thread, OpenZones& its, std::uint64_t cycle);

    [[nodiscard]] std::uint64_t damaged_batches() const noexcept { return damaged_batches_; }

private:
    struct Style {
        std::uint32_t colour = kNoColour;
        std::string category;
    };
    void take_edge(ThreadId thread, OpenZones& its, const BatchEdge& edge);
    void define(std::uint32_t number, ZoneSpec spec);
    [[nodiscard]] ZoneId unknown_zone();
    [[nodiscard]] ZoneId coroutine();

    ReadingState& reading_;
    NumberMap zones_;
    std::unordered_map<std::uint32_t, Style> styles_;                     ///< Of zones that come.
    std::unordered_map<std::uint32_t, std::vector<std::string>> fields_;  ///< Notes', by zone.
    ZoneId unknown_zone_;
    ZoneId coroutine_;
    NumberMap notes_;
    std::vector<ZoneId> note_zones_;  ///< By ZoneNoteId - 1.
    std::uint64_t damaged_batches_ = 0;
};

}  // namespace sample::trace
