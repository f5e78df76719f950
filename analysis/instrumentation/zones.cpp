#include "analysis/instrumentation/zones.h"

#include <algorithm>

namespace sample::analysis {

void Zones::before(Thread& thread, std::uint64_t time_ns) {
    thread.samples.until(static_cast<std::int64_t>(time_ns - start_ns_),
                         [&](const callgraph::TimedWeight& sample) {
                             if (sample.is_booking) {
                                 return;
                             }
                             thread.sampled += sample.weight;
                             if (!thread.open.empty() && thread.open.back().is_counted) {
                                 totals_[thread.open.back().name].sampled_self += sample.weight;
                             }
                         });
}

Zones::Zone Zones::enter(Thread& thread, ZoneNames::Index name, std::uint64_t time_ns,
                         bool is_new) {
    if (totals_.size() <= name) {
        totals_.resize(names_.specs().size());
    }
    Zone zone;
    zone.name = name;
    zone.is_counted = !is_inside_ || is_inside_(time_ns);
    totals_[name].begun += is_new && zone.is_counted ? 1 : 0;
    resume(zone, thread, time_ns);
    return zone;
}

void Zones::resume(Zone& zone, Thread& thread, std::uint64_t time_ns) {
    if (thread.depth.size() <= zone.name) {
        thread.depth.resize(names_.specs().size());
    }
    zone.is_outermost = zone.is_counted && thread.depth[zone.name] == 0;
    thread.depth[zone.name] += zone.is_counted ? 1 : 0;
    zone.begin_ns = time_ns;
    zone.inside_ns = 0;
    zone.sampled_at = thread.sampled;
}

void Zones::leave(Thread& thread, std::uint64_t time_ns, ZoneEnd how) {
    Zone& zone = thread.open.back();
    const std::uint64_t stretch_ns = time_ns - std::min(zone.begin_ns, time_ns);
    zone.ran_ns += stretch_ns;
    if (thread.open.size() > 1) {
        thread.open[thread.open.size() - 2].inside_ns += stretch_ns;
    }
    if (!zone.is_counted) {
        return;
    }
    --thread.depth[zone.name];
    ZoneTotals& totals = totals_[zone.name];
    totals.self_ns += stretch_ns - std::min(zone.inside_ns, stretch_ns);
    if (zone.is_outermost) {
        totals.total_ns += stretch_ns;
        totals.sampled += thread.sampled - zone.sampled_at;
    }
    if (how == ZoneEnd::ended) {
        totals.durations.add(zone.ran_ns);
    }
    totals.open += how == ZoneEnd::never ? 1 : 0;
}

}  // namespace sample::analysis
