#include "analysis/instrumentation/markers.h"

#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sample::analysis {
namespace {

/// By a thread's id at first, less 1: its index in the profile.
std::vector<std::optional<std::uint32_t>> places_of(std::span<const trace::Thread> threads,
                                                    std::span<const trace::Thread> left) {
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> by_number;
    for (std::uint32_t i = 0; i < left.size(); ++i) {
        by_number.try_emplace({left[i].tid, left[i].start_ns}, i);
    }
    std::vector<std::optional<std::uint32_t>> places;
    for (const trace::Thread& thread : threads) {
        const auto found = by_number.find({thread.tid, thread.start_ns});
        places.push_back(found == by_number.end() ? std::nullopt : std::optional{found->second});
    }
    return places;
}

callgraph::FlowPoint::Step step_of(trace::FlowStep step) {
    using Step = callgraph::FlowPoint::Step;
    return step == trace::FlowStep::begin ? Step::begin
           : step == trace::FlowStep::end ? Step::end
                                          : Step::step;
}

void add_counters(callgraph::Profile& profile, const callgraph::Recording& recording,
                  const Everybody& everybody, const ProgramEvents& events) {
    for (const CounterSeries& series : events.counters) {
        const ProcessId process = series.spec.process;
        std::optional<std::uint32_t> pid;
        if (!process.is_none() && process.value <= everybody.pids.size()) {
            pid = everybody.pids[process.value - 1];
        }
        const auto is_its = [&](const callgraph::RecordedProcess& each) {
            return each.facts.pid == *pid;
        };
        if (pid &&
            std::none_of(recording.processes().begin(), recording.processes().end(), is_its)) {
            continue;
        }
        callgraph::CounterTrack& track = profile.counters.emplace_back();
        track.name = series.spec.name;
        track.pid = pid;
        track.is_memory = series.spec.is_memory;
        for (const CounterPoint& point : series.points) {
            track.points.push_back({recording.since_start(point.time_ns), point.value});
        }
    }
}

void add_notes(callgraph::Profile& profile, const ZoneSlices& zones) {
    if (const std::uint64_t left_out = zones.slices_left_out(); left_out != 0) {
        profile.stats.notes.push_back(
            fmt::format("the {} longest zones of the program's are in this file, and {} shorter "
                        "ones are not: --from and --to choose a part of the time",
                        grouped(zones.slices().size()), grouped(left_out)));
    }
    if (const std::uint64_t left_out = zones.flow_steps_left_out(); left_out != 0) {
        profile.stats.notes.push_back(
            fmt::format("{} steps of the program's flows are in this file, and {} of other flows "
                        "are not: --from and --to choose a part of the time",
                        grouped(zones.flows().size()), grouped(left_out)));
    }
}

}  // namespace

void add_markers(callgraph::Profile& profile, const callgraph::Recording& recording,
                 const Everybody& everybody, const ProgramEvents& events, const ZoneSlices& zones,
                 const Moments& moments) {
    const auto places = places_of(everybody.threads, recording.threads());
    const auto place = [&places](ThreadId id) {
        return id.is_none() || id.value > places.size() ? std::nullopt : places[id.value - 1];
    };
    for (const ZoneSlice& slice : zones.slices()) {
        if (const auto thread = place(slice.thread)) {
            profile.markers.push_back({zones.names().specs()[slice.name].name, "zone", thread,
                                       recording.since_start(slice.begin_ns),
                                       recording.since_start(slice.end_ns)});
        }
    }
    for (const FramesOfKind& of : events.frames) {
        for (const FrameSpan& frame : of.frames) {
            profile.markers.push_back({of.name, "frame", place(frame.thread),
                                       recording.since_start(frame.begin_ns),
                                       recording.since_start(frame.end_ns)});
        }
    }
    for (const Regions::Region& region : events.regions.all()) {
        if (!moments.has(region.begin_ns)) {
            continue;
        }
        profile.markers.push_back({events.regions.names()[region.name].name, "region",
                                   place(region.thread), recording.since_start(region.begin_ns),
                                   recording.since_start(region.end_ns.value_or(
                                       std::max(region.begin_ns, recording.last_time_ns())))});
    }
    for (std::size_t i = 0; i < events.messages.size(); ++i) {
        const Messages::Line line = events.messages.line(i);
        const std::int64_t time_ns = recording.since_start(line.time_ns);
        profile.markers.push_back({line.text, line.spec->is_bookmark ? "bookmark" : "log",
                                   place(line.thread), time_ns, time_ns});
    }
    for (const trace::Flow& point : zones.flows()) {
        if (const auto thread = place(point.thread)) {
            profile.flows.push_back(
                {point.flow, *thread, recording.since_start(point.time_ns), step_of(point.step)});
        }
    }
    add_counters(profile, recording, everybody, events);
    add_notes(profile, zones);
}

}  // namespace sample::analysis
