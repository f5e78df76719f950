#include "analysis/instrumentation/program_events.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

namespace sample::analysis {

const FramesOfKind* ProgramEvents::frames_of(const std::string& kind) const {
    const auto found = std::find_if(frames.begin(), frames.end(), [&](const FramesOfKind& each) {
        return !each.frames.empty() &&
               (kind.empty() || each.name == kind || std::to_string(each.kind) == kind);
    });
    return found == frames.end() ? nullptr : &*found;
}

void ProgramEvents::keep(const std::function<bool(std::uint64_t)>& is_wanted) {
    for (FramesOfKind& of : frames) {
        std::erase_if(of.frames, [&](const FrameSpan& each) { return !is_wanted(each.begin_ns); });
    }
    for (CounterSeries& series : counters) {
        std::erase_if(series.points,
                      [&](const CounterPoint& each) { return !is_wanted(each.time_ns); });
    }
    std::erase_if(frames, [](const FramesOfKind& of) { return of.frames.empty(); });
    std::erase_if(counters, [](const CounterSeries& series) { return series.points.empty(); });
    messages.keep(is_wanted);
}

void ProgramEventsSink::instrumentation(const trace::Instrumentation& said) {
    std::visit(
        [this](const auto& one) {
            using Said = std::decay_t<decltype(one)>;
            if constexpr (std::is_same_v<Said, trace::FrameKind>) {
                frames_.define(one);
            } else if constexpr (std::is_same_v<Said, trace::FrameEdge>) {
                frames_.add(one);
            } else if constexpr (std::is_same_v<Said, trace::CounterSpec>) {
                counters_.define(one);
            } else if constexpr (std::is_same_v<Said, trace::CounterValue>) {
                counters_.add(one);
            } else if constexpr (std::is_same_v<Said, trace::MessageSpec>) {
                events_.messages.define(one);
            } else if constexpr (std::is_same_v<Said, trace::Message>) {
                events_.messages.add(one);
            } else if constexpr (std::is_same_v<Said, trace::RegionBegin> ||
                                 std::is_same_v<Said, trace::RegionEnd>) {
                events_.regions.add(one);
            } else if constexpr (std::is_same_v<Said, trace::Flow>) {
                flows_.insert(one.flow);
                ++events_.flow_steps;
            } else if constexpr (std::is_same_v<Said, trace::InstrumentationLoss>) {
                events_.lost_zones += one.zones;
                events_.lost_others += one.others;
            }
        },
        said);
}

ProgramEvents ProgramEventsSink::finish() && {
    events_.frames = std::move(frames_).finish();
    events_.counters = std::move(counters_).finish();
    events_.messages.finish();
    events_.flows = flows_.size();
    return std::move(events_);
}

}  // namespace sample::analysis
