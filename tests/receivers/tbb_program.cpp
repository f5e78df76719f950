// Uses TBB as programs do.
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstdio>
#include <functional>

int main() {
    const auto sum = tbb::parallel_reduce(
        tbb::blocked_range<long>(0, 1'000'000), 0L,
        [](const tbb::blocked_range<long>& range, long before) {
            for (long i = range.begin(); i < range.end(); ++i) {
                before += i % 7;
            }
            return before;
        },
        std::plus<>());
    std::atomic<int> done{0};
    tbb::task_group group;
    for (int i = 0; i < 10; ++i) {
        group.run([&done] { done.fetch_add(1); });
    }
    group.wait();
    std::printf("%ld %d\n", sum, done.load());
}
