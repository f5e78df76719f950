// A block of names as bytes: some addresses of one module and what they are called. Recordings
// carry such blocks, and the cache of names keeps them.
//
// Varints, column after column, so that LZ4 finds the repeats (it also finds the prefixes that
// names share, which is why they are not coded):
//   head       version (1), then the numbers of addresses, runs, frames, functions and files
//   files      length of each name, never 0. File 0 is the unknown one and not among them
//   functions  each: origin | link << 2; length of the name; length of the linkage name, if link is
//              2 (0: it has none, 1: it is the name); source (file), line, zigzag of (start - the
//              start before)
//   runs       number of frames of each, never 0
//   frames     run by run, outermost first: zigzag of the differences of function, file and line
//              to the frame that lay as deep in the run before (to 0 where there is none)
//   addresses  the first one, then each one's distance to the one before, less 1
//   places     of each address: 0 the next run, or n: the nth last of the runs so far
//   text       the rest: the files' names, then of each function name and linkage name
#pragma once

#include "core/symbols.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sample::trace {

/// Names of one module.
struct SymbolBlock {
    std::vector<std::uint64_t> addresses;  ///< Ascending, none twice; ELF virtual addresses.
    Symbols symbols;                       ///< runs[i] are the frames of addresses[i].
};

/// Of the addresses (ascending, none twice) those whose run in `symbols`, runs[i], has frames, and
/// what these refer to.
[[nodiscard]] std::vector<std::byte> encode_symbols(std::span<const std::uint64_t> addresses,
                                                    std::span<const FrameRun> runs,
                                                    const Symbols& symbols);

/// nullopt: another version's block, or a damaged one. What it claims is checked against the bytes
/// at hand before memory is taken for it: some 30 times `bytes` at most, and 256 MiB for the
/// sources of functions, of which each has a copy. Sources are among the files too.
[[nodiscard]] std::optional<SymbolBlock> decode_symbols(std::span<const std::byte> bytes);

}  // namespace sample::trace
