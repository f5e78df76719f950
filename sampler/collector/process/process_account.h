// One image of one process in the recording: its threads and their stacks, its code, its time.
//
// Time. The kernel's CPU clock of the process is the truth. Of it, a part was spent before sampling
// began, samples stand for most of the rest, and what is left when a thread or the process ends is
// booked as not sampled. So the sum over everything recorded equals the clock. Where weights count
// an event, the events' own count is the truth, and the rest is booked at the process's end.
//
// A sample weighs a period of the event's clock, which goes on while the hypervisor has taken the
// processor away, and where a sample came late the next one comes early. So weights may run ahead
// of the CPU clock, each thread's by a period or so; and from outside that clock counts a running
// thread only up to the scheduler's last tick. So nothing is written as it is handed in: in the
// order of time it waits until the clock has come so far (settle()). Where that takes too long,
// what came together shares what the clock has moved. It gets no more, and what it lacks is made
// up for as the clock catches up.
//
// Where samples come from is no matter here: threads go by the numbers that whoever hands them in
// gives them. Not thread-safe.
#pragma once

#include "sampler/collector/code/address_map.h"
#include "sampler/collector/instrumentation/lane_decoder.h"
#include "sampler/collector/process/area_sink.h"
#include "sampler/collector/process/off_stretches.h"
#include "sampler/collector/process/proc_files.h"
#include "sampler/collector/process/stack_nodes.h"
#include "sampler/collector/process/wait_ledger.h"
#include "sampler/collector/recorder.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::collector {

struct ProcessIdentity {
    pid_t pid = 0;
    pid_t parent = 0;
    bool same_pid_namespace = true;
    bool is_time = true;  ///< False: weights count an event, and clocks don't bear on them.
    std::uint64_t carried_cpu_ns = 0;    ///< Of the process's clock, spent by earlier images.
    std::uint64_t system_before_ns = 0;  ///< Of it, in the kernel before the agent had joined.
    std::string executable;
    std::string command_line;
    std::string source;
    std::string source_reason;
    InheritedCode inherited;
    std::shared_ptr<const FileRights> rights;  ///< On files, if less than ours.
};

/// What the kernel counts of a process.
struct ProcessCounts {
    std::optional<std::uint64_t> cpu_ns;  ///< Its clock, or nothing if it is not known any more.
    std::uint64_t events = 0;  ///< What its events counted, which stands for the clock where
                               ///< weights are no time.
    /// Of its clock, what it was in the kernel, if that was looked up.
    std::optional<std::uint64_t> system_ns = {};
};

/// How a process is sampled, which may change.
struct Sampling {
    std::uint64_t period_ns = 0;
    bool kernel_excluded = false;    ///< The source does not tick in the kernel.
    bool observes_waits = false;     ///< The session's clock is the wall's.
    std::uint32_t observer_tid = 0;  ///< The sampling thread, if there is one,
    std::uint64_t observer_cpu_ns =
        0;  ///< and its CPU time, which the process's clock counts, too.
};

class ProcessAccount final : public AreaSink {
public:
    ProcessAccount(ProcessIdentity identity, Recorder& recorder, const TickClock& clock);

