// The debug information that several modules share: dwz moves it to a file of its own, which each
// names in .gnu_debugaltlink, or as DWARF 5 has it in .debug_sup.
//
// libdw finds only the former, in one folder, takes whatever lies at the name, and does not bound
// its search. So it is found here, checked, and handed to libdw; in its place goes an empty one if
// it is not found, so that libdw does not look for itself.
// Source: DWARF 5 section 7.3.6; dwz(1).
#pragma once

#include "symbolize/elf/debug_file.h"
#include "symbolize/elf/memory_elf.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sample::symbolize {

/// What a file says of the one that it shares, in .debug_sup or .gnu_debugaltlink.
struct SupplementaryLink {
    bool is_supplementary = false;           ///< This is the shared file itself.
    std::string file_name;                   ///< Of the shared file; empty in itself.
    std::span<const std::uint8_t> checksum;  ///< The same in both. Lies in the section.
    bool is_build_id = false;                ///< The checksum is: .gnu_debugaltlink's.
};

/// The content of .debug_sup; nullopt if it does not parse.
[[nodiscard]] std::optional<SupplementaryLink> parse_debug_sup(std::span<const std::byte> section);

/// Not thread-safe.
class SupplementaryFile {
public:
    /// Links `dwarf` to the file that it shares, if it names one; call it once. `dwarf` must not be
    /// used when this is gone. Returns one line for people if the file is not found, else "".
    [[nodiscard]] std::string attach(Dwarf* dwarf, const SearchPaths& paths);

private:
    Fd file_;
    ElfHandle elf_;
    EmptyDwarf empty_;
    DwarfHandle shared_;
};

}  // namespace sample::symbolize
