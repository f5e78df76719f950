#include "sampler/source/wait_watch.h"

#include "sampler/capture/capture.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/waits.h"
#include "sampler/source/tasks.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace sample::source {
namespace {

using capture::as_argument;
using capture::raw_syscall;
using capture::WaitKind;
using capture::WaitSighting;

/// What is copied of a stack, at most. Mostly its end comes sooner.
constexpr std::size_t kMostBytes = std::size_t{256} * 1024;
/// Leaf functions use this much below the stack pointer. Source: System V x86-64 psABI 3.2.2.
constexpr std::uint64_t kRedZone = 128;
/// Longer than any gap between two samples: a hundred periods.
constexpr std::uint64_t kRepeatPeriods = 100;

alignas(16) constinit std::array<std::byte, kMostBytes> g_stack{};
constinit std::array<FrameAddress, capture::kMaxDepth> g_frames{};

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kMostPages = kMostBytes / kPage + 1;

/// A byte a page from `first` on, odd where it is in memory; what is not mapped ends it. Source:
/// mincore(2).
std::array<unsigned char, kMostPages> pages_in_memory(std::uint64_t first) noexcept {
    constexpr std::uint64_t kEndOfAddresses = 0x7fff'ffff'f000;
    std::array<unsigned char, kMostPages> pages{};
    const std::uint64_t end = std::min(first + kMostPages * kPage, kEndOfAddresses);
    if (first < end) {
        raw_syscall(SYS_mincore, static_cast<long>(first), static_cast<long>(end - first),
                    as_argument(pages.data()));
    }
    return pages;
}

/// Copies a stack from the red zone below `sp` on. How many bytes of `out` are it. `self`: the
/// calling thread, as the process's id is its first thread's, which may have left.
///
/// Only pages that are in memory are read: what lies above a stack is anybody's, and reading a page
/// that nobody has touched could wait for a server of the program's (userfaultfd). Others are
/// filled with what is no address: a return address is on a page that was written.
std::size_t copy_stack(int self, std::uint64_t sp, std::span<std::byte> out) noexcept {
    const std::uint64_t low = sp - kRedZone;
    const std::uint64_t first = low & ~(kPage - 1);
    auto pages = pages_in_memory(first);
    pages[(sp - first) / kPage] = 1;
    std::array<iovec, kMostPages> from;
    std::array<iovec, kMostPages> to;
    std::size_t count = 0;
    for (std::uint64_t page = 0; page < pages.size(); ++page) {
        const std::uint64_t begin = std::max(first + page * kPage, low);
        const std::uint64_t end = std::min(first + (page + 1) * kPage, low + out.size());
        const std::span piece = out.subspan(begin - low, end - begin);
        if ((pages[page] & 1U) != 0) {
            from[count] = {reinterpret_cast<void*>(begin), piece.size()};
            to[count++] = {piece.data(), piece.size()};
        } else {
            __builtin_memset(piece.data(), 0xff, piece.size());
        }
    }
    long copied =
        raw_syscall(SYS_process_vm_readv, self, as_argument(to.data()), static_cast<long>(count),
                    as_argument(from.data()), static_cast<long>(count), 0);
    // A piece is copied whole or not at all, and none behind one that was not.
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count && copied >= static_cast<long>(to[i].iov_len); ++i) {
        copied -= static_cast<long>(to[i].iov_len);
        bytes = static_cast<std::size_t>(static_cast<std::byte*>(to[i].iov_base) - out.data()) +
                to[i].iov_len;
    }
    return bytes;
}

}  // namespace

void WaitWatch::begin(capture::Area& area, int task_folder) noexcept {
    area_ = &area;
    folder_ = task_folder;
    self_ = static_cast<int>(raw_syscall(SYS_gettid));
    slot_ = capture::claim_observer_slot(area);
    if (slot_ != nullptr) {
        area.header.observer_slot_plus_one.store(slot_->slot_index + 1);
    }
    const std::size_t max_depth = area.header.max_depth;
    max_depth_ = max_depth == 0 || max_depth > g_frames.size() ? g_frames.size() : max_depth;
    repeat_ticks_ = area.header.period_ticks * kRepeatPeriods;
}

void WaitWatch::report(const WatchedThread& thread, std::uint64_t ticks, std::uint64_t cpu_ns,
                       WaitKind kind) noexcept {
    capture::report_clocks(*area_, *slot_,
                           {static_cast<std::uint32_t>(thread.tid), ticks, cpu_ns,
                            schedule_counts(folder_, thread.tid).wait_ns},
                           kind);
}

void WaitWatch::lose(const WatchedThread& thread) noexcept {
    if (slot_ != nullptr && thread.wait.waits) {
        report(thread, thread.wait.unchanged_ticks, thread.wait.cpu_ns, WaitKind::ended);
    }
}

void WaitWatch::look_at(WatchedThread& thread, bool ran, bool was_away,
                        std::uint64_t now) noexcept {
    if (slot_ == nullptr) {
        return;
    }
    WaitProgress& wait = thread.wait;
    if (wait.waits && !ran) {
        wait.unchanged_ticks = now;
    } else if (wait.waits) {
        // Somewhere between the last look and this one.
        report(thread, wait.unchanged_ticks, wait.cpu_ns, WaitKind::ended);
        wait.waits = false;
    }
    if (was_away && ran) {
        report(thread, now, thread.choice.cpu_ns(), WaitKind::missed);
    }
    if (!wait.waits && cpu_ns_of(thread.tid) == thread.choice.cpu_ns()) {
        take_stack(thread);
    }
    if (now > wait.reported_ticks + repeat_ticks_) {
        wait.reported_ticks = now;
        // The kernel counts a wait for a processor when it ends: until then it would be sleep.
        if (!wait.waits || task_state(folder_, thread.tid).kind == TaskState::Kind::asleep) {
            report(thread, now, thread.choice.cpu_ns(),
                   wait.waits ? WaitKind::goes_on : WaitKind::clocks);
        }
    }
}

void WaitWatch::take_stack(WatchedThread& thread) noexcept {
    const TaskState state = task_state(folder_, thread.tid);
    // Of a thread that is gone nothing is told either; of this one something is always.
    if (state.kind == TaskState::Kind::unknown && area_->header.waits_hidden.load() == 0 &&
        task_state(folder_, self_).kind == TaskState::Kind::unknown) {
        area_->header.waits_hidden.store(1);
    }
    if (state.kind != TaskState::Kind::asleep) {
        return;
    }
    const std::uint64_t ticks = capture::read_ticks();
    unwind::Registers registers{};
    registers.value[unwind::Registers::kPc] = state.pc;
    registers.value[unwind::Registers::kSp] = state.sp;
    const std::size_t copied = copy_stack(self_, state.sp, g_stack);
    const WaitSighting seen{static_cast<std::uint32_t>(thread.tid), ticks, thread.choice.cpu_ns(),
                            schedule_counts(folder_, thread.tid).wait_ns};
    if (cpu_ns_of(thread.tid) != seen.cpu_ns) {
        return;  // it woke up: what was copied may be of two stacks
    }
    auto memory =
        unwind::StackMemory::recorded(state.sp - kRedZone, std::span{g_stack}.first(copied));
    capture::report_wait(*area_, *slot_, seen, registers, memory,
                         std::span{g_frames}.first(max_depth_));
    thread.wait = {ticks, ticks, seen.cpu_ns, true};
}

}  // namespace sample::source
