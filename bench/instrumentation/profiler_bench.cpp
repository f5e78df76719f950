// What the calls of sample/profiler.h cost a program that runs without an agent: each is a load and
// a branch. docs/profiler-api.md.
#include "sample/profiler.h"

#include <benchmark/benchmark.h>

namespace {

void start(benchmark::State& state) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(sample_profiling_start(nullptr, 1000));
    }
}
BENCHMARK(start);

void stop(benchmark::State& state) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(sample_profiling_stop(nullptr));
    }
}
BENCHMARK(stop);

void status(benchmark::State& state) {
    sample_profiling_state sampling{};
    for (auto _ : state) {
        benchmark::DoNotOptimize(sample_profiling_status(nullptr, &sampling));
    }
}
BENCHMARK(status);

void request_data(benchmark::State& state) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(sample_profiling_request_data(
            nullptr, [](void*, const sample_profiling_data*) {}, nullptr));
    }
}
BENCHMARK(request_data);

void open_and_close(benchmark::State& state) {
    sample_profiling handle{};
    for (auto _ : state) {
        benchmark::DoNotOptimize(sample_profiling_open(&handle));
        benchmark::DoNotOptimize(sample_profiling_close(&handle));
    }
}
BENCHMARK(open_and_close);

}  // namespace

BENCHMARK_MAIN();
