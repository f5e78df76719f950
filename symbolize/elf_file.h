// Small steps that every reader of ELF files here shares: opening, closing, comparing build-ids.
#pragma once

#include "core/fd.h"

#include <libelf.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sample::symbolize {

struct ElfCloser {
    void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfCloser>;

/// A regular file, for reading; not open, with errno set (0: it is not regular), if it can't be
/// had. A FIFO or device of that name does not block.
[[nodiscard]] Fd open_regular(const std::string& path);

/// Maps the file of `fd`, which must stay open; nullptr if it can't be.
[[nodiscard]] ElfHandle open_elf(int fd);

/// Whether its GNU build-id note holds exactly `expected`. Reads the notes only.
[[nodiscard]] bool has_build_id(Elf* elf, std::span<const std::uint8_t> expected);

/// The first section of that name with its bytes in the file (not SHT_NOBITS), or nullptr.
[[nodiscard]] Elf_Scn* find_section(Elf* elf, const char* name);

}  // namespace sample::symbolize
