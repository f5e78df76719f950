// What one zone costs, beside two readings of the time stamp counter in the same run.
//
// Run it by bench/trace/run: bare it shows a zone without the agent, and under `sample --trace` one
// whose channel is on. Bursts with pauses: a collector that shares the processors with the program
// keeps up, and no zone is left out, which would be cheaper.
#include "sample/trace.hpp"

#include <benchmark/benchmark.h>
#include <x86intrin.h>

#include <chrono>
#include <thread>

#ifdef SAMPLE_BENCH_LTTNG
extern "C" void lttng_zone_begin();
extern "C" void lttng_zone_end();
extern "C" int lttng_zone_is_on();
#endif

SAMPLE_TRACE_CHANNEL_DEFINE(off_in_bench);

// clang-format off
SAMPLE_TRACE_EVENT_BEGIN(Bench, Event)
    SAMPLE_TRACE_EVENT_FIELD(std::uint32_t, Number)
    SAMPLE_TRACE_EVENT_FIELD(double, Share)
SAMPLE_TRACE_EVENT_END()
// clang-format on

namespace {

SAMPLE_TRACE_COUNTER(counted, "counted", INTEGER);

constexpr int kBurst = 2'000;

/// A burst is one iteration; items are what is in it.
template <class Each>
void in_bursts(benchmark::State& state, Each each) {
    for (auto _ : state) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < kBurst; ++i) {
            each();
        }
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        state.SetIterationTime(spent.count() / kBurst);
        std::this_thread::sleep_for(std::chrono::microseconds{500});
    }
    state.SetLabel(SAMPLE_TRACE_IS_ON(sample_trace_cpu) != 0  ? "agent, channel on"
                   : sample_trace_module.functions != nullptr ? "agent, channel off"
                                                              : "no agent");
}

void two_rdtsc(benchmark::State& state) {
    in_bursts(state, [] {
        benchmark::DoNotOptimize(__rdtsc());
        benchmark::DoNotOptimize(__rdtsc());
    });
}

void zone(benchmark::State& state) {
    in_bursts(state, [] { SAMPLE_TRACE_ZONE("zone"); });
}

void zone_of_a_channel_that_is_off(benchmark::State& state) {
    in_bursts(state, [] { SAMPLE_TRACE_ZONE_ON(off_in_bench, "off"); });
}

void event_with_a_serial(benchmark::State& state) {
    in_bursts(state, [] {
        SAMPLE_TRACE_EVENT(Bench, Event, sample_trace_cpu) << Event.Number(1) << Event.Share(0.5);
    });
}

void zone_with_a_dynamic_name(benchmark::State& state) {
    in_bursts(state, [] { SAMPLE_TRACE_ZONE_DYNAMIC("a name that is made at run time"); });
}

void counter(benchmark::State& state) {
    in_bursts(state, [] { SAMPLE_TRACE_INCREMENT(counted); });
}

void log_message(benchmark::State& state) {
    in_bursts(state, [] { SAMPLE_TRACE_LOG("bench", SAMPLE_TRACE_NORMAL, "%d of %s", 1, "two"); });
}

/// The first repetitions touch memory that nobody has touched yet.
void repeated(benchmark::internal::Benchmark* bench) {
    bench->UseManualTime()->Iterations(200)->Repetitions(9)->ReportAggregatesOnly()->Unit(
        benchmark::kNanosecond);
}

// NOLINTBEGIN(cert-err58-cpp): as the library wants it.
BENCHMARK(two_rdtsc)->Apply(repeated);
BENCHMARK(zone)->Apply(repeated);
BENCHMARK(zone_of_a_channel_that_is_off)->Apply(repeated);
BENCHMARK(zone_with_a_dynamic_name)->Apply(repeated);
BENCHMARK(event_with_a_serial)->Apply(repeated);
BENCHMARK(counter)->Apply(repeated);
BENCHMARK(log_message)->Apply(repeated);
#ifdef SAMPLE_BENCH_LTTNG
void lttng_zone(benchmark::State& state) {
    in_bursts(state, [] {
        lttng_zone_begin();
        lttng_zone_end();
    });
    state.SetLabel(lttng_zone_is_on() != 0 ? "LTTng, on" : "LTTng, off");
}
BENCHMARK(lttng_zone)->Apply(repeated);
#endif
// NOLINTEND(cert-err58-cpp)

}  // namespace

BENCHMARK_MAIN();
