// The types in DebugNames: C++ declarators, as libiberty's demangler writes them.
#include "symbolize/dwarf/debug_names.h"
#include "symbolize/names/name_syntax.h"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sample::symbolize {
namespace {

/// g++'s names of the basic types, where the demangler's differ, and the suffix of their literals.
struct BasicType {
    std::string_view in_dwarf;
    std::string_view name;
    std::string_view suffix;
};

/// Longer ones before those that they hold.
constexpr std::array<BasicType, 12> kBasicTypes = {{
    {"long long unsigned int", "unsigned long long", "ull"},
    {"long unsigned int", "unsigned long", "ul"},
    {"short unsigned int", "unsigned short", {}},
    {"long long int", "long long", "ll"},
    {"long int", "long", "l"},
    {"short int", "short", {}},
    {"int", "int", ""},
    {"unsigned int", "unsigned int", "u"},
    {"long", "long", "l"},
    {"unsigned long", "unsigned long", "ul"},
    {"long long", "long long", "ll"},
    {"unsigned long long", "unsigned long long", "ull"},
}};

/// A template's name as g++ writes it, where its arguments are not there as entries.
std::string with_demangled_types(std::string name) {
    for (const auto& [from, to, suffix] : kBasicTypes) {
        for (std::size_t at = 0; from != to && (at = name.find(from, at)) != std::string::npos;
             at += to.size()) {
            name.replace(at, from.size(), to);
        }
    }
    return name;
}

const BasicType* basic_type(std::string_view name) {
    for (const BasicType& one : kBasicTypes) {
        if (one.in_dwarf == name) {
            return &one;
        }
    }
    return nullptr;
}

DebugType target_of(const Dwarf_Die& die) {
    return entry_at(die, DW_AT_type);
}

int tag_of(const DebugType& type) {
    if (!type) {
        return 0;
    }
    Dwarf_Die copy = *type;
    return dwarf_tag(&copy);
}

/// The type that a chain of other names stands for; what it is declared with stays.
DebugType without(const DebugType& type, bool (*is_dropped)(int tag)) {
    DebugType result = type;
    for (int i = 0; i < 64 && result && is_dropped(tag_of(result)); ++i) {
        result = target_of(*result);
    }
    return result;
}

bool is_typedef(int tag) {
    return tag == DW_TAG_typedef;
}

/// What a parameter's type loses in a function's type.
bool is_qualifier(int tag) {
    return tag == DW_TAG_const_type || tag == DW_TAG_volatile_type || tag == DW_TAG_restrict_type;
}

std::optional<std::string> constant_of(Dwarf_Die die) {
    Dwarf_Attribute attribute{};
    Dwarf_Sword number = 0;
    const unsigned form = dwarf_whatform(dwarf_attr(&die, DW_AT_const_value, &attribute));
    if (form == DW_FORM_sdata || form == DW_FORM_implicit_const) {
        return dwarf_formsdata(&attribute, &number) == 0 ? std::optional{std::to_string(number)}
                                                         : std::nullopt;
    }
    const auto natural = number_at(die, DW_AT_const_value);
    return natural ? std::optional{std::to_string(*natural)} : std::nullopt;
}

}  // namespace

std::size_t template_arguments_in(std::string_view name) {
    // "<lambda(int)>" is a name, and no arguments.
    return name.starts_with('<')
               ? name.size()
               : std::min(name.find('<', operator_at(name, 0).length), name.size());
}

std::string DebugNames::declare(const DebugType& type, const std::string& declarator) {
    const Level level{*this};
    if (is_out_of_bounds()) {
        return {};
    }
    switch (tag_of(type)) {
        case 0:
            return "void" + declarator;
        case DW_TAG_const_type:
            return declare(target_of(*type), " const" + declarator);
        case DW_TAG_volatile_type:
            return declare(target_of(*type), " volatile" + declarator);
        case DW_TAG_restrict_type:
            return declare(target_of(*type), " __restrict" + declarator);
        case DW_TAG_pointer_type:
            return declare_pointer(target_of(*type), "*" + declarator);
        case DW_TAG_reference_type:
            return declare_pointer(target_of(*type), "&" + declarator);
        case DW_TAG_rvalue_reference_type:
            return declare_pointer(target_of(*type), "&&" + declarator);
        case DW_TAG_ptr_to_member_type:
            return declare_member_pointer(*type, declarator);
        case DW_TAG_array_type:
            return declare_array(*type, declarator);
        case DW_TAG_subroutine_type:
            return declare(target_of(*type),
                           (declarator.empty() ? " " : declarator) + parameter_list(*type));
        case DW_TAG_typedef:
            return declare_typedef(*type, declarator);
        case DW_TAG_base_type: {
            const std::string_view name = plain_name_of(*type);
            const BasicType* const basic = basic_type(name);
            return std::string{basic != nullptr ? basic->name : name} + declarator;
        }
        case DW_TAG_unspecified_type:
            return std::string{plain_name_of(*type)} + declarator;
        default: {
            // A class may have a unit of its own, and stand in its scope as a mere declaration.
            const Dwarf_Die whole = entry_at(*type, DW_AT_signature).value_or(*type);
            return prefix(entry_at(whole, DW_AT_specification).value_or(whole)) +
                   class_name(whole) + declarator;
        }
    }
}

