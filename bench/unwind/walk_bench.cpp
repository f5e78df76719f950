// How long a walk takes, per frame: ours hot and cold, libunwind's two, and frame pointers.
//
//     unwind_walk_bench --benchmark_repetitions=5 --benchmark_report_aggregates_only
//
// Counter `per_frame` is CPU time; the argument is the depth of the chain. Compare within one run
// only.
#include "bench/unwind/deep_stack.h"
#include "bench/unwind/loaded_modules.h"
#include "bench/unwind/stack_bounds.h"
#include "unwind/walk/ucontext.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

namespace sample::unwind::bench {
namespace {

constexpr std::size_t kRoom = 1024;

class Walker {
public:
    WalkResult walk(const Registers& registers, std::uint64_t generation) {
        const ModuleTable table{modules_, generation, LoaderLookup::ask};
        RowCache cache{*storage_};
        StackMemory memory = StackMemory::live(bounds_, StackMemory::Outside::probe);
        return unwind::walk(table, cache, registers, memory, frames_);
    }

    WalkResult walk_with_memo(const Registers& registers) {
        const ModuleTable table{modules_, 1, LoaderLookup::ask};
        RowCache cache{*storage_};
        StackMemory memory = StackMemory::live(bounds_, StackMemory::Outside::probe);
        return unwind::walk(table, cache, registers, memory, *memo_, kRoom);
    }

private:
    std::vector<Module> modules_ = loaded_modules();
    std::unique_ptr<std::array<RowCache::Entry, 16384>> storage_ =
        std::make_unique<std::array<RowCache::Entry, 16384>>();
    std::unique_ptr<StackMemo> memo_ = std::make_unique<StackMemo>();
    StackBounds bounds_ = stack_bounds();
    std::array<FrameAddress, kRoom> frames_{};
};

void report(benchmark::State& state, std::size_t frames) {
    state.counters["frames"] = static_cast<double>(frames);
    state.counters["per_frame"] = benchmark::Counter(
        static_cast<double>(frames),
        benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void hot_leaf(void* data) {
    auto& state = *static_cast<benchmark::State*>(data);
    Walker walker;
    ucontext_t context;
    getcontext(&context);
    const Registers registers = registers_of(context);
    WalkResult result;
    for (auto _ : state) {
        result = walker.walk(registers, 1);
        benchmark::DoNotOptimize(result);
    }
    if (result.reason != StopReason::root) {
        state.SkipWithError("the walk did not reach the root");
    }
    report(state, result.depth);
}

/// The callers are those of the walk before; the leaf is new each time, as in a sampled program.
void memo_leaf(void* data) {
    auto& state = *static_cast<benchmark::State*>(data);
    Walker walker;
    ucontext_t context;
    getcontext(&context);
    Registers registers = registers_of(context);
    WalkResult result;
    for (auto _ : state) {
        // Another rbx makes no other way; another pc does.
        registers.value[Registers::kPc] ^= 1;
        result = walker.walk_with_memo(registers);
        benchmark::DoNotOptimize(result);
    }
    if (result.reason != StopReason::root) {
        state.SkipWithError("the walk did not reach the root");
    }
    report(state, result.depth);
}

/// Every generation makes all rows of the one before unknown.
void cold_leaf(void* data) {
    auto& state = *static_cast<benchmark::State*>(data);
    Walker walker;
    ucontext_t context;
    getcontext(&context);
    const Registers registers = registers_of(context);
    std::uint64_t generation = 1;
    WalkResult result;
    for (auto _ : state) {
        result = walker.walk(registers, ++generation);
        benchmark::DoNotOptimize(result);
    }
    report(state, result.rows_compiled);
}

void step_leaf(void* data) {
    auto& state = *static_cast<benchmark::State*>(data);
    unw_context_t context;
    unw_getcontext(&context);
    std::size_t depth = 0;
    for (auto _ : state) {
        unw_cursor_t cursor;
        unw_init_local(&cursor, &context);
        depth = 0;
        do {
            unw_word_t ip = 0;
            unw_get_reg(&cursor, UNW_REG_IP, &ip);
            benchmark::DoNotOptimize(ip);
            ++depth;
        } while (unw_step(&cursor) > 0);
    }
    report(state, depth);
}

void backtrace_leaf(void* data) {
    auto& state = *static_cast<benchmark::State*>(data);
    std::array<void*, kRoom> frames{};
    int depth = 0;
    for (auto _ : state) {
        depth = unw_backtrace(frames.data(), static_cast<int>(frames.size()));
        benchmark::DoNotOptimize(frames);
    }
    report(state, static_cast<std::size_t>(depth));
}

void frame_pointer_leaf(void* data) {
    auto& state = *static_cast<benchmark::State*>(data);
    std::array<std::uint64_t, kRoom> frames{};
    const StackBounds bounds = stack_bounds();
    std::size_t depth = 0;
    for (auto _ : state) {
        auto frame = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
        depth = 0;
        while (frame >= bounds.low && frame + 16 <= bounds.high && depth < frames.size()) {
            const auto* words = reinterpret_cast<const std::uint64_t*>(frame);
            frames[depth++] = words[1];
            if (words[0] <= frame) {
                break;
            }
            frame = words[0];
        }
        benchmark::DoNotOptimize(frames);
    }
    report(state, depth);
}

void walk_hot(benchmark::State& state) {
    run_below(static_cast<int>(state.range(0)), hot_leaf, &state);
}
void walk_with_memo(benchmark::State& state) {
    run_below(static_cast<int>(state.range(0)), memo_leaf, &state);
}
void walk_cold(benchmark::State& state) {
    run_below(static_cast<int>(state.range(0)), cold_leaf, &state);
}
void libunwind_step(benchmark::State& state) {
    run_below(static_cast<int>(state.range(0)), step_leaf, &state);
}
void libunwind_backtrace(benchmark::State& state) {
    run_below(static_cast<int>(state.range(0)), backtrace_leaf, &state);
}
void frame_pointers(benchmark::State& state) {
    run_below_with_frame_pointers(static_cast<int>(state.range(0)), frame_pointer_leaf, &state);
}
// So that there are 32, 100 and 200 frames: frame pointers end below main, ours at the start.
BENCHMARK(frame_pointers)->Arg(30)->Arg(98)->Arg(198);
BENCHMARK(walk_with_memo)->Arg(20)->Arg(88)->Arg(188);
BENCHMARK(walk_hot)->Arg(30)->Arg(200);
BENCHMARK(libunwind_backtrace)->Arg(30)->Arg(200);
BENCHMARK(walk_cold)->Arg(30)->Arg(64);
BENCHMARK(libunwind_step)->Arg(30)->Arg(200);

/// Rules at random pcs of the C library: its tables do not stay in the first-level cache.
void compile_random_row(benchmark::State& state) {
    const std::vector<Module> modules = loaded_modules();
    const ModuleTable table{modules, 1, LoaderLookup::off};
    const Module* module = table.find(Pc{reinterpret_cast<std::uint64_t>(&std::atoi)});
    std::mt19937_64 random{1};
    std::vector<std::uint64_t> pcs(65536);
    for (std::uint64_t& pc : pcs) {
        pc = module->code.begin + random() % (module->code.end - module->code.begin);
    }
    const cfi::Tables tables = module->local_tables();
    std::size_t next = 0;
    for (auto _ : state) {
        const std::uint64_t pc = pcs[next++ % pcs.size()];
        cfi::FrameRules rules;
        benchmark::DoNotOptimize(cfi::find_rules(tables, pc, rules) == cfi::Found::yes
                                     ? cfi::pack_rules(rules, pc)
                                     : cfi::Row{});
    }
}
BENCHMARK(compile_random_row);

}  // namespace
}  // namespace sample::unwind::bench

BENCHMARK_MAIN();
