#include "analysis/live/live_recording.h"

#include "core/units.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sample::analysis {
namespace {

/// Times as long as it took to read a module's symbols, nobody reads them again: each module takes
/// a twentieth of a processor at most.
constexpr std::uint64_t kRest = 20;

}  // namespace

void LiveRecording::add(const RecordBatch& batch) {
    for (const trace::Record& record : batch.records) {
        recording_.record(record);
    }
    for (const trace::StackNode& node : batch.nodes) {
        recording_.node(node);
    }
    for (const auto& [module, reader] : batch.readers) {
        readers_[module] = reader;
    }
    lost_ += batch.lost;
    advance(batch.end_ns);
    // What waited for longer is of several seconds: of the whole alone.
    const bool is_recent = batch.end_ns - batch.begin_ns <= kNsPerSecond;
    Second* const second = is_recent ? &seconds_.back() : nullptr;
    for (const SampleSum& sum : batch.samples()) {
        if (sum.sum.metric == trace::kSessionMetric) {
            add(sum, second);
        }
    }
}

void LiveRecording::add(const SampleSum& sum, Second* second) {
    callgraph::StackWeight weight{sum.sum.thread, sum.sum.node};
    if (recording_.weights().size() >= kMostWeights) {
        weight.thread = {};
    }
    if (sum.sum.is_booking) {
        weight.booked = sum.sum.weight;
    } else {
        weight.sampled = sum.sum.weight;
        weight.samples = sum.samples;
    }
    const auto place = recording_.add_sum(weight, trace::kSessionMetric, sum.sum.time_ns);
    if (!place || second == nullptr) {
        return;
    }
    Share& share = second->shares[second->shares.intern({*place})];
    share.sampled += weight.sampled;
    share.samples += weight.samples;
    share.booked += weight.booked;
    second->sum.samples += weight.samples;
    second->sum.weight += weight.sampled + weight.booked;
}

void LiveRecording::advance(std::uint64_t now_ns) {
    now_ns_ = std::max(now_ns_, now_ns);
    const std::uint64_t now = elapsed_ns() / kNsPerSecond;
    if (seconds_.empty() || seconds_.back().number < now) {
        seconds_.emplace_back().number = now;
    }
    // The one that goes on is a part of a second.
    while (seconds_.front().number + kLastSeconds < seconds_.back().number) {
        seconds_.pop_front();
    }
    learn_names();
}

void LiveRecording::learn_names() {
    for (NamesFound& found : names_.take()) {
        symbols_.runs.resize(std::max(symbols_.runs.size(), looked_at_));
        merge(symbols_, std::move(found.symbols), found.places);
        rests_until_ns_[found.module] = now_ns_ + kRest * found.cpu_ns;
    }
    if (!names_.has_time()) {
        return;
    }
    const std::span<const callgraph::CodeAddress> addresses = recording_.addresses();
    for (; looked_at_ < addresses.size(); ++looked_at_) {
        const trace::Module* const module = recording_.module_of(addresses[looked_at_]);
        if (module != nullptr && module->kind != trace::ModuleKind::pseudo) {
            NamesWanted& of = wanted_[module->id];
            of.addresses.push_back(addresses[looked_at_].address);
            of.places.push_back(looked_at_);
        }
    }
    ask_for_names();
}

void LiveRecording::ask_for_names() {
    std::vector<NamesWanted> round;
    for (auto at = wanted_.begin(); at != wanted_.end();) {
        auto& [id, one] = *at;
        const auto rest = rests_until_ns_.find(id);
        if (rest != rests_until_ns_.end() && rest->second > now_ns_) {
            ++at;
            continue;
        }
        one.module = recording_.modules()[id.value - 1];
        const auto reader = readers_.find(id);
        one.reader = reader == readers_.end() ? nullptr : reader->second;
        round.push_back(std::move(one));
        at = wanted_.erase(at);
    }
    if (round.empty()) {
        return;
    }
    // What most of the page waits for comes first.
    std::stable_sort(round.begin(), round.end(), [](const NamesWanted& a, const NamesWanted& b) {
        return a.addresses.size() > b.addresses.size();
    });
    names_.ask(std::move(round));
}

std::uint64_t LiveRecording::elapsed_ns() const {
    if (!recording_.start()) {
        return 0;
    }
    const std::uint64_t start = recording_.start()->start_ns;
    const std::uint64_t end = recording_.end() ? recording_.end()->end_ns : now_ns_;
    return end - std::min(start, end);
}

LiveSecond LiveRecording::last_second() const {
    if (seconds_.empty()) {
        return {};
    }
    const Second& last = seconds_.back();
    const Second* const before = seconds_.size() > 1 ? &seconds_[seconds_.size() - 2] : nullptr;
    const bool has_whole = before != nullptr && before->number + 1 == last.number;
    if (!has_whole && last.number != 0) {
        return {0, 0, kNsPerSecond};
    }
    const Second& shown = has_whole ? *before : last;
    LiveSecond second = shown.sum;
    const std::uint64_t begin_ns = shown.number * kNsPerSecond;
    second.length_ns = std::clamp(elapsed_ns(), begin_ns, begin_ns + kNsPerSecond) - begin_ns;
    return second;
}

std::vector<callgraph::StackWeight> LiveRecording::last_weights() const {
    constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
    const std::span<const callgraph::StackWeight> all = recording_.weights();
    std::vector<callgraph::StackWeight> last;
    std::vector<std::uint32_t> place_of(all.size(), kNone);
    for (const Second& second : seconds_) {
        for (const Share& share : second.shares.entries()) {
            std::uint32_t& place = place_of[share.weight];
            if (place == kNone) {
                place = static_cast<std::uint32_t>(last.size());
                last.push_back({all[share.weight].thread, all[share.weight].node});
            }
            last[place].sampled += share.sampled;
            last[place].samples += share.samples;
            last[place].booked += share.booked;
        }
    }
    return last;
}

Result<std::vector<callgraph::StackWeight>> LiveRecording::chosen(
    std::vector<callgraph::StackWeight> weights, const callgraph::Selection& selection) const {
    SAMPLE_TRY(is_chosen, callgraph::select_threads(recording_, selection));
    std::erase_if(weights, [&](const callgraph::StackWeight& weight) {
        return !is_chosen[weight.thread.value];
    });
    return weights;
}

Result<callgraph::Profile> LiveRecording::profile(const LiveChoice& choice) const {
    callgraph::BuildOptions build;
    build.group_memory = choice.group_memory;
    std::vector<callgraph::StackWeight> weights;
    const bool is_part = !choice.selection.is_everything();
    if (choice.only_last_seconds) {
        weights = last_weights();
    } else if (is_part) {
        weights.assign(recording_.weights().begin(), recording_.weights().end());
    }
    if (is_part) {
        SAMPLE_TRY(part, chosen(std::move(weights), choice.selection));
        weights = std::move(part);
    }
    if (choice.only_last_seconds || is_part) {
        build.weights = weights;
    }
    callgraph::Profile profile = callgraph::build_profile(recording_, symbols_, build);
    profile.stats.wall_ns = choice.only_last_seconds
                                ? std::min(elapsed_ns(), kLastSeconds * kNsPerSecond)
                                : elapsed_ns();
    return profile;
}

}  // namespace sample::analysis
