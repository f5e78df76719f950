#include "analysis/instrumentation/regions.h"

#include <algorithm>
#include <utility>

namespace sample::analysis {

std::uint32_t Regions::name_of(const std::string& name) {
    const auto [found, is_new] =
        index_of_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) {
        names_.emplace_back().name = name;
    }
    return found->second;
}

void Regions::add(const trace::RegionBegin& begin) {
    const std::uint32_t name = name_of(begin.name);
    names_[name].category = begin.category;
    edges_.push_back({begin.time_ns, begin.region, name, begin.thread, true});
}

void Regions::add(const trace::RegionEnd& end) {
    edges_.push_back(
        {end.time_ns, end.region, end.region == 0 ? name_of(end.name) : 0, end.thread, false});
}

std::vector<Regions::Region> Regions::all() const {
    std::vector<Edge> edges = edges_;
    // Of one time beginnings come first: a region of no length has both.
    std::stable_sort(edges.begin(), edges.end(), [](const Edge& left, const Edge& right) {
        return std::pair{left.time_ns, !left.is_begin} < std::pair{right.time_ns, !right.is_begin};
    });
    std::vector<Region> regions;
    // By number, or by name where that is 0: those that are open, the latest last.
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<std::size_t>> open;
    for (const Edge& edge : edges) {
        std::vector<std::size_t>& of = open[{edge.region, edge.region == 0 ? edge.name : 0}];
        if (edge.is_begin) {
            of.push_back(regions.size());
            regions.push_back({edge.name, edge.thread, edge.time_ns, std::nullopt});
        } else if (!of.empty()) {
            regions[of.back()].end_ns = edge.time_ns;
            of.pop_back();
        }
    }
    return regions;
}

std::vector<RegionTotals> Regions::totals(
    const std::function<bool(const Region&)>& is_wanted) const {
    std::vector<RegionTotals> totals = names_;
    for (const Region& region : all()) {
        if (is_wanted && !is_wanted(region)) {
            continue;
        }
        RegionTotals& of = totals[region.name];
        ++of.begun;
        if (region.end_ns) {
            of.durations.add(*region.end_ns - region.begin_ns);
        } else {
            ++of.open;
        }
    }
    std::erase_if(totals, [](const RegionTotals& region) { return region.begun == 0; });
    std::sort(totals.begin(), totals.end(),
              [](const auto& left, const auto& right) { return left.name < right.name; });
    return totals;
}

}  // namespace sample::analysis
