// Where, on a thread's CPU clock, sampling was off.
//
// A sample stands for all that its thread has used since the one before, also for what it used
// while there were no samples. Stretches come in the order of the clock, and are asked for in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

namespace sample::collector {

/// Not thread-safe.
class OffStretches {
public:
    /// Sampling goes off when the clock says `cpu_ns`, and on again. Twice off is once.
    void begin(std::uint64_t cpu_ns) {
        if (!is_open_) {
            stretches_.push_back({cpu_ns, kNever});
            is_open_ = true;
        }
    }
    void end(std::uint64_t cpu_ns) {
        if (!std::exchange(is_open_, false)) {
            return;
        }
        stretches_.back().end = std::max(cpu_ns, stretches_.back().begin);
        if (stretches_.back().begin == stretches_.back().end) {
            stretches_.pop_back();  // the thread has slept all the time
        }
        if (stretches_.size() > kMost) {
            // Of one that no sample has passed yet, where it lies matters little.
            const std::uint64_t first = stretches_[0].end - stretches_[0].begin;
            stretches_.pop_front();
            stretches_[0].begin -= std::min(stretches_[0].begin, first);
        }
    }

    /// How much of the `ns` behind `from` it was off. Forgets what lies before their end.
    [[nodiscard]] std::uint64_t take(std::uint64_t from, std::uint64_t ns) {
        const std::uint64_t to = from + ns;
        std::uint64_t off = 0;
        while (!stretches_.empty() && stretches_[0].begin < to) {
            Stretch& first = stretches_[0];
            const std::uint64_t begin = std::max(first.begin, from);
            const std::uint64_t end = std::min(first.end, to);
            off += end - std::min(begin, end);
            if (first.end > to) {
                break;
            }
            stretches_.pop_front();
        }
        return off;
    }

private:
    static constexpr std::uint64_t kNever = ~std::uint64_t{0};
    static constexpr std::size_t kMost = 64;
    struct Stretch {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };
    std::deque<Stretch> stretches_;
    bool is_open_ = false;
};

}  // namespace sample::collector
