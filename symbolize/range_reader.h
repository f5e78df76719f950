// Reads the address ranges of debugging entries, within bounds.
//
// One list of ranges may be named by each of many entries, so a small hostile file could cost the
// product of the two. All readers of a module share one budget.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>

namespace sample::symbolize {

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
            if (low != 0 && low < high) {
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
