// What a module's DWARF says of an address: which function it lies in, which calls were inlined
// there, and which line the address itself belongs to.
//
// Opened lazily: once per module the address ranges of the units (their root entries only), once
// per unit that is hit its functions' ranges, once per unit its line table, once per function that
// is hit its body. Nothing is done per address but binary searches.
//
// .debug_aranges is not read: clang and rustc don't write it by default, so a program linked of
// mixed objects has holes in it, while the units' root entries are always there and cheap to read.
#pragma once

#include "symbolize/dwarf/debug_entry.h"
#include "symbolize/dwarf/inline_tree.h"
#include "symbolize/dwarf/split_dwarf.h"
#include "symbolize/elf/interval_index.h"

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace sample::symbolize {

/// A function with code of its own (not an inlined copy).
struct DebugFunction {
    Dwarf_Die die = {};
    std::uint64_t start = 0;              ///< Where its first range begins, in module addresses.
    std::unique_ptr<InlineTree> inlines;  ///< Null until an address inside is asked for.
};

/// A call that was inlined: what was called, and where the call stands in its caller.
struct InlinedFrame {
    Dwarf_Die callee = {};  ///< Its abstract origin: one entry for all copies of a function.
    SourceLocation call;
};

/// Not thread-safe: one per module and thread.
class DebugInfo {
public:
    /// `dwarf` may be nullptr (no debug information). Its addresses plus `bias` are the module's.
    /// `split` finds the functions of skeleton units. Both must outlive this.
    DebugInfo(Dwarf* dwarf, Dwarf_Addr bias, SplitDwarf& split)
        : dwarf_{dwarf}, split_{split}, ranges_{bias} {}

    /// The function whose code covers `address`, or nullptr; until the next call.
    [[nodiscard]] DebugFunction* function(std::uint64_t address);
    /// The calls inlined there, innermost first; until the next call.
    [[nodiscard]] std::span<const InlinedFrame> inlined(std::uint64_t address);
    /// The line table's row for `address`; a file without a line where the compiler has made the
    /// code up; {"", 0} if there is no row.
    [[nodiscard]] SourceLocation location(std::uint64_t address);
    /// Where the functions with code begin that were compiled from the entry `origin`, of those
    /// that were read to answer the questions above: its out-of-line copy, and parts of it.
    [[nodiscard]] std::span<const std::uint64_t> copies(const Dwarf_Die& origin) const;
    /// Some of what was looked at does not parse.
    [[nodiscard]] bool is_damaged() const { return ranges_.is_damaged(); }

private:
    struct Unit {
        Dwarf_Die root = {};  ///< Has the line table.
        Dwarf_Die body = {};  ///< Has the functions: of a split unit the .dwo's root, else `root`.
        bool functions_read = false;
        bool nested_read = false;     ///< Those inside of others, too.
        std::uint64_t unread = 0;     ///< Entries that may still be looked at for functions,
        std::uint64_t unpainted = 0;  ///< and for inlined calls.
        std::vector<DebugFunction> functions;
        IntervalIndex index;
    };

    void read_units();
    Unit* unit(std::uint64_t address);
    void read_functions(Unit& unit, bool nested);
    void read_children(Unit& unit, Dwarf_Die* parent, int depth);
    void add_function(Unit& unit, Dwarf_Die* die);

    Dwarf* dwarf_;
    SplitDwarf& split_;
    bool units_read_ = false;
    RangeReader ranges_;
    std::vector<Unit> units_;
    IntervalIndex unit_index_;
    /// By where the origin's entry lies in memory.
    std::unordered_map<const void*, std::vector<std::uint64_t>> copies_;
    std::vector<InlinedFrame> inlined_;
};

}  // namespace sample::symbolize
