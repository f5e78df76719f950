// The records of the instrumentation's lane: what a thread says of itself, as words of its chunks.
//
// A record's first word is written last, and is never 0: it is what commits the record. So a chunk
// is zero before it is used, and who reads stops at the first word that is 0. A signal handler of
// the program may write in the middle of a record that it has interrupted; its own comes behind it.
// The records of one thread are in the order of its times.
#pragma once

#include "sampler/capture/shared_area.h"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace sample::capture {

inline constexpr std::size_t kInstrumentLane = 1;
static_assert(kInstrumentLane != kSampleLane && kInstrumentLane < kLanes);

/// The upper four bits of a record's first word. Below them is the time stamp counter.
enum class LaneRecord : std::uint8_t {
    none = 0,
    zone_begin = 1,  ///< Two words: the second is the zone's definition.
    zone_end = 2,    ///< One word.
    counter = 3,     ///< Three words: the counter's definition, its value.
    other = 4,       ///< Two words (OtherRecord), and what it says follows, padded to words.
    /// One word: a zone begins (near_zone_head()). The counter's upper bits are those of the lane's
    /// record before it.
    near_zone_begin = 5,
    scope_end = 6,     ///< One word: of the scope that an event has begun last.
    memory_alloc = 7,  ///< Four words: the address, its block (memory_block()), MemoryOwner.
    memory_free = 8,   ///< Three words: the address, MemoryOwner.
    memory_realloc_alloc = 9,  ///< The same two, as parts of a reallocation.
    memory_realloc_free = 10,
};

inline constexpr unsigned kTickBits = 60;
inline constexpr std::uint64_t kTickMask = (std::uint64_t{1} << kTickBits) - 1;

/// Of a near zone's begin: above them is its definition. Minutes.
inline constexpr unsigned kNearTickBits = 39;
inline constexpr std::uint64_t kNearTickMask = (std::uint64_t{1} << kNearTickBits) - 1;

inline constexpr std::size_t kNearZoneBeginBytes = 8;
inline constexpr std::size_t kZoneBeginBytes = 16;
inline constexpr std::size_t kZoneEndBytes = 8;
inline constexpr std::size_t kCounterBytes = 24;
inline constexpr std::size_t kMemoryAllocBytes = 32;
inline constexpr std::size_t kMemoryFreeBytes = 24;
inline constexpr std::size_t kOtherHeadBytes = 16;
/// What follows the words of a LaneRecord::other at most: texts are cut to fit.
inline constexpr std::size_t kMostSaid = 512;
/// Of OtherKind::event: what is larger is left out.
inline constexpr std::size_t kMostEventBytes = std::size_t{32} * 1024;

/// The counter needs a decade to reach the upper bits.
constexpr std::uint64_t lane_head(LaneRecord kind, std::uint64_t ticks) noexcept {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << kTickBits | ticks;
}
constexpr std::uint64_t near_zone_head(std::uint32_t zone, std::uint64_t ticks) noexcept {
    return lane_head(LaneRecord::near_zone_begin,
                     std::uint64_t{zone} << kNearTickBits | (ticks & kNearTickMask));
}
constexpr std::uint32_t near_zone(std::uint64_t head) noexcept {
    return static_cast<std::uint32_t>((head & kTickMask) >> kNearTickBits);
}
/// `before`: the ticks of the lane's record before it.
constexpr std::uint64_t near_ticks(std::uint64_t head, std::uint64_t before) noexcept {
    return (before & ~kNearTickMask) | (head & kNearTickMask);
}
constexpr LaneRecord lane_record(std::uint64_t head) noexcept {
    return static_cast<LaneRecord>(head >> kTickBits);
}

/// Bytes, and above them log2 of the alignment.
constexpr std::uint64_t memory_block(std::uint64_t bytes, unsigned alignment_log2) noexcept {
    constexpr std::uint64_t kMost = (std::uint64_t{1} << 56U) - 1;
    return (bytes < kMost ? bytes : kMost) | std::uint64_t{alignment_log2 & 0xffU} << 56U;
}
constexpr std::uint64_t memory_bytes(std::uint64_t block) noexcept {
    return block & ((std::uint64_t{1} << 56U) - 1);
}
constexpr std::uint8_t memory_alignment_log2(std::uint64_t block) noexcept {
    return static_cast<std::uint8_t>(block >> 56U);
}

