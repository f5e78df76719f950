// A shared area as one process has it mapped: its start, and the groups of chunks that were needed
// so far.
//
// The agent keeps no descriptor of the file, and its address space is the program's. So a further
// group is mapped without one: mremap(2) with an old size of 0 maps a shared file's pages once
// more, and as many behind them as it is asked for. Unlike mmap(2) it takes nothing over from
// mlockall(2), and the new mapping is left out of forks and core files as the old one is.
//
// Async-signal-safe. Thread-safe.
#pragma once

#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/shared_area.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::capture {

class Area {
public:
    /// What a process maps at first: so much of the file, from its beginning on.
    static constexpr std::size_t kFirstBytes = area_bytes(1);
    /// What it maps with each further group.
    static constexpr std::size_t kGrowthBytes = 4096 + sizeof(ChunkGroup);

    /// `start`: the first kFirstBytes of a file of at least `chunk_groups` groups.
    Area(AreaStart& start, std::size_t chunk_groups) noexcept
        : header{start.header},
          limit_{static_cast<std::uint32_t>(std::clamp<std::size_t>(chunk_groups, 1, kMaxGroups))} {
        groups_[0].store(reinterpret_cast<ChunkGroup*>(&start + 1), std::memory_order_relaxed);
    }
    Area(const Area&) = delete;
    Area& operator=(const Area&) = delete;
    ~Area() = default;

    AreaHeader& header;

    /// Null: its group is not mapped.
    [[nodiscard]] Chunk* chunk(std::uint32_t index) const noexcept {
        ChunkGroup* const mapped = group_of(index);
        return mapped == nullptr ? nullptr : &mapped->chunks[index % kChunksPerGroup];
    }
    [[nodiscard]] ThreadSlot* slot(std::uint32_t index) const noexcept {
        ChunkGroup* const mapped = group_of(index);
        return mapped == nullptr ? nullptr : &mapped->slots[index % kChunksPerGroup];
    }
    /// The same, after mapping what is missing. Null: there is no such chunk, or no address space.
    [[nodiscard]] Chunk* reach_chunk(std::uint32_t index) noexcept {
        return reach(index) ? chunk(index) : nullptr;
    }
    [[nodiscard]] ThreadSlot* reach_slot(std::uint32_t index) noexcept {
        return reach(index) ? slot(index) : nullptr;
    }
    /// The one that `inside` lies in or ends, of a chunk that was claimed in this process.
    [[nodiscard]] Chunk& chunk_around(const std::byte* inside) const noexcept {
        std::size_t i = mapped_.load(std::memory_order_acquire);
        ChunkGroup* group = nullptr;
        std::size_t offset = 0;
        do {
            group = groups_[--i].load(std::memory_order_acquire);
            // A chunk begins with its head, which `inside` is behind.
            offset = static_cast<std::size_t>(
                inside - 1 - reinterpret_cast<const std::byte*>(group->chunks.data()));
        } while (offset >= sizeof group->chunks && i != 0);
        return group->chunks[offset / sizeof(Chunk)];
    }
    [[nodiscard]] std::uint32_t mapped_chunks() const noexcept {
        return mapped_.load(std::memory_order_acquire) *
               static_cast<std::uint32_t>(kChunksPerGroup);
    }

    /// Maps one more group, unless another thread has done so meanwhile. False: there is none, or
    /// no address space for it. A system call.
    [[gnu::cold, gnu::noinline]] bool grow() noexcept {
        std::uint32_t count = mapped_.load(std::memory_order_acquire);
        if (count >= limit_.load(std::memory_order_relaxed)) {
            return false;
        }
        // The page before it, of the group that ends where the new one begins, is mapped once more.
        const auto* before = reinterpret_cast<const std::byte*>(
                                 groups_[count - 1].load(std::memory_order_relaxed) + 1) -
                             kPage;
        const long mapped =
            raw_syscall(SYS_mremap, as_argument(before), 0, kGrowthBytes, MREMAP_MAYMOVE, 0);
        if (is_failure(mapped)) {
            return false;
        }
        ChunkGroup* none = nullptr;
        if (!groups_[count].compare_exchange_strong(
                none, reinterpret_cast<ChunkGroup*>(mapped + static_cast<long>(kPage)),
                std::memory_order_acq_rel)) {
            raw_syscall(SYS_munmap, mapped, kGrowthBytes);
        }
        mapped_.compare_exchange_strong(count, count + 1, std::memory_order_acq_rel);
        return true;
    }
    /// At most so many groups more are mapped from now on.
    void limit_growth(std::uint32_t groups) noexcept {
        const std::uint32_t most = mapped_.load(std::memory_order_relaxed) + groups;
        limit_.store(std::min(most, limit_.load(std::memory_order_relaxed)),
                     std::memory_order_relaxed);
    }

    /// Calls `visit` with each mapping, as bytes.
    template <class Visit>
    void for_each_mapping(Visit visit) const noexcept {
        visit(std::span{reinterpret_cast<std::byte*>(&header), kFirstBytes});
        for (std::uint32_t i = 1; i < mapped_.load(std::memory_order_acquire); ++i) {
            auto* group = reinterpret_cast<std::byte*>(groups_[i].load(std::memory_order_acquire));
            visit(std::span{group - kPage, kGrowthBytes});
        }
    }

private:
    static constexpr std::size_t kPage = 4096;

    [[nodiscard]] ChunkGroup* group_of(std::uint32_t index) const noexcept {
        const std::size_t group = index / kChunksPerGroup;
        // Acquire pairs with the release in grow().
        return group < groups_.size() ? groups_[group].load(std::memory_order_acquire) : nullptr;
    }
    [[nodiscard]] bool reach(std::uint32_t index) noexcept {
        while (index / kChunksPerGroup >= mapped_.load(std::memory_order_acquire)) {
            if (!grow()) {
                return false;
            }
        }
        return true;
    }

    std::array<std::atomic<ChunkGroup*>, kMaxGroups> groups_{};
    std::atomic<std::uint32_t> mapped_{1};  ///< Groups, from the first on.
    std::atomic<std::uint32_t> limit_;
};

}  // namespace sample::capture
