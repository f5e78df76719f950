#include "export/shared/tracks.h"

#include "callgraph/tree.h"
#include "export/shared/facts.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace sample::exports {

namespace {

using callgraph::Profile;

/// Times and weights may be anything; sums of two of these don't overflow.
std::int64_t bounded(std::int64_t time) {
    return std::clamp(time, -kLongestAxis, kLongestAxis);
}

std::int64_t bounded(std::uint64_t weight) {
    return static_cast<std::int64_t>(std::min(weight, static_cast<std::uint64_t>(kLongestAxis)));
}

}  // namespace

Axis axis_of(const MetricView& view) {
    if (!view.is_time()) {
        return Axis::count;
    }
    return view.timeline() != nullptr ? Axis::time : Axis::spent;
}

bool TimeOrder::next(callgraph::TimedWeight& sample) {
    constexpr std::size_t kWindow = 512;  // Of a batch of 20 ms at 10 kHz there are 200.
    callgraph::TimedWeight read;
    while (window_.size() < kWindow && samples_.next(read)) {
        auto place = window_.end();
        while (place != window_.begin() && std::prev(place)->time_ns > read.time_ns) {
            --place;
        }
        window_.insert(place, read);
    }
    if (window_.empty()) {
        return false;
    }
    sample = window_.front();
    window_.pop_front();
    return true;
}

SliceReader::SliceReader(const MetricView& view, const callgraph::SampleSeries& samples,
                         WeightlessSamples weightless)
    : view_{view},
      samples_{samples},
      has_times_{axis_of(view) == Axis::time},
      keeps_weightless_{weightless == WeightlessSamples::kept} {
    if (const std::uint64_t period = sampling_period_ns(view); period != 0) {
        period_ = static_cast<std::int64_t>(period);
    }
}

SliceReader::SliceReader(const MetricView& view, const NodeId* first, std::size_t count)
    : view_{view}, node_{first}, left_{count} {}

bool SliceReader::next(Slice& slice) {
    return samples_ ? next_sample(slice) : next_node(slice);
}

bool SliceReader::next_sample(Slice& slice) {
    callgraph::TimedWeight sample;
    while (samples_->next(sample)) {
        slice.node = view_.timeline()->nodes[sample.place];
        if (!slice.node.is_none() && (sample.weight != 0 || keeps_weightless_)) {
            slice.samples = sample.is_booking ? 0 : 1;
            place(slice, sample.time_ns, sample.weight);
            return true;
        }
    }
    return false;
}

bool SliceReader::next_node(Slice& slice) {
    for (; left_ != 0; ++node_, --left_) {
        if (const std::uint64_t self = view_.self(*node_); self != 0) {
            slice.node = *node_;
            slice.samples = view_.self_samples(*node_);
            place(slice, 0, self);
            ++node_;
            --left_;
            return true;
        }
    }
    return false;
}

void SliceReader::place(Slice& slice, std::int64_t time, std::uint64_t weight) {
    const std::int64_t length = bounded(weight);
    if (has_times_) {
        const std::int64_t jitter = std::min(length, period_) / 2;
        const std::int64_t start = bounded(time) - length;
        slice.start = end_ && start - *end_ <= jitter ? *end_ : start;
    } else {
        slice.start = end_.value_or(0);
    }
    slice.end = bounded(slice.start + length);
    latest_ = slice.time = std::max(latest_, time);
    end_ = slice.end;
}

Tracks::Tracks(const MetricView& view) : view_{view} {
    if (view.timeline() != nullptr) {
        add_threads();
    } else {
        add_categories();
    }
    number_apart();
}

void Tracks::add_threads() {
    const auto& threads = view_.timeline()->threads;
    for (std::size_t i = 0; i < threads.size(); ++i) {
        Track& track = tracks_.emplace_back();
        track.first = i;
        track.thread = threads[i].thread;
        if (!track.thread) {
            track.name = "[unknown thread]";
            continue;
        }
        const callgraph::ThreadTotals& facts = view_.profile().threads[*track.thread];
        track.name = facts.name;
        track.process = facts.process;
        track.pid = facts.pid;
        track.tid = facts.tid;
    }
}

void Tracks::add_categories() {
    const Profile& profile = view_.profile();
    const std::vector<const std::string*> categories = callgraph::category_names(profile);
    nodes_ = callgraph::preorder(profile);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const std::string* category = categories[nodes_[i].value];
        if (i == 0 || category != nullptr) {
            Track& track = tracks_.emplace_back();
            track.name = category == nullptr ? "[no category]" : *category;
            track.first = i;
        }
        ++tracks_.back().count;
    }
}

void Tracks::number_apart() {
    std::uint32_t unreal = 4'194'304;  // PID_MAX_LIMIT in linux/threads.h
    std::set<std::pair<std::uint32_t, std::uint32_t>> used;
    for (Track& track : tracks_) {
        track.unique_tid = track.tid;
        while (track.unique_tid == 0 || !used.emplace(track.pid, track.unique_tid).second) {
            track.unique_tid = ++unreal;
        }
    }
}

SliceReader Tracks::slices(const Track& track, WeightlessSamples weightless) const {
    if (const callgraph::Timeline* timeline = view_.timeline()) {
        return {view_, *timeline->threads[track.first].samples, weightless};
    }
    return {view_, nodes_.data() + track.first, track.count};
}

}  // namespace sample::exports