/// The last word of a memory record.
struct MemoryOwner {
    std::uint32_t call_stack = 0;  ///< Number in DefinitionStore::call_stacks.
    std::uint16_t tag = 0;         ///< Definition.
    std::uint16_t heap = 0;        ///< Definition.
};
static_assert(sizeof(MemoryOwner) == 8);

enum class OtherKind : std::uint8_t {
    noted_zone_begin = 1,  ///< argument: its definition. Said: values, see value_kind.
    suspend = 2,           ///< argument: the coroutine's definition. Said: the depth, 4 bytes.
    resume = 3,            ///< The same.
    frame_begin = 4,       ///< argument: the kind.
    frame_end = 5,
    region_begin = 6,  ///< argument: its definition. Said: its number, 8 bytes.
    region_end = 7,    ///< argument: its definition, or 0. Said: its number, or 0.
    message = 8,       ///< argument: its definition. Said: as trace::Message::arguments.
    thread_name = 9,   ///< Said: the name.
    thread_group = 10,
    flow = 11,            ///< argument: trace::FlowStep. Said: its number, 8 bytes.
    channel_toggle = 12,  ///< argument: its definition, and in the highest bit whether it is on.
    /// argument: its type's definition. Said: its serial, 8 bytes, then as event_part() says.
    event = 13,
};
inline constexpr std::uint32_t kToggledOn = 0x80000000;

/// Whether an event is where a scope begins.
enum class ScopeBegin : std::uint8_t { none = 0, untimed = 1, timed = 2 };

/// An event's fields: those of fixed size without gaps, then for each other one that is set its
/// index in the low 8 bits of 4 bytes, its bytes above them, and what it is.
constexpr std::uint32_t event_part(std::uint8_t field, std::size_t bytes) noexcept {
    return static_cast<std::uint32_t>(bytes << 8U) | field;
}
inline constexpr std::size_t kEventPartBytes = 4;
inline constexpr std::size_t kMostEventFields = 32;

/// The second word of a LaneRecord::other.
struct OtherRecord {
    OtherKind kind{};
    ScopeBegin scope{};  ///< Of an event.
    std::uint16_t said_bytes = 0;
    std::uint32_t argument = 0;
};
static_assert(sizeof(OtherRecord) == 8);

constexpr std::size_t padded_bytes(std::size_t bytes) noexcept {
    return (bytes + 7) / 8 * 8;
}

/// Of the whole record. 0: there is no such record.
inline std::size_t lane_record_bytes(std::uint64_t head, std::uint64_t second) noexcept {
    switch (lane_record(head)) {
        case LaneRecord::near_zone_begin:
            return kNearZoneBeginBytes;
        case LaneRecord::zone_begin:
            return kZoneBeginBytes;
        case LaneRecord::zone_end:
        case LaneRecord::scope_end:
            return kZoneEndBytes;
        case LaneRecord::counter:
            return kCounterBytes;
        case LaneRecord::memory_alloc:
        case LaneRecord::memory_realloc_alloc:
            return kMemoryAllocBytes;
        case LaneRecord::memory_free:
        case LaneRecord::memory_realloc_free:
            return kMemoryFreeBytes;
        case LaneRecord::other: {
            const auto other = std::bit_cast<OtherRecord>(second);
            const std::size_t most = other.kind == OtherKind::event ? kMostEventBytes : kMostSaid;
            return other.said_bytes > most ? 0 : kOtherHeadBytes + padded_bytes(other.said_bytes);
        }
        case LaneRecord::none:
            break;
    }
    return 0;
}

/// The values of a noted zone: for each one byte of these, the key, a 0, and 8 bytes, or text and
/// a 0.
enum class NoteKind : std::uint8_t { integer = 1, real = 2, text = 3 };

}  // namespace sample::capture
