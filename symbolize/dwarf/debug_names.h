// Readable names of functions for which the compiler wrote no linkage name: g++ leaves it out for
// everything that other object files cannot call (unnamed namespaces, static functions, lambdas,
// local classes), clang with -gline-tables-only for all.
//
// A function that is inlined everywhere has no symbol either, so its name is put together from its
// entry, those around it and its parameters' types, spelled as libiberty's demangler would spell
// the name that the function would have if it were not inlined: so it is one function in a
// callgraph whichever way it was compiled.
//
// Not to be had from DWARF: expressions in the types of templates (what std::enable_if was given).
#pragma once

#include "symbolize/dwarf/debug_entry.h"

#include <elfutils/libdw.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace sample::symbolize {

/// A type's entry; none is void.
using DebugType = std::optional<Dwarf_Die>;

/// Where the arguments in a template's name begin; the name's size if it has none.
[[nodiscard]] std::size_t template_arguments_in(std::string_view name);

/// What stands behind the parameters of a member function: " const &".
[[nodiscard]] std::string object_qualifiers(Dwarf_Die function);

/// Not thread-safe: one per module and thread.
class DebugNames {
public:
    /// `function`'s name with its scopes and arguments; its plain name where that is all there is
    /// (C), and where the whole is out of bounds; empty if it has none.
    [[nodiscard]] std::string function(const Dwarf_Die& function);

private:
    /// One level of nesting while it lives. A few kilobytes of hostile types can spell a name
    /// without end, so a name's parts may stand in each other only so deep, and be only so many.
    class Level {
    public:
        explicit Level(DebugNames& names) : names_{names} {
            ++names.steps_;
            if (++names.depth_ > kDeepest) {
                names.steps_ = kMostSteps + 1;
            }
        }
        ~Level() { --names_.depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
        Level(Level&&) = delete;
        Level& operator=(Level&&) = delete;

    private:
        static constexpr int kDeepest = 64;
        DebugNames& names_;
    };
    static constexpr int kMostSteps = 4096;

    /// A class without a name is a lambda or not, and has a number among those of its kind.
    struct UnnamedClass {
        bool is_lambda = false;
        std::size_t number = 1;
    };

    /// As what: a name of its own says the return type of a template, a scope never does.
    enum class As { name, scope };

    std::string qualified_function(const Dwarf_Die& function, As as);
    /// With -g1, and clang's -gline-tables-only, a function says nothing of its parameters. (A few
    /// types may be there all the same.)
    bool has_types(const Dwarf_Die& die);
    std::string arguments_of(const Dwarf_Die& function, const Dwarf_Die& declaration);
    std::string prefix(const Dwarf_Die& die);
    /// A function as the scope of what is declared in it.
    std::string scope_name(const Dwarf_Die& function);
    std::string class_name(const Dwarf_Die& die);
    std::string unnamed_class(const Dwarf_Die& die);
    void number_classes(const Dwarf_Die& home);
    std::string lambda_arguments(const Dwarf_Die& die);

    std::string template_name(std::string_view name, const Dwarf_Die& die);
    bool add_template_arguments(const Dwarf_Die& die, std::string& text);
    bool add_template_argument(const Dwarf_Die& entry, std::string& text);

    /// A type as a template argument or a parameter is written. `declarator` is what stands behind
    /// its name, or around which it stands: "*", " (&)".
    std::string declare(const DebugType& type, const std::string& declarator = "");
    std::string declare_pointer(const DebugType& target, const std::string& declarator);
    std::string declare_member_pointer(const Dwarf_Die& die, const std::string& declarator);
    std::string declare_array(const Dwarf_Die& die, const std::string& declarator);
    std::string declare_typedef(const Dwarf_Die& die, const std::string& declarator);
    std::string parameter_list(const Dwarf_Die& function);

    [[nodiscard]] bool is_out_of_bounds() const { return steps_ > kMostSteps; }

    DebugScopes scopes_;
    /// By where their entries lie in memory: all in the scope of each that was asked for.
    std::unordered_map<const void*, UnnamedClass> unnamed_;
    std::unordered_set<const void*> numbered_;  ///< Scopes whose classes are, but for the deepest.
    std::unordered_map<const void*, bool> has_types_;           ///< By unit.
    std::unordered_map<const void*, std::string> scope_names_;  ///< By function.
    int depth_ = 0;
    int steps_ = 0;
};

}  // namespace sample::symbolize
