#include "sampler/collector/process/tick_clock.h"

#include "core/kernel_clock.h"
#include "sampler/capture/raw_syscall.h"

#include <cpuid.h>

namespace sample::collector {

std::uint64_t monotonic_ns() {
    return read_kernel_clock_ns(CLOCK_MONOTONIC);
}
std::uint64_t realtime_ns() {
    return read_kernel_clock_ns(CLOCK_REALTIME);
}

TickClock::Reading TickClock::read_both() {
    // The pair with the shortest way around it was not interrupted.
    Reading best;
    std::uint64_t best_width = ~std::uint64_t{0};
    for (int attempt = 0; attempt < 5; ++attempt) {
        const std::uint64_t before = __builtin_ia32_rdtsc();
        const std::uint64_t ns = monotonic_ns();
        const std::uint64_t after = __builtin_ia32_rdtsc();
        if (after - before < best_width) {
            best_width = after - before;
            best = {before + (after - before) / 2, ns};
        }
    }
    return best;
}

TickClock::TickClock() : first_{read_both()} {
    constexpr std::uint64_t kPauseNs = 2'000'000;
    while (monotonic_ns() < first_.ns + kPauseNs) {
        capture::sleep_briefly();
    }
    update();
}

// Distances are taken from now: a double has no room for the nanoseconds of many days.
TickClock::TickClock(OfNanoseconds /*tag*/) {
    first_.ns = monotonic_ns();
    first_.ticks = first_.ns;
}

void TickClock::update() {
    const Reading now = read_both();
    if (now.ns > first_.ns && now.ticks > first_.ticks) {
        ticks_per_ns_ =
            static_cast<double>(now.ticks - first_.ticks) / static_cast<double>(now.ns - first_.ns);
    }
}

std::uint64_t TickClock::to_ns(std::uint64_t ticks) const {
    const auto distance = static_cast<double>(static_cast<std::int64_t>(ticks - first_.ticks));
    return first_.ns +
           static_cast<std::uint64_t>(static_cast<std::int64_t>(distance / ticks_per_ns_));
}

bool TickClock::is_invariant() {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1U << 8U) != 0;
}

}  // namespace sample::collector
