// How much of a thread's life it waited, and how much of that is written down already.
//
// Wall time that is no CPU time is waiting: for a processor, as the kernel counts it, or for
// something else. Both come from clocks, so that the sum is exact however rarely the thread is
// looked at; only where the time goes depends on what was seen.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sample::collector {

class WaitLedger {
public:
    struct Shares {
        std::uint64_t asleep_ns = 0;
        std::uint64_t for_processor_ns = 0;
    };

    /// The thread's life began at `wall_ns` with its CPU clock at `cpu_ns`. May come late: what is
    /// written down stays so.
    void begin(std::uint64_t wall_ns, std::uint64_t cpu_ns) {
        wall_start_ns_ = wall_ns;
        cpu_start_ns_ = cpu_ns;
    }

    /// The clocks as they were read at `wall_ns`.
    void read(std::uint64_t wall_ns, std::uint64_t cpu_ns, std::uint64_t for_processor_ns) {
        const std::uint64_t life = difference(wall_ns, wall_start_ns_);
        const std::uint64_t waited = difference(life, difference(cpu_ns, cpu_start_ns_));
        due_.for_processor_ns = std::max(due_.for_processor_ns, std::min(for_processor_ns, waited));
        due_.asleep_ns = std::max(due_.asleep_ns, difference(waited, due_.for_processor_ns));
        cpu_ns_ = cpu_ns;
    }
    /// As read(), where the kernel no longer tells what the thread waited for a processor.
    void read(std::uint64_t wall_ns, std::uint64_t cpu_ns) {
        read(wall_ns, cpu_ns, due_.for_processor_ns);
    }

    /// What the clocks say and is not written down yet: now it is.
    [[nodiscard]] std::uint64_t take_asleep() { return take(due_.asleep_ns, taken_.asleep_ns); }
    [[nodiscard]] std::uint64_t take_for_processor() {
        return take(due_.for_processor_ns, taken_.for_processor_ns);
    }

    /// The CPU clock at the last reading.
    [[nodiscard]] std::uint64_t cpu_ns() const { return cpu_ns_; }

private:
    static std::uint64_t difference(std::uint64_t more, std::uint64_t less) {
        return more - std::min(more, less);
    }
    static std::uint64_t take(std::uint64_t due, std::uint64_t& taken) {
        const std::uint64_t rest = difference(due, taken);
        taken = std::max(taken, due);
        return rest;
    }

    std::uint64_t wall_start_ns_ = 0;
    std::uint64_t cpu_start_ns_ = 0;
    std::uint64_t cpu_ns_ = 0;
    Shares due_;
    Shares taken_;
};

}  // namespace sample::collector
