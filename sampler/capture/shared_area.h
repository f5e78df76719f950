// The memory that one process of the session shares with the collector: what the handler writes and
// the collector drains.
//
// One file a process, made by the collector as a sealed memfd, mapped by the agent as far as it is
// needed (area.h). Its pages are touched as threads and samples come. Layout:
//
//   AreaHeader | ChunkGroup | ChunkGroup | … | DefinitionStore
//
// A group has some chunks and as many slots, so that what is mapped grows with the threads that
// there are. A thread owns one slot and fills one chunk at a time by each of its lanes. A chunk is
// claimed from a bitmap (lowest free bit, so that few pages are touched), filled with records, and
// given back by the collector. A lane has one writer, so that none meets another one's half-written
// record: the sampling handler has its own, and what it interrupts may write by another, whose
// records commit themselves (lane_records.h). Every chunk of samples starts with a whole stack, so
// that a lost one harms nothing after it.
//
// Who writes what: the thread that owns the slot writes slot and chunk; `committed` is its release
// store, and pairs with the collector's acquire load. The collector only writes `stopped`, gate
// acknowledgements, and a chunk that it gives back. Neither side trusts the other's words: a wild
// write of the program must not harm the collector, and where the agent goes on writing it knows
// from memory of its own (thread_state.h).
//
// Functions here are async-signal-safe: no system calls, bounded loops.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sample::capture {

inline constexpr std::uint32_t kAreaMagic = 0x334c4d53;  // "SML3"
/// The bitmaps of so many, and of their chunks, fit the header's one page.
inline constexpr std::size_t kMaxThreads = 15360;
inline constexpr std::size_t kLanes = 2;
inline constexpr std::size_t kSampleLane = 0;  ///< The sampling handler's.
inline constexpr std::size_t kMaxChunks = kMaxThreads;
inline constexpr std::size_t kChunkBytes = std::size_t{128} * 1024;
/// Chunks, and slots, are mapped together.
inline constexpr std::size_t kChunksPerGroup = 8;
inline constexpr std::size_t kMaxGroups = kMaxChunks / kChunksPerGroup;
/// cc1plus marks its garbage collector's graph 4,000 frames deep; a whole stack has to fit a chunk.
inline constexpr std::size_t kMaxDepth = 8192;
static_assert(kMaxDepth * 8 + 4096 < kChunkBytes);
/// The least that max_depth may be: both ends of an elided stack still tell something.
inline constexpr std::size_t kLeastMaxDepth = 64;
/// Handler times are counted in classes of a quarter octave of ticks.
inline constexpr std::size_t kHistogramClasses = 160;

/// Of the name of a profiler module so many letters are kept.
inline constexpr std::size_t kModuleNameBytes = 24;

/// AreaHeader::gap_ticks where samples count an event: each stands for a period.
inline constexpr std::uint64_t kCountsEvents = ~std::uint64_t{0};

/// Which figure of getrusage(2) counts, for each thread, the event that is sampled: several that
/// happen within one visit to the kernel raise one signal, and it tells how many.
enum class KernelCount : std::uint32_t { none, faults, minor_faults, major_faults, switches };

using Bitmap = std::array<std::atomic<std::uint64_t>, kMaxChunks / 64>;

inline constexpr std::uint32_t kNoIndex = 0xffffffff;

/// Clears the lowest set bit of the first `limit`, and returns its index, or kNoIndex. Lock-free.
inline std::uint32_t claim_bit(Bitmap& bitmap, std::uint32_t limit = kMaxChunks) noexcept {
    for (std::uint32_t word = 0; word < bitmap.size() && word * 64 < limit; ++word) {
        std::uint64_t bits = bitmap[word].load(std::memory_order_relaxed);
        while (bits != 0) {
            const auto bit = static_cast<std::uint32_t>(__builtin_ctzll(bits));
            if (word * 64 + bit >= limit) {
                return kNoIndex;
            }
            // Acquire pairs with the release in return_bit(): what the bit guards is reset by then.
            if (bitmap[word].compare_exchange_weak(bits, bits & (bits - 1),
                                                   std::memory_order_acquire,
                                                   std::memory_order_relaxed)) {
                return word * 64 + bit;
            }
        }
    }
    return kNoIndex;
}

inline void return_bit(Bitmap& bitmap, std::uint32_t index) noexcept {
    bitmap[index / 64].fetch_or(std::uint64_t{1} << (index % 64), std::memory_order_release);
}

