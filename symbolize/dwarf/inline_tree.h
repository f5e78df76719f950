// The calls that the compiler inlined into one function, by address.
//
// An inlined call covers an address if its own ranges do and those of everything around it; of two
// beside each other that both do, the first in the file counts. These are the rules of elfutils'
// dwarf_getscopes, which would read the function's body again for every address: here it is read
// once and flattened into disjoint segments.
#pragma once

#include "symbolize/dwarf/debug_entry.h"
#include "symbolize/elf/interval_index.h"

#include <cstdint>
#include <vector>

namespace sample::symbolize {

/// One DW_TAG_inlined_subroutine.
struct InlinedCall {
    Dwarf_Die die = {};
    std::uint32_t caller = 0;  ///< The call that it was inlined into; 0: the function itself.
};

class InlineTree {
public:
    /// Reads the body of `function`, an entry with code: at most `entries` entries, which it takes
    /// off. What does not parse, nests too deep or is too much is left out, and `ranges` knows.
    /// O(entries + segments that ranges cover, again for each scope they lie in), which `ranges`
    /// bounds.
    InlineTree(const Dwarf_Die& function, RangeReader& ranges, std::uint64_t& entries);

    /// The innermost call at `address`; 0 if it is the function's own code. O(log ranges).
    [[nodiscard]] std::uint32_t innermost(std::uint64_t address) const {
        return index_.find(address).value_or(0);
    }
    /// `number` is one that innermost() gave, or the caller of such a call; not 0.
    [[nodiscard]] const InlinedCall& call(std::uint32_t number) const { return calls_[number - 1]; }

private:
    class Painter;

    std::vector<InlinedCall> calls_;
    IntervalIndex index_;
};

}  // namespace sample::symbolize
