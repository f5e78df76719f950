// ELF files made up here, of sections that lie elsewhere: libdw reads debug information only from a
// file's sections, and links the parts of split DWARF only by files.
//
// 64-bit, the machine's own byte order; no segments, no symbols.
#pragma once

#include "core/fd.h"
#include "symbolize/elf/elf_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace sample::symbolize {

/// One section.
struct ElfPart {
    std::string name;
    std::span<const std::byte> bytes;
    int fd = -1;  ///< If not -1, `bytes` is what this file has at `offset`: mapped, not copied.
    std::uint64_t offset = 0;
};

struct Unmapper {
    std::size_t size = 0;
    void operator()(std::byte* bytes) const;
};

/// Such a file in memory.
class MemoryElf {
public:
    /// What is copied needs to live no longer; a descriptor may be closed. nullopt without memory.
    [[nodiscard]] static std::optional<MemoryElf> make(std::span<const ElfPart> parts);

    [[nodiscard]] Elf* elf() const { return elf_.get(); }
    [[nodiscard]] std::span<const std::byte> bytes() const {
        return {bytes_.get(), bytes_.get_deleter().size};
    }
    /// A copy in a file without a name; not open if there is no room.
    [[nodiscard]] Fd to_file() const;

private:
    std::unique_ptr<std::byte, Unmapper> bytes_;
    ElfHandle elf_;
};

/// Debug information that says nothing: made once it is asked for.
class EmptyDwarf {
public:
    /// nullptr without memory.
    [[nodiscard]] Dwarf* get();

private:
    std::optional<MemoryElf> file_;
    DwarfHandle dwarf_;
};

}  // namespace sample::symbolize
