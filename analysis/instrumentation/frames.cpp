#include "analysis/instrumentation/frames.h"

#include "core/units.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sample::analysis {

std::vector<std::uint32_t> FramesOfKind::slowest() const {
    std::vector<std::uint32_t> order(frames.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
        return frames[left].length_ns() > frames[right].length_ns();
    });
    return order;
}

std::vector<std::uint64_t> FramesOfKind::lengths_ns() const {
    std::vector<std::uint64_t> lengths;
    lengths.reserve(frames.size());
    for (const FrameSpan& frame : frames) {
        lengths.push_back(frame.length_ns());
    }
    std::sort(lengths.begin(), lengths.end());
    return lengths;
}

double FramesOfKind::per_second() const {
    std::uint64_t end_ns = 0;
    for (const FrameSpan& frame : frames) {
        end_ns = std::max(end_ns, frame.end_ns);
    }
    const std::uint64_t took_ns = frames.empty() ? 0 : end_ns - frames.front().begin_ns;
    return took_ns == 0
               ? 0
               : static_cast<double>(frames.size()) * kNsPerSecond / static_cast<double>(took_ns);
}

std::uint64_t quantile(const std::vector<std::uint64_t>& ascending, double share) {
    if (ascending.empty()) {
        return 0;
    }
    const auto rank =
        static_cast<std::size_t>(std::ceil(share * static_cast<double>(ascending.size())));
    return ascending[std::clamp<std::size_t>(rank, 1, ascending.size()) - 1];
}

void Frames::add(const trace::FrameEdge& edge) {
    FramesOfKind& kind = kinds_[edge.kind];
    Open& open = open_[{edge.thread, edge.kind}];
    if (open.is_open && edge.time_ns >= open.begin_ns) {
        kind.frames.push_back({open.begin_ns, edge.time_ns, edge.thread});
    } else if (!edge.is_begin) {
        ++kind.unfinished;
    }
    open = {edge.is_begin, edge.time_ns};
}

std::vector<FramesOfKind> Frames::finish() && {
    for (const auto& [of, open] : open_) {
        kinds_[of.second].unfinished += open.is_open ? 1 : 0;
    }
    std::vector<FramesOfKind> result;
    for (auto& [number, kind] : kinds_) {
        kind.kind = number;
        const auto name = names_.find(number);
        kind.name = name != names_.end() ? name->second : "kind " + std::to_string(number);
        std::stable_sort(kind.frames.begin(), kind.frames.end(),
                         [](const FrameSpan& left, const FrameSpan& right) {
                             return left.begin_ns < right.begin_ns;
                         });
        result.push_back(std::move(kind));
    }
    return result;
}

}  // namespace sample::analysis
