// Zones and flows as they lie on their threads' time, for exports: a bounded number of them,
// however many a recording has.
//
// Of zones the longest are kept: what lies around another is at least as long, so no zone loses its
// outer one first. Of flows whole ones are, chosen evenly by their numbers.
#pragma once

#include "analysis/instrumentation/zone_names.h"
#include "analysis/instrumentation/zone_walk.h"
#include "core/ids.h"
#include "trace/instrumentation.h"
#include "trace/record_sink.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

namespace sample::analysis {

/// One stretch of a zone on one thread: a coroutine's zones have several.
struct ZoneSlice {
    ZoneNames::Index name = 0;
    ThreadId thread;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;

    [[nodiscard]] std::uint64_t length_ns() const noexcept { return end_ns - begin_ns; }
};

/// Feed it a whole recording.
class ZoneSlices final : public trace::RecordSink {
public:
    static constexpr std::size_t kMost = 200'000;

    /// Keeps at most `most` slices, and as many steps of flows; of those that begin where
    /// `is_inside` says (empty: everywhere). Memory: 50 bytes for each of the two.
    explicit ZoneSlices(std::size_t most = kMost,
                        std::function<bool(std::uint64_t time_ns)> is_inside = {})
        : most_{most}, is_inside_{std::move(is_inside)} {}
    ZoneSlices(const ZoneSlices&) = delete;
    ZoneSlices& operator=(const ZoneSlices&) = delete;
    ~ZoneSlices() override = default;

    void record(const trace::Record& /*record*/) override {}
    void node(const trace::StackNode& /*node*/) override {}
    void sample(const trace::Sample& /*sample*/) override {}
    /// O(1).
    void zone(const trace::ZoneEdge& edge) override { walk_.add(edge); }
    void instrumentation(const trace::Instrumentation& said) override;
    /// Behind the end of the recording, which was at `time_ns`: what is open ends there.
    void finish(std::uint64_t time_ns);

    [[nodiscard]] const ZoneNames& names() const noexcept { return names_; }
    /// By thread and beginning, outer ones first.
    [[nodiscard]] const std::vector<ZoneSlice>& slices() const noexcept { return slices_; }
    /// By time.
    [[nodiscard]] const std::vector<trace::Flow>& flows() const noexcept { return flows_; }
    [[nodiscard]] std::uint64_t slices_left_out() const noexcept { return slices_left_out_; }
    [[nodiscard]] std::uint64_t flow_steps_left_out() const noexcept { return steps_left_out_; }

private:
    friend class ZoneWalk<ZoneSlices>;

    struct Zone {
        ZoneNames::Index name = 0;
        std::uint64_t begin_ns = 0;  ///< Of the stretch that goes on.
    };
    struct Thread {
        ThreadId id;
        std::vector<Zone> open;
    };

    static Thread thread(ThreadId id) { return {id, {}}; }
    static void before(const Thread& /*thread*/, std::uint64_t /*time_ns*/) {}
    static Zone enter(const Thread& /*thread*/, ZoneNames::Index name, std::uint64_t time_ns,
                      bool /*is_new*/) {
        return {name, time_ns};
    }
    static void resume(Zone& zone, const Thread& /*thread*/, std::uint64_t time_ns) {
        zone.begin_ns = time_ns;
    }
    void leave(const Thread& thread, std::uint64_t time_ns, ZoneEnd how);
    static void abandon(const Zone& /*zone*/) {}

    void keep_longest();
    void add(const trace::Flow& flow);
    [[nodiscard]] bool is_wanted(std::uint64_t flow) const;

    std::size_t most_;
    std::function<bool(std::uint64_t)> is_inside_;
    ZoneNames names_;
    std::vector<ZoneSlice> slices_;  ///< Twice as many as are wanted at most, until the end.
    std::uint64_t slices_left_out_ = 0;
    std::vector<trace::Flow> flows_;
    std::uint64_t steps_left_out_ = 0;
    std::uint32_t halvings_ = 0;  ///< One flow in 2^halvings_ is wanted.
    ZoneWalk<ZoneSlices> walk_{names_, *this};
};

}  // namespace sample::analysis
