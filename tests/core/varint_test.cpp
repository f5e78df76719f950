#include "core/varint.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

namespace sample {
namespace {

TEST(Varint, round_trips_at_every_length) {
    for (int bit = 0; bit < 64; ++bit) {
        for (const std::uint64_t value : {std::uint64_t{1} << bit, (std::uint64_t{1} << bit) - 1}) {
            std::array<std::uint8_t, kMaxVarintBytes> bytes{};
            const std::size_t size = write_varint(bytes.data(), value);
            std::uint64_t back = 0;
            EXPECT_EQ(read_varint(bytes.data(), bytes.data() + size, back), size);
            EXPECT_EQ(back, value);
        }
    }
}

TEST(Varint, refuses_a_cut_off_value) {
    const std::array<std::uint8_t, 2> bytes{0x80, 0x80};
    std::uint64_t value = 7;
    EXPECT_EQ(read_varint(bytes.data(), bytes.data() + bytes.size(), value), 0U);
    EXPECT_EQ(value, 7U);
}

TEST(Varint, refuses_more_than_64_bits) {
    std::array<std::uint8_t, 11> bytes{};
    bytes.fill(0xff);
    bytes[10] = 0;
    std::uint64_t value = 0;
    EXPECT_EQ(read_varint(bytes.data(), bytes.data() + bytes.size(), value), 0U);
}

TEST(Zigzag, keeps_small_magnitudes_small) {
    EXPECT_EQ(zigzag_encode(-1), 1U);
    EXPECT_EQ(zigzag_encode(1), 2U);
    for (const std::int64_t value : {std::int64_t{0}, std::numeric_limits<std::int64_t>::min(),
                                     std::numeric_limits<std::int64_t>::max()}) {
        EXPECT_EQ(zigzag_decode(zigzag_encode(value)), value);
    }
}

}  // namespace
}  // namespace sample
