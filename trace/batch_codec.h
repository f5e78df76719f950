// The data of a Sample.SampleBatch event: samples and bookings of one thread, in columns, so that
// LZ4 finds the repeats.
//
// Varints, column after column:
//   count
//   times     count of: bit 0: an extra follows in the third column; the rest: zigzag of (µs since
//             the entry before - the period in µs)
//   nodes     count of: zigzag of (node - the entry before's node, at first 0)
//   extras    per time with bit 0: bit 0: a booking; the rest: zigzag of (weight - period) in ns
//
// The entry before the first one lies one period before the batch's start. The period is the
// batch's own (a field of the event): what most of its samples weigh. Times are floored to whole
// microseconds; weights below 2^62 ns (146 years) come back exactly.
#pragma once

#include "trace/records.h"
#include "trace/varint_bytes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sample::trace {

/// Collects one batch. A sample costs some 10 ns.
class BatchEncoder {
public:
    BatchEncoder(std::uint64_t start_ns, std::uint64_t period);

    /// Of the thread and the metric that the batch is of.
    void add(const Sample& sample);
    /// True when the next entry might not fit into a packet.
    [[nodiscard]] bool is_full() const noexcept;
    [[nodiscard]] std::uint64_t start_ns() const noexcept { return start_us_ * 1000; }
    [[nodiscard]] std::uint64_t period() const noexcept { return period_; }
    /// The same object until the next call.
    [[nodiscard]] std::span<const std::byte> data();

private:
    std::uint64_t start_us_;
    std::uint64_t period_;
    std::uint64_t last_us_;
    std::uint32_t last_node_ = 0;
    std::uint64_t count_ = 0;
    std::vector<std::byte> times_;
    std::vector<std::byte> nodes_;
    std::vector<std::byte> extras_;
    std::vector<std::byte> data_;
};

/// Reads a batch back, entry by entry.
class BatchDecoder {
public:
    /// nullopt: data that does not parse, or that refers to nodes beyond `nodes`.
    static std::optional<BatchDecoder> open(const SampleBatch& batch, std::uint32_t nodes);

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    /// The next one. Call it count() times.
    Sample next() noexcept;

private:
    explicit BatchDecoder(const SampleBatch& batch) noexcept;

    SampleBatch batch_;
    std::uint64_t count_ = 0;
    VarintReader times_{{}};
    VarintReader nodes_{{}};
    VarintReader extras_{{}};
    std::uint64_t last_us_;
    std::uint64_t last_node_ = 0;
};

}  // namespace sample::trace
