#include "symbolize/names/name_forms.h"

#include "tests/built.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace sample::symbolize {
namespace {

struct Case {
    std::string full;
    std::string no_arguments;
    std::string brief;
};

std::vector<Case> read_cases() {
    std::ifstream file{built::kNameForms};
    std::vector<Case> cases;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("F ")) {
            const std::string name = line.substr(2);
            cases.push_back({name, name, name});
        } else if (line.starts_with("N ")) {
            cases.back().no_arguments = line.substr(2);
        } else if (line.starts_with("S ")) {
            cases.back().brief = line.substr(2);
        }
    }
    return cases;
}

/// `part`, as often as 64 KiB hold it.
std::string repeated(const std::string& part) {
    constexpr std::size_t kSize = std::size_t{64} << 10;
    std::string name;
    while (name.size() + part.size() <= kSize) {
        name += part;
    }
    return name;
}

TEST(NameForms, are_these) {
    const std::vector<Case> cases = read_cases();
    ASSERT_GT(cases.size(), 130U) << built::kNameForms;
    for (const Case& each : cases) {
        EXPECT_EQ(in_form(each.full, NameForm::full), each.full);
        EXPECT_EQ(in_form(each.full, NameForm::no_arguments), each.no_arguments);
        EXPECT_EQ(in_form(each.full, NameForm::brief), each.brief);
    }
}

TEST(NameForms, change_nothing_when_asked_twice) {
    for (const Case& each : read_cases()) {
        for (const NameForm form : {NameForm::no_arguments, NameForm::brief}) {
            const std::string once = in_form(each.full, form);
            EXPECT_EQ(in_form(once, form), once);
        }
    }
}

TEST(NameForms, of_the_short_one_are_reached_from_the_one_without_arguments) {
    for (const Case& each : read_cases()) {
        EXPECT_EQ(in_form(each.no_arguments, NameForm::brief), each.brief);
    }
}

TEST(NameForms, leave_names_alone_that_are_longer_than_64_kib) {
    const std::string name = repeated("a<int>::") + "much::too::longer(int)";
    EXPECT_EQ(in_form(name, NameForm::no_arguments), name);
    EXPECT_EQ(in_form(name, NameForm::brief), name);
    EXPECT_EQ(in_form("", NameForm::brief), "");
}

TEST(NameForms, take_hostile_names_in_one_pass) {
    for (const char* part : {"<",         "(",          "(<",          "<(>)",
                             "operator",  "operator<",  "operator ",   "a<",
                             "\"",        "\"\\",       "'\\",         " [clone ",
                             "]",         "::",         "a::",         "{lambda",
                             "{lambda#",  "std::__1::", "operator()",  "(anonymous namespace)",
                             ")<",        ".>",         "@",           "a<b>::",
                             "<a>::",     "<a::",       "vtable for ", " const",
                             "f() const", "(*",         "f::<"}) {
        const std::string name = repeated(part);
        for (const NameForm form : {NameForm::no_arguments, NameForm::brief}) {
            EXPECT_LE(in_form(name, form).size(), 6 * name.size()) << part;
            EXPECT_LE(in_form("f(" + name.substr(4) + ")", form).size(), 6 * name.size()) << part;
        }
    }
}

TEST(NameForms, keep_what_a_repeated_shape_stands_for) {
    EXPECT_EQ(in_form("a<b>::c<d>::e<f>(int)::g<h>::i<j>()", NameForm::brief),
              "a‹…›::c‹…›::e‹…›::g‹…›::i‹…›");
    EXPECT_EQ(in_form("vtable for virtual thunk to a<b>::c()", NameForm::no_arguments),
              "vtable for virtual thunk to a<b>::c");
}

}  // namespace
}  // namespace sample::symbolize
