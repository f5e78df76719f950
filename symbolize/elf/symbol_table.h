// The function symbols of a module, by address: .symtab (the module's own or its debug file's),
// else .dynsym with .gnu_debugdata.
//
// A symbol covers [value, value + size) and nothing else: an address behind it is not its. Symbols
// without a size (assembly) cover what lies before the next symbol of their section, unless they
// are labels inside a sized one; how far they truly reach, they do not say.
#pragma once

#include "symbolize/elf/interval_index.h"

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sample::symbolize {

struct ElfSymbol {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    const char* name = nullptr;   ///< In the file's string table; may carry an "@VERSION".
    std::uint8_t preference = 0;  ///< Global 0, weak 1, local 2.
    bool sized = true;
    bool alone = false;  ///< No other symbol is in its section: all behind it is its.
};

class SymbolTable {
public:
    /// Reads every symbol once: O(n log n). What is damaged is left out. `module` must outlive the
    /// table.
    explicit SymbolTable(Dwfl_Module* module);

    /// The symbols that name `address`: all with the same start and end; empty if there are none.
    [[nodiscard]] std::span<const ElfSymbol> find(std::uint64_t address) const;

private:
    std::vector<ElfSymbol> symbols_;  ///< By start, then end: aliases are neighbours.
    IntervalIndex index_;             ///< To the first of a group of aliases.
};

/// The linker's name of a group of aliases, without a version: global before weak before local,
/// then the one with fewer leading underscores, then the lexically first. But if the debug
/// information calls the function by the mangled name `hint`, and that is among them, it is `hint`:
/// of functions that the linker folded into one, the line shown must belong to the name shown.
[[nodiscard]] std::string_view best_alias(std::span<const ElfSymbol> aliases,
                                          std::string_view hint);

}  // namespace sample::symbolize
