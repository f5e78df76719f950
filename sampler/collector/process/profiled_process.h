// One image of one process while it is recorded: its area, its events, its threads, its time.
//
// Time. The kernel's CPU clock of the process is the truth. Of it, `before_start` was spent before
// the agent was ready, samples stand for most of the rest, and what is left when a thread or the
// process ends is booked as not sampled. So the sum over everything recorded equals the clock.
// Where weights count an event, the events' own count is the truth, and the rest is booked at the
// process's end. Not thread-safe, but for gate(): see gatekeeper.h.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "sampler/capture/area.h"
#include "sampler/collector/code/address_map.h"
#include "sampler/collector/events/gatekeeper.h"
#include "sampler/collector/process/area_reader.h"
#include "sampler/collector/process/stack_nodes.h"
#include "sampler/collector/process/wait_ledger.h"
#include "sampler/collector/recorder.h"
#include "sampler/control/protocol.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace sample::collector {

/// A mapping of an area, shared with the gatekeeper's thread.
class AreaMapping {
public:
    /// A new, sealed memfd with an area in it. `max_depth` is the area's.
    static Result<std::shared_ptr<AreaMapping>> create(std::uint64_t period_ns, double ticks_per_ns,
                                                       bool is_root, std::uint32_t max_depth);
    AreaMapping(Fd fd, capture::AreaStart& start, std::size_t chunk_groups)
        : fd_{std::move(fd)}, area_{start, chunk_groups} {}
    AreaMapping(const AreaMapping&) = delete;
    AreaMapping& operator=(const AreaMapping&) = delete;
    ~AreaMapping();

    [[nodiscard]] capture::Area& area() { return area_; }
    [[nodiscard]] int fd() const { return fd_.get(); }
    /// Memory behind it, in this process or the target.
    [[nodiscard]] std::uint64_t resident_bytes() const;

private:
    Fd fd_;
    capture::Area area_;
};

class ProfiledProcess final : public RecordSink {
public:
    struct Identity {
        pid_t pid = 0;
        pid_t parent = 0;
        bool same_pid_namespace = true;
        bool is_time = true;  ///< False: weights count an event, and clocks don't bear on them.
        std::uint64_t carried_cpu_ns = 0;  ///< Of the process's clock, spent by earlier images.
        std::string executable;
        std::string command_line;
        std::string source;
        std::string source_reason;
        InheritedCode inherited;
        std::shared_ptr<const FileRights> rights;  ///< On files, if less than ours.
    };

    ProfiledProcess(Identity identity, std::shared_ptr<AreaMapping> mapping, Recorder& recorder,
                    const TickClock& clock);

    /// After the agent has its events: writes the process and what was spent before.
    void begin();
    /// Takes in what the threads have written.
    void drain();
    /// What names code that was made at run time, while it is this image's; end() does it, too.
    void take_names();
    /// What a child got that it forks now; the process knows itself as `own_pid`.
    [[nodiscard]] InheritedCode code_for_child(pid_t own_pid);
    /// Takes in the rest, books what no sample stands for, and writes the end. `cpu_ns`: the
    /// process's clock, or nothing if it is not known any more. `counted`: what its events counted,
    /// which stands for the clock where weights are no time.
    void end(trace::EndKind kind, int code, std::optional<std::uint64_t> cpu_ns,
             std::uint64_t counted = 0);
    /// It has died: /proc is asked no more. Whoever looks there for a process that its parent waits
    /// for just then may keep both in the kernel until a third one is done, for milliseconds on a
    /// busy machine. Source: Linux fs/dcache.c, d_invalidate, shrink_dcache_parent.
    void note_death() { has_died_ = true; }

    /// Frees what threads that were killed or never said good-bye have left. Now and then.
    void collect_dead_threads();
    /// Notes names that changed. Now and then.
    void refresh_thread_names();
    /// Notes what the agent takes of the process's memory. Now and then.
    void measure_memory();

