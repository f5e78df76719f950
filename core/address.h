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

/// One frame of a stack: the leaf's (or an interrupted frame's) pc, or a caller's return address.
/// One word: user addresses never use bit 63, which tells the two apart.
class FrameAddress {
public:
    constexpr FrameAddress() noexcept = default;
    constexpr explicit FrameAddress(Pc pc) noexcept : bits_{pc.value | kExact} {}
    constexpr explicit FrameAddress(ReturnAddress address) noexcept
        : bits_{address.value & ~kExact} {}

    static constexpr FrameAddress from_bits(std::uint64_t bits) noexcept {
        FrameAddress frame;
        frame.bits_ = bits;
        return frame;
    }

    [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
    [[nodiscard]] constexpr bool is_exact() const noexcept { return (bits_ & kExact) != 0; }
    /// The address to look up in symbol and unwind tables.
    [[nodiscard]] constexpr Pc lookup_pc() const noexcept {
        return is_exact() ? Pc{bits_ & ~kExact} : ReturnAddress{bits_}.call_site();
    }
    constexpr bool operator==(const FrameAddress&) const = default;

private:
    static constexpr std::uint64_t kExact = std::uint64_t{1} << 63;
    std::uint64_t bits_ = 0;
};

}  // namespace sample
