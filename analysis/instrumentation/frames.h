// The frames of a program, of each kind by itself: how many a second, how long, and which were the
// slowest.
//
// A frame begins and ends on one thread. Where the next one begins before it has ended, it ends
// there: programs may mark beginnings alone. What has neither is counted as unfinished.
#pragma once

#include "core/ids.h"
#include "trace/instrumentation.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::analysis {

struct FrameSpan {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    ThreadId thread;

    [[nodiscard]] std::uint64_t length_ns() const noexcept { return end_ns - begin_ns; }
};

struct FramesOfKind {
    std::uint8_t kind = 0;
    std::string name;
    std::vector<FrameSpan> frames;  ///< By their beginnings.
    std::uint64_t unfinished = 0;   ///< Beginnings that nothing followed, and ends of nothing.

    /// Indices of frames, the longest first; of equal ones the earliest.
    [[nodiscard]] std::vector<std::uint32_t> slowest() const;
    /// The lengths, ascending.
    [[nodiscard]] std::vector<std::uint64_t> lengths_ns() const;
    /// Frames from the first one's beginning to the last one's end, a second; 0 if that is no time.
    [[nodiscard]] double per_second() const;
};

/// The least of `ascending` that at least `share` (0 to 1) of them are not above; 0 of none.
[[nodiscard]] std::uint64_t quantile(const std::vector<std::uint64_t>& ascending, double share);

class Frames {
public:
    void define(const trace::FrameKind& kind) { names_[kind.kind] = kind.name; }
    /// Those of one thread by time; of different ones in any order. 24 bytes a frame.
    void add(const trace::FrameEdge& edge);
    /// Behind the last edge. By kind; those without frames are left out.
    [[nodiscard]] std::vector<FramesOfKind> finish() &&;

private:
    struct Open {
        bool is_open = false;
        std::uint64_t begin_ns = 0;
    };

    std::map<std::uint8_t, std::string> names_{{0, "main"}, {1, "render"}};
    std::map<std::uint8_t, FramesOfKind> kinds_;
    std::map<std::pair<ThreadId, std::uint8_t>, Open> open_;
};

}  // namespace sample::analysis
