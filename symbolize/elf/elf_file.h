// Small steps that every reader of ELF files here shares: mapping, closing, comparing build-ids.
#pragma once

#include "core/fd.h"

#include <elfutils/libdw.h>

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sample::symbolize {

struct ElfCloser {
    void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfCloser>;

/// To be destroyed before what it reads.
struct DwarfCloser {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};
using DwarfHandle = std::unique_ptr<Dwarf, DwarfCloser>;

/// What tells that a file was written to: that it got another link, or lost its name, does not.
struct FileStamp {
    std::uint64_t size_and_one = 0;  ///< 0: there is no such file.
    std::uint64_t changed_ns = 0;

    [[nodiscard]] static FileStamp of(int fd) { return at(fd, "", AT_EMPTY_PATH); }
    [[nodiscard]] static FileStamp of(const std::string& path) {
        return at(AT_FDCWD, path.c_str(), 0);
    }
    bool operator==(const FileStamp&) const = default;

private:
    static FileStamp at(int folder, const char* path, int flags);
};

/// Maps the file of `fd`, which must stay open; nullptr if it can't be. It is to be read inside a
/// MappedReading.
[[nodiscard]] ElfHandle open_elf(int fd);

/// Whether its GNU build-id note holds exactly `expected`. Reads the notes only.
[[nodiscard]] bool has_build_id(Elf* elf, std::span<const std::uint8_t> expected);

/// Its headers speak of more than the file has. What is left of it still reads as an ELF file.
[[nodiscard]] bool is_cut_off(Elf* elf);

/// The first section of that name with its bytes in the file (not SHT_NOBITS), of those behind
/// `before` if that is given, or nullptr.
[[nodiscard]] Elf_Scn* find_section(Elf* elf, const char* name, Elf_Scn* before = nullptr);

/// The bytes of that section, unpacked; empty if there is none. They live as long as `elf`.
[[nodiscard]] std::span<const std::byte> section_bytes(Elf* elf, const char* name);

/// The bytes of a section likewise.
[[nodiscard]] std::span<const std::byte> section_bytes(Elf_Scn* scn);

/// Whether its numbers are written as this machine writes them.
[[nodiscard]] bool has_own_byte_order(Elf* elf);

}  // namespace sample::symbolize
