// A bounded reader over bytes that somebody else wrote.
//
// Addresses, not pointers: tables are addressed by the numbers that they contain. The caller
// vouches that [begin, end) is readable; nothing outside of it is ever touched. The first read past
// the end makes the reader fail for good: it then yields zeros, and ok() is false. So a parser may
// read a whole record and ask once. Async-signal-safe.
#pragma once

#include <cstdint>

namespace sample::unwind::cfi {

class ByteReader {
public:
    ByteReader(std::uint64_t begin, std::uint64_t end) noexcept
        : position_{begin}, end_{end < begin ? begin : end} {}

    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] bool at_end() const noexcept { return position_ >= end_; }
    [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
    [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

    /// Little-endian integer of T's size.
    template <class T>
    [[nodiscard]] T fixed() noexcept {
        T value{};
        if (end_ - position_ < sizeof(T)) {
            fail();
            return value;
        }
        __builtin_memcpy(&value, reinterpret_cast<const void*>(position_), sizeof(T));
        position_ += sizeof(T);
        return value;
    }
    [[nodiscard]] std::uint8_t u8() noexcept { return fixed<std::uint8_t>(); }
    [[nodiscard]] std::uint32_t u32() noexcept { return fixed<std::uint32_t>(); }

    /// Bits past the 64th are dropped, as other readers do. Source: DWARF 5 section 7.6.
    [[nodiscard]] std::uint64_t uleb() noexcept {
        const std::uint8_t first = u8();
        if (first < 0x80) [[likely]] {
            return first;
        }
        return rest_of_leb(first).value;
    }
    [[nodiscard]] std::int64_t sleb() noexcept {
        const std::uint8_t first = u8();
        if (first < 0x80) [[likely]] {
            return static_cast<std::int64_t>(std::uint64_t{first} << 57) >> 57;
        }
        const Leb leb = rest_of_leb(first);
        const unsigned unused = leb.bits < 64 ? 64 - leb.bits : 0;
        return static_cast<std::int64_t>(leb.value << unused) >> unused;
    }

    void skip(std::uint64_t bytes) noexcept {
        if (end_ - position_ < bytes) {
            fail();
            return;
        }
        position_ += bytes;
    }
    void fail() noexcept {
        ok_ = false;
        position_ = end_;
    }

private:
    static constexpr unsigned kLongestLeb = 64;

    struct Leb {
        std::uint64_t value;
        unsigned bits;
    };

    /// Encoders may pad a LEB with 0x80 bytes. One of many more than any writes fails: a CIE is
    /// read for each of its FDEs.
    Leb rest_of_leb(std::uint8_t first) noexcept {
        Leb leb{std::uint64_t{first} & 0x7f, 7};
        std::uint8_t byte = 0x80;
        for (unsigned bytes = 1; byte >= 0x80 && ok_; ++bytes) {
            if (bytes == kLongestLeb) {
                fail();
                break;
            }
            byte = u8();
            if (leb.bits < 64) {
                leb.value |= (std::uint64_t{byte} & 0x7f) << leb.bits;
                leb.bits += 7;
            }
        }
        return leb;
    }

    std::uint64_t position_;
    std::uint64_t end_;
    bool ok_ = true;
};

}  // namespace sample::unwind::cfi
