#include "cli/views/text.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace sample::cli {
namespace {

constexpr Terminal kUtf8{false, true, 80};
constexpr Terminal kAscii{false, false, 80};

TEST(Numbers, are_floored_and_grouped) {
    EXPECT_EQ(milliseconds(1'234'567'999), "1234.567");
    EXPECT_EQ(milliseconds(999), "0.000");
    EXPECT_EQ(short_duration(3'214'999'999), "3.214 s");
    EXPECT_EQ(short_duration(12'345'678), "12.345 ms");
    EXPECT_EQ(short_duration(640'999), "640 us");
    EXPECT_EQ(short_duration(0), "0 ns");
    EXPECT_EQ(session_length(3'723'004), "01:02:03.004");
    EXPECT_EQ(session_length(360'000'000), "100:00:00.000");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1'000), "1,000");
    EXPECT_EQ(grouped(1'234'567), "1,234,567");
    EXPECT_EQ(counted(1, "process"), "1 process");
    EXPECT_EQ(counted(2, "process"), "2 processes");
    EXPECT_EQ(counted(0, "thread"), "0 threads");
}

TEST(Percent, of_nothing_is_nothing_and_little_is_not) {
    EXPECT_EQ(percent_text(1, 0), "<0.1 %");
    EXPECT_EQ(percent_text(0, 0), "0.0 %");
    EXPECT_EQ(percent_text(1, 3), "33.3 %");
    EXPECT_EQ(percent_text(1, 10'000), "<0.1 %");
}

TEST(Scale, is_shown_unless_it_is_one) {
    EXPECT_EQ(scale_text(1.0, kUtf8), "");
    EXPECT_EQ(scale_text(5.0, kUtf8), "×5");
    EXPECT_EQ(scale_text(0.25, kAscii), "x0.25");
}

TEST(Printable, keeps_letters_and_nothing_that_a_terminal_obeys) {
    EXPECT_EQ(printable("größe → 5"), "größe → 5");
    EXPECT_EQ(printable("a\x1b[31mb\tc\x7f"), R"(a\x1b[31mb\tc\x7f)");
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m"),
              R"(\u009b31m)");  // C1 control
    EXPECT_EQ(printable("\xe2\x80\xae"
                        "abc"),
              R"(\u202eabc)");  // right-to-left override
    for (const auto& [text, shown] : {std::pair{"\u061c", R"(\u061c)"},
                                      {"\u200e", R"(\u200e)"},
                                      {"\u2069", R"(\u2069)"},
                                      {"\u2028", R"(\u2028)"},
                                      {"\u200b", R"(\u200b)"},
                                      {"\u00a0", R"(\u00a0)"},
                                      {"\u3000", R"(\u3000)"},
                                      {"\ufeff", R"(\ufeff)"},
                                      {"\u00ad", R"(\u00ad)"},
                                      {"\U000e0041", R"(\U000e0041)"},
                                      {"\U0001d173", R"(\U0001d173)"}}) {
        EXPECT_EQ(printable(text), shown);
    }
    EXPECT_EQ(printable(" \u0627\u05d0\u4e00\u0301"), " \u0627\u05d0\u4e00\u0301");
    EXPECT_EQ(printable("\xff\xc3"), R"(\xff\xc3)");
    EXPECT_EQ(printable("a\xf0\x9f\x98\x80 \xf4\x90\x80\x80"),
              "a\xf0\x9f\x98\x80 \\xf4\\x90\\x80\\x80");      // beyond Unicode
    EXPECT_EQ(printable("\xe0\x80\x80"), R"(\xe0\x80\x80)");  // overlong
}

TEST(ShellWord, is_one_word_to_a_shell) {
    EXPECT_EQ(shell_word("out/größe_2.utrace"), "out/größe_2.utrace");
    EXPECT_EQ(shell_word("a b.utrace"), "'a b.utrace'");
    for (const std::string text : {"", "it's $HOME `x` \"y\" *", R"(a\n)", "~root", "a;b&c",
                                   "it's \x1b[31m\\ \n\u202e\U000e0001!"}) {
        const std::string word = shell_word(text);
        EXPECT_EQ(printable(word), word);
        ::setenv("SHELL_WORD_TEST", ("printf %s/ " + word).c_str(), 1);
        std::FILE* const shell = ::popen(R"(LC_ALL=C.UTF-8 exec bash -c "$SHELL_WORD_TEST")", "r");
        ASSERT_NE(shell, nullptr);
        std::array<char, 100> read{};
        const std::size_t size = std::fread(read.data(), 1, read.size(), shell);
        EXPECT_EQ(::pclose(shell), 0);
        EXPECT_EQ(std::string(read.data(), size), text + "/") << word;
    }
}

TEST(Padding, counts_code_points) {
    EXPECT_EQ(pad_left("ü", 3), "  ü");
    EXPECT_EQ(pad_right("ü", 3), "ü  ");
    EXPECT_EQ(pad_left("long", 3), "long");
}

TEST(ShortenName, leaves_what_fits) {
    EXPECT_EQ(shorten_name("main", 4, kUtf8), "main");
    EXPECT_EQ(shorten_name(std::string(500, 'x'), 0, kUtf8), std::string(500, 'x'));
}

TEST(ShortenName, drops_template_arguments_first) {
    EXPECT_EQ(
        shorten_name("std::map<std::string, int, std::less<int> >::find(int const&)", 30, kUtf8),
        "std::map<…>::find(int const&)");
    EXPECT_EQ(shorten_name("std::map<std::string, int>::find(int)", 25, kAscii),
              "std::map<...>::find(int)");
}

TEST(ShortenName, then_the_contents_of_argument_lists) {
    EXPECT_EQ(shorten_name("std::map<std::string, int>::find(std::string const&)", 20, kUtf8),
              "std::map<…>::find(…)");
    EXPECT_EQ(
        shorten_name("f(int (*)(int, int), long)::{lambda(int)#1}::operator()() const", 48, kUtf8),
        "f(…)::{lambda(…)#1}::operator()() const");
}

TEST(ShortenName, then_the_middle) {
    EXPECT_EQ(shorten_name("abcdefghijklmnopqrstuvwxyz", 11, kUtf8), "abcd…uvwxyz");
    EXPECT_EQ(shorten_name("abcdefghijklmnopqrstuvwxyz", 11, kAscii), "abc...vwxyz");
    EXPECT_EQ(shorten_name("äöüäöüäöüäöü", 5, kUtf8), "ä…äöü");
    EXPECT_EQ(shorten_name("abcdef", 1, kUtf8), "…");
    EXPECT_EQ(shorten_name("abcdef", 2, kAscii), "..");
}

TEST(ShortenName, drops_scopes_before_it_cuts_the_last_component) {
    constexpr const char* kName = "std::detail::Hashtable<int>::find_before_node(int)";
    EXPECT_EQ(shorten_name(kName, 36, kUtf8), "…::Hashtable<…>::find_before_node(…)");
    EXPECT_EQ(shorten_name(kName, 35, kUtf8), "…::find_before_node(…)");
    EXPECT_EQ(shorten_name(kName, 19, kUtf8), "find_before_node(…)");
    EXPECT_EQ(shorten_name(kName, 15, kUtf8), "find_…e_node(…)");
    EXPECT_EQ(shorten_name("<a::Vec as b::Drop>::drop", 12, kUtf8), "…::drop");
    EXPECT_EQ(fit_name(kName, 22, kUtf8), "…::find_before_node(…)");
    EXPECT_EQ(fit_name(kName, 21, kUtf8), std::nullopt);
}

TEST(NameAndPlace, shows_no_place_that_costs_more_than_arguments) {
    const auto shown = [](const char* name, const char* place, std::size_t room) {
        return name_and_place(name, place, 0, room, kUtf8);
    };
    EXPECT_EQ(shown("ns::find(int)", "cc1plus", 22), "ns::find(int)  cc1plus");
    EXPECT_EQ(shown("ns::find(int)", "cc1plus", 20), "ns::find(…)  cc1plus");
    EXPECT_EQ(shown("ns::find(int)", "cc1plus", 19), "ns::find(int)");
    EXPECT_EQ(shown("libz.so.1+0x5d80", "libz.so.1", 80), "libz.so.1+0x5d80");
    EXPECT_EQ(shown("[jit code]", "[jit]", 80), "[jit code]");
}

TEST(Wrapped, breaks_between_words_and_indents_what_follows) {
    constexpr Terminal kNarrow{false, true, 12};
    EXPECT_EQ(wrapped("one two three", kNarrow), "one two\nthree");
    EXPECT_EQ(wrapped("one two three", kNarrow, 4), "one two\n    three");
    EXPECT_EQ(wrapped("incomprehensibilities no", kNarrow), "incomprehensibilities\nno");
    EXPECT_EQ(wrapped("one two three", {}), "one two three");
}

TEST(ShortenName, takes_operators_for_no_brackets) {
    EXPECT_EQ(shorten_name("ns::operator<< <int, char, long, short>(A const&)", 40, kUtf8),
              "ns::operator<< <…>(A const&)");
    EXPECT_EQ(shorten_name("Very<Long, Template>::operator->() const", 30, kUtf8),
              "Very<…>::operator->() const");
    EXPECT_EQ(shorten_name("Very<Long, Template>::operator()(int, long) const", 40, kUtf8),
              "Very<…>::operator()(int, long) const");
}

TEST(ShortenName, keeps_rust_types_and_anonymous_namespaces) {
    EXPECT_EQ(shorten_name("<alloc::vec::Vec<T,A> as core::ops::Drop>::drop", 46, kUtf8),
              "<alloc::vec::Vec<…> as core::ops::Drop>::drop");
    EXPECT_EQ(shorten_name("(anonymous namespace)::parse(std::string, std::string)", 33, kUtf8),
              "(anonymous namespace)::parse(…)");
}

TEST(ShortenName, stands_brackets_that_do_not_match) {
    for (const char* name : {"a<b<c(((((((((((((((((", "a>>>>>>>>>>>>>>>>>>>>>",
                             "f)))))))))))))))))))(", "operator<operator<operator<"}) {
        EXPECT_EQ(display_width(shorten_name(name, 10, kUtf8)), 10U) << name;
    }
}

TEST(Labels, name_functions_by_what_is_known) {
    callgraph::Function function;
    EXPECT_EQ(function_label(function), "<anonymous>");
    function.source = "/src/a.cpp";
    EXPECT_EQ(function_label(function), "/src/a.cpp");
    function.line = 3;
    EXPECT_EQ(function_label(function), "/src/a.cpp:3");
    function.name = "run";
    function.flags = callgraph::kNative;
    EXPECT_EQ(function_label(function), "run [jit]");
    function.flags = callgraph::kPlugin;
    EXPECT_EQ(function_label(function), "run");
    EXPECT_EQ(location_text(function.source, function.line, false), "a.cpp:3");
}

}  // namespace
}  // namespace sample::cli
