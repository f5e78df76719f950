// Samples and what their program said meanwhile, brought together: which samples are looked at, and
// what each is labelled with.
//
// A sample is where its time is: one at time t is inside a zone, a frame or a stretch that begins
// at t or before and ends after t, with all that it weighs.
#pragma once

#include "analysis/instrumentation/moments.h"
#include "analysis/instrumentation/program_events.h"
#include "callgraph/recording.h"
#include "core/result.h"
#include "trace/record_sink.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sample::analysis {

/// What is told apart on the top level of a callgraph.
enum class LabelBy : std::uint8_t {
    nothing,
    zone,   ///< The innermost one.
    frame,  ///< Of the kind that moments.frames names, or of the first.
};

struct LabelChoice {
    MomentChoice moments;
    std::vector<std::string> in_zones;  ///< Only samples in a zone that is called so; empty: all.
    LabelBy by = LabelBy::nothing;
    bool zones = false;  ///< Open zones have nodes, above the code that ran in them.

    [[nodiscard]] bool is_restricted() const {
        return !in_zones.empty() || !moments.is_everything();
    }
    [[nodiscard]] bool needs_zones() const {
        return !in_zones.empty() || zones || by == LabelBy::zone;
    }
    [[nodiscard]] bool is_nothing() const {
        return !is_restricted() && !needs_zones() && by == LabelBy::nothing;
    }
};

/// What samples were restricted to.
struct Restriction {
    std::string words;                       ///< For people; empty: they were not.
    std::optional<std::uint64_t> chosen_ns;  ///< How long the chosen moments are; none: all.
};

/// Hands the same recording to a sink once more.
using ReadAgain = std::function<Result<void>(trace::RecordSink&)>;

/// Labels the samples of `recording`, which has kept their times and all its threads, and drops
/// those that were not chosen. What a clock booked without a stack is in no zone and at no time of
/// its own: it is dropped wherever anything is. Returns what it was restricted to, in figures of
/// `metric`. Reads again only for zones. Errors: not_found, if nothing is called so, or no sample
/// of the metric is left; those of `read_again`.
[[nodiscard]] Result<Restriction> label_samples(callgraph::Recording& recording,
                                                const ProgramEvents& events,
                                                const LabelChoice& choice, MetricId metric,
                                                const ReadAgain& read_again);

}  // namespace sample::analysis
