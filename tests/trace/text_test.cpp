#include "trace/text.h"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <string_view>

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

TEST(Text, is_read_from_utf16) {
    const auto wide = [](std::u16string_view units) {
        return utf8_from_utf16(std::as_bytes(std::span{units}));
    };
    EXPECT_EQ(wide(u"a\u00e9\u65e5\uffff\U0001f525\U0010ffff"),
              "a\u00e9\u65e5\uffff\U0001f525\U0010ffff");
    constexpr std::array<char16_t, 2> kLoneSurrogate{0xd83d, u'a'};
    EXPECT_EQ(wide({kLoneSurrogate.data(), 2}), "\ufffda");
    constexpr std::array<std::byte, 3> kOddByte{std::byte{'a'}, std::byte{0}, std::byte{7}};
    EXPECT_EQ(utf8_from_utf16(kOddByte), "a");
}

}  // namespace
}  // namespace sample::trace
