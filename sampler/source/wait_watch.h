// Notices which threads sleep and where, for the wall clock.
//
// A thread whose CPU clock has not moved since the last look sleeps, or waits for a processor. Its
// stack is taken once and carried forward until the clock moves. It is read as a copy, so that a
// stack that goes away while it is read harms nobody, and only believed if the clock stood still
// meanwhile. Of the registers the kernel tells the program counter and the stack pointer; a caller
// that needs another one is guessed, and said to be.
//
// Used by the sampling thread alone.
#pragma once

#include "sampler/capture/ring_records.h"
#include "sampler/capture/thread_state.h"
#include "sampler/source/thread_table.h"

#include <cstddef>
#include <cstdint>

namespace sample::source {

class WaitWatch {
public:
    /// Claims a slot for what is reported. Null afterwards if there is none: then nothing is.
    void begin(capture::Area& area, int task_folder) noexcept;

    /// `thread` was looked at, its clock read after `now` (ticks). `ran`: it has moved since the
    /// last time. `was_away`: that look came long ago, as this process was stopped, say.
    void look_at(WatchedThread& thread, bool ran, bool was_away, std::uint64_t now) noexcept;
    /// `thread` is no longer there.
    void lose(const WatchedThread& thread) noexcept;

private:
    void take_stack(WatchedThread& thread) noexcept;
    void report(const WatchedThread& thread, std::uint64_t ticks, std::uint64_t cpu_ns,
                capture::WaitKind kind) noexcept;

    capture::Area* area_ = nullptr;
    capture::ThreadState* slot_ = nullptr;
    int folder_ = 0;
    int self_ = 0;
    std::size_t max_depth_ = 0;
    std::uint64_t repeat_ticks_ = 0;  ///< A wait that goes on is reported this often.
};

}  // namespace sample::source
