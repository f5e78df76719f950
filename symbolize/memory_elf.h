// ELF files made up here, of sections that lie elsewhere: libdw reads debug information only from a
// file's sections, and links the parts of split DWARF only by files.
//
// 64-bit, the machine's own byte order; no segments, no symbols.
#pragma once

#include "symbolize/elf_file.h"

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sample::symbolize {

/// One section.
struct ElfPart {
    std::string name;
    std::span<const std::byte> bytes;
    int fd = -1;  ///< If not -1, `bytes` is what this file has at `offset`: mapped, not copied.
    std::uint64_t offset = 0;
};

/// Such a file in memory.
class MemoryElf {
public:
    /// What is copied needs to live no longer; a descriptor may be closed. nullopt without memory.
    [[nodiscard]] static std::optional<MemoryElf> make(std::span<const ElfPart> parts);

    MemoryElf(MemoryElf&& other) noexcept;
    MemoryElf& operator=(MemoryElf&& other) noexcept;
    MemoryElf(const MemoryElf&) = delete;
    MemoryElf& operator=(const MemoryElf&) = delete;
    ~MemoryElf();

    [[nodiscard]] Elf* elf() const { return elf_.get(); }

private:
    explicit MemoryElf(std::span<std::byte> bytes) : bytes_{bytes} {}

    std::span<std::byte> bytes_;
    ElfHandle elf_;
};

/// Debug information that says nothing: made once it is asked for.
class EmptyDwarf {
public:
    EmptyDwarf() = default;
    ~EmptyDwarf();
    EmptyDwarf(const EmptyDwarf&) = delete;
    EmptyDwarf& operator=(const EmptyDwarf&) = delete;
    EmptyDwarf(EmptyDwarf&&) = delete;
    EmptyDwarf& operator=(EmptyDwarf&&) = delete;

    /// nullptr without memory.
    [[nodiscard]] Dwarf* get();

private:
    std::optional<MemoryElf> file_;
    Dwarf* dwarf_ = nullptr;
};

/// Such a file's bytes; descriptors are not looked at.
[[nodiscard]] std::vector<std::byte> elf_file_of(std::span<const ElfPart> parts);

}  // namespace sample::symbolize
