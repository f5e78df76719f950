// The machine code of functions that were sampled, with the frames of every instruction: what
// `sample annotate` shows. Read from the module's file.
#pragma once

#include "core/program_code.h"
#include "symbolize/cache/symbol_cache.h"
#include "symbolize/symbolizer.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sample::symbolize {

struct CodeResult {
    ModuleCode code;
    std::size_t left_out = 0;  ///< Addresses whose function did not fit the budget.
    std::string problem;       ///< One line for people if the file cannot be read; else empty.
};

/// Which addresses of the code are named, beside what it calls outside of it.
enum class NamedPlaces : std::uint8_t {
    instructions,  ///< Each.
    functions,     ///< Their beginnings: enough where there are no source lines.
};

/// Reads the code around `addresses` (ELF virtual addresses of `module`), the most important first:
/// of each the whole extent of its symbol, or else of its unwind entry, as long as `budget`, in
/// bytes of code, lasts; it is lowered by what was taken. An address that nothing tells the extent
/// of has no code.
///
/// Cost: as symbolize() for what is named, with the names that `cache` has (nullptr: none). Not
/// thread-safe with other calls (libopcodes). Not async-signal-safe.
[[nodiscard]] CodeResult read_code(const ModuleIdentity& module,
                                   std::span<const std::uint64_t> addresses, std::size_t& budget,
                                   const Options& options = {},
                                   NamedPlaces named = NamedPlaces::instructions,
                                   SymbolCache* cache = nullptr);

}  // namespace sample::symbolize
