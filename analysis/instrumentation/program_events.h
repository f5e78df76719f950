// What the programs of a recording said of themselves, but for their zones, of which there are too
// many to keep: those are counted here, and followed by whoever reads the file once more.
#pragma once

#include "analysis/instrumentation/counters.h"
#include "analysis/instrumentation/frames.h"
#include "analysis/instrumentation/messages.h"
#include "analysis/instrumentation/regions.h"
#include "trace/instrumentation.h"
#include "trace/record_sink.h"

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace sample::analysis {

struct ProgramEvents {
    std::uint64_t zones = 0;
    std::vector<FramesOfKind> frames;
    std::vector<CounterSeries> counters;
    Messages messages;
    Regions regions;
    std::uint64_t flows = 0;       ///< Different ones.
    std::uint64_t flow_steps = 0;  ///< With their beginnings and ends.
    std::uint64_t lost_zones = 0;
    std::uint64_t lost_others = 0;

    /// Of the kind that is called so, or has this number; of the first kind, if `kind` is empty.
    /// nullptr: there are none.
    [[nodiscard]] const FramesOfKind* frames_of(const std::string& kind) const;
    /// Drops frames that begin elsewhere, and values and messages of other times; what is counted
    /// alone stays, as do regions.
    void keep(const std::function<bool(std::uint64_t time_ns)>& is_wanted);
};

/// A sink that makes them; stacks, samples and records are not for it.
class ProgramEventsSink final : public trace::RecordSink {
public:
    void record(const trace::Record& /*record*/) override {}
    void node(const trace::StackNode& /*node*/) override {}
    void sample(const trace::Sample& /*sample*/) override {}
    void zone(const trace::ZoneEdge& edge) override {
        zones(edge.kind == trace::EdgeKind::begin ? 1 : 0);
    }
    [[nodiscard]] bool wants_edges() const override { return false; }
    void zones(std::uint64_t begun) override { events_.zones += begun; }
    void instrumentation(const trace::Instrumentation& said) override;

    /// Behind the end of the recording.
    [[nodiscard]] ProgramEvents finish() &&;

private:
    ProgramEvents events_;
    Frames frames_;
    Counters counters_;
    std::set<std::uint64_t> flows_;
};

}  // namespace sample::analysis