    [[nodiscard]] pid_t pid() const { return identity_.pid; }
    [[nodiscard]] const Identity& identity() const { return identity_; }
    [[nodiscard]] ProcessId id() const { return id_; }
    [[nodiscard]] capture::Area& area() { return mapping_->area(); }
    [[nodiscard]] std::uint64_t started_ns() const { return started_ns_; }
    [[nodiscard]] std::uint64_t samples() const { return reader_.totals().samples; }
    /// CPU clock of the process when this image ended by exec or exit; 0 if it did not say.
    [[nodiscard]] std::uint64_t said_cpu_ns() const;

    void on_sample(std::uint32_t slot, const DrainedSample& sample) override;
    void on_thread_start(std::uint32_t slot, const capture::ThreadRecord& record) override;
    void on_thread_end(std::uint32_t slot, const capture::ThreadRecord& record) override;
    void on_module(std::uint32_t slot, const capture::ModuleRecord& record,
                   const char* path) override;
    void on_unload(std::uint32_t slot) override;
    void on_wait(std::uint32_t slot, const DrainedWait& wait) override;
    void on_stacks_dropped() override;

private:
    struct ThreadState {
        ThreadId id;
        std::uint32_t tid = 0;
        std::string name;
        std::uint64_t spent_before_ns = 0;
        std::uint64_t recorded_ns = 0;
        ThreadStack stack;
        WaitLedger waits;                ///< For the wall clock.
        std::optional<NodeId> waits_at;  ///< Where it was last seen to wait, since it ran.
        std::uint64_t wait_cpu_ns = 0;   ///< Its clock then.
    };
    void measure_area();
    ThreadState& thread_of(std::uint32_t slot, std::uint64_t ticks);
    /// Books what is recorded of less than `whole`, on the main thread.
    void book_rest_of_process(std::uint64_t whole, std::uint64_t time_ns);
    void book(ThreadState& thread, Pseudo what, std::uint64_t weight_ns, std::uint64_t time_ns);
    /// What no sample stands for, of so many threads.
    void book_rest(ThreadState& thread, std::uint64_t rest_ns, std::uint64_t time_ns,
                   std::size_t threads);
    /// A thread of the recording.
    ThreadState new_thread(std::uint32_t tid, std::string name, std::uint64_t time_ns);
    /// Keeps what the threads say of libraries within its limit.
    void bound_libraries();
    void note_end(std::uint32_t tid, std::uint64_t time_ns);
    /// Ends that are no longer of use.
    void forget_ended();
    [[nodiscard]] bool observes_waits();
    /// Whom the sampling thread has seen; null: it has ended meanwhile, and its time is known.
    ThreadState* seen_thread(const capture::WaitRecord& record);
    /// What a thread has waited for since it was last seen to.
    void book_waits(ThreadState& thread, std::uint64_t time_ns);
    void end_waits(std::uint64_t time_ns);
    /// The sampling thread's own CPU time, which is the process's, too.
    void book_observer(std::uint64_t time_ns);

    Identity identity_;
    bool has_died_ = false;
    std::shared_ptr<AreaMapping> mapping_;
    Recorder& recorder_;
    const TickClock& clock_;
    AreaReader reader_;
    AddressMap addresses_;
    StackNodes stacks_;
    ProcessId id_;
    std::unordered_map<std::uint32_t, ThreadState> threads_;  ///< By slot.
    std::unordered_map<std::uint32_t, std::uint32_t> slots_;  ///< By thread id: the last it had.
    /// By thread id: seen by the sampling thread, but without a slot of their own.
    std::unordered_map<std::uint32_t, ThreadState> only_seen_;
    std::unordered_map<std::uint32_t, std::uint64_t> ended_ns_;  ///< When, by thread id.
    ThreadId further_;                 ///< All that came when there was no room.
    std::size_t libraries_ = 0;        ///< Of all threads, at most.
    std::optional<ThreadState> main_;  ///< When its slot is gone before the process is.
    std::uint64_t started_ns_ = 0;
    std::uint64_t before_start_ns_ = 0;
    std::uint64_t recorded_ns_ = 0;  ///< Of the process: samples, unseen and bookings.
    std::uint64_t resident_bytes_ = 0;
    std::uint64_t library_bytes_ = 0;
    std::uint64_t table_bytes_ = 0;
};

}  // namespace sample::collector
