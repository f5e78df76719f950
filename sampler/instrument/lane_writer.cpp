#include "sampler/instrument/lane_writer.h"

#include "sampler/capture/capture.h"
#include "sampler/capture/chunk_writer.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/thread_slots.h"
#include "sampler/instrument/call_stacks.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sample::instrument {
namespace {

using capture::Area;
using capture::Chunk;
using capture::kCounterBytes;
using capture::kInstrumentLane;
using capture::kNoIndex;
using capture::kOtherHeadBytes;
using capture::kZoneBeginBytes;
using capture::kZoneEndBytes;
using capture::lane_head;
using capture::LaneRecord;
using capture::OtherKind;
using capture::OtherRecord;
using capture::ScopeBegin;

// Lane::cursor, from the lowest bit on: 48 bits, where the next record goes; 15 bits, how many
// zones are open. One exchange changes all that a record changes.
constexpr unsigned kEndsShift = 48;
constexpr std::uint64_t kOneEnd = std::uint64_t{1} << kEndsShift;
/// Nothing has room until the zones that were dropped have ended: more ends than fit a chunk.
constexpr std::uint64_t kClosed = std::uint64_t{1} << 63U;
static_assert((kClosed >> kEndsShift) * kZoneEndBytes > sizeof(Chunk));
/// Behind every limit.
constexpr std::uint64_t kNoChunk = kOneEnd - 1;
constexpr int kTries = 4;
constexpr std::size_t kPrefetchedWords = 64;

constexpr std::uint64_t address_of(std::uint64_t cursor) noexcept {
    return cursor & (kOneEnd - 1);
}
std::byte* place_of(std::uint64_t cursor) noexcept {
    return reinterpret_cast<std::byte*>(address_of(cursor));
}
constexpr bool has_chunk(std::uint64_t cursor) noexcept {
    return address_of(cursor) != kNoChunk;
}
/// How many zones are open.
constexpr std::uint64_t ends_of(std::uint64_t cursor) noexcept {
    return (cursor & ~kClosed) >> kEndsShift;
}

struct Lane {
    std::uint64_t cursor = kNoChunk;
    /// Where the chunk ends; 0 while another one begins, in the middle of which a signal handler
    /// may begin its own. Read behind the cursor: if that has not changed meanwhile, it is its
    /// chunk's.
    std::uint64_t limit = 0;
    std::uint64_t epoch = 0;    ///< The ticks of one of its last records above kNearTickBits.
    std::uint64_t dropped = 0;  ///< Zones inside those that are open, and not written.
    std::uint64_t scopes = 0;   ///< Of all zones that are open, those that events have begun.
    std::uint32_t memory_tag = 0;
    bool has_left = false;
};

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit is not seen by clang-tidy 14.
constinit thread_local Lane t_lane;

// A signal handler of the program comes before or behind each of these instructions. Not locked:
// nobody else has the word.

void add(std::uint64_t& word, std::uint64_t amount) noexcept {
    asm("addq %1, %0" : "+m"(word) : "er"(amount) : "cc");
}

bool exchange_if(std::uint64_t& word, std::uint64_t expected, std::uint64_t wanted) noexcept {
    bool done = false;
    asm volatile("cmpxchgq %[wanted], %[word]"
                 : [word] "+m"(word), "+a"(expected), "=@ccz"(done)
                 : [wanted] "r"(wanted)
                 : "memory");
    return done;
}

/// __builtin_prefetch() would not say that the line is to be written: not every processor can.
void prefetch_to_write(const std::uint64_t* words) noexcept {
    asm volatile("prefetchw %0" : : "m"(*words));
}

std::uint64_t read(const std::uint64_t& word) noexcept {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

struct Room {
    std::uint64_t* words = nullptr;  ///< Null: there is none.
    std::uint64_t ticks = 0;
};

/// A record's: `opens` zones more are open behind it, or fewer.
struct Need {
    std::size_t bytes = 0;
    std::int64_t opens = 0;

    [[nodiscard]] constexpr std::uint64_t step() const noexcept {
        return static_cast<std::uint64_t>(opens) * kOneEnd + bytes;
    }
    /// With the ends of all zones that are open behind it.
    [[nodiscard]] constexpr bool fits(std::uint64_t cursor, std::uint64_t limit) const noexcept {
        const std::uint64_t ends = (cursor >> kEndsShift) + static_cast<std::uint64_t>(opens);
        return address_of(cursor) + bytes + ends * kZoneEndBytes <= limit;
    }
};

/// Room in the chunk that the thread has. `kIsNear`: none where another epoch has begun.
template <bool kIsNear = false>
inline Room reserve(Need need) noexcept {
    for (;;) {
        const std::uint64_t at = read(t_lane.cursor);
        if (!need.fits(at, read(t_lane.limit))) {
            return {};
        }
        // Here, so that a record that comes in between has the smaller time.
        const std::uint64_t ticks = capture::read_ticks();
        if (kIsNear && ticks >> capture::kNearTickBits != t_lane.epoch) {
            return {};
        }
        if (exchange_if(t_lane.cursor, at, at + need.step())) {
            return {reinterpret_cast<std::uint64_t*>(place_of(at)), ticks};
        }
    }
}

/// For the end of a zone, whose room was kept since it began; none if `is_open` denies that by the
/// cursor.
template <class IsOpen>
inline Room reserve_end(IsOpen is_open) noexcept {
    for (;;) {
        const std::uint64_t at = read(t_lane.cursor);
        if (!is_open(at)) {
            return {};
        }
        const std::uint64_t ticks = capture::read_ticks();
        if (exchange_if(t_lane.cursor, at, at + Need{kZoneEndBytes, -1}.step())) {
            return {reinterpret_cast<std::uint64_t*>(place_of(at)), ticks};
        }
    }
}

/// The words behind it are written. Pairs with the acquire load of the collector.
void commit(const Room& room, LaneRecord kind) noexcept {
    __atomic_store_n(room.words, lane_head(kind, room.ticks), __ATOMIC_RELEASE);
}

/// Gives the cursor's chunk to the collector. Nobody reserves there any more.
void leave(Area& area, std::uint64_t cursor) noexcept {
    Chunk& chunk = area.chunk_around(place_of(cursor));
    chunk.committed.store(static_cast<std::uint32_t>(place_of(cursor) - chunk.data.data()),
                          std::memory_order_relaxed);
    area.header.waiting_chunks.fetch_add(1, std::memory_order_relaxed);
    capture::leave_chunk(&chunk);
}

/// A new chunk for the thread. False: there is none. True also if a signal handler came between and
/// has made room.
bool begin_chunk(Area& area, std::uint32_t slot) noexcept {
    const std::uint64_t at = read(t_lane.cursor);
    if (has_chunk(at) && area.header.waiting_chunks.load(std::memory_order_relaxed) >=
                             area.header.most_waiting_chunks) {
        return false;
    }
    const std::uint32_t index = capture::claim_chunk(area);
    if (index == kNoIndex) {
        return false;
    }
    Chunk& chunk = *area.chunk(index);
    chunk.slot = static_cast<std::uint16_t>(slot);
    chunk.lane = kInstrumentLane;
    chunk.sequence = has_chunk(at) ? area.chunk_around(place_of(at)).sequence + 1 : 0;
    const auto begin = reinterpret_cast<std::uint64_t>(chunk.data.data());
    __atomic_store_n(&t_lane.limit, 0, __ATOMIC_RELAXED);
    if (!exchange_if(t_lane.cursor, at, ends_of(at) * kOneEnd + begin)) {
        chunk.lane = capture::kSampleLane;
        capture::return_bit(area.header.free_chunks, index);
        return true;
    }
    if (has_chunk(at)) {
        leave(area, at);
    }
    exchange_if(t_lane.limit, 0, begin + Chunk::kDataBytes);
    return true;
}

bool make_room(Area& area) noexcept {
    const capture::ThreadLocal& self = capture::t_thread;
    // Of a parent, if this is a child that a handler has forked meanwhile.
    const bool is_own = &area == capture::g_attached->area.load(std::memory_order_relaxed);
    if (!is_own || t_lane.has_left || area.header.stopped.load(std::memory_order_relaxed) != 0) {
        return false;
    }
    if (self.state == nullptr && __atomic_load_n(&self.busy, __ATOMIC_RELAXED) == 0) {
        capture::claim_own_slot(area);
    }
    return self.state != nullptr && begin_chunk(area, self.state->slot_index);
}

[[gnu::cold, gnu::noinline]] Room reserve_slowly(Area* area, Need need) noexcept {
    Room room;
    for (int tried = 0; area != nullptr && t_lane.dropped == 0 && room.words == nullptr &&
                        tried < kTries && make_room(*area);
         ++tried) {
        room = reserve(need);
    }
    return room;
}

inline Room reserve_anywhere(Need need) noexcept {
    Area* const area = capture::g_attached->area.load(std::memory_order_acquire);
    if (area != nullptr) [[likely]] {
        const Room room = reserve(need);
        if (room.words != nullptr) [[likely]] {
            return room;
        }
    }
    return reserve_slowly(area, need);
}

/// `zones` that were to begin have not, until as many have ended.
[[gnu::cold, gnu::noinline]] void drop_zones(std::uint64_t zones) noexcept {
    add(t_lane.dropped, zones);
    asm volatile("orq %1, %0" : "+m"(t_lane.cursor) : "r"(kClosed) : "cc", "memory");
    count_lost(zones, 0);
}

/// Ends at most `zones` of those that were dropped. Returns how many.
[[gnu::cold, gnu::noinline]] std::uint64_t end_dropped(std::uint64_t zones) noexcept {
    const std::uint64_t ended = std::min(zones, read(t_lane.dropped));
    add(t_lane.dropped, -ended);
    if (read(t_lane.dropped) == 0) {
        asm volatile("andq %1, %0" : "+m"(t_lane.cursor) : "r"(~kClosed) : "cc", "memory");
    }
    return ended;
}

void commit_other(const Room& room, OtherKind kind, std::uint32_t argument,
                  std::span<const std::byte> said) noexcept {
    room.words[1] = std::bit_cast<std::uint64_t>(
        OtherRecord{kind, ScopeBegin::none, static_cast<std::uint16_t>(said.size()), argument});
    __builtin_memcpy(room.words + 2, said.data(), said.size());
    commit(room, LaneRecord::other);
}

[[gnu::cold, gnu::noinline]] void begin_zone_slowly(std::uint32_t zone) noexcept {
    const Room room = reserve_anywhere({kZoneBeginBytes, 1});
    if (room.words == nullptr) {
        drop_zones(1);
        return;
    }
    t_lane.epoch = room.ticks >> capture::kNearTickBits;
    room.words[1] = zone;
    commit(room, LaneRecord::zone_begin);
}

std::size_t other_bytes(std::size_t said) noexcept {
    return kOtherHeadBytes + capture::padded_bytes(said);
}

/// How many are open that no event has begun.
std::uint64_t zones_of(std::uint64_t cursor) noexcept {
    const std::uint64_t ends = ends_of(cursor);
    return ends - std::min(ends, read(t_lane.scopes));
}

std::span<const std::byte> bytes_of(const std::uint32_t& number) noexcept {
    return std::as_bytes(std::span{&number, 1});
}

}  // namespace

void begin_zone(std::uint32_t zone) noexcept {
    if (capture::g_attached->area.load(std::memory_order_acquire) != nullptr) [[likely]] {
        const Room room = reserve<true>({capture::kNearZoneBeginBytes, 1});
        if (room.words != nullptr) [[likely]] {
            // What the collector has zeroed is in another processor's cache.
            prefetch_to_write(room.words + kPrefetchedWords);
            __atomic_store_n(room.words, capture::near_zone_head(zone, room.ticks),
                             __ATOMIC_RELEASE);
            return;
        }
    }
    begin_zone_slowly(zone);
}

void end_zone() noexcept {
    if ((read(t_lane.cursor) & kClosed) != 0 && end_dropped(1) != 0) [[unlikely]] {
        return;
    }
    // None is open in a forked child whose parent has begun it.
    if (capture::g_attached->area.load(std::memory_order_acquire) == nullptr) [[unlikely]] {
        return;
    }
    const Room room = reserve_end([](std::uint64_t at) { return zones_of(at) != 0; });
    if (room.words != nullptr) [[likely]] {
        commit(room, LaneRecord::zone_end);
    }
}

void count(std::uint32_t counter, std::uint64_t value) noexcept {
    const Room room = counter == 0 ? Room{} : reserve_anywhere({kCounterBytes});
    if (room.words == nullptr) {
        count_lost(0, 1);
        return;
    }
    room.words[1] = counter;
    room.words[2] = value;
    commit(room, LaneRecord::counter);
}

void say(OtherKind kind, std::uint32_t argument, std::span<const std::byte> said) noexcept {
    const Room room = reserve_anywhere({other_bytes(said.size())});
    if (room.words == nullptr) {
        count_lost(0, 1);
        return;
    }
    commit_other(room, kind, argument, said);
}

void begin_noted_zone(std::uint32_t zone, std::span<const std::byte> values) noexcept {
    const Room room = reserve_anywhere({other_bytes(values.size()), 1});
    if (room.words == nullptr) {
        drop_zones(1);
        return;
    }
    commit_other(room, OtherKind::noted_zone_begin, zone, values);
}

std::uint32_t suspend(std::uint32_t coroutine, std::uint32_t depth) noexcept {
    const std::uint64_t rest = depth - end_dropped(depth);
    const std::uint64_t open = zones_of(read(t_lane.cursor));
    const auto going = static_cast<std::uint32_t>(std::min(rest, open));
    if (going == 0) {
        return 0;
    }
    const auto said = bytes_of(going);
    const Room room = reserve_anywhere({other_bytes(said.size()), -std::int64_t{going}});
    if (room.words == nullptr) {
        // They end here as far as anybody can tell.
        for (std::uint32_t i = 0; i < going; ++i) {
            end_zone();
        }
        count_lost(0, 1);
        return 0;
    }
    commit_other(room, OtherKind::suspend, coroutine, said);
    return going;
}

void resume(std::uint32_t coroutine, std::uint32_t depth) noexcept {
    if (depth == 0) {
        return;
    }
    const auto said = bytes_of(depth);
    const Room room = reserve_anywhere({other_bytes(said.size()), depth});
    if (room.words == nullptr) {
        drop_zones(depth);
        return;
    }
    commit_other(room, OtherKind::resume, coroutine, said);
}

EventRoom reserve_event(std::size_t bytes, ScopeBegin scope) noexcept {
    const bool opens = scope != ScopeBegin::none;
    const Room room = reserve_anywhere({other_bytes(bytes), opens ? 1 : 0});
    if (room.words == nullptr) {
        count_lost(0, 1);
        return {};
    }
    if (opens) {
        add(t_lane.scopes, 1);
    }
    return {reinterpret_cast<std::byte*>(room.words) + kOtherHeadBytes, room.ticks};
}

void commit_event(const EventRoom& room, std::size_t bytes, std::uint32_t type,
                  ScopeBegin scope) noexcept {
    auto* const words = reinterpret_cast<std::uint64_t*>(room.said - kOtherHeadBytes);
    words[1] = std::bit_cast<std::uint64_t>(
        OtherRecord{OtherKind::event, scope, static_cast<std::uint16_t>(bytes), type});
    commit({words, room.ticks}, LaneRecord::other);
}

void end_scope() noexcept {
    // None is open in a forked child whose parent has begun it.
    if (capture::g_attached->area.load(std::memory_order_acquire) == nullptr ||
        read(t_lane.scopes) == 0) {
        return;
    }
    add(t_lane.scopes, -std::uint64_t{1});
    // None: the thread has left its lane.
    const Room room = reserve_end([](std::uint64_t at) { return ends_of(at) != 0; });
    if (room.words != nullptr) {
        commit(room, LaneRecord::scope_end);
    }
}

void allocate(const Allocation& allocation) noexcept {
    const Room room = reserve_anywhere({capture::kMemoryAllocBytes});
    if (room.words == nullptr) {
        count_lost(0, 1);
        return;
    }
    const auto alignment_log2 = allocation.alignment == 0
                                    ? 0U
                                    : static_cast<unsigned>(std::countr_zero(allocation.alignment));
    room.words[1] = allocation.address;
    room.words[2] = capture::memory_block(allocation.bytes, alignment_log2);
    room.words[3] = std::bit_cast<std::uint64_t>(
        capture::MemoryOwner{allocation.call_stack, static_cast<std::uint16_t>(t_lane.memory_tag),
                             static_cast<std::uint16_t>(allocation.heap)});
    commit(room,
           allocation.is_realloc ? LaneRecord::memory_realloc_alloc : LaneRecord::memory_alloc);
}

void free(std::uint64_t address, std::uint32_t heap, bool is_realloc) noexcept {
    const Room room = reserve_anywhere({capture::kMemoryFreeBytes});
    if (room.words == nullptr) {
        count_lost(0, 1);
        return;
    }
    room.words[1] = address;
    room.words[2] =
        std::bit_cast<std::uint64_t>(capture::MemoryOwner{0, 0, static_cast<std::uint16_t>(heap)});
    commit(room, is_realloc ? LaneRecord::memory_realloc_free : LaneRecord::memory_free);
}

std::uint32_t set_memory_tag(std::uint32_t tag) noexcept {
    return std::exchange(t_lane.memory_tag, tag);
}

std::uint32_t memory_tag() noexcept {
    return t_lane.memory_tag;
}

void leave_lane() noexcept {
    t_lane.has_left = true;
    leave_call_stacks();
    Area* const area = capture::g_attached->area.load(std::memory_order_acquire);
    std::uint64_t at = read(t_lane.cursor);
    while (!exchange_if(t_lane.cursor, at, kNoChunk)) {
        at = read(t_lane.cursor);
    }
    if (area != nullptr && has_chunk(at)) {
        leave(*area, at);
    }
}

void forget_lane() noexcept {
    // A tag's number stays what it is.
    const std::uint32_t tag = t_lane.memory_tag;
    t_lane = {};
    t_lane.memory_tag = tag;
    forget_call_stacks();
}

void count_lost(std::uint64_t zones, std::uint64_t others) noexcept {
    capture::DefinitionStore* const store =
        capture::g_attached->definitions.load(std::memory_order_acquire);
    if (store == nullptr) {
        return;
    }
    const capture::ThreadState* const thread = capture::t_thread.state;
    // None: a handler has forked meanwhile, and this is the child.
    capture::ThreadSlot* const slot = thread == nullptr ? nullptr : thread->slot;
    if (slot != nullptr && !t_lane.has_left) {
        slot->lost_zones.fetch_add(zones, std::memory_order_relaxed);
        slot->lost_others.fetch_add(others, std::memory_order_relaxed);
    } else {
        store->lost_zones.fetch_add(zones, std::memory_order_relaxed);
        store->lost_others.fetch_add(others, std::memory_order_relaxed);
    }
}

}  // namespace sample::instrument
