// Builds the search table of a module whose .eh_frame_hdr is missing, has another encoding, or does
// not cover code that only .debug_frame describes.
//
// Outside of handlers, once a module. Used inside the profiled program, so: no allocation but
// anonymous mappings, no C++ runtime. Their sum is bounded by a budget, which also counts what did
// not fit.
//
// .debug_frame is not loaded with a program: its bytes are copied. A compressed one is refused.
#pragma once

#include "unwind/cfi/fde.h"
#include "unwind/walk/module_table.h"

#include <elf.h>

#include <cstdint>
#include <span>

namespace sample::unwind {

/// The memory of all indexes of a process together. Zero-initialised but for the limit.
struct IndexBudget {
    static constexpr std::uint64_t kDefaultBytes = std::uint64_t{4} << 20;

    std::uint64_t limit_bytes = kDefaultBytes;
    std::uint64_t used_bytes = 0;     ///< Whole pages.
    std::uint64_t refused_bytes = 0;  ///< What the sections that did not fit would have needed.
    std::uint32_t modules = 0;        ///< That have an index.
    std::uint32_t refused_modules = 0;
};

enum class IndexResult : std::uint8_t {
    built,
    not_needed,  ///< .eh_frame_hdr can be searched, and there is no .debug_frame.
    nothing,     ///< No section with FDEs of this module's code.
    no_room,     ///< Beyond the budget, or the system has no memory.
    compressed,  ///< .debug_frame is compressed (and nothing else was there).
    unreadable,  ///< No section headers, or the file cannot be read.
    other_file,  ///< Not the file that was loaded.
};

/// A module as it lies in this process's memory.
struct IndexSource {
    AddressRange image;      ///< Where its bytes are, from first to last.
    std::uint64_t bias = 0;  ///< From link-time addresses to those.
    cfi::Tables tables;      ///< As describe_module() found them.
    std::span<const Elf64_Phdr> headers;
    bool is_loaded = false;  ///< By the loader, some time ago: the file may be another one by now.
};

/// Whether it is worth looking at a module's file: its table cannot be searched, or has so few
/// entries for so much code that another section may know more. O(1). Async-signal-safe.
[[nodiscard]] bool may_need_index(const cfi::Tables& tables, std::uint64_t code_bytes) noexcept;

/// Fills `out` from the file `fd`; `out` is immutable from then on, and freed by free_index() with
/// the same budget. If only one of two sections fits or is understood, the result is `built`, and
/// the other is counted as refused. O(n log n) in the FDEs, linear if they are sorted already.
/// Not async-signal-safe.
[[nodiscard]] IndexResult build_index(int fd, const IndexSource& source, IndexBudget& budget,
                                      cfi::FrameIndex& out) noexcept;

/// Whoever may still search it must be done. Not async-signal-safe.
void free_index(cfi::FrameIndex& index, IndexBudget& budget) noexcept;

/// What build_index() does with one section, whose bytes are in memory: calls for every FDE whose
/// code lies in `code`, in the section's order.
[[nodiscard]] std::uint64_t count_fdes(const cfi::FrameSection& section,
                                       AddressRange code) noexcept;

/// Writes at most `entries.size()` sorted entries, relative to code.begin; returns how many.
[[nodiscard]] std::uint64_t list_fdes(const cfi::FrameSection& section, AddressRange code,
                                      std::span<cfi::IndexEntry> entries) noexcept;

}  // namespace sample::unwind
