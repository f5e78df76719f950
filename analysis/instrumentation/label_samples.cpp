#include "analysis/instrumentation/label_samples.h"

#include "analysis/instrumentation/sample_cursor.h"
#include "analysis/instrumentation/zone_names.h"
#include "analysis/instrumentation/zone_walk.h"
#include "callgraph/intern_table.h"
#include "core/text.h"
#include "core/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace sample::analysis {
namespace {

using callgraph::Recording;
using callgraph::SampleLabel;
using callgraph::SampleLabels;
using callgraph::TimedWeight;

/// Which zones were open around each sample. What it keeps grows with samples and with different
/// stacks of zones, not with zones.
class ZonesOfSamples final : public trace::RecordSink {
public:
    using PathId = std::uint32_t;  ///< A stack of zones; 0: none is open.

    explicit ZonesOfSamples(const Recording& recording)
        : recording_{recording}, runs_(recording.metrics().size()) {
        paths_.intern({});
        for (auto& of_metric : runs_) {
            of_metric.resize(recording.threads().size() + 1);
        }
    }

    void record(const trace::Record& /*record*/) override {}
    void node(const trace::StackNode& /*node*/) override {}
    void sample(const trace::Sample& /*sample*/) override {}
    void zone(const trace::ZoneEdge& edge) override { walk_.add(edge); }
    void instrumentation(const trace::Instrumentation& said) override {
        if (const auto* const spec = std::get_if<trace::ZoneSpec>(&said)) {
            names_.define(*spec);
        }
    }
    void finish() { walk_.finish(recording_.last_time_ns()); }

    [[nodiscard]] const ZoneNames& names() const { return names_; }
    /// Of the thread's next sample: each is asked for once, in order.
    PathId next(MetricId metric, ThreadId thread) {
        Runs& runs = runs_[metric.value - 1][thread.value];
        if (runs.at == runs.all.size()) {
            return 0;
        }
        Run& run = runs.all[runs.at];
        runs.at += --run.samples == 0 ? 1 : 0;
        return run.path;
    }
    /// The names of a path, outermost first.
    [[nodiscard]] std::vector<ZoneNames::Index> names_of(PathId path) const {
        std::vector<ZoneNames::Index> names;
        for (; path != 0; path = paths_[path].parent) {
            names.push_back(paths_[path].name);
        }
        std::reverse(names.begin(), names.end());
        return names;
    }
    /// By path: whether one of its names `is_wanted`.
    [[nodiscard]] std::vector<bool> paths_with(const std::vector<bool>& is_wanted) const {
        std::vector<bool> has(paths_.size());
        for (PathId path = 1; path < paths_.size(); ++path) {
            has[path] = has[paths_[path].parent] || is_wanted[paths_[path].name];
        }
        return has;
    }

private:
    friend class ZoneWalk<ZonesOfSamples>;

    struct Path {
        PathId parent = 0;
        ZoneNames::Index name = 0;
    };
    struct PathTraits {
        static std::uint64_t hash(const Path& path) {
            return callgraph::hash_pair(path.parent, path.name);
        }
        static bool equal(const Path& left, const Path& right) {
            return left.parent == right.parent && left.name == right.name;
        }
    };
    struct Run {
        PathId path = 0;
        std::uint32_t samples = 0;
    };
    struct Runs {
        std::vector<Run> all;
        std::size_t at = 0;  ///< Of next().
    };

    static constexpr PathId kNotYet = std::numeric_limits<PathId>::max();
    struct Zone {
        ZoneNames::Index name = 0;
        PathId path = kNotYet;  ///< Made when a sample comes: most zones have none.
    };
    struct Thread {
        ThreadId id;
        std::vector<Zone> open;
        std::vector<SampleCursor> samples;  ///< By metric.
    };

