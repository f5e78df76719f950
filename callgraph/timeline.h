// When each sample was taken, for whoever shows a profile along time: compact enough that ten
// million samples need 70 MB, and never decoded as a whole.
//
// A sample names the place (thread and stack) that it is part of by an index, not by a node: the
// transforms of a profile give places other nodes, and the samples themselves stay as they are,
// shared by all the profiles that were made from one recording.
#pragma once

#include "core/ids.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sample::callgraph {

/// One sample, or time that a clock measured without a stack: a booking.
struct TimedWeight {
    /// Nanoseconds since the session's start, when its time was over; may be before the start.
    std::int64_t time_ns = 0;
    std::uint32_t place = 0;   ///< Index into Timeline::nodes.
    std::uint64_t weight = 0;  ///< Nanoseconds, or what the profile counts.
    bool is_booking = false;
};

/// One thread's samples in the order they were added: by time, where they come from a recording or
/// an import. Append-only. Not thread-safe while it is appended to.
class SampleSeries {
public:
    class Reader {
    public:
        explicit Reader(const SampleSeries& series) noexcept : series_{series} {}

        /// The next sample; false behind the last. The series must outlive this, unchanged.
        bool next(TimedWeight& sample) noexcept;

    private:
        const SampleSeries& series_;
        std::uint64_t left_in_block_ = 0;
        std::size_t block_ = 0;
        const std::uint8_t* at_ = nullptr;
        TimedWeight latest_;
    };

    void append(const TimedWeight& sample);

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    [[nodiscard]] bool is_empty() const noexcept { return size_ == 0; }
    /// Of the last one; 0 if there is none.
    [[nodiscard]] std::int64_t last_time_ns() const noexcept { return latest_.time_ns; }
    [[nodiscard]] Reader read() const noexcept { return Reader{*this}; }

private:
    /// Blocks don't move while the series grows. Each sample is three varints at most: the time
    /// since the one before, the difference of places with two flags, the weight if it is another.
    struct Block {
        std::unique_ptr<std::uint8_t[]> bytes;  // NOLINT(*-avoid-c-arrays): raw storage
        std::size_t used = 0;
        std::uint64_t samples = 0;
    };

    std::vector<Block> blocks_;
    TimedWeight latest_;
    std::uint64_t size_ = 0;
};

/// The samples of a Profile. A place whose node is none (the root) is not part of the profile any
/// more: a transform left it out. Of the others, at each node: the weights add up to its self,
/// and those that are no bookings are as many as its self_samples.
struct Timeline {
    struct Thread {
        std::optional<std::uint32_t> thread;  ///< Index into Profile::threads; none: unknown.
        std::shared_ptr<const SampleSeries> samples;
    };

    std::vector<Thread> threads;  ///< Those that have samples, in the order of Profile::threads.
    std::vector<NodeId> nodes;    ///< By place.
};

}  // namespace sample::callgraph
