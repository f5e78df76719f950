// Which of many ranges is the last one that covers each of some addresses.
//
// A JIT compiler's later code replaces its earlier code. Ranges are not kept: there may be
// millions, and a hostile file may let all of them overlap. A segment tree over the addresses
// bounds memory by their number: a node knows the last range that covers all that is below it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sample::symbolize {

class LatestCode {
public:
    explicit LatestCode(std::span<const std::uint64_t> addresses)
        : sorted_{addresses.begin(), addresses.end()}, nodes_(2 * addresses.size()) {
        std::sort(sorted_.begin(), sorted_.end());
    }

    /// [start, end) is `value`, and goes before what was added earlier. O(log addresses).
    void add(std::uint64_t start, std::uint64_t end, std::uint64_t value) {
        ++added_;
        std::size_t first = leaf_of(start);
        for (std::size_t last = leaf_of(end); first < last; first /= 2, last /= 2) {
            if (first % 2 == 1) {
                nodes_[first++] = {added_, value};
            }
            if (last % 2 == 1) {
                nodes_[--last] = {added_, value};
            }
        }
    }

    /// The value for `address`, which is one of the constructor's. O(log addresses).
    [[nodiscard]] std::optional<std::uint64_t> find(std::uint64_t address) const {
        Node latest;
        for (std::size_t node = leaf_of(address); node > 0; node /= 2) {
            latest = nodes_[node].order > latest.order ? nodes_[node] : latest;
        }
        return latest.order != 0 ? std::optional{latest.value} : std::nullopt;
    }

private:
    struct Node {
        std::uint64_t order = 0;  ///< 1 is the first range; 0: none.
        std::uint64_t value = 0;
    };

    [[nodiscard]] std::size_t leaf_of(std::uint64_t address) const {
        const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), address);
        return sorted_.size() + static_cast<std::size_t>(at - sorted_.begin());
    }

    std::vector<std::uint64_t> sorted_;
    std::vector<Node> nodes_;  ///< Node i is above 2i and 2i + 1; the last half are the addresses.
    std::uint64_t added_ = 0;
};

}  // namespace sample::symbolize
