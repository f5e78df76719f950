#include "callgraph/timeline.h"

#include "core/varint.h"

namespace sample::callgraph {

namespace {

constexpr std::size_t kFirstBlockBytes = 1024;
constexpr std::size_t kMaxBlockBytes = std::size_t{256} * 1024;
constexpr std::size_t kMaxSampleBytes = 3 * kMaxVarintBytes;
constexpr std::uint64_t kIsBooking = 1;
constexpr std::uint64_t kHasWeight = 2;
constexpr int kFlagBits = 2;

/// Wraps around instead of overflowing: a time may be any number.
std::int64_t difference(std::int64_t after, std::int64_t before) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(after) -
                                     static_cast<std::uint64_t>(before));
}

std::int64_t sum(std::int64_t before, std::int64_t step) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) +
                                     static_cast<std::uint64_t>(step));
}

}  // namespace

void SampleSeries::append(const TimedWeight& sample) {
    if (blocks_.empty() || blocks_.back().used + kMaxSampleBytes >
                               (blocks_.size() == 1 ? kFirstBlockBytes : kMaxBlockBytes)) {
        const std::size_t bytes = blocks_.empty() ? kFirstBlockBytes : kMaxBlockBytes;
        blocks_.push_back({std::make_unique<std::uint8_t[]>(bytes), 0, 0});
    }
    Block& block = blocks_.back();
    const auto put = [&block](std::uint64_t value) {
        block.used += write_varint(block.bytes.get() + block.used, value);
    };
    put(zigzag_encode(difference(sample.time_ns, latest_.time_ns)));
    const bool has_weight = sample.weight != latest_.weight;
    const std::int64_t step = std::int64_t{sample.place} - std::int64_t{latest_.place};
    put((zigzag_encode(step) << kFlagBits) | (has_weight ? kHasWeight : 0) |
        (sample.is_booking ? kIsBooking : 0));
    if (has_weight) {
        put(sample.weight);
    }
    ++block.samples;
    ++size_;
    latest_ = sample;
}

bool SampleSeries::Reader::next(TimedWeight& sample) noexcept {
    while (left_in_block_ == 0) {
        if (block_ == series_.blocks_.size()) {
            return false;
        }
        const Block& block = series_.blocks_[block_++];
        at_ = block.bytes.get();
        left_in_block_ = block.samples;
    }
    --left_in_block_;
    const auto take = [this] {
        std::uint64_t value = 0;
        at_ += read_varint(at_, at_ + kMaxVarintBytes, value);
        return value;
    };
    latest_.time_ns = sum(latest_.time_ns, zigzag_decode(take()));
    const std::uint64_t head = take();
    latest_.place =
        static_cast<std::uint32_t>(std::int64_t{latest_.place} + zigzag_decode(head >> kFlagBits));
    latest_.is_booking = (head & kIsBooking) != 0;
    if ((head & kHasWeight) != 0) {
        latest_.weight = take();
    }
    sample = latest_;
    return true;
}

}  // namespace sample::callgraph
