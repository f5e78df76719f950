// What a process says only once: names of zones, counters, messages, channels and types of events,
// and its Important events. In the shared area, behind its groups.
//
// Append-only and lock-free. A definition has a number, which its entry in `places` belongs to: the
// place of its bytes, and their release store. So one whose writer was interrupted, or is gone,
// keeps nobody else's from being read. Equal ones have the same number, mostly: a library that
// comes again, and a name that is made at run time, need no new one each time.
//
// Numbers live longer than the area: a forked child goes on with its parent's, which stays mapped
// in it until the child has copied what it has to its own (instrument/definitions.h).
#pragma once

#include "sampler/capture/channel_table.h"
#include "sampler/capture/lane_records.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sample::capture {

enum class DefinitionKind : std::uint8_t {
    zone = 1,
    integer_counter = 2,
    real_counter = 3,
    memory_counter = 4,
    region = 5,
    bookmark = 6,
    log = 7,  ///< flags: its verbosity.
    frame = 8,
    channel = 9,  ///< flags: 1 if it is on.
    /// flags: the type's. Followed by the logger, the name, and for each field a byte, its type,
    /// and its name.
    event_type = 10,
    event = 11,        ///< An Important one; number: its type. Followed by what event_part() says.
    memory_heap = 12,  ///< number: its parent's, or 0.
    memory_tag = 13,   ///< The same.
};

/// Followed by three texts, each with a 0 behind it: the name or format, the category, the file.
struct Definition {
    std::uint16_t bytes = 0;  ///< Of all of it.
    DefinitionKind kind{};
    std::uint8_t flags = 0;
    std::uint32_t line = 0;
    std::uint32_t number = 0;  ///< A zone's colour, a frame's kind.
};
static_assert(sizeof(Definition) == 12);

/// Of one, texts and all: these are cut to fit. Important events have up to kMostEventBytes.
inline constexpr std::size_t kMostDefinitionBytes = 640;
inline constexpr std::size_t kMostDefinitions = std::size_t{1} << 16U;
static_assert(kMostDefinitions <= std::size_t{1} << (kTickBits - kNearTickBits));
inline constexpr std::size_t kMostWantedBytes = 2048;

/// One frame of a call stack, and below it its caller's entry. Its place in the table is its
/// number.
struct CallStackEntry {
    static constexpr std::uint32_t kEmpty = 0;
    static constexpr std::uint32_t kBeingWritten = 1;
    static constexpr std::uint32_t kParent = 2;  ///< And more: the parent's number plus this.

    std::atomic<std::uint32_t> state;
    /// FrameAddress::bits(); of one without a parent, call_stack_root().
    std::uint64_t frame;
};
inline constexpr std::size_t kCallStackEntries = std::size_t{1} << 19U;
/// What all stacks begin with: under which generation of modules they were walked, and
/// SampleRecord::stop.
constexpr std::uint64_t call_stack_root(std::uint64_t generation, std::uint32_t stop) noexcept {
    return generation << 32U | stop;
}

struct DefinitionStore {
    /// Names of the channels that are on, separated by commas. By the collector, which holds the
    /// channels when it changes them.
    std::array<char, kMostWantedBytes> wanted{};

    std::atomic<std::uint32_t> next;       ///< Number that is given out next, less one: 0 is none.
    std::atomic<std::uint32_t> text_used;  ///< Words of `text`.
    std::atomic<std::uint64_t> next_flow;  ///< Of flows and regions.
    std::atomic<std::uint64_t> next_serial;  ///< Of events, less one.
    /// The last number that a forked child has of its parent, whose collector announces what they
    /// are.
    std::atomic<std::uint32_t> inherited;
    /// What threads wanted to say that have no slot, or had said good-bye.
    std::atomic<std::uint64_t> lost_zones;
    std::atomic<std::uint64_t> lost_others;

    // See channel_table.h.
    std::atomic<std::uint32_t> channels_holder;  ///< A futex, which nobody wakes.
    std::atomic<std::uint64_t> channels;         ///< Where the ChannelTable is; 0: not known yet.
    std::atomic<std::uint64_t> channels_token;

    /// Where in `text`, in words and plus one.
    alignas(4096) std::array<std::atomic<std::uint32_t>, kMostDefinitions> places;
    /// Numbers, each near the place that its bytes' hash says.
    std::array<std::atomic<std::uint32_t>, 2 * kMostDefinitions> by_content;
    alignas(4096) std::array<std::uint64_t, std::size_t{7} << 17U> text;
    /// Of allocations: each near the place that its hash says; number 0 is none.
    alignas(4096) std::array<CallStackEntry, kCallStackEntries> call_stacks;
};
static_assert(sizeof(DefinitionStore) % 4096 == 0);

/// Of the area's file.
constexpr std::size_t file_bytes(std::size_t chunk_groups) noexcept {
    return area_bytes(chunk_groups) + sizeof(DefinitionStore);
}

}  // namespace sample::capture
