// Addresses in a profiled program, told apart by what they mean.
//
// A return address names the instruction AFTER a call; looking it up as it stands may name the next
// line or even the next function. So the two kinds are different types, and FrameAddress, which a
// stack consists of, remembers which one it is until somebody asks for the pc to look up.
//
// Everything here is constexpr. Async-signal-safe.
#pragma once

#include <compare>
#include <cstdint>

namespace sample {

/// The address of an instruction that was about to be executed.
struct Pc {
    std::uint64_t value = 0;
    constexpr auto operator<=>(const Pc&) const = default;
};

/// The address that a call will return to.
struct ReturnAddress {
    std::uint64_t value = 0;
    constexpr auto operator<=>(const ReturnAddress&) const = default;

    /// An address inside the call instruction: what symbol and unwind tables are asked for.
    [[nodiscard]] constexpr Pc call_site() const noexcept { return Pc{value - 1}; }
};

/// One frame of a stack: the leaf's (or an interrupted frame's) pc, or a caller's return address;
/// or the marker that stands for frames which were left out.
///
/// One word. User addresses never use the two highest bits (Linux gives a process at most 57), so
/// bit 63 tells a pc from a return address, and bit 62 a guess from what unwind tables have proved.
class FrameAddress {
public:
    constexpr FrameAddress() noexcept = default;
    constexpr explicit FrameAddress(Pc pc) noexcept : bits_{(pc.value & ~kMarks) | kExact} {}
    constexpr explicit FrameAddress(ReturnAddress address) noexcept
        : bits_{address.value & ~kMarks} {}

    /// A return address that was found without unwind tables: by a frame pointer or by scanning.
    static constexpr FrameAddress guessed(ReturnAddress address) noexcept {
        return from_bits((address.value & ~kMarks) | kGuessed);
    }
    /// Not a frame: here lie the frames of a deep stack's middle, which were left out. At most one
    /// a stack. No address has these bits.
    static constexpr FrameAddress elided() noexcept { return from_bits(~std::uint64_t{0}); }
    static constexpr FrameAddress from_bits(std::uint64_t bits) noexcept {
        FrameAddress frame;
        frame.bits_ = bits;
        return frame;
    }

    [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
    [[nodiscard]] constexpr bool is_exact() const noexcept { return (bits_ & kExact) != 0; }
    [[nodiscard]] constexpr bool is_guessed() const noexcept {
        return (bits_ & kGuessed) != 0 && !is_elided();
    }
    [[nodiscard]] constexpr bool is_elided() const noexcept { return bits_ == elided().bits_; }
    /// The address to look up in symbol and unwind tables. elided() has none: ask is_elided()
    /// first.
    [[nodiscard]] constexpr Pc lookup_pc() const noexcept {
        const std::uint64_t address = bits_ & ~kMarks;
        return is_exact() ? Pc{address} : ReturnAddress{address}.call_site();
    }
    constexpr bool operator==(const FrameAddress&) const = default;

private:
    static constexpr std::uint64_t kExact = std::uint64_t{1} << 63;
    static constexpr std::uint64_t kGuessed = std::uint64_t{1} << 62;
    static constexpr std::uint64_t kMarks = kExact | kGuessed;
    std::uint64_t bits_ = 0;
};

}  // namespace sample
