// What one debugging entry says of itself, and what it stands in.
//
// A function may have several entries: its declaration in a class, its abstract origin (what is
// common to all inlined copies, in link-time optimised programs in another unit), and those of the
// copies. They refer to each other; what one leaves out stands in the next.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sample::symbolize {

/// Whether an entry of that kind is a class, in the widest sense: a type that has members.
[[nodiscard]] bool is_class(int tag);

/// Whether it is a part of a function's body in the source.
[[nodiscard]] bool is_block(int tag);
/// Whether the entry itself says where code of its own lies.
[[nodiscard]] bool has_ranges(Dwarf_Die* die);

/// The texts live as long as the debug information they were read from.
struct SourceLocation {
    std::string_view file;    ///< As the compiler wrote it; empty if unknown.
    std::string_view folder;  ///< Where the compiler ran, if `file` is relative to it.
    std::uint32_t line = 0;   ///< 0 if unknown.

    [[nodiscard]] std::string path() const;
};

/// A file of the unit `cu`, by its name in the line table; nullptr is none.
[[nodiscard]] SourceLocation location_in(Dwarf_CU* cu, const char* file, std::uint32_t line);

/// The entry that DW_AT_abstract_origin leads to in the end; `die` itself if to none. Ends also
/// where the references go in a circle.
[[nodiscard]] Dwarf_Die origin_of(Dwarf_Die die);

/// A text of the entry, or of one that it refers to; above all what it calls itself. Lives as long
/// as the debug information.
[[nodiscard]] std::string_view text_at(Dwarf_Die die, unsigned name);
[[nodiscard]] std::string_view linkage_name_of(Dwarf_Die die);
[[nodiscard]] std::string_view plain_name_of(Dwarf_Die die);

/// Where a function is declared, or rather defined, if the compiler told the two apart.
[[nodiscard]] SourceLocation declaration_of(Dwarf_Die die);
/// Where an inlined call stands.
[[nodiscard]] SourceLocation call_of(Dwarf_Die die);

/// The entry that the attribute `name` of `die` itself refers to.
[[nodiscard]] std::optional<Dwarf_Die> entry_at(Dwarf_Die die, unsigned name);

[[nodiscard]] bool has_flag(Dwarf_Die die, unsigned name);
[[nodiscard]] std::optional<std::uint64_t> number_at(Dwarf_Die die, unsigned name);

/// The size in bytes of the unit that `die` stands in: it has fewer entries. Entries may say
/// themselves where their sibling is, and hostile ones say that it is their own child: whoever goes
/// down from siblings to children meets such entries again and again.
[[nodiscard]] std::uint64_t unit_size(Dwarf_Die die);

/// The namespaces, classes and functions that entries stand in.
///
/// Entries don't refer to their parents. elfutils' dwarf_getscopes_die reads the whole unit to find
/// them; here the children of each scope that is passed are listed once, and searched.
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

/// Reads the address ranges of entries, within bounds.
///
/// One list of ranges may be named by each of many entries, so a small hostile file could cost the
/// product of the two. All readers of a module share one budget.
/// Not thread-safe: one per module and thread.
class RangeReader {
public:
    /// DWARF addresses plus `bias` are the module's.
    explicit RangeReader(Dwarf_Addr bias) : bias_{bias} {}

    /// Calls add(low, high) for each range of code, in module addresses. Ranges at 0 are what the
    /// linker leaves of functions that it dropped.
    template <class Add>
    void each(Dwarf_Die* die, Add add) {
        Dwarf_Addr base = 0;
        Dwarf_Addr low = 0;
        Dwarf_Addr high = 0;
        std::ptrdiff_t next = 0;
        while ((next = dwarf_ranges(die, next, &base, &low, &high)) > 0) {
            if (!spend(1)) {
                return;
            }
            if (low != 0 && low < high && low + bias_ < high + bias_) {
                add(low + bias_, high + bias_);
            }
        }
        if (next < 0) {
            damaged_ = true;
        }
    }

    /// False once a module has cost more steps than any honest one.
    [[nodiscard]] bool spend(std::uint64_t steps) {
        spent_ += steps;
        damaged_ = damaged_ || spent_ > kMostSteps;
        return spent_ <= kMostSteps;
    }

    void set_damaged() { damaged_ = true; }
    /// Something that was read does not parse, or is out of bounds.
    [[nodiscard]] bool is_damaged() const { return damaged_; }
    [[nodiscard]] Dwarf_Addr bias() const { return bias_; }

private:
    /// A web browser has about a million functions, and some ten inlined calls to each.
    static constexpr std::uint64_t kMostSteps = std::uint64_t{64} << 20;

    Dwarf_Addr bias_;
    std::uint64_t spent_ = 0;
    bool damaged_ = false;
};

}  // namespace sample::symbolize
