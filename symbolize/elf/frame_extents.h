// Where functions begin in a module that has no symbols for them: by its unwind tables, which
// stripping leaves.
//
// A stripped program would otherwise show every sampled instruction as a function of its own.
// Source: LSB 5.0 Core section 10.6 (.eh_frame).
#pragma once

#include "unwind/host/elf_image.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sample::symbolize {

/// [start, end) in ELF virtual addresses.
struct CodeExtent {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
};

class FrameExtents {
public:
    /// Maps the file when it is first asked. A file that cannot be mapped knows nothing.
    explicit FrameExtents(std::string path) : path_{std::move(path)} {}

    /// The code that the entry covers which covers `address`; ELF virtual addresses. O(log
    /// entries).
    [[nodiscard]] std::optional<CodeExtent> extent_of(std::uint64_t address);
    /// Its first address.
    [[nodiscard]] std::optional<std::uint64_t> start_of(std::uint64_t address);

private:
    std::string path_;
    bool opened_ = false;
    std::optional<unwind::ElfImage> image_;
};

}  // namespace sample::symbolize
