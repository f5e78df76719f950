#include "sampler/capture/thread_slots.h"

#include "sampler/capture/capture.h"
#include "sampler/capture/chunk_writer.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/raw_syscall.h"

#include <sys/prctl.h>

#include <array>

namespace sample::capture {

constinit thread_local ThreadLocal t_thread;
constinit std::atomic<bool> g_shares_locals{false};

namespace {

constinit std::array<EarlyThread, kMaxEarlyThreads> g_early_threads{};
constinit std::size_t g_early_thread_count = 0;

/// Threads that share another one's thread-local storage: thread id << 32 | slot + 1; 0: none. An
/// entry is free again when the slot is another thread's.
constinit std::array<std::atomic<std::uint64_t>, 64> g_guests{};

std::uint32_t current_tid() noexcept {
    return static_cast<std::uint32_t>(raw_syscall(SYS_gettid));
}

std::uint64_t early_cpu_ns(std::uint32_t tid) noexcept {
    for (std::size_t i = 0; i < g_early_thread_count; ++i) {
        if (g_early_threads[i].tid == tid) {
            return g_early_threads[i].cpu_ns;
        }
    }
    return 0;
}

bool write_thread_record(Area& area, ThreadSlot& slot, RecordKind kind, std::uint64_t cpu_ns,
                         std::uint64_t ticks) noexcept {
    ThreadRecord record;
    record.head.kind = kind;
    record.tid = slot.tid.load(std::memory_order_relaxed);
    record.ticks = ticks;
    record.cpu_ns = cpu_ns;
    raw_syscall(SYS_prctl, PR_GET_NAME, as_argument(record.name.data()));
    return write_record(area, slot, record);
}

/// The slot of a thread that shares another one's thread-local storage. Null: there are too many.
ThreadSlot* guest_slot(Area& area, std::uint32_t tid, std::uint64_t ticks) noexcept {
    std::atomic<std::uint64_t>* free_guest = nullptr;
    std::uint64_t free_entry = 0;
    for (std::atomic<std::uint64_t>& guest : g_guests) {
        const std::uint64_t entry = guest.load(std::memory_order_relaxed);
        const auto index = static_cast<std::uint32_t>(entry) - 1;
        const bool lives =
            entry != 0 && area.slots[index].tid.load(std::memory_order_relaxed) == entry >> 32U;
        if (lives && entry >> 32U == tid) {
            return &area.slots[index];
        }
        if (!lives && free_guest == nullptr) {
            free_guest = &guest;
            free_entry = entry;
        }
    }
    if (free_guest == nullptr) {
        return nullptr;
    }
    ThreadSlot* slot = claim_slot(area, ticks);
    if (slot != nullptr) {
        const auto index = static_cast<std::uint64_t>(slot - area.slots.data());
        free_guest->compare_exchange_strong(free_entry, std::uint64_t{tid} << 32U | (index + 1),
                                            std::memory_order_relaxed);
    }
    return slot;
}

void claim_own_slot(Area& area) noexcept {
    ThreadLocal& self = t_thread;
    if (self.slot != nullptr) {
        return;
    }
    self.busy = 1;
    asm volatile("" ::: "memory");
    self.slot = claim_slot(area, read_ticks());
    asm volatile("" ::: "memory");
    self.busy = 0;
}

}  // namespace

ThreadSlot* claim_slot(Area& area, std::uint64_t ticks) noexcept {
    const std::uint32_t index = claim_bit(area.header.free_slots);
    if (index == kNoIndex) {
        return nullptr;
    }
    ThreadSlot& slot = area.slots[index];
    const std::uint32_t tid = current_tid();
    const std::uint64_t spent = early_cpu_ns(tid);
    slot.chunk = kNoIndex;
    slot.unchanged = 0;
    slot.memo.reset();
    slot.libraries.reset(0);
    slot.last_ticks = 0;
    slot.deep_walk_ticks = 0;
    slot.accounted_ns.store(spent, std::memory_order_relaxed);
    slot.tid.store(tid, std::memory_order_release);
    write_thread_record(area, slot, RecordKind::thread_start, spent, ticks);
    return &slot;
}

ThreadSlot* look_up_own_slot(Area& area, std::uint64_t ticks) noexcept {
    ThreadLocal& self = t_thread;
    if (self.slot == nullptr) {
        self.slot = claim_slot(area, ticks);
        return self.slot;
    }
    const std::uint32_t tid = current_tid();
    return self.slot->tid.load(std::memory_order_relaxed) == tid ? self.slot
                                                                 : guest_slot(area, tid, ticks);
}

void forget_threads() noexcept {
    g_early_thread_count = 0;
    t_thread.slot = nullptr;
    t_thread.busy = 0;
    g_shares_locals.store(false, std::memory_order_relaxed);
    for (auto& guest : g_guests) {
        guest.store(0, std::memory_order_relaxed);
    }
}

void add_early_thread(EarlyThread thread) noexcept {
    if (g_early_thread_count < g_early_threads.size()) {
        g_early_threads[g_early_thread_count++] = thread;
    }
}

void set_stack_bounds(std::uint64_t low, std::uint64_t high) noexcept {
    t_thread.stack_low = low;
    t_thread.stack_high = high;
}

void begin_thread() noexcept {
    Area* area = current_area();
    if (area != nullptr && area->header.observes_waits.load(std::memory_order_relaxed) != 0) {
        claim_own_slot(*area);
    }
}

void share_thread_locals() noexcept {
    if (Area* area = current_area(); area != nullptr) {
        // Now: afterwards it could be the other thread that finds none.
        claim_own_slot(*area);
        g_shares_locals.store(true, std::memory_order_relaxed);
    }
}

ThreadSlot* claim_observer_slot(Area& area) noexcept {
    return claim_slot(area, read_ticks());
}

void end_thread() noexcept {
    Area* area = current_area();
    ThreadLocal& self = t_thread;
    if (area == nullptr || self.busy != 0 || area->header.stopped.load() != 0) {
        return;
    }
    self.busy = kEnding;
    asm volatile("" ::: "memory");
    const std::uint64_t ticks = read_ticks();
    if (self.slot == nullptr) {
        self.slot = claim_slot(*area, ticks);
    }
    if (self.slot != nullptr) {
        ThreadSlot& slot = *self.slot;
        write_thread_record(*area, slot, RecordKind::thread_end, thread_cpu_ns(), ticks);
        if (slot.chunk < kMaxChunks) {
            area->chunks[slot.chunk].full.store(1, std::memory_order_release);
        }
    }
}

}  // namespace sample::capture
