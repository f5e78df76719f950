// One frame's rule, packed into one word, so that a cache entry is two words and a hot step is a
// handful of instructions.
//
// Kinds are equations; a step sets rsp' = CFA in all of them. (rsp and rbp stand for the stack and
// the frame pointer of any architecture.) What does not fit becomes `complex`: the walker then runs
// the frame's program anew.
//
// The return address is at CFA + return_offset: on x86-64 always CFA - 8. An architecture with a
// link register has it in offset2, in words, and counts rbp's offset from there: the two are
// neighbours in a frame record, which may lie far below the CFA. So it has no `deref`.
//
//   bits  0–3   kind
//   bits  4–7   register (general register of cfa_register and deref)
//   bits  8–9   how rbp' is found
//   bits 10–21  rbp offset / 8, signed
//   bits 22–39  offset2, signed
//   bits 40–63  offset, signed
//
// Async-signal-safe.
#pragma once

#include "unwind/cfi/fde.h"
#include "unwind/cfi/rules.h"

#include <cstdint>

namespace sample::unwind::cfi {

enum class RowKind : std::uint8_t {
    empty,         ///< No row at all: what an unused cache entry holds.
    none,          ///< No rule covers the pc.
    unsupported,   ///< Tables or rules that are corrupt or not understood.
    root,          ///< The return address is undefined: the outermost frame.
    start,         ///< Of a return address that no call left: a stack was made to begin there.
    cfa_sp,        ///< CFA = rsp + offset
    cfa_bp,        ///< CFA = rbp + offset
    cfa_register,  ///< CFA = register + offset
    deref,         ///< CFA = *(register + offset) + offset2
    signal,        ///< All registers are in the ucontext at rsp.
    complex,       ///< Anything else.
    link,          ///< CFA = rsp + offset, the return address is still in the link register.
};

/// Whether a step by such a row is an equation over registers.
[[nodiscard]] constexpr bool is_equation(RowKind kind) noexcept {
    return kind == RowKind::cfa_sp || kind == RowKind::cfa_bp || kind == RowKind::cfa_register ||
           kind == RowKind::deref || kind == RowKind::link;
}

enum class BpRule : std::uint8_t {
    same,    ///< rbp' = rbp
    at_cfa,  ///< rbp' = *(CFA + bp_offset), or *(CFA + return_offset + bp_offset)
    at_bp,   ///< rbp' = *(rbp + bp_offset)
};

class Row {
public:
    constexpr Row() noexcept = default;
    constexpr explicit Row(RowKind kind) noexcept : bits_{static_cast<std::uint64_t>(kind)} {}
    static constexpr Row from_bits(std::uint64_t bits) noexcept {
        Row row;
        row.bits_ = bits;
        return row;
    }

    struct Fields {
        RowKind kind = RowKind::complex;
        std::uint64_t reg = 0;
        std::int64_t offset = 0;
        std::int64_t offset2 = 0;
        BpRule bp = BpRule::same;
        std::int64_t bp_offset = 0;  ///< A multiple of 8.
    };
    /// `complex` if a field does not fit.
    [[nodiscard]] static constexpr Row pack(const Fields& fields) noexcept {
        if (fields.reg > 15 || !fits(fields.offset, 24) || !fits(fields.offset2, 18) ||
            fields.bp_offset % 8 != 0 || !fits(fields.bp_offset / 8, 12)) {
            return Row{RowKind::complex};
        }
        return from_bits(static_cast<std::uint64_t>(fields.kind) | fields.reg << 4 |
                         static_cast<std::uint64_t>(fields.bp) << 8 |
                         (static_cast<std::uint64_t>(fields.bp_offset / 8) & 0xfff) << 10 |
                         (static_cast<std::uint64_t>(fields.offset2) & 0x3ffff) << 22 |
                         static_cast<std::uint64_t>(fields.offset) << 40);
    }

    [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
    [[nodiscard]] constexpr RowKind kind() const noexcept {
        return static_cast<RowKind>(bits_ & 0xf);
    }
    [[nodiscard]] constexpr std::uint64_t reg() const noexcept { return bits_ >> 4 & 0xf; }
    [[nodiscard]] constexpr BpRule bp() const noexcept {
        return static_cast<BpRule>(bits_ >> 8 & 3);
    }
    // The offsets are added to addresses: two's complement, unsigned.
    [[nodiscard]] constexpr std::uint64_t bp_offset() const noexcept {
        return extended(bits_ << 42, 52) * 8;
    }
    [[nodiscard]] constexpr std::uint64_t offset2() const noexcept {
        return extended(bits_ << 24, 46);
    }
    [[nodiscard]] constexpr std::uint64_t offset() const noexcept { return extended(bits_, 40); }
    constexpr bool operator==(const Row&) const = default;

private:
    static constexpr bool fits(std::int64_t value, unsigned bits) noexcept {
        const std::int64_t limit = std::int64_t{1} << (bits - 1);
        return value >= -limit && value < limit;
    }
    static constexpr std::uint64_t extended(std::uint64_t top, unsigned shift) noexcept {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(top) >> shift);
    }

    std::uint64_t bits_ = 0;
};

/// Where the return address is, from the CFA; in any kind that is an equation but `link`.
template <class Arch>
[[nodiscard]] constexpr std::uint64_t return_offset(Row row) noexcept {
    return Arch::kHasLinkRegister ? row.offset2() * 8 : static_cast<std::uint64_t>(-8);
}
/// Where rbp's slot of BpRule::at_cfa is.
template <class Arch>
[[nodiscard]] constexpr std::uint64_t bp_slot(Row row, std::uint64_t cfa) noexcept {
    return cfa + (Arch::kHasLinkRegister ? return_offset<Arch>(row) : 0) + row.bp_offset();
}

/// The rules of the frame at a pc, with what its CIE says of the frame.
template <class Arch>
struct BasicFrameRules {
    BasicRules<Arch> rules;
    bool signal_frame = false;   ///< The caller's pc is exact, not a return address.
    std::uint64_t pc_begin = 0;  ///< Of the FDE, like pc_end.
    std::uint64_t pc_end = 0;
};
using FrameRules = BasicFrameRules<arch::Native>;

/// Finds and runs the program that covers `pc` (an address of the tables' own bytes). O(log FDEs +
/// program). `unsupported` also for tables of another architecture. Async-signal-safe.
template <class Arch>
[[nodiscard]] Found find_rules(const Tables& tables, std::uint64_t pc,
                               BasicFrameRules<Arch>& out) noexcept;

/// Packs rules into a row; `pc` matters for a lazy PLT, whose CFA depends on it.
template <class Arch>
[[nodiscard]] Row pack_rules(const BasicFrameRules<Arch>& frame, std::uint64_t pc) noexcept;

}  // namespace sample::unwind::cfi
