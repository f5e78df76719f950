#include "core/text.h"

#include <gtest/gtest.h>

namespace sample {
namespace {

TEST(Utf8, keeps_what_is_right) {
    for (const char* const text :
         {"", "plain", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
          "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
          "a\xe2\x80\xb9T\xe2\x80\xba"}) {
        EXPECT_EQ(to_utf8(text), text);
    }
}

TEST(Utf8, replaces_what_is_not) {
    EXPECT_EQ(to_utf8("a\xff"
                      "b"),
              "a\xef\xbf\xbd"
              "b");
    EXPECT_EQ(to_utf8("\x80"), "\xef\xbf\xbd");
    EXPECT_EQ(to_utf8("\xc3"), "\xef\xbf\xbd") << "cut off";
    EXPECT_EQ(to_utf8("\xc3("), "\xef\xbf\xbd(");
    EXPECT_EQ(to_utf8("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd") << "longer than need be";
    EXPECT_EQ(to_utf8("\xe0\x80\xaf").substr(0, 3), "\xef\xbf\xbd") << "longer than need be";
    EXPECT_EQ(to_utf8("\xed\xa0\x80").substr(0, 3), "\xef\xbf\xbd") << "half a surrogate pair";
    EXPECT_EQ(to_utf8("\xf4\x90\x80\x80").substr(0, 3), "\xef\xbf\xbd") << "above U+10FFFF";
    EXPECT_EQ(to_utf8("\xe2\x82z"), "\xef\xbf\xbd\xef\xbf\xbdz");
}

TEST(Utf8, stays_on_one_line) {
    EXPECT_EQ(one_line("a\nb\tc\x1b[31m\x7f \xff"), "a b c [31m  \xef\xbf\xbd");
    EXPECT_EQ(one_line("a\u202eb\u2028c\u009b31m\u200b"), R"(a\u202eb\u2028c\u009b31m\u200b)");
}

}  // namespace
}  // namespace sample