    Thread thread(ThreadId id) {
        Thread made{id, {}, {}};
        for (const trace::Metric& metric : recording_.metrics()) {
            made.samples.emplace_back(recording_.samples_of(id, metric.id));
        }
        return made;
    }
    void before(Thread& thread, std::uint64_t time_ns) {
        for (std::size_t metric = 0; metric < thread.samples.size(); ++metric) {
            thread.samples[metric].until(
                recording_.since_start(time_ns), [&](const TimedWeight& /*sample*/) {
                    std::vector<Run>& runs = runs_[metric][thread.id.value].all;
                    const PathId path = path_of(thread.open);
                    if (runs.empty() || runs.back().path != path) {
                        runs.push_back({path, 0});
                    }
                    ++runs.back().samples;
                });
        }
    }
    PathId path_of(std::vector<Zone>& open) {
        std::size_t known = open.size();
        while (known > 0 && open[known - 1].path == kNotYet) {
            --known;
        }
        PathId path = known == 0 ? 0 : open[known - 1].path;
        for (; known < open.size(); ++known) {
            path = open[known].path = paths_.intern({path, open[known].name});
        }
        return path;
    }
    static Zone enter(const Thread& /*thread*/, ZoneNames::Index name, std::uint64_t /*time_ns*/,
                      bool /*is_new*/) {
        return {name};
    }
    static void resume(Zone& zone, const Thread& /*thread*/, std::uint64_t /*time_ns*/) {
        zone.path = kNotYet;
    }
    static void leave(const Thread& /*thread*/, std::uint64_t /*time_ns*/, ZoneEnd /*how*/) {}
    static void abandon(const Zone& /*zone*/) {}

    const Recording& recording_;
    ZoneNames names_;
    callgraph::InternTable<Path, PathTraits> paths_;
    std::vector<std::vector<Runs>> runs_;  ///< By metric - 1, then by thread.
    ZoneWalk<ZonesOfSamples> walk_{names_, *this};
};

/// By name: whether it was asked for.
Result<std::vector<bool>> wanted_zones(const ZoneNames& names,
                                       const std::vector<std::string>& wanted) {
    constexpr std::size_t kMost = 10;
    std::vector<bool> is_wanted(names.specs().size(), wanted.empty());
    for (const std::string& name : wanted) {
        bool is_found = false;
        std::string known;
        for (std::size_t i = 1; i < names.specs().size(); ++i) {
            if (names.specs()[i].name == name) {
                is_wanted[i] = is_found = true;
            }
            known += i > kMost ? "" : (i == 1 ? "'" : ", '") + names.specs()[i].name + "'";
        }
        if (!is_found) {
            return unexpected(ErrorCode::not_found,
                              fmt::format("--in-zone: no zone is called '{}': sample report --view "
                                          "zones lists them, as {}",
                                          name, known));
        }
    }
    return is_wanted;
}

/// The frame that each moment is in, by names that a callgraph can have as categories: only the
/// slowest frames have one of their own.
class FrameNames {
public:
    FrameNames(const FramesOfKind& of, const Recording& recording) : of_{of} {
        constexpr std::size_t kMost = 100;
        std::vector<std::uint32_t> slowest = of.slowest();
        slowest.resize(std::min(slowest.size(), kMost));
        for (const std::uint32_t index : slowest) {
            const FrameSpan& frame = of.frames[index];
            const std::int64_t begin_ns = recording.since_start(frame.begin_ns);
            names_[index] = fmt::format(
                "frame {} at {}: {}", index + 1,
                short_duration(static_cast<std::uint64_t>(std::max<std::int64_t>(begin_ns, 0))),
                short_duration(frame.length_ns()));
        }
        find_changes();
    }

    /// Which: an index into the frames, or what stands for several of them.
    [[nodiscard]] std::uint32_t at(std::uint64_t time_ns) const {
        const auto behind = std::upper_bound(
            changes_.begin(), changes_.end(), time_ns,
            [](std::uint64_t time, const Change& change) { return time < change.time_ns; });
        const std::uint32_t index = behind == changes_.begin() ? kNone : std::prev(behind)->frame;
        return index == kNone || names_.contains(index) ? index : kOther;
    }
    [[nodiscard]] std::string name(std::uint32_t index) const {
        return index == kNone ? "[no frame]" : index == kOther ? "other frames" : names_.at(index);
    }
    static constexpr std::uint32_t kNone = 0xffffffff;

private:
    static constexpr std::uint32_t kOther = 0xfffffffe;

    struct Change {
        std::uint64_t time_ns = 0;
        std::uint32_t frame = kNone;  ///< From then on.
    };

