#include "symbolize/debug_info.h"

#include <dwarf.h>

#include <optional>

namespace sample::symbolize {
namespace {

/// A module with more address ranges than this is hostile: one list of ranges, named by each of
/// many functions, would otherwise cost the product of the two. A web browser has about a million.
constexpr std::uint64_t kMostRanges = std::uint64_t{8} << 20;
constexpr int kDeepestNesting = 64;

/// Whether functions can be found below an entry of that kind.
bool is_scope(int tag) {
    switch (tag) {
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
        case DW_TAG_interface_type:
        case DW_TAG_enumeration_type:
            return true;
        default:
            return false;
    }
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

std::string text(Dwarf_Die* die, unsigned name) {
    Dwarf_Attribute attribute{};
    if (dwarf_attr_integrate(die, name, &attribute) == nullptr) {
        return {};
    }
    const char* const value = dwarf_formstring(&attribute);
    return value != nullptr ? value : "";
}

/// What dwarf_decl_file is for, which aborts on split DWARF and on damaged line tables (elfutils
/// 0.188).
std::string declared_file(Dwarf_Die* die) {
    Dwarf_Attribute attribute{};
    Dwarf_Word number = 0;
    Dwarf_Die unit{};
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    // The number counts in the unit that holds the attribute, not always the function's own.
    if (dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) == nullptr ||
        dwarf_formudata(&attribute, &number) != 0 ||
        dwarf_cu_info(attribute.cu, nullptr, nullptr, &unit, nullptr, nullptr, nullptr, nullptr) !=
            0 ||
        dwarf_getsrcfiles(&unit, &files, &count) != 0 || number >= count) {
        return {};
    }
    const char* const name = dwarf_filesrc(files, number, nullptr, nullptr);
    return name != nullptr ? name : "";
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
            info_.damaged_ = true;
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
        info_.each_range(die, [&](std::uint64_t low, std::uint64_t high) {
            start = start.value_or(low);
            unit_.index.add(low, high, value);
        });
        if (start) {
            unit_.functions.push_back({*die, *start});
        }
    }

    DebugInfo& info_;
    Unit& unit_;
    bool nested_;
};

std::string DebugFunction::linkage_name() const {
    Dwarf_Die copy = die;
    for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
        std::string value = text(&copy, name);
        if (!value.empty()) {
            return value;
        }
    }
    return {};
}

SourcePlace DebugFunction::declaration() const {
    Dwarf_Die copy = die;
    int line = 0;
    if (dwarf_decl_line(&copy, &line) != 0 || line <= 0) {
        return {};
    }
    return {declared_file(&copy), static_cast<std::uint32_t>(line)};
}

DebugInfo::DebugInfo(Dwarf* dwarf, Dwarf_Addr bias, SplitUnits& split)
    : dwarf_{dwarf}, bias_{bias}, split_{split} {}

DebugInfo::~DebugInfo() = default;

/// Calls add(low, high) for each of an entry's ranges of code, in module addresses. Ranges at 0 are
/// what the linker leaves of functions that it dropped.
template <class Add>
void DebugInfo::each_range(Dwarf_Die* die, Add add) {
    Dwarf_Addr base = 0;
    Dwarf_Addr low = 0;
    Dwarf_Addr high = 0;
    std::ptrdiff_t next = 0;
    while ((next = dwarf_ranges(die, next, &base, &low, &high)) > 0) {
        if (++ranges_read_ > kMostRanges) {
            damaged_ = true;
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
        each_range(&root, [&](std::uint64_t low, std::uint64_t high) {
            has_code = true;
            unit_index_.add(low, high, value);
        });
        if (has_code) {
            units_.push_back(std::make_unique<Unit>());
            units_.back()->root = root;
        }
    }
    if (status < 0) {
        damaged_ = true;
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

const DebugFunction* DebugInfo::function(std::uint64_t address) {
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

Dwarf_Line* DebugInfo::row(std::uint64_t address) {
    Unit* const home = unit(address);
    return home != nullptr ? dwarf_getsrc_die(&home->root, address - bias_) : nullptr;
}

SourcePlace DebugInfo::place(std::uint64_t address) {
    Dwarf_Line* const line_row = row(address);
    int line = 0;
    if (line_row == nullptr || dwarf_lineno(line_row, &line) != 0 || line <= 0) {
        return {};
    }
    const char* const file = dwarf_linesrc(line_row, nullptr, nullptr);
    return {file != nullptr ? file : "", static_cast<std::uint32_t>(line)};
}

std::uint32_t DebugInfo::line(std::uint64_t address) {
    Dwarf_Line* const line_row = row(address);
    int line = 0;
    return line_row != nullptr && dwarf_lineno(line_row, &line) == 0 && line > 0
               ? static_cast<std::uint32_t>(line)
               : 0;
}

}  // namespace sample::symbolize
