// Which of many ranges is the last one that covers each of some addresses.
//
// A JIT compiler's later code replaces its earlier code. Ranges are not kept: there may be
// millions, and a hostile file may let all of them overlap. Memory is bounded by the number of
// addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sample::symbolize {

class LastCover {
public:
    explicit LastCover(std::span<const std::uint64_t> addresses);

    /// [start, end) is `value`, and goes before what was added earlier. O(log addresses) amortised.
    void add(std::uint64_t start, std::uint64_t end, std::uint64_t value);
    /// The value for each address, in the constructor's order.
    [[nodiscard]] std::vector<std::optional<std::uint64_t>> values();

private:
    struct Range {
        std::size_t first = 0;  ///< Of sorted_.
        std::size_t last = 0;   ///< Past it.
        std::uint64_t value = 0;
    };
    void settle();

    std::vector<std::size_t> order_;  ///< Indices of the addresses, ascending by address.
    std::vector<std::uint64_t> sorted_;
    std::vector<std::optional<std::uint64_t>> values_;  ///< Of sorted_.
    std::vector<Range> pending_;
};

}  // namespace sample::symbolize