    /// Frames of several threads may lie one inside the other, or overlap: then it is the one that
    /// began last.
    void find_changes() {
        std::vector<std::uint32_t> by_end(of_.frames.size());
        std::iota(by_end.begin(), by_end.end(), 0U);
        std::sort(by_end.begin(), by_end.end(), [this](std::uint32_t left, std::uint32_t right) {
            return of_.frames[left].end_ns < of_.frames[right].end_ns;
        });
        std::set<std::uint32_t> open;  // in the order of their beginnings, as they have
        std::uint32_t begun = 0;
        for (const std::uint32_t ending : by_end) {
            const std::uint64_t end_ns = of_.frames[ending].end_ns;
            for (; begun < of_.frames.size() && of_.frames[begun].begin_ns <= end_ns; ++begun) {
                open.insert(begun);
                changes_.push_back({of_.frames[begun].begin_ns, begun});
            }
            open.erase(ending);
            changes_.push_back({end_ns, open.empty() ? kNone : *open.rbegin()});
        }
    }

    const FramesOfKind& of_;
    std::map<std::uint32_t, std::string> names_;
    std::vector<Change> changes_;  ///< By time; of several at one time the last one holds.
};

std::uint64_t weight_of(const Recording& recording, MetricId metric) {
    std::uint64_t sum = 0;
    for (const callgraph::StackWeight& weight : recording.weights(metric)) {
        sum += weight.sampled + weight.booked;
    }
    return sum;
}

std::uint64_t booked_in(const Recording& recording, MetricId metric) {
    std::uint64_t sum = 0;
    for (const callgraph::StackWeight& weight : recording.weights(metric)) {
        sum += weight.booked;
    }
    return sum;
}

std::string weight_text(const Recording& recording, MetricId metric, std::uint64_t weight) {
    const std::string unit = metric.value <= recording.metrics().size()
                                 ? recording.metrics()[metric.value - 1].unit
                                 : "";
    return unit.empty() ? short_duration(weight) : grouped(weight) + " " + unit;
}

/// Makes the labels, each when its first sample comes.
class Labeller {
public:
    Labeller(const Recording& recording, const LabelChoice& choice, const Moments& moments)
        : recording_{recording}, choice_{choice}, moments_{moments} {}

    void use_zones(ZonesOfSamples& zones, const std::vector<bool>& is_wanted) {
        zones_ = &zones;
        is_wanted_path_ = zones.paths_with(is_wanted);
        // A sample in no zone is wanted where no zone was asked for.
        is_wanted_path_[0] = choice_.in_zones.empty();
        for (const trace::ZoneSpec& spec : zones.names().specs()) {
            labels_.zones.push_back({spec.name, spec.file, spec.line});
        }
    }
    void use_frames(const FramesOfKind& frames) { frames_.emplace(frames, recording_); }

    std::optional<std::uint32_t> operator()(MetricId metric, ThreadId thread,
                                            const TimedWeight& sample) {
        const ZonesOfSamples::PathId path = zones_ == nullptr ? 0 : zones_->next(metric, thread);
        const std::uint64_t start_ns = recording_.start() ? recording_.start()->start_ns : 0;
        const std::uint64_t time_ns = start_ns + static_cast<std::uint64_t>(sample.time_ns);
        if (choice_.is_restricted() && (sample.is_booking || !moments_.has(time_ns) ||
                                        (zones_ != nullptr && !is_wanted_path_[path]))) {
            return std::nullopt;
        }
        const bool has_moment = !sample.is_booking;
        const std::uint32_t frame =
            frames_ && has_moment ? frames_->at(time_ns) : FrameNames::kNone;
        return label_of(has_moment ? path : 0, frame);
    }

    [[nodiscard]] SampleLabels take() && { return std::move(labels_); }

private:
    std::uint32_t label_of(ZonesOfSamples::PathId path, std::uint32_t frame) {
        const auto [found, is_new] =
            known_.try_emplace({path, frame}, static_cast<std::uint32_t>(labels_.labels.size()));
        if (is_new) {
            SampleLabel& label = labels_.labels.emplace_back();
            const auto names =
                zones_ == nullptr ? std::vector<ZoneNames::Index>{} : zones_->names_of(path);
            if (choice_.zones) {
                label.zones = names;
            }
            if (choice_.by == LabelBy::zone) {
                label.category =
                    names.empty() ? "[no zone]" : zones_->names().specs()[names.back()].name;
            } else if (frames_) {
                label.category = frames_->name(frame);
            }
        }
        return found->second;
    }

