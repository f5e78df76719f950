// Turns addresses of a module into names: function, source file, line. docs/symbolization.md has
// the sources of names and their order.
//
// Works on the module's file, outside the program that was profiled, and never over a network.
#pragma once

#include "core/symbols.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sample::symbolize {

struct ModuleFile {
    std::string path;                    ///< As the kernel names it; "[vdso]" is the kernel's own.
    std::vector<std::uint8_t> build_id;  ///< Of what ran; empty: not checked.
};

struct ModuleSymbols {
    Symbols symbols;      ///< Its runs are one per address, in the addresses' order.
    std::string problem;  ///< One line for people: what is missing, and what to do; else empty.
};

struct Options {
    std::string debug_root = "/usr/lib/debug";  ///< Where separate debug files are installed.
};

/// Names `addresses`, ELF virtual addresses of `module`, in any order, repeats allowed.
///
/// Never fails as a whole: what nothing names is "module+0xoffset" with found = false. A file that
/// is not the build that ran gives no names at all, and `problem` says so. Cost: the symbol table
/// and the units' root entries once, then only the units that an address lies in; all memory is
/// given back at the end. Thread-safe for distinct calls: modules can be named on several threads.
/// Not async-signal-safe.
[[nodiscard]] ModuleSymbols symbolize(const ModuleFile& module,
                                      std::span<const std::uint64_t> addresses,
                                      const Options& options = {});

}  // namespace sample::symbolize
