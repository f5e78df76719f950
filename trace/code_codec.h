// A block of machine code, and one of source text, as bytes: what a recording carries so that
// `sample annotate` needs neither binaries nor sources.
//
// Code, varints but for the bytes:
//   version (1), ELF machine, number of blocks
//   blocks     each: distance of its address to the end of the block before, size (never 0)
//   bytes      of all blocks
//   places     the rest: what trace/symbol_codec.h makes of them
// Source text:
//   version (1), number of files
//   files      each: length of its name, the name, match (SourceMatch), number of pieces
//   pieces     of each file: distance of the first line to the end of the piece before (to 1 in the
//              first), number of lines; each line: its length, its bytes
#pragma once

#include "core/program_code.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace sample::trace {

[[nodiscard]] std::vector<std::byte> encode_code(const ModuleCode& code);
/// nullopt: another version's block, or a damaged one. What comes back keeps ModuleCode's promises
/// of order. What is claimed is checked against the bytes at hand before memory is taken for it.
[[nodiscard]] std::optional<ModuleCode> decode_code(std::span<const std::byte> bytes);

[[nodiscard]] std::vector<std::byte> encode_sources(std::span<const SourceText> sources);
/// As decode_code(). At most a million lines.
[[nodiscard]] std::optional<std::vector<SourceText>> decode_sources(
    std::span<const std::byte> bytes);

}  // namespace sample::trace
