#include "symbolize/dwarf/debug_entry.h"

#include <dwarf.h>

#include <algorithm>
#include <cstddef>
#include <functional>

namespace sample::symbolize {
namespace {

/// Compilers need three; elfutils' own dwarf_attr_integrate ends at 16.
constexpr int kLongestChain = 16;
constexpr std::size_t kDeepestEntry = 256;

/// A file by its number in a unit's line table. Not dwarf_decl_file, which aborts on split DWARF
/// and on damaged line tables (elfutils 0.188).
const char* file_of(Dwarf_Attribute* attribute) {
    Dwarf_Word number = 0;
    Dwarf_Die unit{};
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    // The number counts in the unit that holds the attribute, not always the function's own.
    if (dwarf_formudata(attribute, &number) != 0 ||
        dwarf_cu_info(attribute->cu, nullptr, nullptr, &unit, nullptr, nullptr, nullptr, nullptr) !=
            0 ||
        dwarf_getsrcfiles(&unit, &files, &count) != 0 || number >= count) {
        return nullptr;
    }
    return dwarf_filesrc(files, number, nullptr, nullptr);
}

/// A split unit's is written in its skeleton.
std::string_view compilation_folder(Dwarf_CU* cu) {
    Dwarf_Die unit{};
    Dwarf_Die other{};
    if (dwarf_cu_info(cu, nullptr, nullptr, &unit, &other, nullptr, nullptr, nullptr) != 0) {
        return {};
    }
    const std::string_view folder = text_at(unit, DW_AT_comp_dir);
    return folder.empty() && other.cu != nullptr ? text_at(other, DW_AT_comp_dir) : folder;
}

std::uint32_t line_of(Dwarf_Attribute* attribute) {
    Dwarf_Word line = 0;
    return dwarf_formudata(attribute, &line) == 0 && line <= UINT32_MAX
               ? static_cast<std::uint32_t>(line)
               : 0;
}

}  // namespace

bool is_class(int tag) {
    return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
           tag == DW_TAG_interface_type || tag == DW_TAG_enumeration_type;
}

bool is_block(int tag) {
    return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block ||
           tag == DW_TAG_with_stmt;
}

bool has_ranges(Dwarf_Die* die) {
    return dwarf_hasattr(die, DW_AT_ranges) != 0 || dwarf_hasattr(die, DW_AT_low_pc) != 0;
}

std::string SourceLocation::path() const {
    return folder.empty() ? std::string{file} : std::string{folder} + "/" + std::string{file};
}

SourceLocation location_in(Dwarf_CU* cu, const char* file, std::uint32_t line) {
    SourceLocation location;
    location.line = line;
    if (file != nullptr && *file != '\0') {
        location.file = file;
        location.folder = *file != '/' ? compilation_folder(cu) : std::string_view{};
    }
    return location;
}

Dwarf_Die origin_of(Dwarf_Die die) {
    for (int i = 0; i < kLongestChain; ++i) {
        const auto next = entry_at(die, DW_AT_abstract_origin);
        if (!next) {
            break;
        }
        die = *next;
    }
    return die;
}

std::string_view text_at(Dwarf_Die die, unsigned name) {
    Dwarf_Attribute attribute{};
    if (dwarf_attr_integrate(&die, name, &attribute) == nullptr) {
        return {};
    }
    const char* const value = dwarf_formstring(&attribute);
    return value != nullptr ? value : std::string_view{};
}

std::string_view linkage_name_of(Dwarf_Die die) {
    const std::string_view name = text_at(die, DW_AT_linkage_name);
    return name.empty() ? text_at(die, DW_AT_MIPS_linkage_name) : name;
}

std::string_view plain_name_of(Dwarf_Die die) {
    return text_at(die, DW_AT_name);
}

SourceLocation declaration_of(Dwarf_Die die) {
    Dwarf_Attribute attribute{};
    if (dwarf_attr_integrate(&die, DW_AT_decl_line, &attribute) == nullptr) {
        return {};
    }
    const std::uint32_t line = line_of(&attribute);
    if (line == 0 || dwarf_attr_integrate(&die, DW_AT_decl_file, &attribute) == nullptr) {
        return {};
    }
    return location_in(attribute.cu, file_of(&attribute), line);
}

SourceLocation call_of(Dwarf_Die die) {
    Dwarf_Attribute attribute{};
    const std::uint32_t line =
        dwarf_attr(&die, DW_AT_call_line, &attribute) != nullptr ? line_of(&attribute) : 0;
    const char* const file =
        dwarf_attr(&die, DW_AT_call_file, &attribute) != nullptr ? file_of(&attribute) : nullptr;
    return location_in(die.cu, file, line);
}

std::optional<Dwarf_Die> entry_at(Dwarf_Die die, unsigned name) {
    Dwarf_Attribute attribute{};
    Dwarf_Die result{};
    if (dwarf_attr(&die, name, &attribute) == nullptr ||
        dwarf_formref_die(&attribute, &result) == nullptr) {
        return std::nullopt;
    }
    return result;
}

bool has_flag(Dwarf_Die die, unsigned name) {
    Dwarf_Attribute attribute{};
    bool value = false;
    return dwarf_attr(&die, name, &attribute) != nullptr &&
           dwarf_formflag(&attribute, &value) == 0 && value;
}

std::optional<std::uint64_t> number_at(Dwarf_Die die, unsigned name) {
    Dwarf_Attribute attribute{};
    Dwarf_Word value = 0;
    if (dwarf_attr(&die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0) {
        return std::nullopt;
    }
    return value;
}

std::uint64_t unit_size(Dwarf_Die die) {
    Dwarf_Die unit{};
    if (dwarf_diecu(&die, &unit, nullptr, nullptr) == nullptr) {
        return 0;
    }
    const Dwarf_Off begin = dwarf_dieoffset(&unit) - dwarf_cuoffset(&unit);
    Dwarf_Off end = begin;
    std::size_t header_size = 0;
    return dwarf_next_unit(dwarf_cu_getdwarf(unit.cu), begin, &end, &header_size, nullptr, nullptr,
                           nullptr, nullptr, nullptr, nullptr) == 0
               ? end - begin
               : 0;
}

std::vector<Dwarf_Die> DebugScopes::around(Dwarf_Die die) {
    Dwarf_Die scope{};
    if (dwarf_diecu(&die, &scope, nullptr, nullptr) == nullptr) {
        return {};
    }
    std::vector<Dwarf_Die> result;
    while (result.size() < kDeepestEntry) {
        // A unit's entries lie in memory as in the file: parents before children before siblings.
        const std::vector<Dwarf_Die>& inside = children(scope);
        const auto next = std::upper_bound(inside.begin(), inside.end(), die.addr,
                                           [](const void* address, const Dwarf_Die& other) {
                                               return std::less<>{}(
                                                   address, static_cast<const void*>(other.addr));
                                           });
        result.push_back(scope);
        if (next == inside.begin()) {
            return {};
        }
        scope = *std::prev(next);
        if (scope.addr == die.addr) {
            return result;
        }
    }
    return {};
}

const std::vector<Dwarf_Die>& DebugScopes::children(Dwarf_Die die) {
    const auto [place, is_new] = children_.try_emplace(die.addr);
    if (is_new) {
        Dwarf_Die child{};
        int status = dwarf_child(&die, &child);
        for (; status == 0; status = dwarf_siblingof(&child, &child)) {
            place->second.push_back(child);
        }
    }
    return place->second;
}

}  // namespace sample::symbolize
