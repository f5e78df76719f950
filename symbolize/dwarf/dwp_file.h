// A DWARF package (.dwp): the .dwo files of a program in one, which libdw (elfutils 0.188) does not
// read. The units that are asked for are put back into the form of a .dwo file.
//
// Source: DWARF 5 section 7.3.5; for version 2, the GNU form of DWARF 4,
// gcc.gnu.org/wiki/DebugFissionDWP.
#pragma once

#include "core/fd.h"
#include "symbolize/elf/memory_elf.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sample::symbolize {

/// The sections of a package that matter here; those that it has not are empty.
struct DwpSections {
    std::span<const std::byte> cu_index;
    std::span<const std::byte> info;
    std::span<const std::byte> abbrev;
    std::span<const std::byte> line;
    std::span<const std::byte> str;
    std::span<const std::byte> str_offsets;
    std::span<const std::byte> rnglists;
};

/// The whole .dwo file of the unit with that id; nullopt if the package has no such unit, or says
/// something of it that can't be. Cost: the slots of the index that collide, the size of the unit,
/// and its strings. Nothing is believed that the sections say.
[[nodiscard]] std::optional<MemoryElf> dwo_of(const DwpSections& package, std::uint64_t unit_id);

class DwpFile {
public:
    /// nullopt if it is not there, or no package of this machine's byte order.
    [[nodiscard]] static std::optional<DwpFile> open(const std::string& path);

    /// As above, in a file without a name; not open if there is none.
    [[nodiscard]] Fd dwo_of(std::uint64_t unit_id) const;

private:
    Fd file_;
    ElfHandle elf_;
    DwpSections sections_;
};

}  // namespace sample::symbolize
