// The files that programs run, mapped once each: tables for both walkers, bytes of code, names.
#pragma once

#include "tests/unwind/differential/capture.h"
#include "unwind/host/elf_image.h"

#include <elf.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sample::unwind::differential {

/// One file. Lives as long as its store.
class Image {
public:
    Image(std::string path, ElfImage elf, std::vector<Elf64_Phdr> segments)
        : path_{std::move(path)}, elf_{std::move(elf)}, segments_{std::move(segments)} {}

    /// As the kernel names it.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] const ElfImage& elf() const noexcept { return elf_; }
    /// Run-time address minus ELF virtual address; none if no segment holds the mapping's offset.
    [[nodiscard]] std::optional<std::uint64_t> bias_of(const CodeMapping& mapping) const noexcept;
    /// Whether a segment of code holds the ELF virtual address.
    [[nodiscard]] bool is_code(std::uint64_t address) const noexcept;

private:
    std::string path_;
    ElfImage elf_;
    std::vector<Elf64_Phdr> segments_;
};

class ImageStore {
public:
    /// The file's image; null if it is none, or cannot be read. "[vdso]" is this kernel's.
    const Image* find(std::string_view path);

private:
    std::map<std::string, std::unique_ptr<Image>, std::less<>> images_;
};

}  // namespace sample::unwind::differential