    const Recording& recording_;
    const LabelChoice& choice_;
    const Moments& moments_;
    ZonesOfSamples* zones_ = nullptr;
    std::vector<bool> is_wanted_path_;
    std::optional<FrameNames> frames_;
    SampleLabels labels_;
    std::map<std::pair<ZonesOfSamples::PathId, std::uint32_t>, std::uint32_t> known_;
};

Result<void> read_zones(ZonesOfSamples& zones, const ProgramEvents& events,
                        const ReadAgain& read_again) {
    if (events.zones == 0) {
        return unexpected(ErrorCode::not_found,
                          "the recording has no zones, which --in-zone, --by zone and --zones "
                          "need: record with --trace, of a program that marks them with "
                          "sample/trace.h");
    }
    SAMPLE_CHECK(read_again(zones));
    zones.finish();
    return {};
}

Result<const FramesOfKind*> wanted_frames(const ProgramEvents& events, const LabelChoice& choice) {
    const FramesOfKind* const frames =
        events.frames_of(choice.moments.frames ? choice.moments.frames->kind : "");
    if (frames == nullptr) {
        return unexpected(ErrorCode::not_found,
                          "--by frame: the recording has no frames; record with --trace, of a "
                          "program that marks them with sample/trace.h");
    }
    return frames;
}

std::string words_of_restriction(const LabelChoice& choice, const std::string& moments) {
    std::string words;
    for (const std::string& name : choice.in_zones) {
        words += (words.empty() ? "in zone '" : " or '") + name + "'";
    }
    return words + (words.empty() || moments.empty() ? "" : ", ") + moments;
}

}  // namespace

Result<Restriction> label_samples(Recording& recording, const ProgramEvents& events,
                                  const LabelChoice& choice, MetricId metric,
                                  const ReadAgain& read_again) {
    const std::uint64_t start_ns = recording.start() ? recording.start()->start_ns : 0;
    SAMPLE_TRY(chosen, choose_moments(choice.moments, events, start_ns));
    Labeller labeller{recording, choice, chosen.moments};
    std::optional<ZonesOfSamples> zones;
    if (choice.needs_zones()) {
        zones.emplace(recording);
        SAMPLE_CHECK(read_zones(*zones, events, read_again));
        SAMPLE_TRY(is_wanted, wanted_zones(zones->names(), choice.in_zones));
        labeller.use_zones(*zones, is_wanted);
    }
    if (choice.by == LabelBy::frame) {
        SAMPLE_TRY(frames, wanted_frames(events, choice));
        labeller.use_frames(*frames);
    }
    const std::uint64_t whole = weight_of(recording, metric);
    const std::uint64_t booked = booked_in(recording, metric);
    recording.label([&](MetricId each, ThreadId thread, const TimedWeight& sample) {
        return labeller(each, thread, sample);
    });
    recording.set_labels(std::move(labeller).take());
    if (!choice.is_restricted()) {
        return Restriction{};
    }
    const std::string words = words_of_restriction(choice, chosen.words);
    const std::uint64_t left = weight_of(recording, metric);
    if (left == 0) {
        return unexpected(ErrorCode::not_found, "no sample lies " + words +
                                                    ": leave one of --in-zone, --in-frames, "
                                                    "--between, --from and --to out");
    }
    std::string said =
        fmt::format("{}: {} of {}, {}", words, weight_text(recording, metric, left),
                    weight_text(recording, metric, whole), percent_text(left, whole));
    if (booked != 0) {
        said += fmt::format("; {} at no known moment are left out",
                            weight_text(recording, metric, booked));
    }
    Restriction restriction{std::move(said), std::nullopt};
    if (!choice.moments.is_everything()) {
        const std::uint64_t end_ns =
            recording.end() ? recording.end()->end_ns : recording.last_time_ns();
        restriction.chosen_ns = chosen.moments.length_ns({start_ns, end_ns});
    }
    return restriction;
}

}  // namespace sample::analysis
