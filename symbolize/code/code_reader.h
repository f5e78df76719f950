// The machine code of functions that were sampled, with the frames of every instruction: what
// `sample annotate` shows. Read from the module's file.
#pragma once

#include "core/program_code.h"
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

/// Reads the code around `addresses` (ELF virtual addresses of `module`), the most important first:
/// of each the whole extent of its symbol, or else of its unwind entry, as long as `budget`, in
/// bytes of code, lasts; it is lowered by what was taken. What the code calls outside of it is
/// named too. An address that nothing tells the extent of has no code.
///
/// Cost: as symbolize() for every instruction. Not thread-safe with other calls (libopcodes). Not
/// async-signal-safe.
[[nodiscard]] CodeResult read_code(const ModuleIdentity& module,
                                   std::span<const std::uint64_t> addresses, std::size_t& budget,
                                   const Options& options = {});

}  // namespace sample::symbolize
