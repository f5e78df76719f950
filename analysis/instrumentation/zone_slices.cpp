#include "analysis/instrumentation/zone_slices.h"

#include <algorithm>
#include <tuple>

namespace sample::analysis {

void ZoneSlices::instrumentation(const trace::Instrumentation& said) {
    if (const auto* const spec = std::get_if<trace::ZoneSpec>(&said)) {
        names_.define(*spec);
    } else if (const auto* const flow = std::get_if<trace::Flow>(&said)) {
        add(*flow);
    }
}

void ZoneSlices::finish(std::uint64_t time_ns) {
    walk_.finish(time_ns);
    keep_longest();
    std::sort(slices_.begin(), slices_.end(), [](const ZoneSlice& left, const ZoneSlice& right) {
        return std::tuple{left.thread, left.begin_ns, right.end_ns} <
               std::tuple{right.thread, right.begin_ns, left.end_ns};
    });
    std::stable_sort(flows_.begin(), flows_.end(),
                     [](const trace::Flow& left, const trace::Flow& right) {
                         return left.time_ns < right.time_ns;
                     });
}

void ZoneSlices::leave(const Thread& thread, std::uint64_t time_ns, ZoneEnd /*how*/) {
    const Zone& zone = thread.open.back();
    if (is_inside_ && !is_inside_(zone.begin_ns)) {
        return;
    }
    slices_.push_back({zone.name, thread.id, zone.begin_ns, std::max(zone.begin_ns, time_ns)});
    if (slices_.size() >= 2 * most_) {
        keep_longest();
    }
}

void ZoneSlices::keep_longest() {
    if (slices_.size() <= most_) {
        return;
    }
    std::nth_element(slices_.begin(), slices_.begin() + static_cast<std::ptrdiff_t>(most_),
                     slices_.end(), [](const ZoneSlice& left, const ZoneSlice& right) {
                         return std::tuple{right.length_ns(), left.begin_ns, left.thread} <
                                std::tuple{left.length_ns(), right.begin_ns, right.thread};
                     });
    slices_left_out_ += slices_.size() - most_;
    slices_.resize(most_);
}

void ZoneSlices::add(const trace::Flow& flow) {
    if (is_inside_ && !is_inside_(flow.time_ns)) {
        return;
    }
    if (!is_wanted(flow.flow)) {
        ++steps_left_out_;
        return;
    }
    flows_.push_back(flow);
    while (flows_.size() > most_) {
        ++halvings_;
        steps_left_out_ +=
            std::erase_if(flows_, [this](const auto& each) { return !is_wanted(each.flow); });
    }
}

bool ZoneSlices::is_wanted(std::uint64_t flow) const {
    // Fibonacci hashing, as programs count their flows upwards. No half is left of one flow alone.
    constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;
    constexpr std::uint32_t kBits = 64;
    return halvings_ == 0 ||
           (halvings_ < kBits && (flow * kMultiplier) >> (kBits - halvings_) == 0);
}

}  // namespace sample::analysis
