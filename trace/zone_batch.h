// The data of CpuProfiler.EventBatch, …V2 and …V3: where zones of one thread begin and end.
//
// Varints. Each edge: its stamp and, in the low bits, what it is; then what the kind needs.
//
//   V3, V2   stamp << 2 | kind: 0 end, 1 begin (+ id), 2 suspend (+ depth), 3 resume (+ id, depth)
//   V1       stamp << 1 | is begin (+ id)
//
// A begin's id is a timer's; in V3 it is id << 1, or a note's (Metadata) << 1 | 1. A stamp is the
// cycles since the thread's edge before, also across batches, if that is less than the edge before
// itself; else it is a cycle as it stands: so is the first one.
#pragma once

#include "trace/instrumentation.h"
#include "trace/wire.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sample::trace {

/// Makes a thread's batches, V3. An edge costs some 10 ns.
class ZoneBatchEncoder {
public:
    /// Of data: with its framing it fits into a packet.
    static constexpr std::size_t kMaxBytes = wire::kMaxPayloadBytes - 16;

    /// Call it if the batch is not full. A time before the last edge's becomes that.
    void add(const ZoneEdge& edge);
    [[nodiscard]] bool is_full() const noexcept { return data_.size() + kMostAnEdge > kMaxBytes; }
    [[nodiscard]] std::span<const std::byte> data() const noexcept { return data_; }
    /// The next batch begins; its stamps go on.
    void clear() noexcept { data_.clear(); }
    /// The next stamp is a cycle as it stands.
    void restart() noexcept { last_ns_ = 0; }

private:
    static constexpr std::size_t kMostAnEdge = 30;

    std::vector<std::byte> data_;
    std::uint64_t last_ns_ = 0;
};

enum class ZoneBatchVersion : std::uint8_t { v1, v2, v3 };

/// An edge as it stands in a batch.
struct BatchEdge {
    EdgeKind kind = EdgeKind::begin;
    std::uint64_t cycle = 0;
    std::uint64_t id = 0;     ///< Of a begin and of a resume; without V3's lowest bit.
    bool is_note = false;     ///< The id is a note's.
    std::uint64_t depth = 0;  ///< Of suspend and resume.
};

/// Reads a batch back, edge by edge. Whatever its bytes are, it reads nothing beyond them.
class ZoneBatchDecoder {
public:
    /// `last` is the cycle of the thread's last edge, which the decoder moves on. A cycle below
    /// `base` is one since `base`.
    ZoneBatchDecoder(std::span<const std::byte> data, ZoneBatchVersion version, std::uint64_t base,
                     std::uint64_t& last) noexcept
        : at_{data.data()},
          end_{data.data() + data.size()},
          version_{version},
          base_{base},
          last_{last} {}

    /// False at the end of the batch, or where it is damaged.
    bool next(BatchEdge& edge) noexcept {
        std::uint64_t head = 0;
        if (at_ == end_ || !varint(head)) {
            return false;
        }
        const unsigned kind_bits = version_ == ZoneBatchVersion::v1 ? 1 : kKindBits;
        const std::uint64_t stamp = head >> kind_bits;
        std::uint64_t cycle = stamp < last_ ? last_ + stamp : stamp;
        cycle = cycle < base_ ? cycle + base_ : cycle;
        edge = BatchEdge{kKinds[head & ((1U << kind_bits) - 1)], cycle};
        if ((has_id(edge.kind) && !varint(edge.id)) ||
            (has_depth(edge.kind) && !varint(edge.depth))) {
            return false;
        }
        if (version_ == ZoneBatchVersion::v3 && edge.kind == EdgeKind::begin) {
            edge.is_note = (edge.id & 1) != 0;
            edge.id >>= 1;
        }
        last_ = cycle;
        return true;
    }
    /// How many zones begin in what next() has not read, instead of reading it. Leaves `last` where
    /// it is.
    [[nodiscard]] std::uint64_t count_begins() noexcept;
    [[nodiscard]] bool is_damaged() const noexcept { return is_damaged_; }

private:
    static constexpr unsigned kKindBits = 2;
    // As V3 numbers them.
    static constexpr EdgeKind kKinds[] = {EdgeKind::end, EdgeKind::begin, EdgeKind::suspend,
                                          EdgeKind::resume};

    static bool has_id(EdgeKind kind) noexcept {
        return kind == EdgeKind::begin || kind == EdgeKind::resume;
    }
    static bool has_depth(EdgeKind kind) noexcept {
        return kind == EdgeKind::suspend || kind == EdgeKind::resume;
    }
    /// Most have one byte or two.
    bool varint(std::uint64_t& value) noexcept {
        constexpr unsigned kMore = 0x80;
        if (end_ - at_ >= 2) {
            const auto first = std::to_integer<unsigned>(at_[0]);
            const auto second = std::to_integer<unsigned>(at_[1]);
            if (first < kMore) {
                value = first;
                ++at_;
                return true;
            }
            if (second < kMore) {
                value = (first & ~kMore) | second << 7U;
                at_ += 2;
                return true;
            }
        }
        return long_varint(value);
    }
    bool long_varint(std::uint64_t& value) noexcept;

    const std::byte* at_;
    const std::byte* end_;
    ZoneBatchVersion version_;
    std::uint64_t base_;
    std::uint64_t& last_;
    bool is_damaged_ = false;
};

}  // namespace sample::trace
