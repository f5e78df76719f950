#include "symbolize/last_cover.h"

#include <algorithm>
#include <numeric>

namespace sample::symbolize {
namespace {

constexpr std::size_t kFewPending = std::size_t{1} << 16U;

}  // namespace

LastCover::LastCover(std::span<const std::uint64_t> addresses)
    : order_(addresses.size()), values_(addresses.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t a, std::size_t b) { return addresses[a] < addresses[b]; });
    sorted_.reserve(addresses.size());
    for (const std::size_t index : order_) {
        sorted_.push_back(addresses[index]);
    }
}

void LastCover::add(std::uint64_t start, std::uint64_t end, std::uint64_t value) {
    const auto first = std::lower_bound(sorted_.begin(), sorted_.end(), start);
    if (first == sorted_.end() || *first >= end) {
        return;
    }
    const auto last = std::lower_bound(first, sorted_.end(), end);
    pending_.push_back({static_cast<std::size_t>(first - sorted_.begin()),
                        static_cast<std::size_t>(last - sorted_.begin()), value});
    // As many as there are addresses: then a settlement costs each range no more than a constant.
    if (pending_.size() >= std::max(kFewPending, sorted_.size())) {
        settle();
    }
}

void LastCover::settle() {
    // Backwards, and each address is visited once: next[i] is the first one at i or behind it
    // that has no value yet.
    std::vector<std::size_t> next(sorted_.size() + 1);
    std::iota(next.begin(), next.end(), std::size_t{0});
    const auto find = [&](std::size_t i) {
        while (next[i] != i) {
            next[i] = next[next[i]];
            i = next[i];
        }
        return i;
    };
    for (auto range = pending_.rbegin(); range != pending_.rend(); ++range) {
        for (std::size_t i = find(range->first); i < range->last; i = find(i)) {
            values_[i] = range->value;
            next[i] = i + 1;
        }
    }
    pending_.clear();
}

std::vector<std::optional<std::uint64_t>> LastCover::values() {
    settle();
    std::vector<std::optional<std::uint64_t>> values(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
        values[order_[i]] = values_[i];
    }
    return values;
}

}  // namespace sample::symbolize
