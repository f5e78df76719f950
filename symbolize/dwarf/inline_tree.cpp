#include "symbolize/dwarf/inline_tree.h"

#include <dwarf.h>

#include <map>

namespace sample::symbolize {
namespace {

/// Calls and blocks together. LLVM's own sources, at -O3, nest to about 60.
constexpr int kDeepestCall = 512;

}  // namespace

/// Paints the function's addresses with its scopes, from the outside in. A scope takes only what
/// shows its parent: so nothing outside the parent, and nothing that a sibling has taken.
class InlineTree::Painter {
public:
    Painter(InlineTree& tree, RangeReader& ranges, std::uint64_t& entries)
        : tree_{tree}, ranges_{ranges}, entries_{entries} {
        segments_.emplace(0, kNobody);
    }

    void paint_function(Dwarf_Die function) {
        const std::uint32_t scope = add_scope(0);
        if (paint(&function, kNobody, scope)) {
            paint_children(&function, scope, 0);
        }
        for (auto place = segments_.begin(); place != segments_.end(); ++place) {
            const auto& [start, painted] = *place;
            const std::uint32_t call = painted == kNobody ? 0 : call_of_scope_[painted];
            if (call != 0) {
                tree_.index_.add(start, std::next(place)->first, call);
            }
        }
        tree_.index_.build();
    }

private:
    static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
    using Segments = std::map<std::uint64_t, std::uint32_t>;

    /// A scope whose own code belongs to `call`.
    std::uint32_t add_scope(std::uint32_t call) {
        call_of_scope_.push_back(call);
        return static_cast<std::uint32_t>(call_of_scope_.size() - 1);
    }

    void paint_children(Dwarf_Die* parent, std::uint32_t scope, int depth) {
        Dwarf_Die child{};
        int status = dwarf_child(parent, &child);
        for (; status == 0; status = dwarf_siblingof(&child, &child)) {
            if (depth >= kDeepestCall || entries_ == 0) {
                ranges_.set_damaged();
                return;
            }
            --entries_;
            paint_child(&child, scope, depth);
        }
        if (status < 0) {
            ranges_.set_damaged();
        }
    }

    void paint_child(Dwarf_Die* die, std::uint32_t parent, int depth) {
        const int tag = dwarf_tag(die);
        const std::uint32_t caller = call_of_scope_[parent];
        if (tag == DW_TAG_inlined_subroutine) {
            const std::uint32_t scope =
                add_scope(static_cast<std::uint32_t>(tree_.calls_.size() + 1));
            if (paint(die, parent, scope)) {
                tree_.calls_.push_back({*die, caller});
                paint_children(die, scope, depth + 1);
            }
        } else if (is_block(tag)) {
            // A block that says nothing of its code is seen through.
            const std::uint32_t scope = has_ranges(die) ? add_scope(caller) : parent;
            if (scope == parent || paint(die, parent, scope)) {
                paint_children(die, scope, depth + 1);
            }
        }
    }

    /// Whether `to` covers any code now.
    bool paint(Dwarf_Die* die, std::uint32_t from, std::uint32_t to) {
        bool painted = false;
        ranges_.each(die, [&](std::uint64_t low, std::uint64_t high) {
            const auto end = split(high);
            for (auto place = split(low); place != end && ranges_.spend(1); ++place) {
                if (place->second == from) {
                    place->second = to;
                    painted = true;
                }
            }
        });
        return painted;
    }

    /// Makes a segment begin at `address`.
    Segments::iterator split(std::uint64_t address) {
        const auto next = segments_.upper_bound(address);
        const auto place = std::prev(next);
        return place->first == address ? place
                                       : segments_.emplace_hint(next, address, place->second);
    }

    InlineTree& tree_;
    RangeReader& ranges_;
    std::uint64_t& entries_;
    Segments segments_;
    std::vector<std::uint32_t> call_of_scope_;
};

InlineTree::InlineTree(const Dwarf_Die& function, RangeReader& ranges, std::uint64_t& entries) {
    Painter{*this, ranges, entries}.paint_function(function);
}

}  // namespace sample::symbolize
