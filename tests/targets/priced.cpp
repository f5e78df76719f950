// The same work again and again, by turns sampled and not, so that what a sample costs shows beside
// the machine's moods.
//
//     priced HZ PAIRS
//
// Of each turn 50, 30 and 20 per cent are in priced_fifty(), priced_thirty() and priced_twenty().
//
// Stats: turns= (that were sampled), bare_us= (CPU time of those that were not), more_ns= (the
// median of what a sampled turn took more than the one before it).
#include "sample/profiler.hpp"
#include "work.h"

#include <algorithm>
#include <string>
#include <vector>

namespace {

using sample::profiler::Profiler;
using sample::profiler::Result;

constexpr unsigned kUnit = 150'000;

/// In registers alone: how long a processor takes for a word that was just written is another after
/// an interruption.
[[gnu::always_inline]] inline void spin(unsigned units) {
    std::uint64_t value = 1;
    for (unsigned i = 0; i < units * kUnit; ++i) {
        value = value * 6364136223846793005U + 1;
        asm volatile("" : "+r"(value));
    }
}
TARGET_KEEP void priced_fifty() {
    spin(5);
}
TARGET_KEEP void priced_thirty() {
    spin(3);
}
TARGET_KEEP void priced_twenty() {
    spin(2);
}

std::uint64_t work_ns() {
    const std::uint64_t before = targets::thread_cpu_ns();
    for (int i = 0; i < 8; ++i) {
        priced_fifty();
        priced_thirty();
        priced_twenty();
    }
    return targets::thread_cpu_ns() - before;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        return 2;
    }
    const auto hz = static_cast<std::uint32_t>(std::stoul(argv[1]));
    const auto pairs = std::stoul(argv[2]);
    Profiler self;
    std::vector<std::int64_t> more;
    std::uint64_t bare_ns = 0;
    while (more.size() < pairs) {
        if (self.stop() != Result::ok) {
            return 1;
        }
        const std::uint64_t bare = work_ns();
        if (self.start(hz) != Result::ok) {
            return 1;
        }
        more.push_back(static_cast<std::int64_t>(work_ns()) - static_cast<std::int64_t>(bare));
        bare_ns += bare;
    }
    self.stop();
    std::nth_element(more.begin(), more.begin() + static_cast<long>(pairs / 2), more.end());
    targets::tell("turns", pairs);
    targets::tell("bare_us", bare_ns / 1000);
    targets::tell("more_ns",
                  static_cast<std::uint64_t>(std::max<std::int64_t>(more[pairs / 2], 0)));
    return 0;
}