/// AreaHeader::confinement, see agent/confinement/confinement.h. The higher the less is left.
enum class Confinement : std::uint32_t {
    none = 0,
    children_left_out = 1,  ///< No process or image after this one can join.
    unwatched = 2,          ///< The sampling thread could not go on with the program's rights.
    stopped = 3,            ///< Sampling is over as well.
    no_ticks = 4,           ///< It is, as the time stamp counter may not be read.
    traced = 5,             ///< It is, as the process asked to be traced by its parent.
    dispatches = 6,         ///< It is, as the program takes a thread's system calls itself.
};

/// Process-wide part. Plain fields are written by the collector before the agent sees the area; the
/// period it also changes later, when the session's frequency changes.
struct AreaHeader {
    std::uint32_t magic = kAreaMagic;
    std::uint32_t is_root =
        0;  ///< Its end is the session's end; wait for the collector before exiting.
    std::atomic<std::uint64_t> period_ns;  ///< Between two expiries.
    std::uint32_t skipped_share = 0;       ///< Of 2^32: expiries that are no sample, at random.
    /// More ticks between two samples of a thread: read its clock. Zeroed by the agent where, and
    /// once, the source does not go by the thread's clock; kCountsEvents: no clock bears on the
    /// weights.
    std::atomic<std::uint64_t> gap_ticks;
    std::atomic<std::uint64_t> period_ticks;
    KernelCount kernel_count = KernelCount::none;  ///< Of use unless the kernel is excluded.
    std::uint32_t max_depth = 0;  ///< Frames kept of a stack, at most kMaxDepth; 0: kMaxDepth.

    std::atomic<std::uint32_t> stopped;          ///< Nothing more is wanted.
    std::atomic<std::uint32_t> kernel_excluded;  ///< The source does not tick in the kernel.

    std::atomic<std::uint32_t> observes_waits;  ///< The session's clock is the wall's.
    /// CPU time of the sampling thread, if there is one, and its thread id.
    std::atomic<std::uint64_t> observer_cpu_ns;
    std::atomic<std::uint32_t> observer_tid;
    std::atomic<std::uint32_t> observer_slot_plus_one;  ///< Where it writes; 0: nowhere.
    /// Set by the collector, which has closed the events: it interrupts the threads from now on.
    std::atomic<std::uint32_t> observer_takes_over;

    // The session's control: see control/control_word.h.
    std::atomic<std::uint32_t> off;           ///< Nothing is to be sampled for now.
    std::atomic<std::uint32_t> frequency_hz;  ///< That was asked for last; 0: samples have none.
    /// Counted up whenever `off` or the period has changed.
    std::atomic<std::uint32_t> pace;
    /// Periods from one expiry of a timer to the next; 0: timers stay as they are.
    std::atomic<std::uint32_t> timer_stretch;
    std::atomic<std::uint32_t> control_ack;  ///< The last request that was carried out.
    std::atomic<std::uint64_t> control_request;

    // The gate: see agent/processes/gate.h.
    std::atomic<std::uint32_t> gate_closers;   ///< Threads inside an exec call.
    std::atomic<std::uint32_t> gate_requests;  ///< Counted up by the agent.
    std::atomic<std::uint32_t> gate_acks;      ///< The last request that the collector carried out.
    /// The collector wants the events off. Set before it switches them.
    std::atomic<std::uint32_t> gate_shut;
    std::atomic<std::uint32_t> finish_request;  ///< The process is about to exit.
    std::atomic<std::uint32_t> finish_ack;

    std::atomic<std::uint64_t> start_cpu_ns;  ///< Process CPU time when the agent was ready.
    std::atomic<std::uint64_t> last_cpu_ns;   ///< Process CPU time at exit or exec; 0 before.
    std::atomic<std::int32_t> exit_status;    ///< Valid once last_cpu_ns is set by an exit.
    std::atomic<std::uint32_t> exit_known;
    std::atomic<std::uint32_t> confinement;  ///< What the program's confining itself has ended.

    /// The kernel does not tell the sampling thread where the others sleep.
    std::atomic<std::uint32_t> waits_hidden;

    std::atomic<std::uint32_t> traced;  ///< By another process of the session.
    /// Calls of this process, under way, that begin to trace another one.
    std::atomic<std::uint32_t> tracing_calls;

    /// Samples inside the handler, on shared TLS, or without libc's thread control block.
    std::atomic<std::uint64_t> lost_reentry;
    std::atomic<std::uint64_t> slotless_threads;  ///< That got none, some of them until later,
    std::atomic<std::uint64_t> slotless_weight;   ///< and what samples would have stood for then.

    std::atomic<std::uint64_t> table_bytes;  ///< Of unwind tables and caches in this process.

