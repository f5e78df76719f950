// Making a Profile's tree: the one place where totals come from.
//
// Whoever makes a profile, from a recording or from another profile, says only which node lies
// under which, and what each spent by itself. Totals, the order of children, functions' totals and
// which functions are left follow from that here, so they cannot disagree.
#pragma once

#include "callgraph/intern_table.h"
#include "callgraph/profile.h"

#include <cstdint>
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

/// What `node` says of its call.
[[nodiscard]] CallSite call_site(const Node& node);

/// A tree that grows: a node under a parent that is there already. Nodes are numbered here by their
/// own indices, which finish() replaces by NodeIds.
class TreeBuilder {
public:
    using Index = std::uint32_t;
    static constexpr Index kRoot = 0;

    TreeBuilder();

    /// A new node under the root.
    Index add_category(std::string name);
    /// The node of `function` at `site.line` under `parent`, made if there is none. One that is
    /// there and was called otherwise is now called in both ways.
    Index child(Index parent, FunctionId function, const CallSite& site = {});
    void add_self(Index node, std::uint64_t ns, std::uint64_t samples);

    /// Adds what was spent at the node `id` of `from` itself; its samples move there, too.
    void move_self(const Profile& from, NodeId id, Index to);

    /// Replaces `profile`'s nodes and categories by this tree, and `profile`'s functions by those
    /// of them that are in it, their totals made anew. Nodes are numbered in preorder, heaviest
    /// first; nodes with neither time nor samples are left out, categories too. A timeline of
    /// `profile` keeps the samples that were moved. Returns the node that each index became; none
    /// for one that was left out. The sum of all self times must fit 64 bits.
    /// O(nodes log children); no recursion.
    std::vector<NodeId> finish(Profile& profile) &&;

private:
    struct Entry {
        Index parent = 0;
        FunctionId function;
        CallSite site;
        std::uint64_t self_ns = 0;
        std::uint64_t self_samples = 0;
    };
    struct Traits {
        static std::uint64_t hash(const Entry& entry) {
            return hash_pair((std::uint64_t{entry.parent} << 32) | entry.function.value,
                             entry.site.line);
        }
        static bool equal(const Entry& left, const Entry& right) {
            return left.parent == right.parent && left.function == right.function &&
                   left.site.line == right.site.line;
        }
    };
    struct Sums;

    [[nodiscard]] Sums sum_up() const;

    InternTable<Entry, Traits> entries_;
    std::vector<std::pair<Index, std::string>> categories_;
    std::vector<Index> moved_to_;  ///< By a NodeId's value of the profile that selves came from.
};

/// Every node of the tree, parents before children, siblings in order. O(nodes); no recursion.
[[nodiscard]] std::vector<NodeId> preorder(const Profile& profile);

/// Makes the functions' totals and samples anew from the nodes, recursion counted once.
void recompute_functions(Profile& profile);

}  // namespace sample::callgraph
