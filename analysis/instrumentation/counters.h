// The counters of a program: what each was, along time.
//
// A counter has its value until the next one is said. Threads say theirs in any order, so all
// values are kept (16 bytes each) until they can be sorted.
#pragma once

#include "trace/instrumentation.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace sample::analysis {

struct CounterPoint {
    std::uint64_t time_ns = 0;
    double value = 0;  ///< Integers above 2^53 lose their last digits.
};

struct CounterSeries {
    trace::CounterSpec spec;
    std::vector<CounterPoint> points;  ///< By time; never empty.

    [[nodiscard]] double first() const { return points.front().value; }
    [[nodiscard]] double last() const { return points.back().value; }
    [[nodiscard]] double min() const;
    [[nodiscard]] double max() const;
    /// By time, from the first value to `end_ns`; of no time, of the values.
    [[nodiscard]] double mean(std::uint64_t end_ns) const;
    /// In each of `count` equal parts of the time from `begin_ns` to `end_ns`, the greatest that
    /// the counter was; none where it had no value yet.
    [[nodiscard]] std::vector<std::optional<double>> peaks(std::uint64_t begin_ns,
                                                           std::uint64_t end_ns,
                                                           std::size_t count) const;
};

class Counters {
public:
    void define(const trace::CounterSpec& spec) { series_[spec.id].spec = spec; }
    void add(const trace::CounterValue& value);
    /// Behind the last value: those that have any, by name. Values of one time keep their order.
    [[nodiscard]] std::vector<CounterSeries> finish() &&;

private:
    std::map<trace::CounterId, CounterSeries> series_;
};

}  // namespace sample::analysis
