// The indices of a list, grouped by a number that each has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace sample::callgraph {

/// Ascending within each group.
class Groups {
public:
    /// `group_of(i)` is below `groups`, for each i below `count`. O(groups + count).
    template <class GroupOf>
    Groups(std::size_t groups, std::size_t count, const GroupOf& group_of)
        : first_(groups + 1), all_(count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            ++first_[group_of(i) + 1];
        }
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        std::vector<std::uint32_t> next{first_};
        for (std::uint32_t i = 0; i < count; ++i) {
            all_[next[group_of(i)]++] = i;
        }
    }

    /// Group by group.
    [[nodiscard]] std::span<const std::uint32_t> all() const { return all_; }
    [[nodiscard]] std::span<const std::uint32_t> operator[](std::size_t group) const {
        return std::span{all_}.subspan(first_[group], first_[group + 1] - first_[group]);
    }
    [[nodiscard]] std::span<std::uint32_t> operator[](std::size_t group) {
        return std::span{all_}.subspan(first_[group], first_[group + 1] - first_[group]);
    }

private:
    std::vector<std::uint32_t> first_;  ///< By group, in all_; the last is the end.
    std::vector<std::uint32_t> all_;
};

}  // namespace sample::callgraph
