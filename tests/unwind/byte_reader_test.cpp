#include "unwind/cfi/byte_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace sample::unwind::cfi {
namespace {

using Bytes = std::vector<std::uint8_t>;

ByteReader reader_of(const Bytes& bytes) {
    auto begin = reinterpret_cast<std::uint64_t>(bytes.data());
    asm("" : "+r"(begin));  // g++ 12 would warn of the very reads that the bounds prevent.
    return ByteReader{begin, begin + bytes.size()};
}

TEST(ByteReader, reads_little_endian_and_leb128) {
    const Bytes bytes{0x01, 0x34, 0x12, 0xe5, 0x8e, 0x26, 0x7f, 0x80, 0x7f, 0xc0, 0x00, 0x3f};
    ByteReader reader = reader_of(bytes);
    EXPECT_EQ(reader.u8(), 1);
    EXPECT_EQ(reader.fixed<std::uint16_t>(), 0x1234);
    EXPECT_EQ(reader.uleb(), 624485U);
    EXPECT_EQ(reader.sleb(), -1);
    EXPECT_EQ(reader.sleb(), -128);
    EXPECT_EQ(reader.sleb(), 64);
    EXPECT_EQ(reader.sleb(), 63);
    EXPECT_TRUE(reader.ok());
    EXPECT_TRUE(reader.at_end());
}

TEST(ByteReader, fails_for_good_at_the_end) {
    const Bytes bytes{1, 2, 3};
    ByteReader reader = reader_of(bytes);
    EXPECT_EQ(reader.u32(), 0U);
    EXPECT_FALSE(reader.ok());
    EXPECT_EQ(reader.u8(), 0);
    EXPECT_TRUE(reader.at_end());
}

TEST(ByteReader, fails_on_a_leb128_without_an_end) {
    const Bytes bytes{0x80, 0x80};
    ByteReader reader = reader_of(bytes);
    static_cast<void>(reader.uleb());
    EXPECT_FALSE(reader.ok());
}

TEST(ByteReader, drops_bits_past_the_64th_of_a_padded_leb128) {
    const Bytes bytes{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x80, 0x00};
    ByteReader unsigned_reader = reader_of(bytes);
    EXPECT_EQ(unsigned_reader.uleb(), ~std::uint64_t{0});
    EXPECT_TRUE(unsigned_reader.ok());
    EXPECT_TRUE(unsigned_reader.at_end());
}

TEST(ByteReader, fails_on_a_leb128_longer_than_any_padding) {
    for (const std::size_t padding : {62U, 63U, 1000U}) {
        Bytes bytes(padding, 0x80);
        bytes.insert(bytes.begin(), 0x81);
        bytes.push_back(0);
        ByteReader unsigned_reader = reader_of(bytes);
        ByteReader signed_reader = reader_of(bytes);
        static_cast<void>(unsigned_reader.uleb());
        static_cast<void>(signed_reader.sleb());
        EXPECT_EQ(unsigned_reader.ok(), padding == 62) << padding;
        EXPECT_EQ(signed_reader.ok(), padding == 62) << padding;
    }
}

TEST(ByteReader, refuses_to_skip_past_the_end_even_by_wrapping) {
    const Bytes bytes(4);
    ByteReader reader = reader_of(bytes);
    reader.skip(~std::uint64_t{0});
    EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace sample::unwind::cfi
