// Finds the frame description entry (FDE) of a pc: a search in .eh_frame_hdr, or in an index made
// for modules without a usable one, then the FDE and its CIE.
//
// Everything here works on addresses of the bytes themselves, as they are mapped in this process.
// Of .eh_frame_hdr only the search table that linkers write (datarel sdata4 pairs) is searched;
// another encoding is answered with `unsupported`, unless there is an index. No allocation, no
// system calls. Async-signal-safe.
// Source: LSB 5.0 Core section 10.6 (.eh_frame, .eh_frame_hdr); DWARF 5 section 6.4.
#pragma once

#include "unwind/cfi/byte_reader.h"

#include <cstdint>

namespace sample::unwind::cfi {

/// The two kinds of section that hold FDEs differ in details.
enum class FrameFormat : std::uint8_t { eh_frame, debug_frame };

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

/// A search table of our own, for a module whose linker wrote none, or none that covers all: built
/// outside of handlers by unwind/index/, and immutable from then on. All addresses are those of the
/// bytes as they are readable in this process, like those of Tables.
struct FrameIndex {
    IndexedSection eh_frame;     ///< Instead of .eh_frame_hdr; empty if that can be searched.
    IndexedSection debug_frame;  ///< For pcs that .eh_frame does not cover.
};

/// Where a module's tables are. [low, high) is readable and holds .eh_frame_hdr and .eh_frame; no
/// byte outside of it is read through the header, whatever the tables say.
struct Tables {
    std::uint64_t header = 0;  ///< .eh_frame_hdr; 0 if the module has none.
    std::uint64_t header_size = 0;
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    const FrameIndex* index = nullptr;  ///< Null for most modules. Outlives the tables.
};

/// One FDE and what its CIE says: all that running its program needs.
struct Fde {
    std::uint64_t pc_begin = 0;
    std::uint64_t pc_end = 0;
    std::uint64_t initial_program = 0;  ///< The CIE's instructions.
    std::uint64_t initial_program_end = 0;
    std::uint64_t program = 0;  ///< The FDE's own.
    std::uint64_t program_end = 0;
    std::uint64_t code_align = 1;
    std::int64_t data_align = 1;
    std::uint64_t address_bias = 0;  ///< Of the program's addresses: see FrameSection.
    std::uint8_t pointer_encoding = 0;
    std::uint8_t return_column = 0;  ///< The register whose rule is the return address's.
    bool signal_frame = false;       ///< Augmentation 'S': the caller's pc is exact.
};

enum class Found : std::uint8_t {
    yes,
    no,           ///< No FDE covers the pc.
    unsupported,  ///< An encoding or augmentation that is not known here.
    corrupt,      ///< Tables that contradict themselves or leave their module.
};

/// Whether .eh_frame_hdr has a table that find_fde() can search; `entries` is then its size.
[[nodiscard]] bool has_search_table(const Tables& tables, std::uint64_t& entries) noexcept;

/// .eh_frame first; .debug_frame for what it does not cover. O(log of the number of FDEs).
[[nodiscard]] Found find_fde(const Tables& tables, std::uint64_t pc, Fde& out) noexcept;

/// Parses the FDE at `address`; `tables` gives the bounds.
[[nodiscard]] Found parse_fde(const Tables& tables, std::uint64_t address, Fde& out) noexcept;

/// Parses the FDE at `address` of either kind of section.
[[nodiscard]] Found parse_fde(const FrameSection& section, std::uint64_t address,
                              Fde& out) noexcept;

/// A DW_EH_PE-encoded pointer; fails the reader for encodings that need more than the reader and
/// `data_base` (indirect, textrel, funcrel, aligned).
[[nodiscard]] std::uint64_t read_pointer(ByteReader& reader, std::uint8_t encoding,
                                         std::uint64_t data_base) noexcept;

// The parts of .eh_frame and .debug_frame that every reader of them shares: an entry's content, its
// CIE, encoded numbers. Inline where the handler's cold path needs it to be.

template <class T>
[[gnu::always_inline]] inline T load(std::uint64_t address) noexcept {
    T value;
    __builtin_memcpy(&value, reinterpret_cast<const void*>(address), sizeof(T));
    return value;
}

template <class T>
[[gnu::always_inline]] inline std::uint64_t sign_extended(T value) noexcept {
    return static_cast<std::uint64_t>(std::int64_t{value});
}

/// What the length field of a CIE or FDE counts; empty if that is not within the bounds, or if it
/// is the terminator, which has no content.
struct Content {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool wide = false;  ///< The 64-bit format.

    [[nodiscard]] bool empty() const noexcept { return begin == end; }
    [[nodiscard]] std::uint64_t size() const noexcept { return end - begin; }
};

[[gnu::always_inline]] inline Content content_at(std::uint64_t low, std::uint64_t high,
                                                 std::uint64_t address) noexcept {
    if (address < low || address >= high || high - address < 4) {
        return {};
    }
    std::uint64_t begin = address + 4;
    std::uint64_t length = load<std::uint32_t>(address);
    const bool wide = length == 0xffffffff;
    if (wide) [[unlikely]] {
        if (high - begin < 8) {
            return {};
        }
        length = load<std::uint64_t>(begin);
        begin += 8;
    }
    return high - begin < length ? Content{} : Content{begin, begin + length, wide};
}

/// Parses a CIE into `out`. `has_data`: its FDEs carry augmentation data.
[[nodiscard]] Found parse_cie(const Content& content, FrameFormat format, Fde& out,
                              bool& has_data) noexcept;

/// The value of a DW_EH_PE format (its low four bits), relative to nothing.
[[nodiscard]] std::uint64_t read_format(ByteReader& reader, std::uint8_t encoding) noexcept;

}  // namespace sample::unwind::cfi
