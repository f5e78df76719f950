#include "symbolize/debug_info.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>

namespace sample::symbolize {
namespace {

constexpr int kDeepestNesting = 64;
constexpr std::size_t kMostCopies = 16;

/// Whether functions can be found below an entry of that kind.
bool is_scope(int tag) {
    return tag == DW_TAG_namespace || tag == DW_TAG_module || is_class(tag);
}

/// Whether functions inside functions can be found below it: GNU C's, and methods of local classes.
bool is_body(int tag) {
    switch (tag) {
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block:
        case DW_TAG_inlined_subroutine:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
        case DW_TAG_with_stmt:
            return true;
        default:
            return false;
    }
}

}  // namespace

struct DebugInfo::Unit {
    Dwarf_Die root = {};  ///< Has the line table.
    Dwarf_Die body = {};  ///< Has the functions: of a split unit the .dwo's root, else `root`.
    bool functions_read = false;
    bool nested_read = false;
    std::vector<DebugFunction> functions;
    IntervalIndex index;
};

/// Collects the functions of one unit that have code.
class DebugInfo::FunctionReader {
public:
    FunctionReader(DebugInfo& info, Unit& unit, bool nested)
        : info_{info}, unit_{unit}, nested_{nested} {}

    void read_children(Dwarf_Die* parent, int depth) {
        Dwarf_Die child{};
        int status = dwarf_child(parent, &child);
        while (status == 0 && depth < kDeepestNesting) {
            read(&child, depth);
            status = dwarf_siblingof(&child, &child);
        }
        if (status < 0) {
            info_.ranges_.set_damaged();
        }
    }

private:
    void read(Dwarf_Die* die, int depth) {
        const int tag = dwarf_tag(die);
        if (tag == DW_TAG_subprogram) {
            add(die);
        }
        if (is_scope(tag) || (nested_ && is_body(tag))) {
            read_children(die, depth + 1);
        }
    }

    void add(Dwarf_Die* die) {
        if (dwarf_hasattr(die, DW_AT_low_pc) == 0 && dwarf_hasattr(die, DW_AT_ranges) == 0) {
            return;  // A declaration, or the abstract origin of copies.
        }
        const auto value = static_cast<std::uint32_t>(unit_.functions.size());
        std::optional<std::uint64_t> start;
        info_.ranges_.each(die, [&](std::uint64_t low, std::uint64_t high) {
            start = start.value_or(low);
            unit_.index.add(low, high, value);
        });
        if (start) {
            unit_.functions.push_back({*die, *start, nullptr});
            remember_origin(*die, *start);
        }
    }

    void remember_origin(const Dwarf_Die& die, std::uint64_t start) {
        const Dwarf_Die origin = origin_of(die);
        if (origin.addr == die.addr) {
            return;
        }
        std::vector<std::uint64_t>& starts = info_.copies_[origin.addr];
        if (starts.size() < kMostCopies &&
            std::find(starts.begin(), starts.end(), start) == starts.end()) {
            starts.push_back(start);
        }
    }

    DebugInfo& info_;
    Unit& unit_;
    bool nested_;
};

DebugInfo::DebugInfo(Dwarf* dwarf, Dwarf_Addr bias, SplitUnits& split)
    : dwarf_{dwarf}, split_{split}, ranges_{bias} {}

DebugInfo::~DebugInfo() = default;

void DebugInfo::read_units() {
    units_read_ = true;
    Dwarf_CU* cu = nullptr;
    Dwarf_Die root{};
    std::uint8_t kind = 0;
    int status = 1;
    while (dwarf_ != nullptr &&
           (status = dwarf_get_units(dwarf_, cu, &cu, nullptr, &kind, &root, nullptr)) == 0) {
        if (kind == DW_UT_type || kind == DW_UT_split_type || kind == DW_UT_partial) {
            continue;
        }
        const auto value = static_cast<std::uint32_t>(units_.size());
        bool has_code = false;
        ranges_.each(&root, [&](std::uint64_t low, std::uint64_t high) {
            has_code = true;
            unit_index_.add(low, high, value);
        });
        if (has_code) {
            units_.push_back(std::make_unique<Unit>());
            units_.back()->root = root;
        }
    }
    if (status < 0) {
        ranges_.set_damaged();
    }
    unit_index_.build();
}

DebugInfo::Unit* DebugInfo::unit(std::uint64_t address) {
    if (!units_read_) {
        read_units();
    }
    const auto found = unit_index_.find(address);
    return found ? units_[*found].get() : nullptr;
}

void DebugInfo::read_functions(Unit& unit, bool nested) {
    if (!unit.functions_read) {
        unit.body = split_.body_of(unit.root);
    }
    unit.functions_read = true;
    unit.nested_read = nested;
    unit.functions.clear();
    unit.index = {};
    FunctionReader{*this, unit, nested}.read_children(&unit.body, 0);
    unit.index.build();
}

DebugFunction* DebugInfo::find_function(std::uint64_t address) {
    Unit* const home = unit(address);
    if (home == nullptr) {
        return nullptr;
    }
    if (!home->functions_read) {
        read_functions(*home, false);
    }
    auto found = home->index.find(address);
    if (!found && !home->nested_read) {
        // The bodies, most of a unit, are read only for an address that no other function has.
        read_functions(*home, true);
        found = home->index.find(address);
    }
    return found ? &home->functions[*found] : nullptr;
}

const DebugFunction* DebugInfo::function(std::uint64_t address) {
    return find_function(address);
}

std::span<const InlinedFrame> DebugInfo::inlined(std::uint64_t address) {
    inlined_.clear();
    DebugFunction* const home = find_function(address);
    if (home == nullptr) {
        return {};
    }
    if (home->inlines == nullptr) {
        home->inlines = std::make_unique<InlineTree>(home->die, ranges_);
    }
    std::uint32_t number = home->inlines->innermost(address);
    while (number != 0) {
        const InlinedCall& call = home->inlines->call(number);
        inlined_.push_back({origin_of(call.die), call_of(call.die)});
        number = call.caller;
    }
    return inlined_;
}

SourcePlace DebugInfo::place(std::uint64_t address) {
    Unit* const home = unit(address);
    Dwarf_Line* const row =
        home != nullptr ? dwarf_getsrc_die(&home->root, address - ranges_.bias()) : nullptr;
    if (row == nullptr) {
        return {};
    }
    int line = 0;
    if (dwarf_lineno(row, &line) != 0 || line < 0) {
        line = 0;
    }
    return place_in(home->root.cu, dwarf_linesrc(row, nullptr, nullptr),
                    static_cast<std::uint32_t>(line));
}

std::span<const std::uint64_t> DebugInfo::copies(const Dwarf_Die& origin) const {
    const auto found = copies_.find(origin.addr);
    return found == copies_.end() ? std::span<const std::uint64_t>{} : std::span{found->second};
}

}  // namespace sample::symbolize
