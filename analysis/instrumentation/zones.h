// How often each zone ran, how long, and how much of what was sampled was sampled inside it.
//
// Feed it the edges; what they add up to is kept by name, so a hundred million zones need no more
// room than their names. The CPU time is that of the thread's samples: one at time t is inside a
// zone that began at t or before and ends after t, whatever its weight stands for.
#pragma once

#include "analysis/instrumentation/duration_histogram.h"
#include "analysis/instrumentation/sample_cursor.h"
#include "analysis/instrumentation/zone_names.h"
#include "analysis/instrumentation/zone_walk.h"
#include "callgraph/timeline.h"
#include "core/ids.h"
#include "trace/instrumentation.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace sample::analysis {

/// A thread's samples; nullptr: it has none.
using SamplesOf = std::function<std::shared_ptr<const callgraph::SampleSeries>(ThreadId)>;

/// Of all zones of one name.
struct ZoneTotals {
    std::uint64_t begun = 0;
    std::uint64_t open = 0;  ///< Of those, never ended.
    /// A zone inside one of the same name counts once; those without an end until the recording's,
    /// and those of coroutines only while they ran.
    std::uint64_t total_ns = 0;
    std::uint64_t self_ns = 0;       ///< Less what zones inside them took.
    DurationHistogram durations;     ///< Of those that ended.
    std::uint64_t sampled = 0;       ///< Weight of the samples inside, recursion counted once.
    std::uint64_t sampled_self = 0;  ///< Of the samples that this was the innermost zone of.
};

class Zones {
public:
    /// Times of samples count from `start_ns`. Only zones that begin where `is_inside` says are
    /// counted, with all that they are; empty: everywhere.
    Zones(std::uint64_t start_ns, SamplesOf samples_of,
          std::function<bool(std::uint64_t time_ns)> is_inside = {})
        : start_ns_{start_ns},
          samples_of_{std::move(samples_of)},
          is_inside_{std::move(is_inside)} {}
    Zones(const Zones&) = delete;
    Zones& operator=(const Zones&) = delete;
    ~Zones() = default;

    void define(const trace::ZoneSpec& spec) { names_.define(spec); }
    /// Those of one thread by time; of different ones in any order. O(1).
    void add(const trace::ZoneEdge& edge) { walk_.add(edge); }
    /// Behind the last edge: the recording ended at `time_ns`.
    void finish(std::uint64_t time_ns) { walk_.finish(time_ns); }

    [[nodiscard]] const ZoneNames& names() const noexcept { return names_; }
    /// By index of names().specs(); may be shorter.
    [[nodiscard]] const std::vector<ZoneTotals>& totals() const noexcept { return totals_; }
    [[nodiscard]] std::uint64_t ends_without_begin() const noexcept {
        return walk_.ends_without_begin();
    }

private:
    friend class ZoneWalk<Zones>;

    struct Zone {
        ZoneNames::Index name = 0;
        bool is_outermost = false;  ///< Of its name, on this thread.
        bool is_counted = false;
        std::uint64_t begin_ns = 0;    ///< Of the stretch that goes on.
        std::uint64_t ran_ns = 0;      ///< In earlier stretches.
        std::uint64_t inside_ns = 0;   ///< In zones directly inside, of this stretch.
        std::uint64_t sampled_at = 0;  ///< Thread::sampled when the stretch began.
    };
    struct Thread {
        std::vector<Zone> open;
        SampleCursor samples;
        std::uint64_t sampled = 0;         ///< So far, all of it.
        std::vector<std::uint32_t> depth;  ///< By name: how many are open.
    };

    Thread thread(ThreadId id) { return {{}, SampleCursor{samples_of_(id)}, 0, {}}; }
    void before(Thread& thread, std::uint64_t time_ns);
    Zone enter(Thread& thread, ZoneNames::Index name, std::uint64_t time_ns, bool is_new);
    void resume(Zone& zone, Thread& thread, std::uint64_t time_ns);
    void leave(Thread& thread, std::uint64_t time_ns, ZoneEnd how);
    void abandon(const Zone& zone) { totals_[zone.name].open += zone.is_counted ? 1 : 0; }

    std::uint64_t start_ns_;
    SamplesOf samples_of_;
    std::function<bool(std::uint64_t)> is_inside_;
    ZoneNames names_;
    std::vector<ZoneTotals> totals_;
    ZoneWalk<Zones> walk_{names_, *this};
};

}  // namespace sample::analysis
