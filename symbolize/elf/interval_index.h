// Finds the interval that covers an address, where intervals may overlap and nest.
//
// Symbols, functions and compilation units are all ranges of addresses, and foreign files may hold
// any overlap of them. Flattening them once into disjoint segments makes a look-up one binary
// search, whatever the overlap. The innermost interval wins: the one that starts last, then the
// shorter one, then the one with the lower value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sample::symbolize {

class IntervalIndex {
public:
    /// Adds [start, end) -> value; empty intervals are ignored. Call build() before find().
    void add(std::uint64_t start, std::uint64_t end, std::uint32_t value);
    /// O(n log n). Forgets the intervals themselves.
    void build();
    /// The value of the innermost interval that covers `address`. O(log n).
    [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t address) const;

private:
    struct Interval {
        std::uint64_t start;
        std::uint64_t end;
        std::uint32_t value;
    };
    /// Lasts until the next segment's start.
    struct Segment {
        std::uint64_t start;
        std::optional<std::uint32_t> value;
    };

    void close_until(std::uint64_t limit, std::vector<Interval>& open);

    std::vector<Interval> intervals_;
    std::vector<Segment> segments_;
};

}  // namespace sample::symbolize
