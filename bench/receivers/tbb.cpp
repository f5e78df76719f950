// Five million small tasks of TBB. Prints the seconds, those of its processors, and a sum.
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>

int main() {
    const std::clock_t used = std::clock();
    const auto begin = std::chrono::steady_clock::now();
    std::atomic<long> sum{0};
    for (int round = 0; round < 10'000; ++round) {
        tbb::parallel_for(
            tbb::blocked_range<long>(0, 50'000, 100),
            [&sum](const tbb::blocked_range<long>& range) {
                long part = 0;
                for (long i = range.begin(); i < range.end(); ++i) {
                    part += i % 7;
                }
                sum.fetch_add(part, std::memory_order_relaxed);
            },
            tbb::simple_partitioner{});
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%.6f %.6f %ld\n", took.count(),
                static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC, sum.load());
}
