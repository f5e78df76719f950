// What one thread keeps between samples, in memory that only its process has: what is read again
// here, nobody else may have changed.
//
// About 300 KiB of addresses a thread, of which only what its stacks need is touched. Mapped for a
// few threads at a time, as they come, and never given back: a slot's next thread goes on with it.
#pragma once

#include "sampler/capture/area.h"
#include "unwind/walk/stack_memo.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::capture {

static_assert(kMaxDepth == unwind::StackMemo::kMaxFrames);

/// The libraries outside of the module table that a thread's records have named, by their first
/// byte. Each thread names them for itself: its records are read in their order, others' are not,
/// and another library may lie there by then.
class ReportedLibraries {
public:
    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
    void reset(std::uint64_t generation) noexcept {
        generation_ = generation;
        starts_ = {};
    }
    /// True if it was not in the set, which then has it, if there is room near its place.
    [[nodiscard]] bool add(std::uint64_t start) noexcept {
        const std::size_t home = (start >> 12) * 0x9e3779b97f4a7c15U >> 57;
        for (std::size_t probe = 0; probe < 16; ++probe) {
            std::uint64_t& entry = starts_[(home + probe) % starts_.size()];
            if (entry == start) {
                return false;
            }
            if (entry == 0) {
                entry = start;
                return true;
            }
        }
        return true;
    }

private:
    std::uint64_t generation_;
    std::array<std::uint64_t, 128> starts_;
};

/// Where one thread writes its samples.
struct ChunkCursor {
    Chunk* chunk;                 ///< Null: it has none.
    std::uint32_t used;           ///< Bytes of it that are committed.
    std::uint32_t enough;         ///< No record begins behind so many bytes.
    std::uint32_t next_sequence;  ///< Of its chunks.
};

struct ThreadState {
    ThreadSlot* slot;
    ChunkCursor cursor;
    std::uint32_t slot_index;
    /// Frames, from the root, that every stack since the last published one has had in common with
    /// it.
    std::uint32_t unchanged;
    std::uint64_t last_ticks;
    std::uint32_t pace;              ///< AreaHeader::pace then, where events are counted.
    std::uint32_t skipped;           ///< Expiries since then that were no sample on purpose.
    std::uint64_t deep_walk_ticks;   ///< Until then no stack is walked deeper than is kept of it.
    std::uint32_t long_samples;      ///< So many of the last ones, one behind the other, took long.
    std::uint32_t lost;              ///< Expiries since then whose samples were lost.
    std::uint64_t rest_until_ticks;  ///< Until then no sample is taken.
    /// What the thread's call that moves data wants of the sampling thread: transfers.h.
    std::atomic<std::uintptr_t> transfer;
    /// CPU time of the thread that samples stand for so far.
    std::uint64_t accounted_ns;
    /// The same, for which there have been looks of the sampling thread, which writes it; 0: none.
    std::atomic<std::uint64_t> looked_ns;
    /// Its clock when the sampling thread last sent it a signal, which writes it; 0: it has not.
    std::atomic<std::uint64_t> sent_ns;
    /// By then, a sample that comes so much later is late. 0: the thread waited for a processor; it
    /// is late at the end of a system call, where the thread may have given the last one up. The
    /// most there is: it was stopped, and is not late.
    std::atomic<std::uint64_t> late_ns;
    /// Of the samples that the sampling thread asked for, how many there were, and at system calls.
    std::atomic<std::uint32_t> asked_samples;
    std::atomic<std::uint32_t> call_samples;
    unwind::StackMemo memo;       ///< The last stack that was walked.
    ReportedLibraries libraries;  ///< What the collector knows from this slot.
};

/// The states of all slots. Async-signal-safe, thread-safe.
class ThreadStates {
public:
    static constexpr std::size_t kTogether = 4;
    static constexpr std::size_t kMaxGroups = kMaxThreads / kTogether;

    /// That of the slot `index`, empty but for its place. Null: no address space for it.
    [[nodiscard]] ThreadState* claim(std::uint32_t index) noexcept;
    /// The same of a slot that was claimed before.
    [[nodiscard]] ThreadState* claimed(std::uint32_t index) const noexcept;
    /// In a forked child, which does not have them.
    void forget() noexcept;
    /// At most so many groups more are mapped from now on.
    void limit_growth(std::size_t groups) noexcept {
        limit_plus_one_.store(mapped_.load(std::memory_order_relaxed) + groups + 1,
                              std::memory_order_relaxed);
    }
    template <class Visit>
    void for_each_mapping(Visit visit) const noexcept {
        for (const auto& group : groups_) {
            if (Group* mapped = group.load(std::memory_order_acquire); mapped != nullptr) {
                visit(std::span{reinterpret_cast<std::byte*>(mapped), sizeof(Group)});
            }
        }
    }

private:
    struct Group {
        alignas(4096) std::array<ThreadState, kTogether> states;
    };

public:
    static constexpr std::size_t kGroupBytes = sizeof(Group);

private:
    [[nodiscard]] Group* map_group() noexcept;

    std::array<std::atomic<Group*>, kMaxGroups> groups_{};
    std::atomic<std::size_t> mapped_{0};
    /// 0: none. All zero at first, so that nothing of it is in the library's file.
    std::atomic<std::size_t> limit_plus_one_{0};
};

}  // namespace sample::capture
