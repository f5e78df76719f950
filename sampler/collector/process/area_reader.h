// Drains one process's area: takes records out of chunks, gives chunks and slots back.
//
// The area is the target's to scribble on, so nothing in it is believed: sizes are checked against
// the chunk, indices against their arrays, and each word is read once. A chunk whose records do not
// parse is dropped whole and counted. What comes out goes to a RecordSink, in the order of each
// thread's own records.
#pragma once

#include "sampler/capture/area.h"
#include "sampler/capture/ring_records.h"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace sample::collector {

/// One sample, its whole stack put together again. Valid during the call only.
struct DrainedSample {
    std::uint64_t ticks = 0;
    std::uint64_t weight_ns = 0;
    std::uint64_t unseen_ns = 0;
    std::uint32_t stop = 0;
    std::uint32_t kept =
        0;  ///< Frames, from the root, that equal those of the slot's previous sample.
    std::span<const std::uint64_t> frames;  ///< FrameAddress bits, ROOT first.
};

/// Where a thread was seen to wait, or only its clocks.
struct DrainedWait {
    capture::WaitRecord record;
    std::span<const std::uint64_t> frames;  ///< FrameAddress bits, ROOT first.
};

class RecordSink {
public:
    RecordSink() = default;
    RecordSink(const RecordSink&) = delete;
    RecordSink& operator=(const RecordSink&) = delete;
    virtual ~RecordSink() = default;
    virtual void on_sample(std::uint32_t slot, const DrainedSample& sample) = 0;
    virtual void on_thread_start(std::uint32_t slot, const capture::ThreadRecord& record) = 0;
    virtual void on_thread_end(std::uint32_t slot, const capture::ThreadRecord& record) = 0;
    virtual void on_module(std::uint32_t slot, const capture::ModuleRecord& record,
                           const char* path) = 0;
    virtual void on_unload(std::uint32_t slot) = 0;
    /// `slot` is that of the thread which has seen it.
    virtual void on_wait(std::uint32_t slot, const DrainedWait& wait) = 0;
    /// There was no room for all threads' last stacks: what is kept of them may go, too.
    virtual void on_stacks_dropped() {}
};

/// What the slots of ended threads had counted, and those of live ones added on demand.
struct HandlerTotals {
    std::uint64_t samples = 0;
    std::uint64_t lost = 0;
    std::uint64_t ticks = 0;
    std::array<std::uint64_t, capture::kHistogramClasses> histogram{};
};

class AreaReader {
public:
    /// Frames of the threads' last stacks, together: 512 for each of as many threads as may be.
    static constexpr std::size_t kMostFrames = 512 * capture::kMaxThreads;

    explicit AreaReader(capture::Area& area) : area_{area} {}

    /// Hands everything that is committed to `sink`. Cost: one pass over the chunks in use.
    void drain(RecordSink& sink);

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
    void drain_chunk(std::uint32_t index, capture::Chunk& chunk, RecordSink& sink);
    bool take_record(std::uint32_t slot, std::span<const std::uint64_t> words, RecordSink& sink);
    static bool take_wait(std::uint32_t slot, std::span<const std::uint64_t> words,
                          RecordSink& sink);
    bool take_sample(std::uint32_t slot, std::span<const std::uint64_t> words, RecordSink& sink);
    void free_slot(std::uint32_t index);
    void forget_stack(std::uint32_t slot);
    void fold(const capture::ThreadSlot& slot, HandlerTotals& totals) const;

    capture::Area& area_;
    std::unordered_map<std::uint32_t, Cursor> cursors_;
    std::unordered_map<std::uint32_t, std::vector<std::uint64_t>>
        stacks_;              ///< By slot, root first.
    std::size_t frames_ = 0;  ///< Of all of them.
    std::vector<std::uint32_t> ended_slots_;
    HandlerTotals ended_;
    std::uint64_t corrupt_chunks_ = 0;
};

}  // namespace sample::collector
