// A profile as one of its metrics weighs it: for formats that show each of them.
#pragma once

#include "callgraph/profile.h"

#include <cstdint>
#include <vector>

namespace sample::exports {

/// Refers to the profile, which must outlive it, unchanged. Cheap to copy.
class MetricView {
public:
    /// By the profile's own metric.
    MetricView(const callgraph::Profile& profile)  // NOLINT(google-explicit-constructor)
        : profile_{&profile} {}
    MetricView(const callgraph::Profile& profile, const callgraph::FurtherMetric& further)
        : profile_{&profile}, further_{&further} {}

    [[nodiscard]] const callgraph::Profile& profile() const { return *profile_; }
    [[nodiscard]] bool is_own() const { return further_ == nullptr; }
    [[nodiscard]] const callgraph::Metric& metric() const {
        return is_own() ? profile_->metric : further_->metric;
    }
    [[nodiscard]] bool is_time() const { return metric().unit.empty(); }
    /// nullptr: none.
    [[nodiscard]] const callgraph::Timeline* timeline() const {
        const auto& timeline = is_own() ? profile_->timeline : further_->timeline;
        return timeline ? &*timeline : nullptr;
    }
    /// What was spent at the node itself.
    [[nodiscard]] std::uint64_t self(NodeId node) const {
        return is_own() ? profile_->node(node).self : further_->selves[node.value];
    }
    /// Likewise; 0 where that is not known.
    [[nodiscard]] std::uint64_t self_samples(NodeId node) const {
        return is_own() ? profile_->node(node).self_samples : 0;
    }

private:
    const callgraph::Profile* profile_;
    const callgraph::FurtherMetric* further_ = nullptr;
};

/// Each metric of the profile, its own first.
[[nodiscard]] inline std::vector<MetricView> views_of(const callgraph::Profile& profile) {
    std::vector<MetricView> views{profile};
    for (const callgraph::FurtherMetric& each : profile.further) {
        views.emplace_back(profile, each);
    }
    return views;
}

}  // namespace sample::exports
