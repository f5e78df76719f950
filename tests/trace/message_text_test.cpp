#include "trace/message_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace sample::trace {
namespace {

using namespace std::string_view_literals;

std::vector<std::byte> blob_of(std::string_view bytes) {
    const auto all = std::as_bytes(std::span{bytes});
    return {all.begin(), all.end()};
}

TEST(MessageText, is_what_printf_makes_of_it) {
    const auto text = [](std::string_view format, const ArgumentsBuilder& arguments) {
        return message_text(format, arguments.arguments());
    };
    const auto with = [] { return ArgumentsBuilder{}; };
    EXPECT_EQ(text("plain 100 %% text", with()), "plain 100 % text");
    EXPECT_EQ(
        text("%d of %i, %u",
             with().integer(7, 4).integer(static_cast<std::uint64_t>(-3)).integer(0xffffffff, 4)),
        "7 of -3, 4294967295");
    EXPECT_EQ(
        text("%d %hhd %ld", with().integer(0xffffffff, 4).integer(0xff, 1).integer(0x7fff, 2)),
        "-1 -1 32767");
    EXPECT_EQ(text("[%5d|%-5d|%05d|%+d|%x|%#X|%o]", with()
                                                        .integer(42)
                                                        .integer(42)
                                                        .integer(42)
                                                        .integer(42)
                                                        .integer(255)
                                                        .integer(255)
                                                        .integer(8)),
              "[   42|42   |00042|+42|ff|0XFF|10]");
    EXPECT_EQ(text("%.2f %e %g %8.1f|", with().real(3.14159).real(1e10).real(0.5F).real(2.25)),
              "3.14 1.000000e+10 0.5      2.2|");
    EXPECT_EQ(text("%s, %10s, %-4s|%.2s", with().text("a").text("right").text("l").text("cut")),
              "a,      right, l   |cu");
    EXPECT_EQ(text("%c%c %p", with().integer('O', 1).integer('K', 4).integer(0xbeef)), "OK 0xbeef");
    EXPECT_EQ(text("%lc%C%3lc|%lc%c", with()
                                          .integer(0x20ac, 4)
                                          .integer(0x1f600, 4)
                                          .integer(0xe9, 4)
                                          .integer(0xd800, 4)
                                          .integer(0x141, 4)),
              "\u20ac\U0001f600  \u00e9|\ufffdA");
    EXPECT_EQ(
        text("%*d|%-*d|%.*f",
             with().integer(4, 4).integer(7).integer(4, 4).integer(7).integer(1, 4).real(0.25)),
        "   7|7   |0.2");
    EXPECT_EQ(text("%llu %zd %I64d %jd", with().integer(1).integer(2).integer(3).integer(4)),
              "1 2 3 4");
    EXPECT_EQ(text("%Ld", with().integer(1ULL << 40)), "1099511627776");
}

TEST(MessageText, shows_arguments_that_are_missing_or_of_another_kind) {
    EXPECT_EQ(message_text("%d and %s", {}), "[%d] and [%s]");
    EXPECT_EQ(message_text("%d", ArgumentsBuilder{}.text("seven").arguments()), "[%d]");
    EXPECT_EQ(message_text("%-5.2f!", ArgumentsBuilder{}.integer(7).arguments()), "[%-5.2f]!");
    EXPECT_EQ(message_text("%s", ArgumentsBuilder{}.real(7.0).arguments()), "[%s]");
    EXPECT_EQ(message_text("%n%d", ArgumentsBuilder{}.integer(1).integer(2).arguments()), "[%n]2");
    EXPECT_EQ(message_text("%*d", ArgumentsBuilder{}.text("x").integer(2).arguments()), "[%*d]");
    EXPECT_EQ(message_text("left over", ArgumentsBuilder{}.integer(1).arguments()), "left over");
    EXPECT_EQ(message_text("at the end %", {}), "at the end %");
    EXPECT_EQ(message_text("%5", ArgumentsBuilder{}.integer(1).arguments()), "%5");
}

TEST(MessageText, reads_nothing_beyond_arguments_that_are_cut_off) {
    const auto whole =
        ArgumentsBuilder{}.integer(1).text("two").text(u"dr\u00e9i").real(4.0).arguments();
    EXPECT_EQ(message_text("%d %s %s %.0f", whole), "1 two dr\xc3\xa9i 4");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        // In memory of its own, where a sanitizer sees the end.
        const std::vector<std::byte> cut(whole.begin(),
                                         whole.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_NE(message_text("%d %s %s %.0f", cut), "1 two dr\xc3\xa9i 4") << size;
    }
    EXPECT_EQ(message_text("%d", blob_of("\x01\x40")), "[%d]") << "an integer of 0 bytes";
    EXPECT_EQ(message_text("%d", blob_of("\x01\x49"
                                         "123456789")),
              "[%d]")
        << "of 9 bytes";
    EXPECT_EQ(message_text("%d", blob_of("\x01\x04"
                                         "1234")),
              "[%d]")
        << "of no kind";
    EXPECT_EQ(message_text("%s", blob_of("\xff\xc1")), "");
}

TEST(MessageText, is_always_utf_8_and_of_a_bounded_length) {
    EXPECT_EQ(message_text("\xff%s", ArgumentsBuilder{}.text("\xc3").arguments()),
              "\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(message_text("%3s|", ArgumentsBuilder{}.text("\xc3\xa9").arguments()), "  \xc3\xa9|")
        << "padded by characters";
    EXPECT_EQ(message_text("%.1s", ArgumentsBuilder{}.text("\xc3\xa9x").arguments()), "\xc3\xa9");
    EXPECT_EQ(message_text("%s", blob_of("\x01\xc4\xac\x20\0\0\0\xd8\0\0\0\0\0\0"sv)),
              "\xe2\x82\xac\xef\xbf\xbd")
        << "wide text of 4 bytes a character";
    EXPECT_LE(message_text("%99999999999d", ArgumentsBuilder{}.integer(1).arguments()).size(),
              1024U);
    EXPECT_EQ(message_text("%.1024f", ArgumentsBuilder{}.real(-1e308).arguments()).size(), 1335U);
    const std::string long_text(200'000, 'x');
    EXPECT_LE(
        message_text("%s%s", ArgumentsBuilder{}.text(long_text).text(long_text).arguments()).size(),
        65'536U);
}

}  // namespace
}  // namespace sample::trace
