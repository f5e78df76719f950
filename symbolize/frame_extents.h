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

class FrameExtents {
public:
    /// Maps the file when it is first asked. A file that cannot be mapped knows nothing.
    explicit FrameExtents(std::string path) : path_{std::move(path)} {}

    /// The first address of the entry that covers `address`; ELF virtual addresses. O(log entries).
    [[nodiscard]] std::optional<std::uint64_t> start_of(std::uint64_t address);

private:
    std::string path_;
    bool opened_ = false;
    std::optional<unwind::ElfImage> image_;
};

}  // namespace sample::symbolize
