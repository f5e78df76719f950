// Small steps that every reader of ELF files here shares: mapping, closing, comparing build-ids.
#pragma once

#include "core/fd.h"

#include <libelf.h>

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <span>

namespace sample::symbolize {

struct ElfCloser {
    void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfCloser>;

/// What tells that a file was written to: that it got another link, or lost its name, does not.
struct FileState {
    off_t size = 0;
    std::time_t written_s = 0;
    long written_ns = 0;

    /// All 0 for a descriptor that is not open.
    [[nodiscard]] static FileState of(int fd);
    bool operator==(const FileState&) const = default;
};

/// Maps the file of `fd`, which must stay open; nullptr if it can't be. It is to be read inside a
/// MappedReading.
[[nodiscard]] ElfHandle open_elf(int fd);

/// Whether its GNU build-id note holds exactly `expected`. Reads the notes only.
[[nodiscard]] bool has_build_id(Elf* elf, std::span<const std::uint8_t> expected);

/// Its headers speak of more than the file has. What is left of it still reads as an ELF file.
[[nodiscard]] bool is_cut_off(Elf* elf);

/// The first section of that name with its bytes in the file (not SHT_NOBITS), or nullptr.
[[nodiscard]] Elf_Scn* find_section(Elf* elf, const char* name);

}  // namespace sample::symbolize