    /// Writes the process. The recording has begun.
    void begin();
    /// Books what was spent before sampling began, when the process's clock said `cpu_ns`, on its
    /// first thread. Once, when that is known.
    void book_before_start(std::uint64_t cpu_ns);
    /// Holds for what is handed in from now on.
    void set_sampling(const Sampling& sampling) { sampling_ = sampling; }
    /// In a recording that begins later than its processes: here it does. What was counted until
    /// now is left out.
    void begin_sampling(const ProcessCounts& counts);
    /// Sampling goes off, and on again: what is used in between is in no figure.
    void stop_counting(const ProcessCounts& counts);
    void go_on_counting(const ProcessCounts& counts);
    /// Where the process's clock has moved by more than its threads: looks for workers of its
    /// io_uring, and books on each what it has used; and how long it was in the kernel, where the
    /// source does not see that.
    void look_for_unaccounted();
    /// Of the process's clock, what it was in the kernel, when that said `cpu_ns`. What no sample
    /// stands for is believed to be the kernel's no further than this goes.
    void note_system_time(std::uint64_t cpu_ns, std::uint64_t system_ns) {
        system_look_ = {cpu_ns, system_ns};
    }
    /// Books what threads without a slot have used or done, `weight` by now, apart from all others.
    void book_slotless(std::uint64_t weight);
    /// Whether there is anything that waits for settle().
    [[nodiscard]] bool has_due() const { return !due_.empty(); }
    /// Writes what was handed in since the last time. `cpu_ns`: the process's clock now, of which
    /// all that is recorded is a part; nothing: not known, and weights are believed. What the clock
    /// has not come to yet waits a while.
    void settle(std::optional<std::uint64_t> cpu_ns);
    /// Books what no sample stands for, and writes `end`, but for what is known here.
    void end(trace::ProcessEnd end, const ProcessCounts& counts);

    /// Of the image's clock, what is in no figure, until the sampling went off last.
    [[nodiscard]] std::uint64_t left_out_ns() const { return earlier_.cpu_ns; }
    /// Of the process's clock, what is recorded, what earlier images spent, and what our threads in
    /// it have used.
    [[nodiscard]] std::uint64_t accounted_cpu_ns() const {
        return identity_.carried_cpu_ns + sampling_.observer_cpu_ns + earlier_.cpu_ns +
               recorded_ns_;
    }

    /// What threads say goes through `decoder`, which outlives this; else it is dropped. Before
    /// begin().
    void set_decoder(LaneDecoder& decoder) { decoder_ = &decoder; }

    /// What names code that was made at run time, and what a forked child gets of it.
    [[nodiscard]] AddressMap& addresses() { return addresses_; }
    /// Threads that call themselves otherwise now, by slot. Now and then.
    using ThreadNames = std::vector<std::pair<std::uint32_t, std::string>>;
    [[nodiscard]] ThreadNames changed_thread_names();
    void rename_threads(const ThreadNames& names);
    /// Forgets ends of threads that are no longer of use. Now and then.
    void forget_ended();

    /// What samples of this image stand for, so far.
    [[nodiscard]] std::uint64_t seen_ns() const { return seen_ns_; }

    [[nodiscard]] const ProcessIdentity& identity() const { return identity_; }

    /// Where the thread of `writer` is.
    [[nodiscard]] NodeId place_of(const Writer& writer, const DrainedSample& sample);
    /// It has waited there, for so long, until `time_ns`.
    void add_wait(const Writer& writer, NodeId where, std::uint64_t ns, std::uint64_t time_ns);
    /// The same of one whose stack is not known.
    void add_wait(const Writer& writer, Pseudo what, std::uint64_t ns, std::uint64_t time_ns);

