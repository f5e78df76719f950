// The perf events that watch threads of other processes, and the rings that they write into.
//
// A thread is watched by one event a CPU, and all events of a CPU write into one ring: an event
// that follows a thread from CPU to CPU could not hand itself on to the threads that this one
// makes. Handed on by the kernel, an event is there before a new thread runs its first
// instruction; nothing has to look for threads but those that were made while events were being
// opened.
// A watched process is not stopped, gets no signal and no code, and can't tell that it is watched,
// but for the time that copying its stacks takes.
// With switches, there is one more event beside each of these, and where the kernel lets us one a
// CPU for wakings, whoever wakes: they write into the same rings.
// Source: perf_event_open(2), inherit; Linux kernel/events/core.c, perf_mmap(): "Don't allow mmap()
// of inherited per-task counters".
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "sampler/attach/event_records.h"
#include "sampler/attach/event_ring.h"
#include "sampler/collector/events/throttling.h"
#include "sampler/collector/session_options.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace sample::attach {

enum class Watching : std::uint8_t {
    threads,   ///< Those that it is told of, and those that these make.
    families,  ///< And the processes that they fork.
    machine,   ///< All of all processes: one event a CPU.
};

/// Not thread-safe.
class EventWatch {
public:
    /// So many bytes of a stack are copied at most.
    static constexpr std::uint32_t kMostStackBytes = 32768;

    EventWatch(std::uint64_t period_ns, Watching whom, collector::KernelFrames kernel,
               bool with_switches);

    /// Watches a thread, and all that it makes from now on. One that has ended meanwhile is no
    /// error, unless it is the first.
    /// Errors: system, with the errno of perf_event_open (EACCES, EPERM: refused; EMFILE: no more
    /// descriptors) or of the rings' mmap; permission, saying what to do: the kernel's frames are
    /// wanted, or switches, and this user may not see them.
    [[nodiscard]] Result<void> watch(pid_t tid);
    /// Watches the whole machine. Errors: as of watch().
    [[nodiscard]] Result<void> watch_machine() { return begin(kEveryThread); }
    [[nodiscard]] bool has_begun() const { return !rings_.empty(); }
    /// Whether it was told to watch(), or has begun under watch.
    [[nodiscard]] bool knows(pid_t tid) const { return known_.contains(tid); }
    void add_known(pid_t tid) { known_.insert(tid); }
    void forget(pid_t tid) { known_.erase(tid); }

    /// No thread is watched any more. What was written until now can be drained.
    void stop();
    /// After stop(): copies have so many bytes from now on, a multiple of 8. No thread is known.
    void begin_anew(std::uint32_t stack_bytes);
    [[nodiscard]] std::size_t known_threads() const { return known_.size(); }
    [[nodiscard]] std::uint32_t stack_bytes() const { return wishes_.stack_bytes; }

    /// Time inside the kernel is not sampled: this user may not.
    [[nodiscard]] bool excludes_kernel() const { return wishes_.exclude_kernel; }

    /// Why it is not told who wakes whom, for people; empty: it is.
    [[nodiscard]] const std::string& why_no_wakings() const { return why_no_wakings_; }

    /// How long rings may be left alone, so that they do not fill up.
    [[nodiscard]] int drain_ms() const;
    /// Hands out, in the order of time, what was written before `until`, by CLOCK_MONOTONIC. A
    /// record may be written a moment later than its time says.
    void drain(EventSink& sink, std::uint64_t until);

    /// What all events have counted.
    [[nodiscard]] collector::EventTimes times() const;

private:
    static constexpr pid_t kEveryThread = -1;  ///< Source: perf_event_open(2).

    struct Cpu {
        int number;
        std::size_t ring;  ///< Of rings_.
    };
    Fd open(pid_t tid, int cpu);
    /// Whether what is wished for beside samples may be seen.
    [[nodiscard]] Result<void> check_rights() const;
    /// One that has ended, or a CPU that is off, is no error.
    Result<void> watch_on(const Cpu& cpu, pid_t tid);
    Result<void> watch_switches(pid_t tid, const Cpu& cpu);
    /// Returns why it does not; empty: it does.
    [[nodiscard]] std::string watch_wakings();
    /// Finds out what this user may do, and makes the rings.
    Result<void> begin(pid_t tid);
    Result<void> make_rings(pid_t tid);

    EventWishes wishes_;
    collector::KernelFrames kernel_;
    std::vector<Cpu> cpus_;
    std::vector<Fd> events_;         ///< First those of the rings, one each.
    std::vector<Fd> switch_events_;  ///< One beside each, if these are watched.
    std::vector<Fd> waking_events_;  ///< One a CPU.
    std::string why_no_wakings_;
    collector::EventTimes past_;                     ///< Of those that are closed.
    std::vector<std::unique_ptr<EventRing>> rings_;  ///< Go before the events.
    std::unordered_set<pid_t> known_;
};

}  // namespace sample::attach
