#include "trace/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sample::trace {
namespace {

TEST(Text, is_left_alone_when_it_fits) {
    EXPECT_EQ(bounded_text("", 8), "");
    EXPECT_EQ(bounded_text("12345678", 8), "12345678");
}

TEST(Text, is_cut_between_characters) {
    EXPECT_EQ(bounded_text("123456789", 8), "12345\u2026");
    EXPECT_EQ(bounded_text("1234\u00e9\u00e9\u00e9", 8), "1234\u2026");  // é would end at 6
    EXPECT_EQ(bounded_text("123\u00e9\u00e9\u00e9", 8), "123\u00e9\u2026");
    EXPECT_EQ(bounded_text("12\U0001f525\U0001f525", 8), "12\u2026");
    EXPECT_EQ(bounded_text("1\U0001f525\U0001f525", 8), "1\U0001f525\u2026");
    EXPECT_EQ(bounded_text(std::string(20, '\x80'), 8), std::string(5, '\x80') + "\u2026");
}

TEST(Text, becomes_utf16_and_back) {
    const std::string text = "a\u00e9\u65e5\uffff\U0001f525\U0010ffff";
    const std::vector<std::byte> wide = utf16_from_utf8(text);
    const std::vector<std::byte> expected{
        std::byte{'a'},  std::byte{0},    std::byte{0xe9}, std::byte{0},
        std::byte{0xe5}, std::byte{0x65}, std::byte{0xff}, std::byte{0xff},
        std::byte{0x3d}, std::byte{0xd8}, std::byte{0x25}, std::byte{0xdd},
        std::byte{0xff}, std::byte{0xdb}, std::byte{0xff}, std::byte{0xdf}};
    EXPECT_EQ(wide, expected);
    EXPECT_EQ(utf8_from_utf16(wide), text);
}

TEST(Text, that_is_broken_becomes_replacement_characters) {
    EXPECT_EQ(utf8_from_utf16(utf16_from_utf8("a\xff\xc3(\xe2\x82")), "a\ufffd\ufffd(\ufffd\ufffd");
    EXPECT_EQ(utf8_from_utf16(utf16_from_utf8("\xc0\xaf\xed\xa0\x80")),
              "\ufffd\ufffd\ufffd\ufffd\ufffd");  // overlong, and a surrogate
    const std::vector<std::byte> lone_surrogate{std::byte{0x3d}, std::byte{0xd8}, std::byte{'a'},
                                                std::byte{0}, std::byte{7}};
    EXPECT_EQ(utf8_from_utf16(lone_surrogate), "\ufffda");
}

}  // namespace
}  // namespace sample::trace
