// Finds the sections of frame descriptions in an ELF file, by its section headers.
//
// Nothing is mapped: the file is read, so that one which somebody truncates meanwhile gives an
// error and not a SIGBUS. Everything read is foreign: sizes and offsets are checked by whoever uses
// them. No allocation, no C++ runtime, about 6 KiB of stack. Not async-signal-safe.
// Source: gABI, Sections.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::unwind {

struct FileSection {
    std::uint64_t address = 0;  ///< Link-time; 0 if the section is not loaded.
    std::uint64_t offset = 0;   ///< In the file.
    std::uint64_t size = 0;     ///< 0: there is no such section.
    bool compressed = false;    ///< SHF_COMPRESSED.
};

struct FrameSections {
    FileSection eh_frame;
    FileSection debug_frame;
};

class SectionFile {
public:
    /// `fd` is not owned.
    explicit SectionFile(int fd) noexcept : fd_{fd} {}

    /// False if the file has not that many bytes there, or cannot be read.
    [[nodiscard]] bool read(std::uint64_t offset, void* to, std::size_t bytes) const noexcept;

    /// False if the file is no 64-bit ELF file for this machine, or has no section headers.
    [[nodiscard]] bool find(FrameSections& out) const noexcept;

    /// Whether the file has these program headers and the same notes as are in memory at `bias`:
    /// else it is not the file that was loaded (a package was upgraded meanwhile).
    [[nodiscard]] bool is_loaded_at(std::uint64_t bias,
                                    std::span<const Elf64_Phdr> headers) const noexcept;

private:
    int fd_;
};

}  // namespace sample::unwind