    /// The profiler module whose init function runs, its first letters; empty: none.
    std::array<std::atomic<char>, kModuleNameBytes> module_in_set_up;

    /// Full chunks of other lanes than the samples' that the collector has not given back, and how
    /// many may be: samples go on whatever a program says.
    std::atomic<std::uint32_t> waiting_chunks;
    std::uint32_t most_waiting_chunks = 0;

    Bitmap free_slots;
    Bitmap free_chunks;
};
static_assert(sizeof(AreaHeader) <= 4096);

/// What the collector knows of one thread. Written by that thread alone, but for `tid` when it is
/// reclaimed.
struct ThreadSlot {
    std::atomic<std::uint32_t> tid;    ///< 0: free. Released last when claimed.
    std::atomic<std::uint32_t> chunk;  ///< That it fills with samples, or kNoIndex.
    std::atomic<std::uint64_t> samples;
    std::atomic<std::uint64_t> lost;         ///< No free chunk; the weight goes to the next sample.
    std::atomic<std::uint64_t> lost_zones;   ///< That the thread wanted to write,
    std::atomic<std::uint64_t> lost_others;  ///< and other records.
    /// Samples that the sampling thread sent for, the CPU time that the thread used from then to
    /// the sample, and those where that was more than ThreadState::late_ns.
    std::atomic<std::uint64_t> sent;
    std::atomic<std::uint64_t> way_ns;
    std::atomic<std::uint64_t> late;
    std::atomic<std::uint64_t> handler_ticks;
    std::array<std::atomic<std::uint32_t>, kHistogramClasses> handler_histogram;
    /// The callback of a profiler module that the thread is in: its event plus one, 0 if it is in
    /// none, and the first letters of the module's name.
    std::array<std::atomic<std::uint64_t>, 1 + kModuleNameBytes / 8> callback;
};

struct Chunk {
    std::uint16_t slot = 0;
    std::uint16_t lane = 0;
    std::uint32_t sequence = 0;  ///< Orders the chunks of one lane.
    /// Bytes of `data` that are whole records; in other lanes than the samples', once it is full.
    std::atomic<std::uint32_t> committed;
    std::atomic<std::uint32_t> full;  ///< The owner has left it.
    static constexpr std::size_t kDataBytes = kChunkBytes - 16;
    std::array<std::byte, kDataBytes> data;
};
static_assert(sizeof(Chunk) == kChunkBytes && kMaxThreads <= UINT16_MAX);

struct ChunkGroup {
    alignas(4096) std::array<ThreadSlot, kChunksPerGroup> slots;
    alignas(4096) std::array<Chunk, kChunksPerGroup> chunks;
};

/// What the file begins with. Groups follow to its end.
struct AreaStart {
    alignas(4096) AreaHeader header;
};
static_assert(sizeof(AreaStart) == 4096 && sizeof(ChunkGroup) % 4096 == 0);

constexpr std::size_t area_bytes(std::size_t chunk_groups) noexcept {
    return sizeof(AreaStart) + chunk_groups * sizeof(ChunkGroup);
}

/// The histogram class of a duration: quarter octaves. Its lower bound is histogram_floor(class).
constexpr std::size_t histogram_class(std::uint64_t ticks) noexcept {
    if (ticks < 4) {
        return static_cast<std::size_t>(ticks);
    }
    const auto octave = static_cast<std::size_t>(63 - __builtin_clzll(ticks));
    const std::size_t index = (octave - 1) * 4 + ((ticks >> (octave - 2)) & 3);
    return index < kHistogramClasses ? index : kHistogramClasses - 1;
}

constexpr std::uint64_t histogram_floor(std::size_t index) noexcept {
    if (index < 4) {
        return index;
    }
    const std::size_t octave = index / 4 + 1;
    return (std::uint64_t{4} + index % 4) << (octave - 2);
}

/// The session's page, shared by the collector and every process, also over a fork. Nothing in it
/// is believed by the collector.
struct SessionPage {
    std::atomic<std::uint32_t> doorbell;     ///< A futex that wakes the gatekeeper.
    std::atomic<std::uint32_t> pings;        ///< Counted up by agents that ask for a sign of life,
    std::atomic<std::uint32_t> pongs;        ///< and what the gatekeeper has seen of it; a futex.
    std::atomic<std::uint64_t> answered_ns;  ///< When the last of them asked that got one.
    /// Set by an agent that has waited in vain: nobody waits while it is. The collector clears it.
    std::atomic<std::uint32_t> stalled;
};

}  // namespace sample::capture
