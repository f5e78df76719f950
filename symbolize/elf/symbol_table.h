// The functions of a module, by address: its symbols, of .symtab (the module's own or its debug
// file's), else of .dynsym with .gnu_debugdata; the functions that only Go's own table names; and
// its unwind entries, for code that has none.
//
// A symbol covers [value, value + size) and nothing else: an address behind it is not its. Symbols
// without a size (assembly) cover what lies before the next symbol of their section, unless they
// are labels inside a sized one; how far they truly reach, they do not say.
#pragma once

#include "symbolize/elf/interval_index.h"
#include "unwind/host/elf_image.h"

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

/// [start, end) in ELF virtual addresses.
struct CodeExtent {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
};

/// Where functions begin in a module that has no symbols for them: by its unwind tables, which
/// stripping leaves. A stripped program would otherwise show every sampled instruction as a
/// function of its own. Source: LSB 5.0 Core section 10.6 (.eh_frame).
class FrameExtents {
public:
    /// Maps the file when it is first asked. A file that cannot be mapped knows nothing.
    explicit FrameExtents(std::string path) : path_{std::move(path)} {}

    /// The code that the entry covers which covers `address`; ELF virtual addresses. O(log
    /// entries).
    [[nodiscard]] std::optional<CodeExtent> extent_of(std::uint64_t address);
    /// Its first address.
    [[nodiscard]] std::optional<std::uint64_t> start_of(std::uint64_t address);

private:
    std::string path_;
    bool opened_ = false;
    std::optional<unwind::ElfImage> image_;
};

}  // namespace sample::symbolize
