#include "sampler/capture/capture.h"

#include "sampler/capture/chunk_writer.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/inherited_state.h"
#include "sampler/capture/interrupted_call.h"
#include "sampler/capture/libraries.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/signal_stacks.h"
#include "sampler/capture/thread_slots.h"
#include "sampler/capture/transfers.h"
#include "sampler/capture/weight.h"
#include "sampler/capture/wiped_on_fork.h"
#include "unwind/walk/ucontext.h"
#include "unwind/walk/walk.h"

#include <ucontext.h>

#include <cerrno>

namespace sample::capture {

constinit WipedOnFork<Attached> g_attached;

namespace {

/// A walk to the root of a very deep stack may take longer than a period: this many times as long
/// only the leaf's end is walked, so that such walks take a small part of a thread's time.
constexpr std::uint64_t kDeepWalkPause = 8;
/// Where samples take longer than a period, the next signal waits when one ends: the program would
/// never go on. After so many that took more than half a period, one behind the other, it has kRest
/// times as long as the last one took for itself, until one is short again.
constexpr std::uint32_t kManyLong = 16;
constexpr std::uint64_t kRest = 3;

/// The process is sampled, or is the child of one that is and has not joined yet.
constinit std::atomic<bool> g_is_attached{false};
constinit std::atomic<const unwind::ModuleTable*> g_modules{nullptr};
constinit std::atomic<ForeignSignal> g_foreign{nullptr};
/// Some thread has awaited one: each sample asks its own.
constinit std::atomic<bool> g_awaits_foreign{false};
constinit std::atomic<bool> g_is_withdrawn{false};
constinit std::atomic<SampleHit> g_sample_hit{nullptr};
constinit std::atomic<int> g_collector{0};

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

bool is_from_descriptor(const siginfo_t& info) noexcept {
    return info.si_signo == kAsyncSignal && info.si_code >= POLL_IN && info.si_code <= POLL_HUP;
}

bool carries_cookie(const siginfo_t& info) noexcept {
    if (info.si_code == kTrapPerf && info.si_signo == SIGTRAP) {
        std::uint64_t cookie = 0;
        __builtin_memcpy(&cookie, reinterpret_cast<const char*>(&info) + kPerfDataOffset,
                         sizeof cookie);
        return cookie == kSampleCookie;
    }
    return (info.si_code == SI_TIMER || info.si_code == SI_QUEUE || info.si_code == kFromItself) &&
           reinterpret_cast<std::uint64_t>(info.si_value.sival_ptr) == kSampleCookie;
}

bool is_sample(const siginfo_t& info) noexcept {
    return carries_cookie(info) || (is_from_descriptor(info) && is_perf_descriptor(info.si_fd));
}

/// Where the process may queue no more signals (RLIMIT_SIGPENDING), the kernel drops the words of
/// another thread that sends one. Source: Linux kernel/signal.c, collect_signal.
bool has_lost_its_words(const siginfo_t& info) noexcept {
    return info.si_code == SI_USER && info.si_pid == 0 && info.si_uid == 0;
}

/// An event, not time, that happened while SIGTRAP was blocked, as it is in the handler alone: its
/// own page faults would be counted for the code that it has interrupted.
bool is_own_event(const AreaHeader& header, const siginfo_t& info) noexcept {
    std::uint32_t flags = 0;
    __builtin_memcpy(&flags, reinterpret_cast<const char*>(&info) + kPerfFlagsOffset, sizeof flags);
    return counts_events(header) && info.si_signo == SIGTRAP && (flags & kPerfFlagAsync) != 0;
}

/// Of the calling thread, so far: they are not the next sample's.
void forget_own_events(const AreaHeader& header) noexcept {
    if (t_thread.state != nullptr && t_thread.busy == 0 && kernel_counts(header)) {
        t_thread.state->accounted_ns = thread_count(header.kernel_count);
    }
}

bool publish_sample(Area& area, ThreadState& thread, const Weight& weight,
                    unwind::WalkResult walked, bool named, std::uint64_t ticks) noexcept {
    constexpr std::uint32_t kHeadWords = sizeof(SampleRecord) / 8;
    const std::span<const FrameAddress> frames = thread.memo.root_first();
    Reservation room = reserve(thread, kHeadWords + walked.depth - thread.unchanged);
    if (room.words == nullptr) {
        if (!change_chunk(area, thread)) {
            return false;
        }
        room = reserve(thread, kHeadWords + walked.depth);
        thread.cursor.enough = enough_of_chunk(room.size_words * 8);
    }
    SampleRecord record;
    const std::uint32_t new_frames = walked.depth - thread.unchanged;
    record.head = {RecordKind::sample, static_cast<std::uint16_t>(room.size_words),
                   static_cast<std::uint16_t>(new_frames),
                   static_cast<std::uint16_t>(thread.unchanged)};
    record.ticks = ticks;
    record.weight_ns = weight.seen_ns;
    record.unseen_ns =
        weight.unseen_ns > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(weight.unseen_ns);
    record.stop = stop_word(walked, named);
    __builtin_memcpy(room.words, &record, sizeof record);
    for (std::uint32_t i = 0; i < new_frames; ++i) {
        room.words[kHeadWords + i] = frames[walked.depth - 1 - i].bits();
    }
    commit(thread, room);

    thread.unchanged = walked.depth;
    thread.last_ticks = ticks;
    thread.skipped = 0;
    thread.lost = 0;
    thread.accounted_ns = weight.accounted_ns;
    thread.pace = weight.pace;
    add_relaxed(thread.slot->samples, std::uint64_t{1});
    return true;
}

/// How far the thread has come, by its clock, since the sampling thread sent for this sample, or
/// left it to the thread (`is_owed`): what it did meanwhile is shown where it is now.
void count_way(ThreadState& thread, std::uint64_t clock_ns, bool is_owed,
               bool is_behind_call) noexcept {
    add_relaxed(thread.asked_samples, std::uint32_t{1});
    add_relaxed(thread.call_samples, std::uint32_t{is_owed || is_behind_call ? 1U : 0U});
    const std::uint64_t sent_ns = thread.sent_ns.load(std::memory_order_relaxed);
    const std::uint64_t late_ns = thread.late_ns.load(std::memory_order_relaxed);
    // A call that moves data while the thread has a processor is where its sample belongs.
    if (sent_ns == 0 || clock_ns == 0 || (is_owed && late_ns != 0)) {
        return;
    }
    const std::uint64_t way_ns = clock_ns > sent_ns ? clock_ns - sent_ns : 0;
    add_relaxed(thread.slot->sent, std::uint64_t{1});
    add_relaxed(thread.slot->way_ns, way_ns);
    const bool is_late = late_ns != 0 ? way_ns > late_ns : is_behind_call;
    add_relaxed(thread.slot->late, std::uint64_t{is_late ? 1U : 0U});
}

/// Of a sample that came by this signal.
Weight weigh_sample(const Area& area, ThreadState& thread, std::uint64_t ticks,
                    const siginfo_t& info, bool is_behind_call) noexcept {
    const bool is_sent = info.si_code == SI_QUEUE && info.si_errno == kFromSamplingThread;
    const bool is_owed = info.si_code == kFromItself && info.si_errno == kOwedToSamplingThread;
    const Weight weight = weigh(area.header, thread, ticks, is_sent || is_owed);
    if (is_sent || is_owed) {
        count_way(thread, weight.clock_ns, is_owed, is_behind_call);
    }
    return weight;
}

void lose_sample(ThreadState& thread) noexcept {
    add_relaxed(thread.slot->lost, std::uint64_t{1});
    ++thread.lost;
}

void let_program_go_on(const AreaHeader& header, ThreadState& thread, std::uint64_t spent,
                       std::uint64_t now) noexcept {
    if (counts_events(header) || spent <= header.period_ticks.load(std::memory_order_relaxed) / 2) {
        thread.long_samples = 0;
    } else if (++thread.long_samples >= kManyLong) {
        thread.rest_until_ticks = now + kRest * spent;
    }
}

unwind::Registers registers_of_sample(const ucontext_t& context) noexcept {
    unwind::Registers registers = unwind::registers_of(context);
    if (const std::uintptr_t function = function_of_sample(context); function != 0) {
        registers.value[unwind::Registers::kPc] = function;
    }
    return registers;
}

void take_sample(Area& area, const ucontext_t& context, const LibraryReader& reader,
                 std::uint64_t ticks, const siginfo_t& info) noexcept {
    const unwind::Registers registers = registers_of_sample(context);
    ThreadState* thread = own_thread(area, registers.sp(), ticks);
    if (thread == nullptr) {
        count_slotless(area, true);
        return;
    }
    if (ticks < thread->rest_until_ticks) {
        lose_sample(*thread);
        return;
    }
    // Some expiries of a kernel's timer are no sample on purpose.
    if (info.si_code != SI_QUEUE && info.si_code != kFromItself && is_skipped(area.header, ticks)) {
        ++thread->skipped;
        return;
    }
    const unwind::ModuleTable modules = readable_modules(reader.allowed());
    unwind::RowCache rows = row_cache();
    unwind::StackMemory memory = unwind::StackMemory::live(stack_in_use(registers.sp()),
                                                           unwind::StackMemory::Outside::probe);
    const std::uint32_t max_depth = area.header.max_depth;
    thread->memo.set_reach(ticks < thread->deep_walk_ticks ? unwind::Reach::leaf_half
                                                           : unwind::Reach::whole);
    const unwind::WalkResult walked =
        unwind::walk(modules, rows, registers, memory, thread->memo,
                     max_depth == 0 || max_depth > kMaxDepth ? kMaxDepth : max_depth);
    if (walked.too_deep && ticks >= thread->deep_walk_ticks) {
        const std::uint64_t now = read_ticks();
        thread->deep_walk_ticks = now + kDeepWalkPause * (now - ticks);
    }
    thread->unchanged =
        thread->unchanged < thread->memo.kept() ? thread->unchanged : thread->memo.kept();
    forget_unloaded_libraries(area, *thread, modules.generation());
    if (reader.allowed()) {
        report_new_libraries(area, *thread, modules,
                             thread->memo.root_first().subspan(thread->memo.kept()));
    }
    const Weight weight = weigh_sample(area, *thread, ticks, info, is_behind_call(context));
    const bool published = publish_sample(area, *thread, weight, walked, reader.allowed(), ticks);
    // Acquire pairs with the release in set_sample_hit(): what the callback needs is there.
    if (const SampleHit hit = g_sample_hit.load(std::memory_order_acquire); hit != nullptr) {
        t_thread.hit = &thread->memo;
        hit(registers.pc(), &context);
        t_thread.hit = nullptr;
    }
    if (!reader.allowed()) {
        // Libraries on this stack are still to be reported: the next one counts as new.
        thread->memo.reset();
    }
    const std::uint64_t now = read_ticks();
    const std::uint64_t spent = now - ticks;
    let_program_go_on(area.header, *thread, spent, now);
    if (!published) {
        lose_sample(*thread);
        return;
    }
    add_relaxed(thread->slot->handler_ticks, spent);
    add_relaxed(thread->slot->handler_histogram[histogram_class(spent)], std::uint32_t{1});
}

/// A timer of the calling thread's own goes on as often as samples are wanted now. Nobody could
/// start one that stands still, so while there are none to be it goes on, but seldom.
void pace_timer(const AreaHeader& header, int timer) noexcept {
    constexpr std::uint64_t kSecondNs = 1'000'000'000;
    constexpr std::uint64_t kWhileOffNs = kSecondNs / 10;
    const std::uint32_t pace = header.pace.load(std::memory_order_acquire);
    const std::uint32_t stretch = header.timer_stretch.load(std::memory_order_relaxed);
    if (stretch == 0 || !has_thread_locals() || t_thread.pace == pace) {
        return;
    }
    t_thread.pace = pace;
    const std::uint64_t period_ns =
        header.off.load(std::memory_order_relaxed) != 0
            ? kWhileOffNs
            : header.period_ns.load(std::memory_order_relaxed) * stretch;
    const timespec period{static_cast<time_t>(period_ns / kSecondNs),
                          static_cast<long>(period_ns % kSecondNs)};
    const itimerspec setting{period, period};
    raw_syscall(SYS_timer_settime, timer, 0, as_argument(&setting), 0);
}

/// Events end with the collector that owns them, timers need nobody: somebody has to look whether
/// it is there, one in so many of each thread's signals. Its end is the session's.
void look_for_collector(AreaHeader& header) noexcept {
    constexpr std::uint32_t kSignalsALook = 256;
    const int collector = g_collector.load(std::memory_order_relaxed);
    if (collector != 0 && has_thread_locals() && ++t_thread.timer_signals % kSignalsALook == 0 &&
        raw_syscall(SYS_kill, collector, 0) == -ESRCH) {
        header.stopped.store(1, std::memory_order_release);
    }
}

void sample_thread(Area& area, const siginfo_t& info, ucontext_t& context,
                   const LibraryReader& reader) noexcept {
    if (context.uc_stack.ss_size == 0) {
        adopt_interrupted_thread(context.uc_stack);
    }
    const bool is_own = is_own_event(area.header, info);
    if (!has_thread_locals()) {
        area.header.lost_reentry.fetch_add(is_own ? 0 : 1, std::memory_order_relaxed);
        return;
    }
    if (is_own) {
        forget_own_events(area.header);
        return;
    }
    const std::uint64_t ticks = read_ticks();
    // One exchange decides who goes on, also where two threads share one TLS block.
    std::uint32_t idle = 0;
    if (!__atomic_compare_exchange_n(&t_thread.busy, &idle, 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED)) {
        // Of a thread that ends, the rest is booked: nothing is lost.
        if (idle != kEnding) {
            area.header.lost_reentry.fetch_add(1, std::memory_order_relaxed);
        }
        return;
    }
    take_sample(area, context, reader, ticks, info);
    __atomic_store_n(&t_thread.busy, 0, __ATOMIC_RELEASE);
}

}  // namespace

void set_up_for_forks() noexcept {
    g_attached.set_up();
}

void attach(Area* area, const unwind::ModuleTable* modules, ForeignSignal foreign) noexcept {
    g_foreign.store(foreign, std::memory_order_relaxed);
    g_modules.store(modules, std::memory_order_release);
    g_is_attached.store(true, std::memory_order_relaxed);
    g_attached->area.store(area, std::memory_order_release);
}

bool await_foreign(bool is_awaited) noexcept {
    const bool before = t_thread.awaits_foreign;
    t_thread.awaits_foreign = is_awaited;
    if (is_awaited) {
        g_awaits_foreign.store(true, std::memory_order_relaxed);
    }
    return before;
}

void set_collector(int pid) noexcept {
    g_collector.store(pid, std::memory_order_relaxed);
}

void withdraw() noexcept {
    g_is_withdrawn.store(true, std::memory_order_relaxed);
    g_is_attached.store(false, std::memory_order_relaxed);
    g_attached->area.store(nullptr, std::memory_order_release);
    wait_until_all_are_out();
}

bool detach_after_fork() noexcept {
    g_attached->area.store(nullptr, std::memory_order_release);
    g_attached->definitions.store(nullptr, std::memory_order_release);
    reset_library_guard();
    forget_threads();
    for (auto& word : g_perf_descriptors) {
        word.store(0, std::memory_order_relaxed);
    }
    return g_is_attached.exchange(false, std::memory_order_relaxed);
}

Area* current_area() noexcept {
    return g_attached->area.load(std::memory_order_acquire);
}

void limit_address_space(std::size_t bytes) noexcept {
    // A thread's state is needed before its chunks.
    const std::size_t for_states = bytes / 2;
    thread_states().limit_growth(for_states / ThreadStates::kGroupBytes);
    if (Area* area = current_area(); area != nullptr) {
        area->limit_growth(static_cast<std::uint32_t>((bytes - for_states) / Area::kGrowthBytes));
    }
}

void add_perf_descriptor(int fd) noexcept {
    const auto number = static_cast<std::uint32_t>(fd);
    if (number / 64 < g_perf_descriptors.size()) {
        g_perf_descriptors[number / 64].fetch_or(std::uint64_t{1} << (number % 64),
                                                 std::memory_order_relaxed);
    }
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

void set_sample_hit(SampleHit hit) noexcept {
    g_sample_hit.store(hit, std::memory_order_release);
}

std::uint32_t copy_stack(const unwind::StackMemo& memo, std::uint64_t* pcs,
                         std::uint32_t most) noexcept {
    const std::span<const FrameAddress> frames = memo.root_first();
    const auto count = static_cast<std::uint32_t>(frames.size());
    const std::uint32_t copied = count < most ? count : most;
    for (std::uint32_t i = 0; i < copied; ++i) {
        const FrameAddress frame = frames[count - 1 - i];
        pcs[i] = frame.is_elided() ? 0 : frame.lookup_pc().value + (frame.is_exact() ? 0 : 1);
    }
    return copied;
}

std::uint32_t copy_sampled_stack(std::uint64_t* pcs, std::uint32_t most) noexcept {
    const unwind::StackMemo* const memo = t_thread.hit;
    return memo == nullptr ? 0 : copy_stack(*memo, pcs, most);
}

void begin_unload(const unwind::ModuleTable* modules, Unloader unloader) noexcept {
    close_library_guard(unloader);
    // Before the library goes: afterwards another one may lie where it was. While the guard is
    // closed other threads compile no rule of a library for the new generation.
    g_modules.store(modules, std::memory_order_release);
}

void end_unload(const unwind::ModuleTable* modules) noexcept {
    if (modules != nullptr) {
        g_modules.store(modules, std::memory_order_release);
    }
    open_library_guard();
}

bool report_module(const ModuleDescription& module) noexcept {
    Area* area = g_attached->area.load(std::memory_order_acquire);
    if (area == nullptr) {
        return false;
    }
    ThreadLocal& self = t_thread;
    self.busy = 1;
    asm volatile("" ::: "memory");
    bool done = false;
    if (self.state == nullptr) {
        self.state = claim_thread(*area, read_ticks());
    }
    if (self.state != nullptr) {
        done = write_module(*area, *self.state, module);
    }
    asm volatile("" ::: "memory");
    self.busy = 0;
    return done;
}

bool is_anybodys_sample(const siginfo_t& info) noexcept {
    return carries_cookie(info) || is_from_descriptor(info);
}

void on_signal(int signal, siginfo_t* info, void* context) noexcept {
    allow_misaligned_access();
    if (has_lost_its_words(*info) && may_be_interrupted()) {
        info->si_code = SI_QUEUE;
        info->si_errno = kFromSamplingThread;
        info->si_value.sival_ptr = reinterpret_cast<void*>(kSampleCookie);
    }
    const ForeignSignal foreign = g_foreign.load(std::memory_order_relaxed);
    if (!is_sample(*info)) {
        if (foreign != nullptr) {
            foreign(signal, info, context);
        }
        return;
    }
    const LibraryReader reader;
    if (g_awaits_foreign.load(std::memory_order_relaxed) &&
        g_is_attached.load(std::memory_order_relaxed) && has_thread_locals() &&
        t_thread.awaits_foreign) {
        foreign(signal, nullptr, context);
    }
    auto& interrupted = *static_cast<ucontext_t*>(context);
    Area* area = g_attached->area.load(std::memory_order_acquire);
    if (area == nullptr || area->header.stopped.load(std::memory_order_relaxed) != 0) {
        if (info->si_code == SI_TIMER && !g_is_withdrawn.load(std::memory_order_relaxed)) {
            raw_syscall(SYS_timer_delete, info->si_timerid);
        }
        answer_interrupted_call(interrupted, info->si_code != SI_TIMER);
        return;
    }
    if (info->si_code == SI_TIMER) {
        pace_timer(area->header, info->si_timerid);
        look_for_collector(area->header);
    }
    if (area->header.off.load(std::memory_order_acquire) == 0) {
        sample_thread(*area, *info, interrupted, reader);
    }
    // Another one may have been announced, and be on its way.
    if (info->si_code == SI_QUEUE && info->si_errno == kFromSamplingThread && has_thread_locals()) {
        note_interruption();
    }
    answer_interrupted_call(interrupted, info->si_code != SI_TIMER);
}

}  // namespace sample::capture
