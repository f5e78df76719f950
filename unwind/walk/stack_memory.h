// The memory that a walk reads: the live stack of the current thread, or a copy of somebody else's.
//
// One type without virtual calls: the walked program's addresses in [low, high) are read at
// address + a constant. Outside of that a copied stack fails, and a live one may ask the kernel
// whether a page is readable (see readable_page()) and remember it for the rest of the walk; at
// most kMaxProbes times. Words must be aligned, as every ABI here keeps the stack.
// Async-signal-safe. One object serves one walk at a time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::unwind {

/// Addresses [low, high) of the walked thread's stack, known to be readable. `low` is best below
/// rsp by the red zone's 128 bytes: rules may name slots there.
struct StackBounds {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
};

class StackMemory {
public:
    static constexpr std::uint32_t kMaxProbes = 128;
    static constexpr std::uint32_t kMaxScanned = 2048;

    enum class Outside : std::uint8_t {
        fail,   ///< A word outside of the bounds is unreadable.
        probe,  ///< The kernel is asked.
    };

    /// This thread's own stack. `verified` may be empty: then every new page costs a probe.
    [[nodiscard]] static StackMemory live(StackBounds verified, Outside outside) noexcept {
        return StackMemory{verified, 0, outside};
    }
    /// A copy of the memory that lay at `address`. `bytes` outlives the object.
    [[nodiscard]] static StackMemory recorded(std::uint64_t address,
                                              std::span<const std::byte> bytes) noexcept {
        return StackMemory{StackBounds{address, address + bytes.size()},
                           reinterpret_cast<std::uint64_t>(bytes.data()) - address, Outside::fail};
    }

    /// The aligned word at `address`. False if it is not readable; `value` is then untouched. No
    /// system call for a word within the bounds.
    [[nodiscard]] bool read(std::uint64_t address, std::uint64_t& value) noexcept {
        return verified_.read(address, value) || read_outside(address, value);
    }

    /// The verified bounds, by value: a loop keeps them in registers.
    class Verified {
    public:
        Verified(StackBounds bounds, std::uint64_t delta) noexcept
            : low_{(bounds.low + 7) & ~std::uint64_t{7}},
              words_{bounds.high > low_ ? (bounds.high - low_) / 8 : 0},
              delta_{delta} {}

        [[nodiscard]] bool contains(std::uint64_t address) const noexcept {
            // Rotated, a misaligned address is far above every number of words.
            return std::rotr(address - low_, 3) < words_;
        }
        [[nodiscard]] std::uint64_t at(std::uint64_t address) const noexcept {
            return load(address + delta_);
        }
        [[nodiscard]] bool read(std::uint64_t address, std::uint64_t& value) const noexcept {
            if (!contains(address)) [[unlikely]] {
                return false;
            }
            value = at(address);
            return true;
        }

    private:
        std::uint64_t low_;
        std::uint64_t words_;
        std::uint64_t delta_;
    };
    [[nodiscard]] const Verified& verified() const noexcept { return verified_; }
    /// What can be read around `address` without asking: the verified bounds, or the pages that the
    /// kernel was last asked about in this walk.
    [[nodiscard]] Verified around(std::uint64_t address) const noexcept {
        return verified_.contains(address) ? verified_
                                           : Verified{StackBounds{window_low_, window_high_}, 0};
    }

    /// As read(), of a word that the verified bounds do not contain.
    [[nodiscard]] bool read_outside(std::uint64_t address, std::uint64_t& value) noexcept;

    /// As read(), of a word that is only suspected: false, too, after kMaxScanned of them, so that
    /// a stack full of frames without rules does not cost what it likes.
    [[nodiscard]] bool scan(std::uint64_t address, std::uint64_t& value) noexcept {
        if (scanned_ == kMaxScanned) {
            return false;
        }
        ++scanned_;
        return read(address, value);
    }

    /// Whether the page of `address`, which is none of a stack's, can be read; the kernel is asked
    /// once in a walk, unless it is about many such pages. Where it is never asked, the owner of
    /// what is walked vouches for it.
    [[nodiscard]] bool can_read_beside(std::uint64_t address) noexcept;

    /// How often the kernel was asked about a stack since the object was made.
    [[nodiscard]] std::uint32_t probes() const noexcept { return probes_; }

private:
    StackMemory(StackBounds bounds, std::uint64_t delta, Outside outside) noexcept
        : verified_{bounds, delta}, outside_{outside} {}

    // Other functions' frames, which sanitizers have fenced.
    __attribute__((no_sanitize("address", "thread"))) static std::uint64_t load(
        std::uint64_t address) noexcept {
        std::uint64_t value = 0;
        __builtin_memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
        return value;
    }

    [[nodiscard]] bool is_readable_outside(std::uint64_t address) noexcept;

    Verified verified_;
    std::uint64_t window_low_ = 0;  ///< Pages found readable in this walk.
    std::uint64_t window_high_ = 0;
    /// What the kernel was asked about in this walk, as code is looked at here and there: pages,
    /// with bit 0 if they can't be read. The oldest goes first.
    std::array<std::uint64_t, 16> pages_{};
    /// The same of pages that are none of a stack's.
    std::array<std::uint64_t, 4> beside_{};
    std::uint32_t asked_beside_ = 0;
    std::uint32_t probes_ = 0;
    std::uint32_t scanned_ = 0;
    Outside outside_;
};

/// Whether the page of `address` can be read now. One system call: rt_sigprocmask with an operation
/// that does not exist, which the kernel answers with EFAULT if it could not copy the mask in, and
/// with EINVAL otherwise; nothing is ever changed. errno is untouched. Async-signal-safe.
/// Source: Linux kernel/signal.c, SYSCALL_DEFINE4(rt_sigprocmask).
[[nodiscard, gnu::noinline]] bool readable_page(std::uint64_t address) noexcept;

}  // namespace sample::unwind