    void on_sample(const Writer& writer, const DrainedSample& sample) override;
    void on_thread_start(const Writer& writer, const capture::ThreadRecord& record) override;
    void on_thread_end(const Writer& writer, const capture::ThreadRecord& record) override;
    /// The thread was killed: it could not say its end.
    void on_thread_killed(const Writer& writer);
    void on_module(const Writer& writer, const capture::ModuleRecord& record,
                   const char* path) override;
    /// What lies from `start` up since `time_ns`, for all threads. `range` lacks the module's id.
    void add_module(trace::Module module, std::uint64_t start, AddressRanges::Range range,
                    std::uint64_t time_ns);
    void on_unload(const Writer& writer) override;
    void on_wait(const Writer& writer, const DrainedWait& wait) override;
    void on_stacks_dropped() override;
    void on_said(const Writer& writer, std::span<const std::uint64_t> words) override;
    bool on_unsaid(const Writer& writer, std::uint64_t zones, std::uint64_t others) override;

private:
    static constexpr std::size_t kMostOnlySeen = capture::kMaxThreads;
    struct ThreadState {
        ThreadId id;  ///< None: a thread of ours, which is not in the recording.
        std::uint32_t tid = 0;
        std::string name;
        std::uint64_t spent_before_ns = 0;
        std::uint64_t recorded_ns = 0;
        OffStretches off;  ///< Of its clock: when there was no sampling.
        ThreadStack stack;
        WaitLedger waits;                ///< For the wall clock.
        std::optional<NodeId> waits_at;  ///< Where it was last seen to wait, since it ran.
        std::uint64_t wait_cpu_ns = 0;   ///< Its clock then.
        SpeakingThread speaking;
        bool names_itself = false;
    };
    ThreadState& thread_of(const Writer& writer, std::uint64_t ticks);
    /// Threads go by the numbers that the process itself gives them.
    [[nodiscard]] ThreadNumbers thread_numbers() const {
        return {identity_.pid, identity_.same_pid_namespace};
    }
    /// Of `module`, which becomes whole, and its file. False: there is no room.
    [[nodiscard]] bool know_module(trace::Module& module, std::uint64_t start);
    void record_load(const AddressRanges::Range& range, std::uint64_t start, std::uint64_t time_ns);
    void end_said(ThreadState& thread, std::uint64_t time_ns);
    /// Of the counts, what is the program's in this image: of its CPU time, and of what is weighed.
    struct Used {
        std::uint64_t cpu_ns = 0;
        std::uint64_t weight = 0;
        std::uint64_t system_ns = 0;
    };
    [[nodiscard]] Used used(const ProcessCounts& counts) const;
    void leave_out(const Used& used);
    /// Visits all threads with their clocks.
    template <class Visit>
    void for_each_clock(Visit visit);
    /// Sampling goes on: what threads have used by now that no sample has met yet is in no figure.
    void note_unknown_threads();
    void add_due(const trace::Sample& sample);
    /// Takes off `thread`'s latest that waits what its clock says never was; returns what is left.
    [[nodiscard]] std::uint64_t take_back(ThreadId thread, std::uint64_t overdrawn_ns);
    /// What waits for the clock.
    [[nodiscard]] std::uint64_t due_ns() const;
    /// Of the process's clock, what could still be recorded.
    [[nodiscard]] std::uint64_t unrecorded_ns(std::uint64_t cpu_ns) const;
    /// Of what is due, so much is to be recorded; and of what was owed before, if `pays_owed`.
    [[nodiscard]] std::uint64_t payable(std::uint64_t due, std::optional<std::uint64_t> cpu_ns,
                                        bool pays_owed);
    /// Sorts what is due by time, and returns the first that waits for the clock.
    [[nodiscard]] std::vector<trace::Sample>::iterator sort_until(std::uint64_t covered_ns);
    /// Writes all that was handed in, as settle() does.
    void write_due(std::optional<std::uint64_t> cpu_ns, bool pays_owed = true);
    /// The first thread where it is known, else the one that came first; null: there is none.
    [[nodiscard]] ThreadState* main_thread();
    /// For what is no single thread's.
    ThreadId further_threads(std::uint64_t time_ns);
    /// Books what is recorded of less than `whole`, on the main thread.
    void book_rest_of_process(std::uint64_t whole, std::uint64_t time_ns,
                              std::optional<std::uint64_t> cpu_ns);
    void book(ThreadState& thread, Pseudo what, std::uint64_t weight_ns, std::uint64_t time_ns);
    /// Accounts for CPU time of a thread, measured at `time_ns`. Returns what is due of it: not
    /// what was used before the sampling began.
    [[nodiscard]] std::uint64_t account_for(ThreadState& thread, std::uint64_t weight_ns,
                                            std::uint64_t time_ns);
    struct Rest {
        std::uint64_t unseen_ns = 0;
        std::uint64_t not_sampled_ns = 0;
    };
    /// What no sample stands for, of so many threads; `cpu_ns`: the process's clock.
    [[nodiscard]] Rest divide(std::uint64_t rest_ns, std::size_t threads,
                              std::optional<std::uint64_t> cpu_ns) const;
    /// In the kernel, and not booked so.
    [[nodiscard]] std::uint64_t most_in_kernel(std::uint64_t cpu_ns) const;
    /// A thread of the recording.
    ThreadState new_thread(std::uint32_t tid, std::string name, std::uint64_t time_ns);
    /// Keeps what the threads say of libraries within its limit.
    void bound_libraries();
    void note_end(std::uint32_t tid, std::uint64_t time_ns);
    /// Whom the sampling thread has seen; null: it has ended meanwhile, and its time is known.
    ThreadState* seen_thread(const capture::WaitRecord& record);
    void record_wait(const ThreadState& thread, NodeId where, std::uint64_t ns,
                     std::uint64_t time_ns);
    void book_wait(const ThreadState& thread, Pseudo what, std::uint64_t ns, std::uint64_t time_ns);
    /// What a thread has waited for since it was last seen to.
    void book_waits(ThreadState& thread, std::uint64_t time_ns);
    void end_waits(std::uint64_t time_ns);
    /// Of the clock, what nothing stands for so far, not even what waits for it.
    [[nodiscard]] std::uint64_t unaccounted_ns(std::uint64_t cpu_ns) const;

