// What a debugging entry stands in: namespaces, classes, functions.
//
// Entries don't refer to their parents. elfutils' dwarf_getscopes_die reads the whole unit to find
// them; here the children of each scope that is passed are listed once, and searched.
#pragma once

#include <elfutils/libdw.h>

#include <unordered_map>
#include <vector>

namespace sample::symbolize {

/// Not thread-safe: one per module and thread.
class DebugScopes {
public:
    /// The entries around `die`, outermost first, from its unit's root on; empty if it isn't found.
    /// O(depth · log children), and once O(children) for each scope.
    [[nodiscard]] std::vector<Dwarf_Die> around(Dwarf_Die die);
    /// In file order; empty if there are none, or if they do not parse. Valid as long as this.
    [[nodiscard]] const std::vector<Dwarf_Die>& children(Dwarf_Die die);

private:
    std::unordered_map<const void*, std::vector<Dwarf_Die>> children_;
};

}  // namespace sample::symbolize
