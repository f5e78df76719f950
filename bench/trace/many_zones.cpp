// A program with as many zones as one likes, for what reading them takes: two threads, each about
// half a million zones a second, of 64 names and up to 8 deep. So none is lost.
//
// usage: trace_many_zones [ZONES]        (default: 100 million)
#include "sample/trace.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kUsual = 100'000'000;
constexpr unsigned kThreads = 2;
constexpr unsigned kNames = 64;
constexpr unsigned kDeepest = 8;

/// Source: xorshift64*, Vigna 2016.
struct Random {
    std::uint64_t state;
    std::uint64_t next() {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return state * 0x2545f4914f6cdd1dU;
    }
};

struct Caller {
    Random random;
    std::uint64_t left;
};

using Zone = void (*)(Caller&, unsigned depth);
extern const std::array<Zone, kNames> g_zones;

/// Some of them inside, and a time that is never the same.
void work(Caller& caller, unsigned depth) {
    const std::uint64_t bits = caller.random.next();
    for (unsigned i = 0; i < (bits & 63U); ++i) {
        asm volatile("");
    }
    const std::uint64_t inside = depth < kDeepest ? (bits >> 8U) % 3 : 0;
    for (unsigned i = 0; i < inside && caller.left > 0; ++i) {
        g_zones[(bits >> (16 + 8 * i)) % kNames](caller, depth + 1);
    }
}

#define ZONES_4(a) ZONE(a##0) ZONE(a##1) ZONE(a##2) ZONE(a##3)
#define ZONES_16(a) ZONES_4(a##0) ZONES_4(a##1) ZONES_4(a##2) ZONES_4(a##3)
#define ALL_ZONES ZONES_16(0) ZONES_16(1) ZONES_16(2) ZONES_16(3)

#define ZONE(number)                                     \
    void zone_##number(Caller& caller, unsigned depth) { \
        SAMPLE_TRACE_ZONE("zone " #number);              \
        --caller.left;                                   \
        work(caller, depth);                             \
    }
ALL_ZONES
#undef ZONE

#define ZONE(number) zone_##number,
const std::array<Zone, kNames> g_zones{ALL_ZONES};
#undef ZONE

void call(std::uint64_t seed, std::uint64_t zones) {
    constexpr std::uint64_t kAtOnce = 5'000;
    constexpr auto kEach = std::chrono::milliseconds{10};
    Caller caller{{seed}, 0};
    auto next = Clock::now();
    for (std::uint64_t begun = 0; begun < zones; begun += kAtOnce) {
        for (caller.left = kAtOnce; caller.left > 0;) {
            g_zones[caller.random.next() % kNames](caller, 1);
        }
        next += kEach;
        std::this_thread::sleep_until(next);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t zones = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : kUsual;
    std::array<std::thread, kThreads> threads;
    for (unsigned i = 0; i < kThreads; ++i) {
        threads[i] = std::thread{call, 88172645463325252U + i, zones / kThreads};
    }
    for (std::thread& each : threads) {
        each.join();
    }
    return 0;
}
