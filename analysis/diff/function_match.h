// Which functions of two profiles are the same one, although two builds of a program rarely agree
// on build-ids, lines, addresses and folders.
//
// Functions are the same if they have the same name, and their modules and source files agree. A
// function without a name has its source file and line for one.
//   * Modules agree if they are called alike, but for what follows ".so"; the program itself agrees
//     with the program itself, whatever its file is called.
//   * Source files agree if the last parts of their paths are alike. Among several, those go
//     together that have the most of such parts in common, for each other.
//   * A module or a source file that is not known (or stands for the other:
//   callgraph::Function::source)
//     agrees with any, but whatever agrees better comes first.
//   * A name that is left over once on each side goes together, too: the function moved to another
//     file.
// Either side may have several profiles: runs of one program.
// What agrees equally well with several is one with all of them: merged, never counted twice.
#pragma once

#include "callgraph/profile.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sample::analysis {

struct FunctionMatch {
    std::uint32_t count = 0;  ///< Functions of all, the same ones counted once.
    /// [profile][FunctionId - 1]: below `count`. First those before, then those after.
    std::vector<std::vector<std::uint32_t>> numbers;
};

using Profiles = std::span<const callgraph::Profile* const>;

/// O(functions log functions), but for names that very many functions share in different files.
[[nodiscard]] FunctionMatch match_functions(Profiles before, Profiles after);

/// Addresses are no names where modules are not the same build: "module+0x12ab" becomes
/// "module+[no name]" then, one function a module. What `other` has no such module of, stays.
[[nodiscard]] callgraph::Profile without_addresses(callgraph::Profile profile,
                                                   const callgraph::Profile& other);

/// What the module of the program is called that the session's command ran: its file, without the
/// folder, or the link by which it was started; empty: unknown. What an import does not say of its
/// processes is told by its command line, or by where main() is.
[[nodiscard]] std::string_view program_of(const callgraph::Profile& profile);

}  // namespace sample::analysis
