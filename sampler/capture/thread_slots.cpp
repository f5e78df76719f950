#include "sampler/capture/thread_slots.h"

#include "sampler/capture/capture.h"
#include "sampler/capture/chunk_writer.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/raw_syscall.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>

namespace sample::capture {

constinit thread_local ThreadLocal t_thread;
constinit std::atomic<bool> g_shares_locals{false};

namespace {

constinit ThreadStates g_states;
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

Chunk* write_thread_record(Area& area, ThreadState& thread, RecordKind kind, std::uint64_t cpu_ns,
                           std::uint64_t ticks, bool is_observer = false) noexcept {
    ThreadRecord record;
    record.is_observer = is_observer ? 1 : 0;
    record.head.kind = kind;
    record.tid = thread.slot->tid.load(std::memory_order_relaxed);
    record.ticks = ticks;
    record.cpu_ns = cpu_ns;
    raw_syscall(SYS_prctl, PR_GET_NAME, as_argument(record.name.data()));
    return write_record(area, thread, record);
}

/// The state of a thread that shares another one's thread-local storage. Null: there are too many.
ThreadState* guest_state(Area& area, std::uint32_t tid, std::uint64_t ticks) noexcept {
    std::atomic<std::uint64_t>* free_guest = nullptr;
    std::uint64_t free_entry = 0;
    for (std::atomic<std::uint64_t>& guest : g_guests) {
        const std::uint64_t entry = guest.load(std::memory_order_relaxed);
        const auto index = static_cast<std::uint32_t>(entry) - 1;
        const bool lives =
            entry != 0 && area.slot(index)->tid.load(std::memory_order_relaxed) == entry >> 32U;
        if (lives && entry >> 32U == tid) {
            return g_states.claimed(index);
        }
        if (!lives && free_guest == nullptr) {
            free_guest = &guest;
            free_entry = entry;
        }
    }
    if (free_guest == nullptr) {
        return nullptr;
    }
    ThreadState* thread = claim_thread(area, ticks);
    if (thread != nullptr) {
        free_guest->compare_exchange_strong(
            free_entry, std::uint64_t{tid} << 32U | (std::uint64_t{thread->slot_index} + 1),
            std::memory_order_relaxed);
    }
    return thread;
}

}  // namespace

ThreadStates::Group* ThreadStates::map_group() noexcept {
    const std::size_t limit_plus_one = limit_plus_one_.load(std::memory_order_relaxed);
    if (limit_plus_one != 0 && mapped_.load(std::memory_order_relaxed) + 1 >= limit_plus_one) {
        return nullptr;
    }
    const long mapped = map_anonymous(sizeof(Group), MAP_NORESERVE);
    if (is_failure(mapped)) {
        return nullptr;
    }
    // Neither locked nor filled, whatever the program wants of its own memory: mlockall(2).
    raw_syscall(SYS_munlock, mapped, sizeof(Group));
    for (const int advice : {MADV_DONTNEED, MADV_DONTFORK, MADV_DONTDUMP}) {
        raw_syscall(SYS_madvise, mapped, sizeof(Group), advice);
    }
    return reinterpret_cast<Group*>(mapped);
}

ThreadState* ThreadStates::claim(std::uint32_t index) noexcept {
    std::atomic<Group*>& place = groups_[index / kTogether];
    Group* group = place.load(std::memory_order_acquire);
    if (group == nullptr) {
        Group* const mapped = map_group();
        if (mapped == nullptr) {
            return nullptr;
        }
        // Acquire and release: who comes second takes what the first one has mapped.
        if (place.compare_exchange_strong(group, mapped, std::memory_order_acq_rel)) {
            group = mapped;
            mapped_.fetch_add(1, std::memory_order_relaxed);
        } else {
            raw_syscall(SYS_munmap, as_argument(mapped), sizeof(Group));
        }
    }
    return &group->states[index % kTogether];
}

ThreadState* ThreadStates::claimed(std::uint32_t index) const noexcept {
    Group* group = groups_[index / kTogether].load(std::memory_order_acquire);
    return group == nullptr ? nullptr : &group->states[index % kTogether];
}

void ThreadStates::forget() noexcept {
    for (auto& group : groups_) {
        if (group.load(std::memory_order_relaxed) != nullptr) {  // else its page stays untouched
            group.store(nullptr, std::memory_order_relaxed);
        }
    }
    mapped_.store(0, std::memory_order_relaxed);
    limit_plus_one_.store(0, std::memory_order_relaxed);
}

ThreadStates& thread_states() noexcept {
    return g_states;
}

ThreadState* claim_thread(Area& area, std::uint64_t ticks, bool is_observer) noexcept {
    const std::uint32_t index = claim_bit(area.header.free_slots);
    if (index == kNoIndex) {
        return nullptr;
    }
    ThreadSlot* const slot = area.reach_slot(index);
    ThreadState* const thread = slot == nullptr ? nullptr : g_states.claim(index);
    if (thread == nullptr) {
        return_bit(area.header.free_slots, index);
        return nullptr;
    }
    const std::uint32_t tid = current_tid();
    const bool is_own = !is_observer && t_thread.state == nullptr;
    const std::uint64_t spent =
        std::max(early_cpu_ns(tid), is_own ? t_thread.slotless_ns : std::uint64_t{0});
    thread->slot = slot;
    thread->slot_index = index;
    thread->cursor.chunk = nullptr;
    slot->chunk.store(kNoIndex, std::memory_order_relaxed);
    slot->callback[0].store(0, std::memory_order_relaxed);
    thread->unchanged = 0;
    thread->memo.reset();
    thread->libraries.reset(0);
    thread->last_ticks = 0;
    thread->pace = 0;
    thread->skipped = 0;
    thread->lost = 0;
    thread->deep_walk_ticks = 0;
    thread->long_samples = 0;
    thread->rest_until_ticks = 0;
    thread->transfer.store(0, std::memory_order_relaxed);
    thread->accounted_ns = spent;
    thread->looked_ns.store(0, std::memory_order_relaxed);
    thread->sent_ns.store(0, std::memory_order_relaxed);
    thread->late_ns.store(0, std::memory_order_relaxed);
    thread->asked_samples.store(0, std::memory_order_relaxed);
    thread->call_samples.store(0, std::memory_order_relaxed);
    slot->tid.store(tid, std::memory_order_release);
    write_thread_record(area, *thread, RecordKind::thread_start, spent, ticks, is_observer);
    return thread;
}

ThreadState* look_up_own_thread(Area& area, std::uint64_t ticks) noexcept {
    ThreadLocal& self = t_thread;
    if (self.state == nullptr) {
        self.state = claim_thread(area, ticks);
        return self.state;
    }
    const std::uint32_t tid = current_tid();
    return self.state->slot->tid.load(std::memory_order_relaxed) == tid
               ? self.state
               : guest_state(area, tid, ticks);
}

void claim_own_slot(Area& area, bool is_observer) noexcept {
    ThreadLocal& self = t_thread;
    if (self.state != nullptr) {
        return;
    }
    self.busy = 1;
    asm volatile("" ::: "memory");
    self.state = claim_thread(area, read_ticks(), is_observer);
    asm volatile("" ::: "memory");
    self.busy = 0;
}

void count_slotless(Area& area, bool is_sample) noexcept {
    ThreadLocal& self = t_thread;
    if (self.state != nullptr) {
        return;  // a guest's clock is not its host's: its time is the rest of the process's
    }
    AreaHeader& header = area.header;
    const std::uint64_t now = thread_cpu_ns();
    if (self.slotless_ns == 0) {
        header.slotless_threads.fetch_add(1, std::memory_order_relaxed);
        self.slotless_ns = early_cpu_ns(current_tid());
    }
    std::uint64_t weight = now - std::min(now, self.slotless_ns);
    if (header.gap_ticks == kCountsEvents) {
        weight = is_sample ? header.period_ns.load(std::memory_order_relaxed) : 0;
    }
    header.slotless_weight.fetch_add(weight, std::memory_order_relaxed);
    self.slotless_ns = now;
}

void forget_threads() noexcept {
    g_early_thread_count = 0;
    t_thread.state = nullptr;
    t_thread.slotless_ns = 0;
    g_states.forget();
    t_thread.busy = 0;
    t_thread.awaits_foreign = false;
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

void begin_as_observer() noexcept {
    if (Area* area = current_area(); area != nullptr) {
        claim_own_slot(*area, true);
    }
}

void share_thread_locals() noexcept {
    if (Area* area = current_area(); area != nullptr) {
        // Now: afterwards it could be the other thread that finds none.
        claim_own_slot(*area);
        g_shares_locals.store(true, std::memory_order_relaxed);
    }
}

ThreadState* claim_observer_slot(Area& area) noexcept {
    return claim_thread(area, read_ticks(), true);
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
    if (self.state == nullptr) {
        self.state = claim_thread(*area, ticks);
    }
    if (self.state == nullptr) {
        count_slotless(*area, false);
    } else {
        ThreadState& thread = *self.state;
        Chunk* const last =
            write_thread_record(*area, thread, RecordKind::thread_end, thread_cpu_ns(), ticks);
        // Slot and state may be another thread's by now, unless nobody has heard of the end.
        leave_chunk(last != nullptr ? last : thread.cursor.chunk);
    }
}

}  // namespace sample::capture
