#include "callgraph/build_profile.h"

#include "callgraph/function_table.h"
#include "callgraph/stats.h"
#include "callgraph/tree.h"

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
          merged_(recording.nodes().size() + 1) {}

    void begin_category(std::string name) {
        category_ = tree_.add_category(std::move(name));
        ++generation_;
        merged_[0] = {generation_, category_, 0};
    }

    /// Returns where it was added.
    TreeBuilder::Index add(const StackWeight& weight) {
        const TreeBuilder::Index node = merge(weight.node);
        tree_.add_self(node, weight.sampled + weight.booked, weight.samples);
        return node;
    }

    /// Returns the node that each index became.
    std::vector<NodeId> finish(Profile& profile) && {
        profile.functions = functions_.functions();
        if (const FunctionId gc = functions_.gc_or_none(); !gc.is_none()) {
            profile.gc = gc;
        }
        profile.modules = functions_.modules();
        return std::move(tree_).finish(profile);
    }

private:
    /// What a node's callees inherit.
    struct Inherited {
        std::uint32_t flags = 0;
        bool in_gc = false;
    };
    struct Merged {
        std::uint32_t generation = 0;  ///< The category that `node` is valid in.
        TreeBuilder::Index node = 0;   ///< Of the innermost frame.
        std::uint32_t line = 0;        ///< Where that frame is.
    };

    TreeBuilder::Index merge(NodeId stack) {
        path_.clear();
        while (merged_[stack.value].generation != generation_) {
            path_.push_back(stack);
            stack = nodes_[stack.value - 1].parent;
        }
        Merged at = merged_[stack.value];
        while (!path_.empty()) {
            at = descend(at, nodes_[path_.back().value - 1].address);
            merged_[path_.back().value] = at;
            path_.pop_back();
        }
        return at.node;
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

    Merged descend(const Merged& caller, FrameIndex at, Inlining inlining) {
        TreeBuilder::Index parent = caller.node;
        Inherited inherited = inherited_by(parent);
        inherited.flags |= functions_.own_flags(at.address) & kPlugin;
        if (functions_.is_gc_entry(at) && !inherited.in_gc) {
            inherited.in_gc = true;
            parent = tree_.child(parent, functions_.gc());
        }
        const std::uint32_t line = functions_.line(at);
        const CallSite site{options_.by_line ? line : 0, caller.line, inlining};
        const TreeBuilder::Index node =
            tree_.child(parent, functions_.function(at, inherited.flags), site);
        inherited_by(node) = inherited;
        return {generation_, node, line};
    }

    Inherited& inherited_by(TreeBuilder::Index node) {
        if (node >= inherited_.size()) {
            inherited_.resize(node + 1);
        }
        return inherited_[node];
    }

    std::span<const StackFrame> nodes_;
    BuildOptions options_;
    FunctionTable functions_;
    TreeBuilder tree_;
    TreeBuilder::Index category_ = 0;
    std::uint32_t generation_ = 0;
    std::vector<Merged> merged_;
    std::vector<Inherited> inherited_;
    std::vector<NodeId> path_;
};

/// The weights' indices, category by category, each in the recording's order.
std::vector<std::uint32_t> by_category(const Categories& categories) {
    std::vector<std::uint32_t> next(categories.names.size() + 1);
    for (const std::uint32_t category : categories.of_weight) {
        ++next[category + 1];
    }
    for (std::size_t i = 1; i < next.size(); ++i) {
        next[i] += next[i - 1];
    }
    std::vector<std::uint32_t> order(categories.of_weight.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        order[next[categories.of_weight[i]]++] = i;
    }
    return order;
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
    const std::span<const StackWeight> weights = recording.weights(options.metric);
    Categories categories = categorize(recording, weights, options.category);
    Merger merger{recording, symbols, options};
    std::vector<TreeBuilder::Index> index_of_weight(weights.size());
    std::uint32_t current = static_cast<std::uint32_t>(categories.names.size());
    for (const std::uint32_t index : by_category(categories)) {
        const std::uint32_t category = categories.of_weight[index];
        if (category != current) {
            merger.begin_category(std::move(categories.names[category]));
            current = category;
        }
        index_of_weight[index] = merger.add(weights[index]);
    }
    const std::vector<NodeId> became = std::move(merger).finish(profile);
    std::vector<NodeId> node_of_weight;
    node_of_weight.reserve(index_of_weight.size());
    for (const TreeBuilder::Index index : index_of_weight) {
        node_of_weight.push_back(became[index]);
    }
    profile.timeline = timeline_of(recording, options.metric, std::move(node_of_weight));
    profile.by_line = options.by_line;
    fill_stats(profile, recording, options.metric);
    return profile;
}

}  // namespace sample::callgraph
