#include "callgraph/build_profile.h"

#include "callgraph/function_table.h"
#include "callgraph/groups.h"
#include "callgraph/stats.h"
#include "callgraph/tree.h"
#include "core/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sample::callgraph {

namespace {

/// Hangs address-level stacks under categories, function by function.
class Merger {
public:
    Merger(const Recording& recording, const Symbols& symbols, const BuildOptions& options)
        : nodes_{recording.nodes()},
          options_{options},
          functions_{recording, symbols},
          merged_(recording.nodes().size() + 1) {
        tree_.reserve(merged_.size());
    }

    void begin_category(std::string name) { category_ = tree_.add_category(std::move(name)); }

    /// What follows hangs below these zones, outermost first, of the category.
    void begin_zones(const std::vector<std::uint32_t>& zones) {
        merged_[0] = {++generation_, category_};
        for (const std::uint32_t zone : zones) {
            if (merged_[0].is_cut) {
                break;
            }
            go_to(merged_[0], functions_.zone(zone));
        }
    }

    /// Adds a weight of the profile's metric or, above 0, of a further one, counted from 1. Returns
    /// where it was added.
    TreeBuilder::Index add(const StackWeight& weight, std::size_t metric) {
        const Merged& merged = merge(weight.node);
        const TreeBuilder::Index node = merged.node;
        cut_ += merged.is_cut ? 1 : 0;
        if (metric == 0) {
            tree_.add_self(node, weight.sampled + weight.booked, weight.samples);
        } else {
            tree_.add_further(metric - 1, node, weight.sampled + weight.booked);
        }
        return node;
    }

    /// How many stacks are cut short.
    [[nodiscard]] std::size_t cut() const { return cut_; }

    /// Returns the node that each index became.
    std::vector<NodeId> finish(Profile& profile) && {
        merged_ = std::vector<Merged>{};  // its room is needed now
        profile.functions = functions_.functions();
        if (const FunctionId memory = functions_.memory_or_none(); !memory.is_none()) {
            profile.memory = memory;
        }
        profile.modules = functions_.modules();
        return std::move(tree_).finish(profile);
    }

private:
    struct Merged {
        std::uint32_t generation = 0;  ///< The category and zones that `node` is valid in.
        TreeBuilder::Index node = 0;   ///< Of the innermost frame.
        std::uint32_t line = 0;        ///< Where that frame is.
        bool is_in_memory = false;     ///< Below an entry into memory management, or one.
        bool is_cut = false;           ///< `node` is of a caller: there was no room for more.
    };

    const Merged& merge(NodeId stack) {
        path_.clear();
        for (; merged_[stack.value].generation != generation_;
             stack = nodes_[stack.value - 1].parent) {
            path_.push_back(stack);
        }
        for (; !path_.empty(); path_.pop_back()) {
            const NodeId callee = path_.back();
            merged_[callee.value] = descend(merged_[stack.value], nodes_[callee.value - 1].address);
            stack = callee;
        }
        return merged_[stack.value];
    }

    /// From a caller to the innermost frame of what it calls.
    Merged descend(Merged caller, std::uint32_t address) {
        const std::uint32_t frames = functions_.frames_at(address);
        for (std::uint32_t frame = frames; frame-- > 0;) {
            const Inlining inlining = frame + 1 < frames ? Inlining::all : Inlining::none;
            if (inlining == Inlining::none || !options_.fold_inlined) {
                caller = descend(caller, FrameIndex{address, frame}, inlining);
            }
        }
        return caller;
    }

    Merged descend(Merged caller, FrameIndex at, Inlining inlining) {
        if (caller.is_cut) {
            return caller;
        }
        if (options_.group_memory && functions_.is_memory_entry(at) && !caller.is_in_memory) {
            caller.is_in_memory = true;
            go_to(caller, functions_.memory());
        }
        const std::uint32_t line = functions_.line(at);
        go_to(caller, functions_.function(at),
              {options_.by_line ? line : 0, caller.line, inlining});
        caller.line = line;
        return caller;
    }

    /// From a node to its child; in a full tree only to one that is there.
    void go_to(Merged& at, FunctionId function, const CallSite& site = {}) {
        at.is_cut = at.is_cut || (tree_.size() >= options_.most_nodes &&
                                  tree_.find(at.node, function, site.line) == TreeBuilder::kRoot);
        if (!at.is_cut) {
            at.node = tree_.child(at.node, function, site);
        }
    }

    std::span<const StackFrame> nodes_;
    BuildOptions options_;
    FunctionTable functions_;
    TreeBuilder tree_;
    TreeBuilder::Index category_ = 0;
    std::uint32_t generation_ = 0;
    std::size_t cut_ = 0;
    std::vector<Merged> merged_;
    std::vector<NodeId> path_;
};

/// The weights of one metric behind those of another, as one list.
class Weights {
public:
    explicit Weights(std::span<const StackWeight> weights) : all_{weights} {
        starts_.push_back(weights.size());
    }
    Weights(const Recording& recording, const std::vector<MetricId>& metrics) {
        for (const MetricId metric : metrics) {
            const std::span<const StackWeight> weights = recording.weights(metric);
            if (metrics.size() == 1) {
                all_ = weights;
            } else {
                joined_.insert(joined_.end(), weights.begin(), weights.end());
                all_ = joined_;
            }
            starts_.push_back(all_.size());
        }
    }

