// The functions of a Go program by .gopclntab, the table that its runtime unwinds by: stripping
// leaves it, so that it names what no symbol table names any more.
//
// Read: the layouts of Go 1.18 and of Go 1.20 and later, for 64-bit little-endian machines. It
// starts with magic (4 bytes), two zeroes, the size of the smallest instruction, that of a pointer;
// then eight words: the numbers of functions and files, the address of the code, and the offsets of
// five parts, of which the first holds names and the last the functions: {code offset, offset of
// its description} of 4 bytes each, by address, and one code offset more that ends the last. A
// description begins with the code offset again and the offset of the name, which ends in a zero.
// Source: Go's runtime/symtab.go (pcHeader, functab, _func).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sample::symbolize {

struct GoFunction {
    std::uint64_t start = 0;     ///< ELF virtual address.
    std::uint64_t end = 0;       ///< Where the next one begins.
    const char* name = nullptr;  ///< In the table; ends in a zero there.
};

/// The functions in ascending order; what is damaged ends the list. Empty for another layout, and
/// where the loader writes the address of the code (position-independent programs).
/// `table` must outlive the names. O(functions).
[[nodiscard]] std::vector<GoFunction> go_functions(std::span<const std::byte> table);

}  // namespace sample::symbolize
