// One image of one process that has joined: its shared area, which is drained into its account.
// Not thread-safe.
#pragma once

#include "sampler/collector/process/area_mapping.h"
#include "sampler/collector/process/area_reader.h"
#include "sampler/collector/process/process_account.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace sample::collector {

class ProfiledProcess {
public:
    ProfiledProcess(ProcessIdentity identity, std::shared_ptr<AreaMapping> mapping,
                    Recorder& recorder, const TickClock& clock);

    /// After the agent has its events: writes the process and what was spent before. `counts`:
    /// false while sampling is off.
    void begin(bool counts = true);
    /// Takes in what the threads have written.
    void drain();
    /// What names code that was made at run time, while it is this image's; end() does it, too.
    void take_names();
    /// Takes in the rest, and ends the account: see there.
    void end(trace::EndKind kind, int code, const ProcessCounts& counts);
    /// As the account's.
    void begin_sampling(const ProcessCounts& counts);
    /// The same.
    void stop_counting(const ProcessCounts& counts);
    void go_on_counting(const ProcessCounts& counts);
    /// It has died: /proc is asked no more. Whoever looks there for a process that its parent waits
    /// for just then may keep both in the kernel until a third one is done, for milliseconds on a
    /// busy machine. Source: Linux fs/dcache.c, d_invalidate, shrink_dcache_parent.
    void note_death() { has_died_ = true; }

    /// Frees what threads that were killed or never said good-bye have left. Now and then.
    void collect_dead_threads();
    /// Notes names of threads that changed. Now and then.
    void refresh_thread_names();
    /// Notes what the agent takes of the process's memory. Now and then.
    void measure_memory();
    /// Says how many samples were dropped since the last time. Now and then; end() does it, too.
    void tell_losses();

    /// Whether it is in the kernel so often, where its events do not see it, that its sampling
    /// thread, which stands by, would rather take over. One system call, mostly.
    [[nodiscard]] bool misses_the_kernel() const;
    /// Of its clock, what it was in the kernel, where its events do not see that and it has not
    /// died. 10 us.
    [[nodiscard]] std::optional<std::uint64_t> system_ns() const;

    [[nodiscard]] ProcessAccount& account() { return account_; }
    [[nodiscard]] const ProcessIdentity& identity() const { return account_.identity(); }
    [[nodiscard]] pid_t pid() const { return identity().pid; }
    /// Of the process's clock, what is in the recording, with earlier images' time.
    [[nodiscard]] std::uint64_t accounted_cpu_ns() const { return account_.accounted_cpu_ns(); }
    [[nodiscard]] std::uint64_t samples() const { return reader_.totals().samples; }
    /// CPU clock of the process when this image ended by exec or exit; 0 if it did not say.
    [[nodiscard]] std::uint64_t said_cpu_ns() const;

private:
    void measure_area();
    void read_sampling();
    void drain_area();
    [[nodiscard]] capture::Area& area() const { return mapping_->area(); }

    std::shared_ptr<AreaMapping> mapping_;
    Recorder& recorder_;
    const TickClock& clock_;
    AreaReader reader_;
    std::optional<LaneDecoder> decoder_;  ///< If somebody asks what it says.
    ProcessAccount account_;
    bool has_died_ = false;
    std::uint64_t resident_bytes_ = 0;
    std::uint64_t library_bytes_ = 0;
    std::uint64_t table_bytes_ = 0;
    std::uint64_t told_losses_ = 0;
};

}  // namespace sample::collector
