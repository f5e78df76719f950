// Tells the collector where a thread waits, as seen by another one.
//
// A sleeping thread takes no samples, and waking it to take one would change what the program does.
// So for the wall clock a thread of ours (source/sampling_thread.h) finds out where it sleeps and
// writes that into a slot of its own. How long is the collector's to say, from the clocks.
// No system calls. Async-signal-safe.
#pragma once

#include "sampler/capture/ring_records.h"
#include "sampler/capture/thread_state.h"
#include "unwind/walk/registers.h"
#include "unwind/walk/stack_memory.h"
#include "unwind/walk/walk.h"

#include <cstdint>
#include <span>

namespace sample::capture {

struct WaitSighting {
    std::uint32_t tid = 0;
    std::uint64_t ticks = 0;
    std::uint64_t cpu_ns = 0;             ///< The thread's CPU clock, unmoved while it was seen.
    std::uint64_t processor_wait_ns = 0;  ///< What it has waited for a processor since it began.
};

/// The thread waits in the stack that begins at `registers` and lies in `memory`. `frames` is room
/// for the walk. Returns why the walk ended; a report for which there is no room is lost, and its
/// time goes to the next.
unwind::StopReason report_wait(Area& area, ThreadState& thread, const WaitSighting& seen,
                               const unwind::Registers& registers, unwind::StackMemory& memory,
                               std::span<FrameAddress> frames) noexcept;

/// Its clocks, and what `kind` says of the wait that was reported last.
void report_clocks(Area& area, ThreadState& thread, const WaitSighting& seen,
                   WaitKind kind) noexcept;

}  // namespace sample::capture
