// What a module's DWARF says of an address: which function it lies in, where that begins in the
// source, and which line the address itself belongs to.
//
// Opened lazily: once per module the address ranges of the units (their root entries only), once
// per unit that is hit its functions' ranges, once per unit its line table. Nothing is done per
// address but binary searches.
//
// .debug_aranges is not read: clang and rustc don't write it by default, so a program linked of
// mixed objects has holes in it, while the units' root entries are always there and cheap to read.
#pragma once

#include "symbolize/interval_index.h"
#include "symbolize/split_units.h"

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sample::symbolize {

struct SourcePlace {
    std::string file;  ///< As the compiler wrote it; empty if unknown.
    std::uint32_t line = 0;
};

/// A function with code of its own (not an inlined copy).
struct DebugFunction {
    Dwarf_Die die = {};
    std::uint64_t start = 0;  ///< Where its first range begins, in module addresses.

    /// As the linker knows it; its plain name where it has no other; empty if it has none.
    [[nodiscard]] std::string linkage_name() const;
    /// Where it is declared, or rather defined, if the compiler told the two apart.
    [[nodiscard]] SourcePlace declaration() const;
};

/// Not thread-safe: one per module and thread.
class DebugInfo {
public:
    /// `dwarf` may be nullptr (no debug information). Its addresses plus `bias` are the module's.
    /// `split` finds the functions of skeleton units. Both must outlive this.
    DebugInfo(Dwarf* dwarf, Dwarf_Addr bias, SplitUnits& split);
    ~DebugInfo();
    DebugInfo(const DebugInfo&) = delete;
    DebugInfo& operator=(const DebugInfo&) = delete;
    DebugInfo(DebugInfo&&) = delete;
    DebugInfo& operator=(DebugInfo&&) = delete;

    /// The function whose code covers `address`, or nullptr.
    [[nodiscard]] const DebugFunction* function(std::uint64_t address);
    /// The line table's row for `address`; {"", 0} if there is none.
    [[nodiscard]] SourcePlace place(std::uint64_t address);
    /// As place(), without making the file's name.
    [[nodiscard]] std::uint32_t line(std::uint64_t address);
    /// Some of what was looked at does not parse.
    [[nodiscard]] bool is_damaged() const { return damaged_; }

private:
    struct Unit;
    class FunctionReader;

    void read_units();
    Unit* unit(std::uint64_t address);
    Dwarf_Line* row(std::uint64_t address);
    void read_functions(Unit& unit, bool nested);
    template <class Add>
    void each_range(Dwarf_Die* die, Add add);

    Dwarf* dwarf_;
    Dwarf_Addr bias_;
    SplitUnits& split_;
    bool units_read_ = false;
    bool damaged_ = false;
    std::uint64_t ranges_read_ = 0;
    std::vector<std::unique_ptr<Unit>> units_;
    IntervalIndex unit_index_;
};

}  // namespace sample::symbolize
