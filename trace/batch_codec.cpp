#include "trace/batch_codec.h"

#include <algorithm>

namespace sample::trace {
namespace {

constexpr std::uint64_t kNsPerUs = 1000;
constexpr std::uint64_t kMaxWeightNs = (std::uint64_t{1} << 62) - 1;

// A batch, its event's fixed fields and framing fit into one packet of 4096 bytes.
constexpr std::size_t kMaxColumnBytes = 4000;
constexpr std::size_t kMaxEntryBytes = 3 * kMaxVarintBytes;

/// Where a batch's first entry is predicted from.
constexpr std::uint64_t first_us(std::uint64_t start_us, std::uint64_t period_ns) {
    return start_us - period_ns / kNsPerUs;
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

BatchEncoder::BatchEncoder(std::uint64_t start_ns, std::uint64_t period_ns)
    : start_us_{start_ns / kNsPerUs},
      period_ns_{std::min(period_ns, kMaxWeightNs)},
      last_us_{first_us(start_us_, period_ns_)} {}

void BatchEncoder::add(std::uint64_t time_ns, NodeId node, std::uint64_t weight_ns,
                       bool is_booking) {
    const std::uint64_t time_us = time_ns / kNsPerUs;
    const bool has_extra = is_booking || weight_ns != period_ns_;
    append_varint(times_, with_flag(time_us - last_us_ - period_ns_ / kNsPerUs, has_extra));
    append_varint(nodes_, zigzag_encode(std::int64_t{node.value} - std::int64_t{last_node_}));
    if (has_extra) {
        append_varint(extras_,
                      with_flag(std::min(weight_ns, kMaxWeightNs) - period_ns_, is_booking));
    }
    last_us_ = time_us;
    last_node_ = node.value;
    ++count_;
}

bool BatchEncoder::is_full() const noexcept {
    return times_.size() + nodes_.size() + extras_.size() + kMaxEntryBytes > kMaxColumnBytes;
}

std::vector<std::byte> BatchEncoder::data() const {
    std::vector<std::byte> out;
    out.reserve(kMaxVarintBytes + times_.size() + nodes_.size() + extras_.size());
    append_varint(out, count_);
    out.insert(out.end(), times_.begin(), times_.end());
    out.insert(out.end(), nodes_.begin(), nodes_.end());
    out.insert(out.end(), extras_.begin(), extras_.end());
    return out;
}

BatchDecoder::BatchDecoder(const BatchHeader& header) noexcept
    : header_{header}, last_us_{first_us(header.start_ns / kNsPerUs, header.period_ns)} {}

std::optional<BatchDecoder> BatchDecoder::open(const BatchHeader& header,
                                               std::span<const std::byte> data,
                                               std::uint32_t nodes) {
    BatchDecoder decoder{header};
    VarintReader reader{data};
    decoder.count_ = reader.next();
    if (decoder.count_ > data.size()) {
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

BatchDecoder::Entry BatchDecoder::next() noexcept {
    const std::uint64_t time = times_.next();
    last_us_ += header_.period_ns / kNsPerUs + difference_in(time);
    last_node_ += static_cast<std::uint64_t>(zigzag_decode(nodes_.next()));
    const std::uint64_t extra = flag_in(time) ? extras_.next() : 0;
    Entry entry;
    entry.sample.thread = header_.thread;
    entry.sample.time_ns = last_us_ * kNsPerUs;
    entry.sample.node = NodeId{static_cast<std::uint32_t>(last_node_)};
    entry.sample.weight_ns = header_.period_ns + difference_in(extra);
    entry.is_booking = flag_in(extra);
    return entry;
}

}  // namespace sample::trace
