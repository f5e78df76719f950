// Going to a thread's processor before a look, to stop it where it is when the look's time comes.
//
// A signal finds a thread that sleeps now and then where it is some 10 µs after the look, and the
// look keeps others from giving it work. Who sleeps on the thread's own processor until the look
// takes that from it, and the kernel says until when it ran. One owner. Async-signal-safe. Source:
// docs/sampling.md, "How it meets threads that sleep now and then".
#pragma once

#include "sampler/source/own_processor.h"
#include "sampler/source/tasks.h"

#include <cstdint>

namespace sample::source {

/// Where a thread was when the look came.
struct Met {
    bool ran_elsewhere = false;     ///< On another processor.
    Stopped stopped = Stopped::no;  ///< On this one.
};

/// Whether a thread of this process runs just now, on another processor. Who runs for a part of the
/// time that the answer takes is as likely to be met. `random`: of 2^32. Four clocks are read.
[[nodiscard]] bool runs_elsewhere(int tid, std::uint32_t random) noexcept;

class Visit {
public:
    /// By the calling thread, whose id is `self`, of threads below `folder`, a descriptor of
    /// /proc/self/task. Keeps two descriptors open until end().
    void begin(int folder, int self) noexcept;
    /// Not where the kernel does not tell until when threads ran.
    [[nodiscard]] bool is_possible() const noexcept { return is_possible_; }
    /// The calling thread goes where `tid` is or was last. False: it cannot, and what meet() finds
    /// is whether `tid` runs elsewhere. At most ten system calls, and the move.
    [[nodiscard]] bool pay(int tid, OwnProcessor& processor) noexcept;
    /// When it is time.
    void meet(std::uint32_t random) noexcept;
    [[nodiscard]] bool is_of(int tid) const noexcept { return tid == tid_; }
    /// What there is to say of the visited thread since meet().
    [[nodiscard]] const Met& met() const noexcept { return met_; }
    /// It has not run since it was met.
    [[nodiscard]] bool is_where_it_was() const noexcept;
    /// The visited thread has its processor for itself again.
    void call_off(OwnProcessor& processor) noexcept;
    void end(OwnProcessor& processor) noexcept;

private:
    static constexpr long kNoFile = -1;

    void forget() noexcept;

    int folder_ = 0;
    int tid_ = 0;  ///< 0: none.
    unsigned at_ = kNoProcessor;
    long sched_ = kNoFile;  ///< The visited thread's.
    long own_sched_ = kNoFile;
    long own_schedstat_ = kNoFile;
    ScheduleCounts before_;       ///< The calling thread's, before it sleeps.
    std::uint64_t until_ns_ = 0;  ///< The visited thread ran, when it was met.
    Met met_;
    bool is_possible_ = false;
    bool is_there_ = false;
};

}  // namespace sample::source
