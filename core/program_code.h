// The machine code that was sampled, and the source text that it came from. Gathered by symbolize/
// where the program ran, kept by trace/, shown by `sample annotate`, maybe on another machine.
#pragma once

#include "core/symbols.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sample {

/// The code of one function, or of a part of one that lies by itself.
struct CodeBlock {
    std::uint64_t address = 0;  ///< Of its first byte, in the module's own (ELF virtual) addresses.
    std::vector<std::byte> bytes;

    [[nodiscard]] bool contains(std::uint64_t place) const {
        return place >= address && place - address < bytes.size();
    }
};

/// The code of one module. What is called what in it is told by places: a place's frames hold up
/// to the next place or the block's end. Every block begins with a place. Places outside all blocks
/// are what the code calls.
struct ModuleCode {
    std::uint16_t machine = 0;          ///< ELF e_machine: how to read the bytes.
    std::vector<CodeBlock> blocks;      ///< By address; they do not overlap.
    std::vector<std::uint64_t> places;  ///< Ascending.
    Symbols symbols;                    ///< By index into `places`.

    /// nullptr if no block has it. O(log blocks).
    [[nodiscard]] const CodeBlock* block_at(std::uint64_t address) const {
        auto after = std::upper_bound(
            blocks.begin(), blocks.end(), address,
            [](std::uint64_t wanted, const CodeBlock& block) { return wanted < block.address; });
        return after != blocks.begin() && (--after)->contains(address) ? &*after : nullptr;
    }
    /// The frames of an address in a block, or of a place; empty if it is neither. O(log places).
    [[nodiscard]] std::span<const SymbolFrame> frames_at(std::uint64_t address) const {
        const auto after = std::upper_bound(places.begin(), places.end(), address);
        if (after == places.begin() || (*(after - 1) != address && block_at(address) == nullptr)) {
            return {};
        }
        return symbols.frames_of(static_cast<std::size_t>(after - places.begin()) - 1);
    }
};

/// Whether a source file is the one that was compiled.
enum class SourceMatch : std::uint8_t {
    likely,   ///< It is not newer than the module.
    newer,    ///< It was changed since the module was made: lines may be off.
    exact,    ///< Its checksum is the one that the compiler noted.
    differs,  ///< Its checksum is another one: lines are likely off.
};

/// Some lines of one source file.
struct SourcePiece {
    std::uint32_t first_line = 1;
    std::vector<std::string> lines;  ///< Without their line breaks.
};

struct SourceText {
    std::string file;  ///< As the debug information calls it.
    SourceMatch match = SourceMatch::likely;
    std::vector<SourcePiece> pieces;  ///< By line; they neither overlap nor touch.
};

}  // namespace sample
