#include "trace/batch_codec.h"

#include "core/units.h"

#include <algorithm>

namespace sample::trace {
namespace {

constexpr std::uint64_t kMaxWeight = (std::uint64_t{1} << 62) - 1;

// A batch, its event's fixed fields and framing fit into one packet of 4096 bytes.
constexpr std::size_t kMaxColumnBytes = 4000;
constexpr std::size_t kMaxEntryBytes = 3 * kMaxVarintBytes;

/// Where a batch's first entry is predicted from.
constexpr std::uint64_t first_us(std::uint64_t start_us, std::uint64_t period) {
    return start_us - period / kNsPerUs;
}

/// The zigzag of a difference, in the upper 63 bits, and a flag. The difference is below 2^62.
constexpr std::uint64_t with_flag(std::uint64_t difference, bool flag) {
    return (zigzag_encode(static_cast<std::int64_t>(difference)) << 1) | (flag ? 1U : 0U);
}
constexpr std::uint64_t difference_in(std::uint64_t code) {
    return static_cast<std::uint64_t>(zigzag_decode(code >> 1));
}
constexpr bool flag_in(std::uint64_t code) {
    return (code & 1) != 0;
}

}  // namespace

BatchEncoder::BatchEncoder(std::uint64_t start_ns, std::uint64_t period)
    : start_us_{start_ns / kNsPerUs},
      period_{std::min(period, kMaxWeight)},
      last_us_{first_us(start_us_, period_)} {}

void BatchEncoder::add(const Sample& sample) {
    const std::uint64_t time_us = sample.time_ns / kNsPerUs;
    const bool has_extra = sample.is_booking || sample.weight != period_;
    append_varint(times_, with_flag(time_us - last_us_ - period_ / kNsPerUs, has_extra));
    append_varint(nodes_,
                  zigzag_encode(std::int64_t{sample.node.value} - std::int64_t{last_node_}));
    if (has_extra) {
        append_varint(extras_,
                      with_flag(std::min(sample.weight, kMaxWeight) - period_, sample.is_booking));
    }
    last_us_ = time_us;
    last_node_ = sample.node.value;
    ++count_;
}

bool BatchEncoder::is_full() const noexcept {
    return times_.size() + nodes_.size() + extras_.size() + kMaxEntryBytes > kMaxColumnBytes;
}

std::span<const std::byte> BatchEncoder::data() {
    data_.clear();
    data_.reserve(kMaxVarintBytes + times_.size() + nodes_.size() + extras_.size());
    append_varint(data_, count_);
    data_.insert(data_.end(), times_.begin(), times_.end());
    data_.insert(data_.end(), nodes_.begin(), nodes_.end());
    data_.insert(data_.end(), extras_.begin(), extras_.end());
    return data_;
}

BatchDecoder::BatchDecoder(const SampleBatch& batch) noexcept
    : batch_{batch}, last_us_{first_us(batch.start_ns / kNsPerUs, batch.period)} {}

std::optional<BatchDecoder> BatchDecoder::open(const SampleBatch& batch, std::uint32_t nodes) {
    BatchDecoder decoder{batch};
    VarintReader reader{batch.data};
    decoder.count_ = reader.next();
    if (decoder.count_ > batch.data.size()) {
        return std::nullopt;
    }
    std::uint64_t extras = 0;
    decoder.times_ = VarintReader{reader.rest()};
    for (std::uint64_t i = 0; i < decoder.count_; ++i) {
        extras += flag_in(reader.next()) ? 1 : 0;
    }
    std::uint64_t node = 0;
    decoder.nodes_ = VarintReader{reader.rest()};
    for (std::uint64_t i = 0; i < decoder.count_; ++i) {
        node += static_cast<std::uint64_t>(zigzag_decode(reader.next()));
        if (node > nodes) {
            return std::nullopt;
        }
    }
    decoder.extras_ = VarintReader{reader.rest()};
    for (std::uint64_t i = 0; i < extras; ++i) {
        reader.next();
    }
    if (!reader.ok() || !reader.rest().empty()) {
        return std::nullopt;
    }
    return decoder;
}

Sample BatchDecoder::next() noexcept {
    const std::uint64_t time = times_.next();
    last_us_ += batch_.period / kNsPerUs + difference_in(time);
    last_node_ += static_cast<std::uint64_t>(zigzag_decode(nodes_.next()));
    const std::uint64_t extra = flag_in(time) ? extras_.next() : 0;
    Sample sample;
    sample.thread = batch_.thread;
    sample.time_ns = last_us_ * kNsPerUs;
    sample.node = NodeId{static_cast<std::uint32_t>(last_node_)};
    sample.weight = batch_.period + difference_in(extra);
    sample.is_booking = flag_in(extra);
    sample.metric = MetricId{std::uint32_t{batch_.metric} + 1};
    return sample;
}

}  // namespace sample::trace