    [[nodiscard]] std::span<const StackWeight> all() const { return all_; }
    /// The index of the metric that all()[index] is of.
    [[nodiscard]] std::size_t metric_of(std::size_t index) const {
        const auto above = std::upper_bound(starts_.begin(), starts_.end(), index);
        return static_cast<std::size_t>(above - starts_.begin()) - 1;
    }
    /// Where a metric's weights begin: those of the one before end there.
    [[nodiscard]] std::size_t start_of(std::size_t metric) const { return starts_[metric]; }

private:
    std::vector<StackWeight> joined_;
    std::span<const StackWeight> all_;
    std::vector<std::size_t> starts_{0};  ///< By metric; the last is the end.
};

/// What `options` ask for, the profile's own metric first.
std::vector<MetricId> metrics_of(const Recording& recording, const BuildOptions& options) {
    std::vector<MetricId> metrics{options.metric};
    for (const trace::Metric& each : recording.metrics()) {
        if (options.further && !options.weights && each.id != options.metric) {
            metrics.push_back(each.id);
        }
    }
    return metrics;
}

/// The recording's samples, if it kept their times. `nodes`: of each of its weights.
std::optional<Timeline> timeline_of(const Recording& recording, MetricId metric,
                                    std::vector<NodeId> nodes) {
    Timeline timeline;
    for (std::uint32_t id = 1; id <= recording.threads().size(); ++id) {
        if (auto samples = recording.samples_of(ThreadId{id}, metric)) {
            timeline.threads.push_back({id - 1, std::move(samples)});
        }
    }
    if (auto samples = recording.samples_of(ThreadId{}, metric)) {
        timeline.threads.push_back({std::nullopt, std::move(samples)});
    }
    if (timeline.threads.empty()) {
        return std::nullopt;
    }
    timeline.nodes = std::move(nodes);
    return timeline;
}

}  // namespace

Profile build_profile(const Recording& recording, const Symbols& symbols,
                      const BuildOptions& options) {
    Profile profile;
    const std::vector<MetricId> metrics = metrics_of(recording, options);
    for (std::size_t i = 1; i < metrics.size(); ++i) {
        const trace::Metric& metric = recording.metrics()[metrics[i].value - 1];
        profile.further.push_back({{metric.name, metric.unit, metric.meaning}, {}, {}});
    }
    const Weights weights =
        options.weights ? Weights{*options.weights} : Weights{recording, metrics};
    Categories categories = categorize(recording, weights.all(), options.category);
    Merger merger{recording, symbols, options};
    std::vector<TreeBuilder::Index> index_of_weight(weights.all().size());
    std::uint32_t current = static_cast<std::uint32_t>(categories.names.size());
    const std::vector<SampleLabel>& labels = recording.labels().labels;
    std::uint32_t label = 0;
    // In each category label by label.
    const Groups by_label{labels.size(), weights.all().size(),
                          [&](std::size_t index) { return weights.all()[index].label; }};
    const Groups by_category{
        categories.names.size(), categories.of_weight.size(),
        [&](std::size_t index) { return categories.of_weight[by_label.all()[index]]; }};
    for (const std::uint32_t place : by_category.all()) {
        const std::uint32_t index = by_label.all()[place];
        const std::uint32_t category = categories.of_weight[index];
        const bool is_new = category != current;
        if (is_new) {
            merger.begin_category(std::move(categories.names[category]));
            current = category;
        }
        if (is_new || weights.all()[index].label != label) {
            label = weights.all()[index].label;
            merger.begin_zones(labels[label].zones);
        }
        index_of_weight[index] = merger.add(weights.all()[index], weights.metric_of(index));
    }
    const std::size_t cut = merger.cut();
    const std::vector<NodeId> became = std::move(merger).finish(profile);
    for (std::size_t metric = 0; metric < metrics.size(); ++metric) {
        std::vector<NodeId> node_of_weight;
        node_of_weight.reserve(weights.start_of(metric + 1) - weights.start_of(metric));
        for (std::size_t i = weights.start_of(metric); i < weights.start_of(metric + 1); ++i) {
            node_of_weight.push_back(became[index_of_weight[i]]);
        }
        auto& timeline = metric == 0 ? profile.timeline : profile.further[metric - 1].timeline;
        if (!options.weights) {
            timeline = timeline_of(recording, metrics[metric], std::move(node_of_weight));
        }
    }
    profile.by_line = options.by_line;
    fill_stats(profile, recording, options.metric);
    if (cut != 0) {
        profile.stats.notes.push_back(counted(cut, "stack") +
                                      " cut short: this callgraph would have more than " +
                                      grouped(options.most_nodes) +
                                      " nodes; --thread, --process, --from and --to choose fewer");
    }
    return profile;
}

}  // namespace sample::callgraph
