// How long it takes to add up zones, and the most memory that the process needed for it: made-up
// zones of 200 names on 8 threads, up to 12 deep, with samples in between as of 1 kHz.
//
// Reading a file is not in it: edges are made on the way, which `edges_alone` measures by itself.
//
// usage: zones_bench [ZONES]      (default: 100000000)
#include "analysis/instrumentation/zones.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

namespace {

using sample::ThreadId;
using sample::trace::EdgeKind;
using sample::trace::ZoneEdge;
using sample::trace::ZoneId;

constexpr std::uint32_t kThreads = 8;
constexpr std::uint32_t kNames = 200;
constexpr std::uint32_t kDeepest = 12;

/// Source: xorshift64*, Vigna 2016.
std::uint64_t next_random(std::uint64_t& state) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1dU;
}

/// Calls `add` for each edge of `zones` zones, some 1000 of one thread in a row, as a file has
/// them. Returns the last time.
template <class Add>
std::uint64_t make_edges(std::uint64_t zones, const Add& add) {
    constexpr std::uint64_t kInARow = 1000;
    struct Thread {
        std::uint64_t now = 0;
        std::uint32_t depth = 0;
    };
    std::array<Thread, kThreads> threads;
    std::uint64_t random = 88172645463325252U;
    std::uint64_t begun = 0;
    std::uint64_t last = 0;
    for (std::uint32_t id = 0; begun < zones; id = (id + 1) % kThreads) {
        Thread& thread = threads[id];
        ZoneEdge edge;
        edge.thread = ThreadId{id + 1};
        for (std::uint64_t i = 0; i < kInARow; ++i) {
            const std::uint64_t bits = next_random(random);
            const bool is_begin = thread.depth == 0 || (thread.depth < kDeepest && (bits & 1) != 0);
            thread.now += (bits >> 8) & 0xff;
            edge.time_ns = thread.now;
            edge.kind = is_begin ? EdgeKind::begin : EdgeKind::end;
            edge.zone =
                ZoneId{is_begin ? 1 + static_cast<std::uint32_t>((bits >> 32) % kNames) : 0};
            thread.depth += is_begin ? 1 : -1U;
            begun += is_begin ? 1 : 0;
            add(edge);
        }
        last = std::max(last, thread.now);
    }
    return last;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Source: proc(5), VmHWM.
double peak_mib() {
    constexpr double kKibPerMib = 1024.0;
    std::ifstream status{"/proc/self/status"};
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) {
            return std::strtod(line.c_str() + sizeof("VmHWM:"), nullptr) / kKibPerMib;
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    constexpr std::uint64_t kUsual = 100'000'000;
    constexpr std::int64_t kPeriodNs = 1'000'000;
    const std::uint64_t wanted = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : kUsual;
    auto start = std::chrono::steady_clock::now();
    std::uint64_t edges = 0;
    std::uint64_t sum = 0;
    const std::uint64_t end_ns = make_edges(wanted, [&](const ZoneEdge& edge) {
        ++edges;
        sum += edge.time_ns ^ edge.zone.value;
    });
    std::printf("edges_alone   %6.2f s  %llu edges  (%llx)\n", seconds_since(start),
                static_cast<unsigned long long>(edges), static_cast<unsigned long long>(sum));

    auto samples = std::make_shared<sample::callgraph::SampleSeries>();
    for (std::int64_t time = 0; time < static_cast<std::int64_t>(end_ns); time += kPeriodNs) {
        samples->append({time, 0, static_cast<std::uint64_t>(kPeriodNs), false});
    }
    sample::analysis::Zones zones{0, [&](ThreadId) { return samples; }};
    for (std::uint32_t id = 1; id <= kNames; ++id) {
        sample::trace::ZoneSpec spec;
        spec.id = ZoneId{id};
        spec.name = "zone " + std::to_string(id);
        zones.define(spec);
    }
    start = std::chrono::steady_clock::now();
    make_edges(wanted, [&](const ZoneEdge& edge) { zones.add(edge); });
    zones.finish(end_ns);
    const double took = seconds_since(start);
    std::uint64_t begun = 0;
    std::uint64_t sampled = 0;
    for (const sample::analysis::ZoneTotals& totals : zones.totals()) {
        begun += totals.begun;
        sampled += totals.sampled_self;
    }
    std::printf("zones         %6.2f s  %llu zones, %.1f s sampled inside  peak_mib %.1f\n", took,
                static_cast<unsigned long long>(begun), static_cast<double>(sampled) / 1e9,
                peak_mib());
    return 0;
}
