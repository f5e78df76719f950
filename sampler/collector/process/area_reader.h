// Drains one process's area: takes records out of chunks, gives chunks and slots back.
//
// The area is the target's to scribble on, so nothing in it is believed: sizes are checked against
// the chunk, indices against their arrays, and each word is read once. A chunk whose records do not
// parse is dropped whole and counted. What comes out goes to an AreaSink, in the order of each
// thread's own records; what it says of itself comes between its start and its end.
//
// A chunk is zero when it is given back: who writes of itself commits each record by its first
// word (capture/lane_records.h).
#pragma once

#include "sampler/capture/area.h"
#include "sampler/collector/process/area_sink.h"
#include "sampler/collector/process/handler_histogram.h"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sample::collector {

/// What the slots of ended threads had counted, and those of live ones added on demand.
struct HandlerTotals {
    std::uint64_t samples = 0;
    std::uint64_t lost = 0;
    std::uint64_t sent = 0;  ///< As in capture::ThreadSlot, with the next two.
    std::uint64_t way_ns = 0;
    std::uint64_t late = 0;
    std::uint64_t ticks = 0;
    HandlerHistogram histogram{};
};

class AreaReader {
public:
    /// Frames of the threads' last stacks, together: 256 for each of as many threads as may be.
    static constexpr std::size_t kMostFrames = 256 * capture::kMaxThreads;

    explicit AreaReader(capture::Area& area) : area_{area} {}

    /// Hands everything that is committed to `sink`. Cost: one pass over the chunks in use.
    void drain(AreaSink& sink);

    /// Gives back the slot and the chunk of a thread that was killed: it writes no more. Drain
    /// first.
    void free_killed(std::uint32_t index);

    /// The kernel's thread ids in the slots in use.
    struct UsedSlot {
        std::uint32_t slot;
        std::uint32_t tid;
    };
    [[nodiscard]] std::vector<UsedSlot> used_slots() const;

    [[nodiscard]] HandlerTotals totals() const;
    [[nodiscard]] std::uint64_t corrupt_chunks() const { return corrupt_chunks_; }

private:
    struct Cursor {
        std::uint32_t offset = 0;
    };
    /// A chunk in which there is something to do, and what its head said.
    struct Ready {
        std::uint32_t slot;
        std::uint32_t lane;
        std::uint32_t sequence;
        std::uint32_t index;
        capture::Chunk* chunk;
    };
    struct Ended {
        Writer writer;
        capture::ThreadRecord record;
    };
    /// Adds the chunks of which `wanted`, called with each, says so.
    template <class Wanted>
    void find_ready(Wanted wanted, std::vector<Ready>& ready);
    void drain_in_order(std::vector<Ready>& ready, AreaSink& sink);
    void drain_chunk(const Ready& ready, AreaSink& sink);
    /// To words_, up to `end`. False: what is there is no record.
    bool take_words(const capture::Chunk& chunk, Cursor& cursor, std::size_t end);
    void drain_said(const Ready& ready, AreaSink& sink);
    void give_back(std::uint32_t index, capture::Chunk& chunk, std::size_t used_bytes);
    /// Those that ended threads' slots still have: nobody commits what is missing there.
    void give_back_said_by(const std::unordered_set<std::uint32_t>& slots);
    void take_losses(AreaSink& sink);
    /// False: they are not what records look like.
    bool take_records(const Writer& writer, std::span<const std::uint64_t> words, AreaSink& sink);
    bool take_record(const Writer& writer, std::span<const std::uint64_t> words, AreaSink& sink);
    static bool take_wait(const Writer& writer, std::span<const std::uint64_t> words,
                          AreaSink& sink);
    bool take_sample(const Writer& writer, std::span<const std::uint64_t> words, AreaSink& sink);
    void free_slot(std::uint32_t index);
    /// Calls `visit` with each slot in use and its number.
    template <class Visit>
    void for_each_used_slot(Visit visit) const;
    void forget_stack(std::uint32_t slot);
    void fold(const capture::ThreadSlot& slot, HandlerTotals& totals) const;

    capture::Area& area_;
    std::unordered_map<std::uint32_t, Cursor> cursors_;
    std::unordered_map<std::uint32_t, std::vector<std::uint64_t>>
        stacks_;              ///< By slot, root first.
    std::size_t frames_ = 0;  ///< Of all of them.
    /// What is known of what a slot's thread says.
    struct Said {
        std::uint32_t next_sequence = 0;
        std::uint64_t lost_zones = 0;
        std::uint64_t lost_others = 0;
    };
    std::unordered_map<std::uint32_t, Said> said_;  ///< By slot.
    std::vector<std::uint64_t> words_;              ///< Of one chunk, out of the process's reach.
    std::vector<Ended> ended_threads_;
    HandlerTotals ended_;
    std::uint64_t corrupt_chunks_ = 0;
};

}  // namespace sample::collector
