// What the agent sets up around the handler, and the handler itself.
//
// One process-wide state (the area, the module table, the row cache) and one small thread-local
// state (thread_slots.h). The handler needs nothing to be prepared for a thread: the first sample
// of a thread claims its slot. What the agent tells it (stack bounds, a perf descriptor's number)
// makes it faster or safer, not possible.
#pragma once

#include "sampler/capture/area.h"
#include "sampler/capture/definition_store.h"
#include "sampler/capture/thread_state.h"
#include "sampler/capture/wiped_on_fork.h"
#include "unwind/walk/module_table.h"
#include "unwind/walk/row_cache.h"
#include "unwind/walk/walk.h"

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace sample::capture {

/// What our interruptions carry: perf_event_attr.sig_data, or the value of a timer's or a queued
/// signal.
inline constexpr std::uint64_t kSampleCookie = 0x53414d504c453031;  // "SAMPLE01"
/// siginfo_t::si_errno of the sampling thread's signals: its samples stand for whole periods.
inline constexpr int kFromSamplingThread = 1;
inline constexpr int kOwedToSamplingThread = 2;  ///< The thread sends it to itself.
/// siginfo_t::si_code of what a thread sends itself. As one of the kernel's own it comes with its
/// words even where the process may queue no signals (RLIMIT_SIGPENDING). Source: Linux
/// kernel/signal.c, __send_signal_locked(); do_rt_tgsigqueueinfo(): only to oneself.
inline constexpr int kFromItself = SI_KERNEL;
/// Samples come by this signal, but for those of the source sigtrap: its default is to be ignored,
/// so a late one harms nothing.
inline constexpr int kAsyncSignal = SIGURG;

inline constexpr int kTrapPerf = 6;  // TRAP_PERF, newer than glibc 2.36
/// Of si_perf_data in a siginfo_t.
inline constexpr std::size_t kPerfDataOffset = 24;
inline constexpr std::size_t kPerfFlagsOffset = 36;
inline constexpr std::uint32_t kPerfFlagAsync = 1;  // TRAP_PERF_FLAG_ASYNC

/// What to do with a signal that is not a sample. Without info: a sample has come in the place of
/// one that is awaited.
using ForeignSignal = void (*)(int, siginfo_t*, void*);

/// A thread that existed before sampling started, and its CPU time then: booked, not sampled.
struct EarlyThread {
    std::uint32_t tid = 0;
    std::uint64_t cpu_ns = 0;
};
inline constexpr std::size_t kMaxEarlyThreads = 64;

/// Rules of hot pcs, for all threads: what unwinding keeps in memory, the agent's tables apart.
inline constexpr std::size_t kRowCacheEntries = 16384;
inline constexpr std::size_t kRowCacheBytes = kRowCacheEntries * sizeof(unwind::RowCache::Entry);

/// What of the area is mapped. A child that was made past our fork handlers has none of it.
struct Attached {
    std::atomic<Area*> area;
    std::atomic<DefinitionStore*> definitions;  ///< Null: nobody asks what the program says.
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit is not seen by clang-tidy 14.
extern constinit WipedOnFork<Attached> g_attached;

/// From here on a forked child, however it was made, has no area. Async-signal-safe.
void set_up_for_forks() noexcept;

/// Makes `area` the one that samples go to. Not async-signal-safe: called once before the events
/// are armed.
void attach(Area* area, const unwind::ModuleTable* modules, ForeignSignal foreign) noexcept;

/// The calling thread has sent itself a signal that is not a sample, or (false) it has come:
/// standard signals do not queue, so where a sample waited already it is lost. Returns what held
/// before. Async-signal-safe.
bool await_foreign(bool is_awaited) noexcept;

/// Whose end is the session's; 0: it has no number here, and nobody looks. Async-signal-safe.
void set_collector(int pid) noexcept;

/// Samples go nowhere from now on, for good, and the handler makes no system call for them. Returns
/// when no thread is inside it that still might: bounded by the longest handler.
void withdraw() noexcept;

/// Forgets slot, guards and descriptors: the calling thread is the only one of a forked child,
/// where none of them exists. True if the parent was sampled. Async-signal-safe.
bool detach_after_fork() noexcept;

/// Null also in a child that was made past our fork handlers. Async-signal-safe.
[[nodiscard]] Area* current_area() noexcept;

/// Takes at most so much more of the program's addresses, whatever is sampled; 0: none.
/// Async-signal-safe.
void limit_address_space(std::size_t bytes) noexcept;

/// Not async-signal-safe: before the events are armed.
void add_early_thread(EarlyThread thread) noexcept;

/// The calling thread's stack, so that the walk reads it without asking the kernel.
/// Async-signal-safe.
void set_stack_bounds(std::uint64_t low, std::uint64_t high) noexcept;

/// A number that a perf descriptor of ours had when it was armed: comes back in si_fd, on whichever
/// thread.
void add_perf_descriptor(int fd) noexcept;

/// Before the calling thread makes one that shares its thread-local storage: from now on the kernel
/// is asked at each sample who runs. Async-signal-safe.
void share_thread_locals() noexcept;

/// For the wall clock: the calling thread begins now, not with its first sample. Async-signal-safe.
void begin_thread() noexcept;

/// A slot for the calling thread, which runs no handler. Null: all are in use.
[[nodiscard]] ThreadState* claim_observer_slot(Area& area) noexcept;

/// The calling thread is ours, though it may run handlers: it is none of the program's. Before it
/// reports anything. Async-signal-safe.
void begin_as_observer() noexcept;

/// The calling thread will run no more code of the program: books its rest and gives its slot back.
/// Async-signal-safe.
void end_thread() noexcept;

/// Who unloads: the calling thread, which may run what goes, or anybody at any time.
enum class Unloader : std::uint8_t { this_thread, anybody };

/// Keeps the walk from reading tables of libraries that may go away, and forgets what is known of
/// them: `modules` is the same table under a new generation. Between the two calls only modules of
/// the table are walked, but on the thread that unloads. Waits until no handler reads others:
/// bounded by the longest handler.
void begin_unload(const unwind::ModuleTable* modules, Unloader unloader) noexcept;
/// Of the calling thread. `modules`: as above, for what it has read meanwhile; or null.
void end_unload(const unwind::ModuleTable* modules) noexcept;

/// The modules that a walk may look into; `libraries`: a LibraryReader allows those that came
/// later. Async-signal-safe.
[[nodiscard]] unwind::ModuleTable readable_modules(bool libraries) noexcept;
/// The rules of hot pcs. Async-signal-safe.
[[nodiscard]] unwind::RowCache row_cache() noexcept;
/// SampleRecord::stop. `named`: all libraries on the stack are.
[[nodiscard]] std::uint32_t stop_word(const unwind::WalkResult& walked, bool named) noexcept;

/// What the handler calls with each sample that it has taken: the interrupted pc, and the handler's
/// ucontext_t.
using SampleHit = void (*)(std::uint64_t pc, const void* context);
/// From now on `hit` is called, or nothing (null); a call may be under way for a moment longer.
/// Async-signal-safe.
void set_sample_hit(SampleHit hit) noexcept;
/// The stack of the sample that the calling thread's SampleHit is called with: at most `most`
/// addresses, leaf first, 0 for frames that were left out. Returns how many; 0 outside of it.
/// Async-signal-safe.
[[nodiscard]] std::uint32_t copy_sampled_stack(std::uint64_t* pcs, std::uint32_t most) noexcept;
/// The same of a stack that was walked.
[[nodiscard]] std::uint32_t copy_stack(const unwind::StackMemo& memo, std::uint64_t* pcs,
                                       std::uint32_t most) noexcept;

/// Copies a module record into the area. Not async-signal-safe, one caller at a time. False: no
/// room.
struct ModuleDescription {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t bias = 0;
    std::uint32_t flags = 0;
    const std::uint8_t* build_id = nullptr;
    std::size_t build_id_bytes = 0;
    const char* path = nullptr;
};
bool report_module(const ModuleDescription& module) noexcept;

/// Whether a sample of some process, with these words, was sent to one of its threads; perf's are
/// believed to be, as only their process knows its descriptors. Async-signal-safe.
[[nodiscard]] bool is_anybodys_sample(const siginfo_t& info) noexcept;

/// The signal handler (SA_SIGINFO | SA_ONSTACK | SA_RESTART, all signals blocked).
///
/// No allocation, no lock; of libc only what allowed_symbols.txt lists. No system call while
/// samples are regular, one read of the thread's clock after a gap; named_sites.txt lists the
/// others. At most 4 KiB of stack, which scripts/check-handler proves. Async-signal-safe. A sample
/// that cannot be taken is counted and its weight carried on. Source: signal(7), sigaction(2),
/// perf_event_open(2).
void on_signal(int signal, siginfo_t* info, void* context) noexcept;

}  // namespace sample::capture
