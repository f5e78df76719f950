#include "symbolize/names/name_syntax.h"

#include <gtest/gtest.h>

namespace sample::symbolize {
namespace {

std::size_t operator_length(std::string_view name) {
    return operator_at(name, 0).length;
}

TEST(NameSyntax, knows_operators) {
    EXPECT_EQ(operator_length("operator<(A)"), 9U);
    EXPECT_EQ(operator_length("operator<< <int>"), 10U);
    EXPECT_EQ(operator_length("operator->*(A)"), 11U);
    EXPECT_EQ(operator_length("operator()<int>"), 10U);
    EXPECT_EQ(operator_length("operator new[](unsigned long)"), 14U);
    EXPECT_EQ(operator_length("operator newer()"), 9U) << "a conversion to the type newer";
    EXPECT_EQ(operator_length("operator\"\" _km(long)"), 14U);
    EXPECT_TRUE(operator_at("A::operator bool() const", 3).is_conversion);
    EXPECT_FALSE(operator_at("A::operator new(unsigned long)", 3).is_conversion);
    EXPECT_EQ(operator_length("operators::f"), 0U);
    EXPECT_EQ(operator_length("operator"), 0U);
    EXPECT_EQ(operator_at("my_operator<", 3).length, 0U);
}

TEST(NameSyntax, pairs_brackets) {
    const std::string_view name = "f<(1)<(2), g<int> >(h<char>)";
    const NameBrackets brackets{name};
    ASSERT_TRUE(brackets.is_balanced());
    EXPECT_EQ(brackets.partner(1), name.find(" >(") + 1);
    EXPECT_EQ(brackets.kind(1), BracketKind::template_arguments);
    EXPECT_EQ(brackets.kind(5), BracketKind::none) << "a less-than";
    EXPECT_EQ(brackets.kind(name.find("(h")), BracketKind::arguments);
    EXPECT_EQ(brackets.partner(name.size() - 1), name.find("(h"));
}

TEST(NameSyntax, tells_arguments_from_parts_of_a_name) {
    const auto kind = [](std::string_view name, std::string_view at) {
        return NameBrackets{name}.kind(name.find(at));
    };
    EXPECT_EQ(kind("<T as U>::f", "<T"), BracketKind::other);
    EXPECT_EQ(kind("f::<T>", "<T"), BracketKind::template_arguments);
    EXPECT_EQ(kind("core::<impl A for B>::f", "<impl"), BracketKind::other);
    EXPECT_EQ(kind("(anonymous namespace)::f(int)", "("), BracketKind::other);
    EXPECT_EQ(kind("f()::<lambda(int)>::g()", "<lambda"), BracketKind::other);
    EXPECT_EQ(kind("map!(int).f()", "(int"), BracketKind::template_arguments);
    EXPECT_EQ(kind("A::operator!()", "("), BracketKind::arguments);
    EXPECT_EQ(kind("A::operator char const*()", "("), BracketKind::arguments);
    EXPECT_EQ(kind("f()::{lambda(int)#1}", "{"), BracketKind::other);
}

TEST(NameSyntax, does_not_balance_what_has_no_partner) {
    for (const char* name : {"a<b", "a>b", "f(", ")", "f(]", "f<(>", "}", "operator()<"}) {
        EXPECT_FALSE(NameBrackets{name}.is_balanced()) << name;
    }
    for (const char* name : {"", "f", "f(a<b)", "f(a>b)", "f<a->b>", "fn() -> u8"}) {
        EXPECT_TRUE(NameBrackets{name}.is_balanced()) << name;
    }
}

TEST(Collapse, replaces_the_contents_of_outermost_brackets) {
    EXPECT_EQ(collapse("a<b<c>, d>::e<>(f<g>)", BracketKind::template_arguments, "…"),
              "a<…>::e<>(f<…>)");
    EXPECT_EQ(collapse("a<f(int)>::e(f(g), h)", BracketKind::arguments, "..."),
              "a<f(...)>::e(...)");
    EXPECT_EQ(collapse("a<b", BracketKind::template_arguments, "…"), "a<b");
}

}  // namespace
}  // namespace sample::symbolize
