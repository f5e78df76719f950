#include "sampler/capture/capture.h"

#include "sampler/capture/chunk_writer.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/library_guard.h"
#include "sampler/capture/library_records.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/weight.h"
#include "unwind/walk/walk.h"

#include <sys/prctl.h>
#include <ucontext.h>

namespace sample::capture {
namespace {

/// A walk to the root of a very deep stack may take longer than a period: this many times as long
/// only the leaf's end is walked, so that such walks take a small part of a thread's time.
constexpr std::uint64_t kDeepWalkPause = 8;

/// ThreadLocal::busy once the thread has said its last word.
constexpr std::uint32_t kEnding = 2;

struct ThreadLocal {
    ThreadSlot* slot = nullptr;
    std::uint64_t stack_low = 0;
    std::uint64_t stack_high = 0;
    std::uint32_t busy = 0;
};

constinit thread_local ThreadLocal t_thread;

constinit std::atomic<Area*> g_area{nullptr};
constinit std::atomic<const unwind::ModuleTable*> g_modules{nullptr};
constinit std::atomic<ForeignSignal> g_foreign{nullptr};
constinit std::array<EarlyThread, kMaxEarlyThreads> g_early_threads{};
constinit std::size_t g_early_thread_count = 0;

/// Threads that share another one's thread-local storage: thread id << 32 | slot + 1; 0: none. An
/// entry is free again when the slot is another thread's.
constinit std::array<std::atomic<std::uint64_t>, 64> g_guests{};
/// There may be such threads on stacks that are taken for their maker's.
constinit std::atomic<bool> g_shares_locals{false};

// A bit for every number that a perf descriptor of ours had when it was armed.
constinit std::array<std::atomic<std::uint64_t>, 64> g_perf_descriptors{};

alignas(64) constinit std::array<unwind::RowCache::Entry, kRowCacheEntries> g_rows{};
static_assert(sizeof g_rows == kRowCacheBytes);

template <class T>
void add_relaxed(std::atomic<T>& counter, T amount) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

bool is_perf_descriptor(int fd) noexcept {
    const auto number = static_cast<std::uint32_t>(fd);
    return number / 64 < g_perf_descriptors.size() &&
           (g_perf_descriptors[number / 64].load(std::memory_order_relaxed) >> (number % 64) & 1) !=
               0;
}

bool carries_cookie(const siginfo_t& info) noexcept {
    return reinterpret_cast<std::uint64_t>(info.si_value.sival_ptr) == kSampleCookie;
}

bool is_sample(const siginfo_t& info) noexcept {
    if (info.si_code == kTrapPerf && info.si_signo == SIGTRAP) {
        std::uint64_t cookie = 0;
        __builtin_memcpy(&cookie, reinterpret_cast<const char*>(&info) + kPerfDataOffset,
                         sizeof cookie);
        return cookie == kSampleCookie;
    }
    if (info.si_signo != kAsyncSignal) {
        return false;
    }
    if (info.si_code == SI_TIMER || info.si_code == SI_QUEUE) {
        return carries_cookie(info);
    }
    return info.si_code >= POLL_IN && info.si_code <= POLL_HUP && is_perf_descriptor(info.si_fd);
}

/// An event, not time, that happened while SIGTRAP was blocked, as it is in the handler alone: its
/// own page faults would be counted for the code that it has interrupted.
bool is_own_event(const AreaHeader& header, const siginfo_t& info) noexcept {
    std::uint32_t flags = 0;
    __builtin_memcpy(&flags, reinterpret_cast<const char*>(&info) + kPerfFlagsOffset, sizeof flags);
    return header.gap_ticks == kCountsEvents && info.si_signo == SIGTRAP &&
           (flags & kPerfFlagAsync) != 0;
}

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

/// Gives the calling thread a slot. Null: all are in use.
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

/// The calling thread's slot. A raw clone without CLONE_SETTLS shares this thread's TLS: off the
/// known stack the kernel is asked who runs.
ThreadSlot* own_slot(Area& area, std::uint64_t sp, std::uint64_t ticks) noexcept {
    ThreadLocal& self = t_thread;
    if (self.slot == nullptr) {
        self.slot = claim_slot(area, ticks);
        return self.slot;
    }
    const bool on_known_stack = sp >= self.stack_low && sp < self.stack_high;
    if (on_known_stack && !g_shares_locals.load(std::memory_order_relaxed)) {
        return self.slot;
    }
    const std::uint32_t tid = current_tid();
    return self.slot->tid.load(std::memory_order_relaxed) == tid ? self.slot
                                                                 : guest_slot(area, tid, ticks);
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

/// Whether thread-local storage lies where compiled code expects it: libc's thread control block
/// points at itself, twice. What a bare clone was given in its place may have nothing below it.
/// Source: glibc sysdeps/x86_64/nptl/tls.h, tcbhead_t.
bool has_thread_locals() noexcept {
    std::uint64_t block = 0;
    std::uint64_t self = 0;
    asm volatile(
        "movq %%fs:0, %0\n\t"
        "movq %%fs:16, %1"
        : "=r"(block), "=r"(self));
    return block != 0 && block == self;
}

/// Of the calling thread, so far: they are not the next sample's.
void forget_own_events(const AreaHeader& header) noexcept {
    if (t_thread.slot != nullptr && t_thread.busy == 0 && kernel_counts(header)) {
        t_thread.slot->accounted_ns.store(thread_count(header.kernel_count),
                                          std::memory_order_relaxed);
    }
}

void load_registers(const ucontext_t& context, unwind::Registers& out) noexcept {
    const auto& from = context.uc_mcontext.gregs;
    const auto get = [&from](int index) { return static_cast<std::uint64_t>(from[index]); };
    out.value = {get(REG_RAX), get(REG_RDX), get(REG_RCX), get(REG_RBX), get(REG_RSI), get(REG_RDI),
                 get(REG_RBP), get(REG_RSP), get(REG_R8),  get(REG_R9),  get(REG_R10), get(REG_R11),
                 get(REG_R12), get(REG_R13), get(REG_R14), get(REG_R15), get(REG_RIP)};
}

bool publish_sample(Area& area, ThreadSlot& slot, const Weight& weight, unwind::WalkResult walked,
                    bool named, std::uint64_t ticks) noexcept {
    constexpr std::uint32_t kHeadWords = sizeof(SampleRecord) / 8;
    const std::span<const FrameAddress> frames = slot.memo.root_first();
    Reservation room = reserve(area, slot, kHeadWords + walked.depth - slot.unchanged);
    if (room.words == nullptr) {
        if (!change_chunk(area, slot)) {
            return false;
        }
        slot.unchanged = 0;
        room = reserve(area, slot, kHeadWords + walked.depth);
    }
    SampleRecord record;
    const std::uint32_t new_frames = walked.depth - slot.unchanged;
    record.head = {RecordKind::sample, static_cast<std::uint16_t>(room.size_words),
                   static_cast<std::uint16_t>(new_frames),
                   static_cast<std::uint16_t>(slot.unchanged)};
    record.ticks = ticks;
    record.weight_ns = weight.seen_ns;
    record.unseen_ns =
        weight.unseen_ns > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(weight.unseen_ns);
    record.stop = stop_word(walked, named);
    __builtin_memcpy(room.words, &record, sizeof record);
    for (std::uint32_t i = 0; i < new_frames; ++i) {
        room.words[kHeadWords + i] = frames[walked.depth - 1 - i].bits();
    }
    commit(area, slot, room);

    slot.unchanged = walked.depth;
    slot.last_ticks = ticks;
    slot.accounted_ns.store(weight.accounted_ns, std::memory_order_relaxed);
    add_relaxed(slot.samples, std::uint64_t{1});
    return true;
}

void take_sample(Area& area, const ucontext_t& context, std::uint64_t ticks) noexcept {
    unwind::Registers registers;
    load_registers(context, registers);
    ThreadSlot* slot = own_slot(area, registers.sp(), ticks);
    if (slot == nullptr) {
        area.header.lost_no_slot.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    const LibraryReader reader;
    const unwind::ModuleTable modules = readable_modules(reader.allowed());
    unwind::RowCache rows = row_cache();
    unwind::StackMemory memory = unwind::StackMemory::live(
        {t_thread.stack_low, t_thread.stack_high}, unwind::StackMemory::Outside::probe);
    const std::uint32_t max_depth = area.header.max_depth;
    slot->memo.set_reach(ticks < slot->deep_walk_ticks ? unwind::Reach::leaf_half
                                                       : unwind::Reach::whole);
    const unwind::WalkResult walked = unwind::walk(modules, rows, registers, memory, slot->memo,
                                                   max_depth == 0 ? kMaxDepth : max_depth);
    if (walked.too_deep && ticks >= slot->deep_walk_ticks) {
        const std::uint64_t now = read_ticks();
        slot->deep_walk_ticks = now + kDeepWalkPause * (now - ticks);
    }
    slot->unchanged = slot->unchanged < slot->memo.kept() ? slot->unchanged : slot->memo.kept();
    forget_unloaded_libraries(area, *slot, modules.generation());
    if (reader.allowed()) {
        report_new_libraries(area, *slot, modules,
                             slot->memo.root_first().subspan(slot->memo.kept()));
    }
    const bool published = publish_sample(area, *slot, weigh(area.header, *slot, ticks), walked,
                                          reader.allowed(), ticks);
    if (!reader.allowed()) {
        // Libraries on this stack are still to be reported: the next one counts as new.
        slot->memo.reset();
    }
    if (!published) {
        add_relaxed(slot->lost, std::uint64_t{1});
        return;
    }
    const std::uint64_t spent = read_ticks() - ticks;
    add_relaxed(slot->handler_ticks, spent);
    add_relaxed(slot->handler_histogram[histogram_class(spent)], std::uint32_t{1});
}

}  // namespace

void attach(Area* area, const unwind::ModuleTable* modules, ForeignSignal foreign) noexcept {
    g_foreign.store(foreign, std::memory_order_relaxed);
    g_modules.store(modules, std::memory_order_release);
    g_area.store(area, std::memory_order_release);
}

void detach_after_fork() noexcept {
    g_area.store(nullptr, std::memory_order_release);
    g_early_thread_count = 0;
    reset_library_guard();
    t_thread.slot = nullptr;
    t_thread.busy = 0;
    g_shares_locals.store(false, std::memory_order_relaxed);
    for (auto& guest : g_guests) {
        guest.store(0, std::memory_order_relaxed);
    }
    for (auto& word : g_perf_descriptors) {
        word.store(0, std::memory_order_relaxed);
    }
}

Area* current_area() noexcept {
    return g_area.load(std::memory_order_acquire);
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

void add_perf_descriptor(int fd) noexcept {
    const auto number = static_cast<std::uint32_t>(fd);
    if (number / 64 < g_perf_descriptors.size()) {
        g_perf_descriptors[number / 64].fetch_or(std::uint64_t{1} << (number % 64),
                                                 std::memory_order_relaxed);
    }
}

void begin_thread() noexcept {
    Area* area = g_area.load(std::memory_order_acquire);
    if (area != nullptr && area->header.observes_waits.load(std::memory_order_relaxed) != 0) {
        claim_own_slot(*area);
    }
}

void share_thread_locals() noexcept {
    if (Area* area = g_area.load(std::memory_order_acquire); area != nullptr) {
        // Now: afterwards it could be the other thread that finds none.
        claim_own_slot(*area);
        g_shares_locals.store(true, std::memory_order_relaxed);
    }
}

ThreadSlot* claim_observer_slot(Area& area) noexcept {
    return claim_slot(area, read_ticks());
}

unwind::ModuleTable readable_modules(bool libraries) noexcept {
    const unwind::ModuleTable& loaded = *g_modules.load(std::memory_order_acquire);
    return {loaded.modules(), loaded.generation(),
            libraries ? loaded.loader() : unwind::LoaderLookup::off};
}

unwind::RowCache row_cache() noexcept {
    return unwind::RowCache{g_rows};
}

std::uint32_t stop_word(const unwind::WalkResult& walked, bool named) noexcept {
    return static_cast<std::uint32_t>(walked.reason) | (walked.guessed != 0 ? kStopGuessed : 0) |
           (named ? 0 : kStopUnnamed);
}

void end_thread() noexcept {
    Area* area = g_area.load(std::memory_order_acquire);
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

void begin_unload(const unwind::ModuleTable* modules) noexcept {
    close_library_guard();
    // Before the library goes: afterwards another one may lie where it was. While the guard is
    // closed no rule of a library is compiled for the new generation.
    g_modules.store(modules, std::memory_order_release);
}

void end_unload() noexcept {
    open_library_guard();
}

bool report_module(const ModuleDescription& module) noexcept {
    Area* area = g_area.load(std::memory_order_acquire);
    if (area == nullptr) {
        return false;
    }
    ThreadLocal& self = t_thread;
    self.busy = 1;
    asm volatile("" ::: "memory");
    bool done = false;
    if (self.slot == nullptr) {
        self.slot = claim_slot(*area, read_ticks());
    }
    if (self.slot != nullptr) {
        done = write_module(*area, *self.slot, module);
    }
    asm volatile("" ::: "memory");
    self.busy = 0;
    return done;
}

void on_signal(int signal, siginfo_t* info, void* context) noexcept {
    if (!is_sample(*info)) {
        const ForeignSignal foreign = g_foreign.load(std::memory_order_relaxed);
        if (foreign != nullptr) {
            foreign(signal, info, context);
        }
        return;
    }
    Area* area = g_area.load(std::memory_order_acquire);
    if (area == nullptr || area->header.stopped.load(std::memory_order_relaxed) != 0) {
        if (info->si_code == SI_TIMER) {
            raw_syscall(SYS_timer_delete, info->si_timerid);
        }
        return;
    }
    if (is_own_event(area->header, *info)) {
        forget_own_events(area->header);
        return;
    }
    if (!has_thread_locals()) {
        area->header.lost_no_slot.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    const std::uint64_t ticks = read_ticks();
    // One exchange decides who goes on, also where two threads share one TLS block.
    std::uint32_t idle = 0;
    if (!__atomic_compare_exchange_n(&t_thread.busy, &idle, 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED)) {
        // Of a thread that ends, the rest is booked: nothing is lost.
        if (idle != kEnding) {
            area->header.lost_reentry.fetch_add(1, std::memory_order_relaxed);
        }
        return;
    }
    take_sample(*area, *static_cast<const ucontext_t*>(context), ticks);
    __atomic_store_n(&t_thread.busy, 0, __ATOMIC_RELEASE);
}

}  // namespace sample::capture
