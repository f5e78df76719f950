// Making a Profile's tree: the one place where totals come from.
//
// Whoever makes a profile, from a recording or from another profile, says only which node lies
// under which, and what each spent by itself. Totals, the order of children, functions' totals and
// which functions are left follow from that here, so they cannot disagree.
#pragma once

#include "callgraph/intern_table.h"
#include "callgraph/profile.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sample::callgraph {

/// How a node's function was called.
struct CallSite {
    std::uint32_t line = 0;       ///< As Node::line: another line is another node.
    std::uint32_t call_line = 0;  ///< As Node::call_line.
    Inlining inlining = Inlining::none;
};

/// A tree that grows: a node under a parent that is there already. Nodes are numbered here by their
/// own indices, which finish() replaces by NodeIds.
class TreeBuilder {
public:
    using Index = std::uint32_t;
    static constexpr Index kRoot = 0;

    /// Makes room for so many nodes at once.
    void reserve(std::size_t nodes) {
        entries_.reserve(nodes);
        selves_.reserve(nodes);
    }

    /// How many nodes there are, with the root.
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    /// A new node under the root.
    Index add_category(std::string name);
    /// The node of `function` at `site.line` under `parent`, made if there is none. One that is
    /// there and was called otherwise is now called in both ways.
    Index child(Index parent, FunctionId function, const CallSite& site = {});
    /// The same if there is one, else kRoot; nothing changes.
    [[nodiscard]] Index find(Index parent, FunctionId function, std::uint32_t line) const;
    void add_self(Index node, std::uint64_t weight, std::uint64_t samples);
    /// Adds weight of the profile's `metric`th further metric, whose sum must fit 64 bits.
    void add_further(std::size_t metric, Index node, std::uint64_t weight);

    /// Adds what was spent at the node `id` of `from` itself, of each metric; its samples move
    /// there, too.
    void move_self(const Profile& from, NodeId id, Index to);

    /// Replaces `profile`'s nodes and categories by this tree, and `profile`'s functions by those
    /// of them that are in it, their totals made anew. Nodes are numbered in preorder, heaviest
    /// first; nodes with neither time nor samples nor weight of a further metric are left out,
    /// categories too. What further metrics `profile` has is for the caller to say: their selves
    /// are replaced. Timelines of `profile` keep the samples that were moved. Returns the node that
    /// each index became; none for one that was left out. The sum of all self times must fit 64
    /// bits.
    /// O(nodes log children); no recursion.
    std::vector<NodeId> finish(Profile& profile) &&;

private:
    struct Entry {
        Index parent = kRoot;
        FunctionId function;
        CallSite site;
        Index latest_child = kRoot;  ///< That was asked for; kRoot: none was.
        Index newest_child = kRoot;  ///< kRoot: there is none.
        Index next_sibling = kRoot;  ///< The next older one.
    };
    struct Self {
        std::uint64_t weight = 0;
        std::uint64_t samples = 0;
    };
    /// A child of a node that has many, and where it is.
    struct OneOfMany {
        Index parent = kRoot;
        FunctionId function;
        std::uint32_t line = 0;
        Index node = kRoot;
    };
    struct Traits {
        static std::uint64_t hash(const OneOfMany& child) {
            return hash_pair((std::uint64_t{child.parent} << 32) | child.function.value,
                             child.line);
        }
        static bool equal(const OneOfMany& left, const OneOfMany& right) {
            return left.parent == right.parent && left.function == right.function &&
                   left.line == right.line;
        }
    };
    struct Sums;

    // Most nodes have one or two children: a hash table of all is another place in memory for each.
    static constexpr int kFew = 4;

    [[nodiscard]] bool is_child_for(Index node, FunctionId function, std::uint32_t line) const {
        return entries_[node].function == function && entries_[node].site.line == line;
    }
    Index find_or_add(Index parent, FunctionId function, const CallSite& site);
    [[nodiscard]] Sums sum_up();
    [[nodiscard]] std::vector<bool> have_further() const;

    std::vector<Entry> entries_{Entry{}};  ///< By index, parents first.
    InternTable<OneOfMany, Traits> of_many_;
    std::vector<Self> selves_;  ///< By index; apart, as a tree that grows asks for entries alone.
    std::vector<std::pair<Index, std::string>> categories_;
    std::vector<Index> moved_to_;  ///< By a NodeId's value of the profile that selves came from.
    std::vector<std::vector<std::uint64_t>> further_;  ///< By metric, then index as far as needed.
};

/// Makes each node but the first a child of its parent, siblings in the order of their ids.
void link_children(std::vector<Node>& nodes);

/// Makes `children` those of `parent`, in this order.
void set_children(std::vector<Node>& nodes, NodeId parent, std::span<const NodeId> children);

/// Every node of the tree, parents before children, siblings in order. O(nodes); no recursion.
[[nodiscard]] std::vector<NodeId> preorder(const Profile& profile);

/// By a NodeId's value: what the category is called that has this node; nullptr for other nodes.
[[nodiscard]] std::vector<const std::string*> category_names(const Profile& profile);

/// By a NodeId's value: whether the node's function is not among its callers, so that its time is
/// part of the function's total. O(nodes); no recursion.
[[nodiscard]] std::vector<bool> outermost_nodes(const Profile& profile);

/// Makes the functions' totals and samples anew from the nodes, recursion counted once.
void recompute_functions(Profile& profile);

}  // namespace sample::callgraph
