// What one address of a program is called. Made by symbolize/, read by callgraph/.
#pragma once

#include <cstdint>
#include <string>

namespace sample {

struct Symbol {
    std::string
        name;  ///< Demangled, with arguments; "module+0xoffset" where nothing names it:
               ///< of the function's start where unwind tables tell it, else of the address.
    std::string linkage_name;  ///< As the linker knows it, e.g. "_ZN3foo3barEi"; empty if unknown.
    std::string source;        ///< Source file of the function; empty if unknown.
    std::uint32_t line = 0;    ///< Line where the function begins; 0 if unknown.
    std::uint32_t call_line = 0;  ///< Line of the looked-up address itself; 0 if unknown.
    std::uint64_t start =
        0;  ///< Where the function begins, in the module's own (ELF virtual) addresses.
    bool found = false;  ///< False: `name` is module+0xoffset.
};

}  // namespace sample
