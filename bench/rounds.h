// What begins and ends of zones cost, case beside case: in each round one burst of every case, so
// that whatever else the machine does meets all of them, and a pause, so that the collector keeps
// up: what is lost would be cheaper.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

namespace sample::bench {

struct Case {
    const char* name;
    void (*each)();                ///< A begin and its end.
    void (*before)() = nullptr;    ///< Of its burst.
    void (*behind)() = nullptr;    ///< Likewise.
    std::vector<double> rounds{};  ///< Nanoseconds of one.
};

// Not inlined, so that a profiler can count what is in it.
[[gnu::noinline]] inline void burst(void (*each)(), int count) {
    for (int i = 0; i < count; ++i) {
        each();
    }
}

inline void play(Case& one) {
    constexpr int kWarmUp = 200;
    constexpr int kBurst = 1'000;
    if (one.before != nullptr) {
        one.before();
    }
    burst(one.each, kWarmUp);
    const auto start = std::chrono::steady_clock::now();
    burst(one.each, kBurst);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    one.rounds.push_back(spent.count() / kBurst);
    if (one.behind != nullptr) {
        one.behind();
    }
    std::this_thread::sleep_for(std::chrono::microseconds{500});
}

/// `share`: 0.5 is the median.
inline double quantile(std::vector<double> of, double share) {
    const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(of.size() - 1));
    std::nth_element(of.begin(), of.begin() + place, of.end());
    return of[static_cast<std::size_t>(place)];
}

/// Prints of each case the fastest round, the tenth of a hundred and the median, and by how much
/// these lie above the first case's.
inline void play_rounds(std::span<Case> cases, long rounds) {
    for (long i = 0; i < rounds; ++i) {
        for (Case& each : cases) {
            play(each);
        }
    }
    std::printf("%ld rounds, ns of a pair        fastest        10 of 100         median\n",
                rounds);
    for (const Case& each : cases) {
        std::printf("%-30s", each.name);
        for (const double share : {0.0, 0.1, 0.5}) {
            const double took = quantile(each.rounds, share);
            std::printf(" %7.1f (%+6.1f)", took, took - quantile(cases[0].rounds, share));
        }
        std::printf("\n");
    }
}

}  // namespace sample::bench