std::string DebugNames::declare_pointer(const DebugType& target, const std::string& declarator) {
    const int tag = tag_of(without(target, is_typedef));
    const bool around = tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type;
    return declare(target, around ? " (" + declarator + ")" : declarator);
}

std::string DebugNames::declare_member_pointer(const Dwarf_Die& die,
                                               const std::string& declarator) {
    const DebugType target = target_of(die);
    const std::string sign = declare(entry_at(die, DW_AT_containing_type)) + "::*" + declarator;
    if (tag_of(target) != DW_TAG_subroutine_type) {
        return declare(target, " " + sign);
    }
    return declare(target_of(*target),
                   " (" + sign + ")" + parameter_list(*target) + object_qualifiers(*target));
}

std::string DebugNames::declare_array(const Dwarf_Die& die, const std::string& declarator) {
    std::string extents;
    for (const Dwarf_Die& entry : scopes_.children(die)) {
        auto count = number_at(entry, DW_AT_count);
        if (!count) {
            const auto last = number_at(entry, DW_AT_upper_bound);
            count = last ? std::optional{*last + 1} : std::nullopt;
        }
        extents += "[" + (count ? std::to_string(*count) : "") + "]";
    }
    if (has_flag(die, DW_AT_GNU_vector)) {
        // A damaged type may have no extent.
        const std::string inside = extents.empty() ? "" : extents.substr(1, extents.size() - 2);
        return declare(target_of(die), " __vector(" + inside + ")" + declarator);
    }
    return declare(target_of(die), declarator + " " + extents);
}

std::string DebugNames::declare_typedef(const Dwarf_Die& die, const std::string& declarator) {
    const DebugType target = target_of(die);
    const int tag = tag_of(target);
    const bool names_it = is_class(tag) && plain_name_of(*target).empty();
    // typedef struct {…} Name: the class is called Name.
    return names_it ? prefix(die) + std::string{plain_name_of(die)} + declarator
                    : declare(target, declarator);
}

std::string DebugNames::parameter_list(const Dwarf_Die& function) {
    std::string text;
    for (Dwarf_Die entry : scopes_.children(function)) {
        const int tag = dwarf_tag(&entry);
        if (tag == DW_TAG_unspecified_parameters) {
            text += text.empty() ? "..." : ", ...";
        } else if (tag == DW_TAG_formal_parameter && !has_flag(entry, DW_AT_artificial)) {
            text += text.empty() ? "" : ", ";
            text += declare(without(target_of(entry), is_qualifier));
        } else if (tag == DW_TAG_GNU_formal_parameter_pack) {
            for (const Dwarf_Die& one : scopes_.children(entry)) {
                text += text.empty() ? "" : ", ";
                text += declare(without(target_of(one), is_qualifier));
            }
        }
    }
    return "(" + text + ")";
}

std::string DebugNames::template_name(std::string_view name, const Dwarf_Die& die) {
    const std::size_t open = template_arguments_in(name);
    std::string whole{name};
    if (open == name.size()) {
        return whole;
    }
    std::string text;
    if (!add_template_arguments(die, text)) {
        return with_demangled_types(whole);
    }
    std::string base = whole.substr(0, open);
    base.erase(base.find_last_not_of(' ') + 1);
    return base + (base.ends_with('<') ? " <" : "<") + text + (text.ends_with('>') ? " >" : ">");
}

bool DebugNames::add_template_arguments(const Dwarf_Die& die, std::string& text) {
    bool found = false;
    std::string_view previous;
    for (Dwarf_Die entry : scopes_.children(die)) {
        // g++ 12 writes the parameters of generic lambdas twice.
        const std::string_view name = plain_name_of(entry);
        if (!name.empty() && std::exchange(previous, name) == name) {
            continue;
        }
        switch (dwarf_tag(&entry)) {
            case DW_TAG_GNU_template_parameter_pack:
                add_template_arguments(entry, text);
                found = true;
                break;
            case DW_TAG_template_type_parameter:
            case DW_TAG_template_value_parameter:
            case DW_TAG_GNU_template_template_param:
                found = true;
                if (!add_template_argument(entry, text)) {
                    return false;
                }
                break;
            default:
                break;
        }
    }
    return found;
}

bool DebugNames::add_template_argument(const Dwarf_Die& entry, std::string& text) {
    Dwarf_Die copy = entry;
    text += text.empty() ? "" : ", ";
    if (dwarf_tag(&copy) == DW_TAG_template_type_parameter) {
        text += declare(target_of(entry));
        return true;
    }
    const auto value = constant_of(entry);
    const DebugType declared = without(without(target_of(entry), is_typedef), is_qualifier);
    if (!value || !declared) {
        return false;
    }
    const std::string_view name = plain_name_of(*declared);
    if (name == "bool") {
        text += *value == "0" ? "false" : "true";
    } else if (const BasicType* const basic = basic_type(name);
               basic != nullptr && basic->suffix.data() != nullptr) {
        text += *value + std::string{basic->suffix};
    } else {
        text += "(" + declare(declared) + ")" + *value;
    }
    return true;
}

}  // namespace sample::symbolize