    ProcessIdentity identity_;
    Recorder& recorder_;
    const TickClock& clock_;
    LaneDecoder* decoder_ = nullptr;
    Sampling sampling_;
    AddressMap addresses_;
    StackNodes stacks_;
    ProcessId id_;
    std::unordered_map<std::uint32_t, ThreadState> threads_;  ///< By slot.
    std::unordered_map<std::uint32_t, std::uint32_t> slots_;  ///< By thread id: the last it had.
    std::unordered_map<std::uint32_t, std::uint64_t> used_before_;  ///< note_unknown_threads().
    /// By thread id: seen from outside, but without a slot of their own.
    std::unordered_map<std::uint32_t, ThreadState> only_seen_;
    std::unordered_map<std::uint32_t, std::uint64_t> ended_ns_;  ///< When, by thread id.
    std::uint64_t seen_ns_ = 0;
    ThreadId further_;  ///< All that came when there was no room.
    std::uint64_t next_look_ns_ = 0;
    std::uint64_t unaccounted_at_look_ns_ = 0;
    std::uint64_t slotless_ = 0;       ///< Weight of those without a slot that is known of.
    std::size_t libraries_ = 0;        ///< Of all threads, at most.
    std::optional<ThreadState> main_;  ///< When its slot is gone before the process is.
    std::uint64_t started_ns_ = 0;
    std::vector<trace::Sample> due_;         ///< Handed in, and not written yet.
    std::uint64_t owed_ns_ = 0;              ///< Handed in, but the clock had not moved so far.
    std::uint64_t overdrawn_ns_ = 0;         ///< Of that, what threads' clocks say never was.
    std::uint64_t recorded_ns_ = 0;          ///< Of the process: samples, unseen and bookings.
    std::uint64_t booked_in_kernel_ns_ = 0;  ///< Of that.
    struct SystemLook {
        std::uint64_t cpu_ns = 0;
        std::uint64_t system_ns = 0;
    };
    SystemLook system_look_;                 ///< The last one.
    Used earlier_;                           ///< Before the sampling began, or while it was off,
    std::uint64_t earlier_observer_ns_ = 0;  ///< and of the sampling thread.
    struct Stop {
        Used used;
        std::uint64_t observer_ns = 0;
    };
    std::optional<Stop> stopped_;  ///< While sampling is off: what was used before.
};

}  // namespace sample::collector
