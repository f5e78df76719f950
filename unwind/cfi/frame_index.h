// A search table of our own, for a module whose linker wrote none, or none that covers all: built
// outside of handlers by unwind/index/, read by find_fde().
//
// Immutable once it is built. All addresses are those of the bytes as they are readable in this
// process, like those of Tables. Async-signal-safe.
#pragma once

#include "unwind/cfi/fde.h"

#include <cstdint>

namespace sample::unwind::cfi {

/// The bytes of one section of frame descriptions, all of them readable.
struct FrameSection {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    FrameFormat format = FrameFormat::eh_frame;
    /// What makes a link-time address, as .debug_frame has them, one of the bytes here.
    std::uint64_t address_bias = 0;
};

/// One FDE of the table.
struct IndexEntry {
    std::int32_t pc;   ///< Where its code begins, relative to IndexedSection::pc_base.
    std::int32_t fde;  ///< Where it is in its section.
};

struct IndexedSection {
    FrameSection section;
    std::uint64_t pc_base = 0;
    std::uint64_t entries = 0;  ///< Address of `count` entries, sorted by pc.
    std::uint64_t count = 0;
};

struct FrameIndex {
    IndexedSection eh_frame;     ///< Instead of .eh_frame_hdr; empty if that can be searched.
    IndexedSection debug_frame;  ///< For pcs that .eh_frame does not cover.
};

/// Parses the FDE at `address` of either kind of section.
[[nodiscard]] Found parse_fde(const FrameSection& section, std::uint64_t address,
                              Fde& out) noexcept;

}  // namespace sample::unwind::cfi
