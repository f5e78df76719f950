#include "symbolize/dwarf/debug_info.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>

namespace sample::symbolize {
namespace {

constexpr int kDeepestFunction = 64;
constexpr std::size_t kMostCopies = 16;

/// Whether functions can be found below an entry of that kind.
bool is_scope(int tag) {
    return tag == DW_TAG_namespace || tag == DW_TAG_module || is_class(tag);
}

/// Whether functions inside functions can be found below it: GNU C's, and methods of local classes.
bool is_body(int tag) {
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || is_block(tag);
}

}  // namespace

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
            units_.emplace_back().root = root;
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
    return found ? &units_[*found] : nullptr;
}

void DebugInfo::read_functions(Unit& unit, bool nested) {
    if (!unit.functions_read) {
        unit.body = split_.body_of(unit.root);
        unit.unpainted = unit_size(unit.body);
    }
    unit.unread = unit_size(unit.body);
    unit.functions_read = true;
    unit.nested_read = nested;
    unit.functions.clear();
    unit.index = {};
    read_children(unit, &unit.body, 0);
    unit.index.build();
}

void DebugInfo::read_children(Unit& unit, Dwarf_Die* parent, int depth) {
    Dwarf_Die child{};
    int status = dwarf_child(parent, &child);
    for (; status == 0 && depth < kDeepestFunction; status = dwarf_siblingof(&child, &child)) {
        if (unit.unread == 0) {
            ranges_.set_damaged();
            return;
        }
        --unit.unread;
        const int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram) {
            add_function(unit, &child);
        }
        if (is_scope(tag) || (unit.nested_read && is_body(tag))) {
            read_children(unit, &child, depth + 1);
        }
    }
    if (status < 0) {
        ranges_.set_damaged();
    }
}

/// If it has code, and is no declaration or the abstract origin of copies.
void DebugInfo::add_function(Unit& unit, Dwarf_Die* die) {
    std::optional<std::uint64_t> start;
    if (has_ranges(die)) {
        const auto value = static_cast<std::uint32_t>(unit.functions.size());
        ranges_.each(die, [&](std::uint64_t low, std::uint64_t high) {
            start = start.value_or(low);
            unit.index.add(low, high, value);
        });
    }
    if (!start) {
        return;
    }
    unit.functions.push_back({*die, *start, nullptr});
    const Dwarf_Die origin = origin_of(*die);
    if (origin.addr != die->addr) {
        std::vector<std::uint64_t>& starts = copies_[origin.addr];
        if (starts.size() < kMostCopies &&
            std::find(starts.begin(), starts.end(), *start) == starts.end()) {
            starts.push_back(*start);
        }
    }
}

DebugFunction* DebugInfo::function(std::uint64_t address) {
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

std::span<const InlinedFrame> DebugInfo::inlined(std::uint64_t address) {
    inlined_.clear();
    DebugFunction* const home = function(address);
    if (home == nullptr) {
        return {};
    }
    if (home->inlines == nullptr) {
        home->inlines = std::make_unique<InlineTree>(home->die, ranges_, unit(address)->unpainted);
    }
    std::uint32_t number = home->inlines->innermost(address);
    while (number != 0) {
        const InlinedCall& call = home->inlines->call(number);
        inlined_.push_back({origin_of(call.die), call_of(call.die)});
        number = call.caller;
    }
    return inlined_;
}

SourceLocation DebugInfo::location(std::uint64_t address) {
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
    return location_in(home->root.cu, dwarf_linesrc(row, nullptr, nullptr),
                       static_cast<std::uint32_t>(line));
}

std::span<const std::uint64_t> DebugInfo::copies(const Dwarf_Die& origin) const {
    const auto found = copies_.find(origin.addr);
    return found == copies_.end() ? std::span<const std::uint64_t>{} : std::span{found->second};
}

}  // namespace sample::symbolize
