// How much of a thread's life it waited, and how much of that is written down already.
//
// Wall time that is no CPU time is waiting: for a processor, as the kernel counts it, or for
// something else. Both come from clocks, so that the sum is exact however rarely the thread is
// looked at; only where the time goes depends on what was seen. The kernel counts a wait for a
// processor when it is over, so some of one may be written down as sleep before; it is not written
// down twice.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sample::collector {

class WaitLedger {
public:
    /// The thread's life began at `wall_ns` with its CPU clock at `cpu_ns`. May be said more than
    /// once: the earliest counts. What is written down stays so.
    void begin(std::uint64_t wall_ns, std::uint64_t cpu_ns) {
        if (wall_ns < wall_start_ns_) {
            wall_start_ns_ = wall_ns;
            cpu_start_ns_ = cpu_ns;
        }
    }

    /// The clocks as they were read at `wall_ns`. What a thread that had run before its beginning
    /// here waited for a processor until the first reading is left out.
    void read(std::uint64_t wall_ns, std::uint64_t cpu_ns, std::uint64_t for_processor_ns) {
        if (!was_read_ && cpu_start_ns_ != 0) {
            for_processor_start_ns_ = for_processor_ns;
        }
        was_read_ = true;
        for_processor_ns_ =
            std::max(for_processor_ns_, difference(for_processor_ns, for_processor_start_ns_));
        read(wall_ns, cpu_ns);
    }
    /// As read(), where the kernel no longer tells what the thread waited for a processor.
    void read(std::uint64_t wall_ns, std::uint64_t cpu_ns) {
        const std::uint64_t life = difference(wall_ns, wall_start_ns_);
        waited_ns_ = std::max(waited_ns_, difference(life, difference(cpu_ns, cpu_start_ns_)));
        cpu_ns_ = cpu_ns;
    }

    /// What the clocks say and is not written down yet: now it is.
    [[nodiscard]] std::uint64_t take_asleep() {
        const std::uint64_t for_processor = std::max(for_processor_ns_, taken_for_processor_ns_);
        return take(difference(waited_ns_, for_processor), taken_asleep_ns_);
    }
    [[nodiscard]] std::uint64_t take_for_processor() {
        return take(std::min(for_processor_ns_, difference(waited_ns_, taken_asleep_ns_)),
                    taken_for_processor_ns_);
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

    std::uint64_t wall_start_ns_ = ~std::uint64_t{0};
    std::uint64_t cpu_start_ns_ = 0;
    std::uint64_t for_processor_start_ns_ = 0;
    bool was_read_ = false;
    std::uint64_t cpu_ns_ = 0;
    std::uint64_t waited_ns_ = 0;  ///< Of its life so far, for whatever.
    std::uint64_t for_processor_ns_ = 0;
    std::uint64_t taken_asleep_ns_ = 0;
    std::uint64_t taken_for_processor_ns_ = 0;
};

}  // namespace sample::collector
