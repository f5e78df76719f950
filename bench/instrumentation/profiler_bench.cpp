// What the calls of sample/profiler.h and sample/profiler_module.h cost a program that runs without
// an agent: each is a load and a branch. docs/profiler-api.md, docs/modules.md.
#include "sample/profiler.h"
#include "sample/profiler_module.h"

#include <benchmark/benchmark.h>

namespace {

/// Calls `call` again and again, and keeps what it answers.
template <class Call>
void measure(const char* name, Call call) {
    benchmark::RegisterBenchmark(name, [call](benchmark::State& state) {
        for (auto _ : state) {
            benchmark::DoNotOptimize(call());
        }
    });
}

void measure_profiler() {
    measure("start", [] { return sample_profiling_start(nullptr, 1000); });
    measure("stop", [] { return sample_profiling_stop(nullptr); });
    measure("pause", [] { return sample_profiling_pause(nullptr); });
    measure("resume", [] { return sample_profiling_resume(nullptr); });
    measure("set_frequency", [] { return sample_profiling_set_frequency(nullptr, 100); });
    measure("status", [] {
        sample_profiling_state state{};
        return sample_profiling_status(nullptr, &state);
    });
    measure("request_data", [] {
        return sample_profiling_request_data(
            nullptr, [](void*, const sample_profiling_data*) {}, nullptr);
    });
    static sample_profiling handle{};
    measure("open", [] { return sample_profiling_open(&handle); });
    measure("close", [] { return sample_profiling_close(&handle); });
}

void measure_modules() {
    measure("module: load", [] { return sample_profiler_load("leaves"); });
    measure("module: create", [] { return sample_profiler_create(nullptr); });
    measure("module: enable_sampling", [] { return sample_profiler_enable_sampling(nullptr); });
    measure("module: set_sample_mode", [] {
        return sample_profiler_set_sample_mode(nullptr, SAMPLE_PROFILER_SAMPLE_MODE_CPU, 100);
    });
    measure("module: get_sample_mode", [] {
        sample_profiler_sample_mode mode{};
        std::uint32_t hz = 0;
        return sample_profiler_get_sample_mode(nullptr, &mode, &hz);
    });
    measure("module: enable_allocations", [] { return sample_profiler_enable_allocations(); });
    measure("module: enable_contention", [] { return sample_profiler_enable_contention(); });
    measure("module: enable_exceptions", [] { return sample_profiler_enable_exceptions(); });
    measure("module: stack", [] {
        std::uintptr_t pc = 0;
        return sample_profiler_stack(&pc, 1);
    });
    measure("module: thread_id", [] { return sample_profiler_thread_id(); });
    measure("module: set a callback", [] {
        sample_profiler_set_sample_hit_callback(nullptr, nullptr);
        return 0;
    });
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    measure_profiler();
    measure_modules();
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
