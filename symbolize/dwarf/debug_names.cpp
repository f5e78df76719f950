#include "symbolize/dwarf/debug_names.h"

#include "symbolize/names/demangle.h"

#include <dwarf.h>

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <vector>

namespace sample::symbolize {
namespace {

bool is_function(int tag) {
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

enum class Language { plain, scoped, cpp };

/// Newer than elfutils 0.188's dwarf.h. Source: dwarfstd.org, "DWARF Language Codes".
constexpr int kCpp17 = 0x2b;
constexpr int kCpp20 = 0x2c;

/// How functions are called in the language of the unit that `die` stands in.
Language language_of(Dwarf_Die die) {
    Dwarf_Die unit{};
    if (dwarf_diecu(&die, &unit, nullptr, nullptr) == nullptr) {
        return Language::plain;
    }
    switch (dwarf_srclang(&unit)) {
        case DW_LANG_C_plus_plus:
        case DW_LANG_C_plus_plus_03:
        case DW_LANG_C_plus_plus_11:
        case DW_LANG_C_plus_plus_14:
        case DW_LANG_ObjC_plus_plus:
        case kCpp17:
        case kCpp20:
            return Language::cpp;
        case DW_LANG_Rust:
        case DW_LANG_D:
        case DW_LANG_Swift:
            return Language::scoped;
        default:
            return Language::plain;
    }
}

/// The entry that stands where the function is declared: in its class, if it has one.
Dwarf_Die declaration_entry(const Dwarf_Die& function) {
    const Dwarf_Die origin = origin_of(function);
    return entry_at(origin, DW_AT_specification).value_or(origin);
}

bool is_lambda(DebugScopes& scopes, const Dwarf_Die& die) {
    const std::string_view name = plain_name_of(die);
    const std::vector<Dwarf_Die>& members = scopes.children(die);
    return name.starts_with("<lambda") ||
           (name.empty() && std::any_of(members.begin(), members.end(), [](Dwarf_Die member) {
                return dwarf_tag(&member) == DW_TAG_subprogram &&
                       (plain_name_of(member) == "<lambda>" ||
                        plain_name_of(member).starts_with("operator()"));
            }));
}

bool is_unnamed(const Dwarf_Die& die) {
    const std::string_view name = plain_name_of(die);
    return name.empty() || name.starts_with('<');
}

/// Where an entry stands in the source.
auto place_of(const Dwarf_Die& die) {
    return std::tuple{number_at(die, DW_AT_decl_line), number_at(die, DW_AT_decl_column)};
}

/// The unnamed classes in `scope` and its blocks. No entry is listed twice, by where it lies in
/// memory.
void list_unnamed(DebugScopes& scopes, const Dwarf_Die& scope, std::vector<Dwarf_Die>& out,
                  std::unordered_set<const void*>& listed, int depth = 0) {
    constexpr int kDeepestBlock = 32;
    for (Dwarf_Die entry : scopes.children(scope)) {
        const int tag = dwarf_tag(&entry);
        const bool is_inside = tag == DW_TAG_lexical_block && depth < kDeepestBlock;
        if ((is_inside || (is_class(tag) && is_unnamed(entry))) &&
            listed.insert(entry.addr).second) {
            if (is_inside) {
                list_unnamed(scopes, entry, out, listed, depth + 1);
            } else {
                out.push_back(entry);
            }
        }
    }
}

/// The name of a function that something else is named in: demangled as the scope of a variable x.
std::string demangled_scope(std::string_view linkage_name) {
    constexpr std::string_view kVariable = "::x";
    if (linkage_name.starts_with("_Z")) {
        const std::string name = demangle("_ZZ" + std::string{linkage_name.substr(2)} + "E1x");
        if (name.ends_with(kVariable)) {
            return name.substr(0, name.size() - kVariable.size());
        }
    }
    return demangle(linkage_name);
}

}  // namespace

std::string object_qualifiers(Dwarf_Die function) {
    std::string text;
    const auto object = entry_at(function, DW_AT_object_pointer);
    const auto pointer = object ? entry_at(*object, DW_AT_type) : std::nullopt;
    auto target = pointer;
    // g++ makes `this` itself const in definitions.
    while (target && dwarf_tag(&*target) == DW_TAG_const_type) {
        target = entry_at(*target, DW_AT_type);
    }
    target = target ? entry_at(*target, DW_AT_type) : std::nullopt;
    while (target && (dwarf_tag(&*target) == DW_TAG_const_type ||
                      dwarf_tag(&*target) == DW_TAG_volatile_type)) {
        text.insert(0, dwarf_tag(&*target) == DW_TAG_const_type ? " const" : " volatile");
        target = entry_at(*target, DW_AT_type);
    }
    if (has_flag(function, DW_AT_reference)) {
        text += " &";
    }
    return has_flag(function, DW_AT_rvalue_reference) ? text + " &&" : text;
}

std::string DebugNames::function(const Dwarf_Die& function) {
    const std::string_view plain = plain_name_of(function);
    if (plain.empty()) {
        return {};
    }
    depth_ = 0;
    steps_ = 0;
    std::string name = qualified_function(function, As::name);
    return is_out_of_bounds() || name.size() > kLongestName ? std::string{plain} : name;
}

std::string DebugNames::qualified_function(const Dwarf_Die& function, As as) {
    const Level level{*this};
    if (const std::string_view linkage = linkage_name_of(function); !linkage.empty()) {
        return as == As::scope ? demangled_scope(linkage) : demangle(linkage);
    }
    const Language language = language_of(function);
    std::string plain{plain_name_of(function)};
    if (is_out_of_bounds() || language == Language::plain) {
        return plain;
    }
    const Dwarf_Die origin = origin_of(function);
    const Dwarf_Die declaration = declaration_entry(function);
    const std::string scopes = prefix(declaration);
    if (language == Language::scoped) {
        return scopes + plain;
    }
    const bool is_member =
        entry_at(declaration, DW_AT_object_pointer).has_value() || origin.addr != declaration.addr;
    if (has_flag(declaration, DW_AT_external) && !is_member &&
        scopes.find(')') == std::string::npos) {
        return plain;  // extern "C": a C++ function would have a linkage name.
    }
    const std::string name = template_name(plain, origin);
    std::string whole = scopes + name + arguments_of(origin, declaration);
    // The mangled names of templates hold the return type, but for constructors and conversions.
    const bool has_return_type =
        as == As::name && template_arguments_in(plain) < plain.size() &&
        !plain.starts_with("operator ") &&
        (!scopes.ends_with(name.substr(0, template_arguments_in(name)) + "::") ||
         plain.starts_with('~'));
    if (!has_return_type) {
        return whole;
    }
    const bool is_generic_lambda = scopes.find("{lambda(auto:") != std::string::npos;
    return (is_generic_lambda ? "auto" : declare(entry_at(declaration, DW_AT_type))) + " " + whole;
}

bool DebugNames::has_types(const Dwarf_Die& die) {
    const std::vector<Dwarf_Die> around = scopes_.around(die);
    if (around.empty()) {
        return false;
    }
    const Dwarf_Die& unit = around.front();
    const auto [found, is_new] = has_types_.try_emplace(unit.addr, false);
    if (is_new && text_at(unit, DW_AT_producer).find(" -g1") == std::string_view::npos) {
        const std::vector<Dwarf_Die>& entries = scopes_.children(unit);
        found->second = std::any_of(entries.begin(), entries.end(), [](Dwarf_Die entry) {
            return dwarf_tag(&entry) == DW_TAG_base_type;
        });
    }
    return found->second;
}

std::string DebugNames::arguments_of(const Dwarf_Die& function, const Dwarf_Die& declaration) {
    const std::string list = parameter_list(function);
    if (list == "()" && !has_types(function)) {
        return {};
    }
    // In a unit of its own the class has it all; what g++ leaves of it beside the function has not.
    const bool is_whole = entry_at(declaration, DW_AT_object_pointer).has_value();
    return list + object_qualifiers(is_whole ? declaration : function);
}

std::string DebugNames::prefix(const Dwarf_Die& die) {
    std::string text;
    const std::vector<Dwarf_Die> around = scopes_.around(die);
    for (std::size_t i = around.size(); i-- > 1;) {
        Dwarf_Die entry = around[i];
        const int tag = dwarf_tag(&entry);
        if (is_function(tag)) {
            return scope_name(entry) + "::" + text;  // Which knows what it stands in.
        }
        if (tag == DW_TAG_namespace) {
            const std::string_view name = plain_name_of(entry);
            text.insert(0, "::").insert(0, name.empty() ? "(anonymous namespace)" : name);
        } else if (is_class(tag)) {
            text.insert(0, class_name(entry) + "::");
        }
    }
    return text;
}

std::string DebugNames::scope_name(const Dwarf_Die& function) {
    if (const auto known = scope_names_.find(function.addr); known != scope_names_.end()) {
        return known->second;
    }
    std::string name = qualified_function(function, As::scope);
    if (!is_out_of_bounds() && name.size() <= kLongestName) {
        scope_names_.emplace(function.addr, name);
    }
    return name;
}

std::string DebugNames::class_name(const Dwarf_Die& die) {
    return is_unnamed(die) ? unnamed_class(die) : template_name(plain_name_of(die), die);
}

std::string DebugNames::unnamed_class(const Dwarf_Die& die) {
    if (!unnamed_.contains(die.addr)) {
        const std::vector<Dwarf_Die> around = scopes_.around(die);
        const auto home = std::find_if(around.rbegin(), around.rend(), [](Dwarf_Die entry) {
            return dwarf_tag(&entry) != DW_TAG_lexical_block;
        });
        if (home != around.rend() && numbered_.insert(home->addr).second) {
            number_classes(*home);
        }
        unnamed_.try_emplace(die.addr, UnnamedClass{is_lambda(scopes_, die)});
    }
    const UnnamedClass& known = unnamed_.at(die.addr);
    const std::string number = "#" + std::to_string(known.number) + "}";
    return known.is_lambda ? "{lambda" + lambda_arguments(die) + number : "{unnamed type" + number;
}

/// By their places, as the C++ ABI counts: the first is 1. Those of one place have one number.
void DebugNames::number_classes(const Dwarf_Die& home) {
    std::vector<Dwarf_Die> classes;
    std::unordered_set<const void*> listed;
    list_unnamed(scopes_, home, classes, listed);
    std::stable_sort(classes.begin(), classes.end(), [](const Dwarf_Die& a, const Dwarf_Die& b) {
        return place_of(a) < place_of(b);
    });
    struct Count {
        std::size_t seen = 0;
        std::size_t number = 0;
        decltype(place_of(home)) last;
    };
    Count lambdas;
    Count others;
    for (const Dwarf_Die& one : classes) {
        const bool lambda = is_lambda(scopes_, one);
        Count& count = lambda ? lambdas : others;
        ++count.seen;
        if (count.seen == 1 || place_of(one) != count.last) {
            count.number = count.seen;
            count.last = place_of(one);
        }
        unnamed_.insert_or_assign(one.addr, UnnamedClass{lambda, count.number});
    }
}

std::string DebugNames::lambda_arguments(const Dwarf_Die& die) {
    for (Dwarf_Die member : scopes_.children(die)) {
        ++steps_;
        if (dwarf_tag(&member) != DW_TAG_subprogram ||
            !plain_name_of(member).starts_with("operator()")) {
            continue;
        }
        std::string generic;
        for (Dwarf_Die entry : scopes_.children(member)) {
            if (dwarf_tag(&entry) == DW_TAG_template_type_parameter &&
                plain_name_of(entry).starts_with("auto:") &&
                generic.find(plain_name_of(entry)) == std::string::npos) {
                generic += (generic.empty() ? "" : ", ") + std::string{plain_name_of(entry)};
            }
        }
        return generic.empty() ? parameter_list(member) : "(" + generic + ")";
    }
    return "()";
}

}  // namespace sample::symbolize
