// How long a thread runs from one switch to the next, as far as two numbers tell that are read now
// and then: its CPU time, and how often it was put on a processor.
//
// Plain arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace sample::collector {

/// What a thread has done so far. Source: /proc/PID/task/TID/schedstat.
struct TaskClocks {
    std::uint64_t cpu_ns = 0;
    std::uint64_t switches = 0;  ///< How often it was put on a processor.
};

class Bursts {
public:
    /// What is longer counts as so long.
    static constexpr double kLongestNs = 2'000'000;

    /// What it has done since the last call, at least something.
    void add(const TaskClocks& more) {
        const auto cpu_ns = static_cast<double>(more.cpu_ns);
        const double others = more.switches > 1 ? static_cast<double>(more.switches - 1) : 0;
        least_ns_ = std::min(least_ns_, cpu_ns / (others + 1));
        cpu_ns_ += cpu_ns;
        bursts_ += others + 1;
        // Were the others as short as any, one took most of the time; else all are alike.
        const double longest_ns = cpu_ns - others * least_ns_;
        squares_ += longest_ns > cpu_ns / 2 ? longest_ns * std::min(longest_ns, kLongestNs) +
                                                  others * least_ns_ * least_ns_
                                            : cpu_ns * std::min(cpu_ns / (others + 1), kLongestNs);
    }

    /// Now and then, so that what was does not count for ever.
    void forget_half() {
        constexpr double kRise = 1.1;
        cpu_ns_ /= 2;
        bursts_ /= 2;
        squares_ /= 2;
        least_ns_ *= kRise;
    }

    /// Of all alike.
    [[nodiscard]] std::uint64_t mean_ns() const { return divide(cpu_ns_, bursts_); }
    /// Of the burst that a moment of its CPU time is in: of one of a millisecond among twenty of 50
    /// µs half a millisecond.
    [[nodiscard]] std::uint64_t around_a_moment_ns() const { return divide(squares_, cpu_ns_); }

private:
    static std::uint64_t divide(double sum, double by) {
        return by > 0 ? static_cast<std::uint64_t>(sum / by) : 0;
    }

    double cpu_ns_ = 0;
    double bursts_ = 0;
    double squares_ = 0;
    double least_ns_ = std::numeric_limits<double>::max();
};

}  // namespace sample::collector
