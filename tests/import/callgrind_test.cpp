#include "core/mapped_file.h"
#include "export/formats.h"
#include "import/import.h"
#include "import_fixture.h"
#include "tests/built.h"

#include <gtest/gtest.h>

#include <string>

namespace sample::imports {
namespace {

using callgraph::Profile;

/// main calls a and b, which call shared for 30 and 10; its own callee follows.
constexpr const char* kShared = R"(# callgrind format
version: 1
cmd: ./app -x
positions: instr line
events: Dr Ir

ob=(1) /lib/app
fl=(1) a.c
fn=(1) main
0x10 5 9 1
cfn=(2) a
calls=1 0x20 +3
* * 0 34
+4 -1
cfn=(3) b
calls=2 0x30 9
+4 * 0 15
fn=(2)
0x20 8 0 4
cfi=(2) b.c
cfn=(4) shared
calls=1 0x40 1
* +1 0 30
fn=(3)
0x30 9 0 5
cob=(1)
cfi=(2)
cfn=(4)
calls=1 0x40 1
* * 0 10
fl=(2)
fn=(4)
0x40 1 0 8
fi=(3) inlined.h
+3 7 0 12
fe=(2)
cob=(2) /lib/libc.so
cfi=(4) ???
cfn=(5) _ZN2io5writeEv
calls=3 0 0
* 1 0 20
ob=(2)
fl=(4)
fn=(5)
0x50 0 0 20

totals: 9 50
)";

TEST(Callgrind, divides_what_is_below_a_function_among_its_callers) {
    const Profile profile = imported(kShared);
    EXPECT_EQ(totals(profile), (Totals{{"main", {50, 1}},
                                       {"a", {34, 4}},
                                       {"b", {15, 5}},
                                       {"shared", {40, 20}},
                                       {"io::write()", {20, 20}}}));
    EXPECT_EQ(profile.command_line, "./app -x");
    EXPECT_EQ(profile.event, "Ir");
    EXPECT_EQ(profile.metric.unit, "Ir");
    EXPECT_EQ(profile.stats.known_samples(0), std::nullopt);
    const auto& shared = function_called(profile, "shared");
    EXPECT_EQ(shared.source, "b.c");
    EXPECT_EQ(profile.module_of(shared).path, "/lib/app");
    const auto& write = function_called(profile, "io::write()");
    EXPECT_EQ(profile.module_of(write).path, "/lib/libc.so");
    EXPECT_EQ(write.source, "");
    EXPECT_TRUE(has_note(profile, "callgrind keeps calls, not stacks"));
    EXPECT_TRUE(has_note(profile, "1 other events than Ir were left out"));
    std::string folded;
    ASSERT_TRUE(exports::write_folded(profile, exports::to_string_sink(folded)).has_value());
    EXPECT_NE(folded.find("main;a;shared;io::write() 15\n"), std::string::npos) << folded;
    EXPECT_NE(folded.find("main;b;shared;io::write() 5\n"), std::string::npos) << folded;
}

TEST(Callgrind, takes_the_categories_of_our_own_export_for_what_they_are) {
    const Profile profile = imported(
        "events: Nanoseconds\nfl=[category]\nfn=worker\ncfi=a.c\ncfn=main\ncalls=1 1\n0 30\n"
        "fl=a.c\nfn=main\n1 30\n");
    ASSERT_EQ(profile.categories.size(), 1U);
    EXPECT_EQ(profile.categories[0].name, "worker");
    EXPECT_EQ(totals(profile), (Totals{{"main", {30, 30}}}));
}

TEST(Callgrind, is_told_by_content) {
    EXPECT_EQ(*detect_format(kShared), Format::callgrind);
    EXPECT_EQ(*detect_format("events: Ir\nfl=a\nfn=f\n1 2\n"), Format::callgrind);
    EXPECT_FALSE(detect_format("events: Ir\n").has_value());
}

TEST(Callgrind, keeps_what_recursive_functions_cost_themselves) {
    const Profile profile = imported(
        "events: Ir\nfn=main\n1 1\ncfn=a\ncalls=1 1\n1 99\n"
        "fn=a\n1 10\ncfn=a\ncalls=7 1\n1 500\ncfn=b\ncalls=3 1\n1 120\n"
        "fn=b\n1 20\ncfn=a\ncalls=2 1\n1 70\n"
        "fn=alone\n1 5\ncfn=other\ncalls=1 1\n1 9\nfn=other\n1 6\ncfn=alone\ncalls=1 1\n1 9\n");
    const Totals sums = totals(profile);
    EXPECT_EQ(profile.nodes[0].total, 42U);
    EXPECT_EQ(sums.at("main"), (Totals::mapped_type{31, 1}));
    EXPECT_EQ(sums.at("a"), (Totals::mapped_type{30, 10}));
    EXPECT_EQ(sums.at("b").second, 20U);
    EXPECT_EQ(sums.at("alone").second, 5U);
    EXPECT_EQ(sums.at("other").second, 6U);
}

/// As many paths as there are subsets of the layers.
TEST(Callgrind, does_not_follow_each_of_too_many_paths) {
    std::string text = "events: Ir\n";
    constexpr int kLayers = 60;
    for (int i = 0; i < kLayers; ++i) {
        for (const char* half : {"a", "b"}) {
            text += "fn=" + (half + std::to_string(i)) + "\n1 1\n";
            for (const char* callee : {"a", "b"}) {
                text += "cfn=" + (callee + std::to_string(i + 1)) + "\ncalls=1 1\n1 100\n";
            }
        }
    }
    text += "fn=a60\n1 1000000\nfn=b60\n1 1000000\n";
    const Profile profile = imported(text);
    EXPECT_EQ(profile.nodes[0].total, 2'000'120U);
    EXPECT_LT(profile.nodes.size(), 4'000'000U);
}

TEST(Callgrind, bounds_the_depth_of_a_stack_and_says_so) {
    std::string text = "events: Ir\n";
    for (int i = 0; i < 600; ++i) {
        text += "fn=f" + std::to_string(i) + "\n1 1\ncfn=f" + std::to_string(i + 1) +
                "\ncalls=1 1\n1 9\n";
    }
    const Profile profile = imported(text);
    EXPECT_EQ(profile.nodes[0].total, 600U);
    EXPECT_TRUE(has_note(profile, "100 stacks of more than 500 functions lack their outer end"));
}

/// `valgrind --tool=callgrind --toggle-collect=main`; the figures are callgrind_annotate's.
TEST(Callgrind, of_valgrind_has_the_figures_of_its_own_tool) {
    const auto file = MappedFile::open(std::string{built::kData} + "/callgrind/calls");
    ASSERT_TRUE(file.has_value());
    const auto bytes = file->bytes();
    const Profile profile = imported({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    const Totals sums = totals(profile);
    EXPECT_EQ(profile.nodes[0].total, 10'079U);
    EXPECT_EQ(sums.at("main").first, 10'079U);
    EXPECT_EQ(sums.at("leaf"), (Totals::mapped_type{8494, 8494}));
    EXPECT_EQ(sums.at("heavy").first, 7236U);
    EXPECT_EQ(sums.at("light").first, 809U);
    EXPECT_EQ(sums.at("printf").first, 1074U);
    EXPECT_EQ(sums.at("__vfprintf_internal"), (Totals::mapped_type{1047, 318}));
    EXPECT_EQ(sums.at("fib'2").second, 371U);
    EXPECT_EQ(sums.at("fib").first, 686U);
    EXPECT_EQ(profile.command_line, "./cgp");
}

TEST(Callgrind, takes_back_our_own_export) {
    const Profile profile = imported("main;f;g 3\nmain;f 2\nmain;h;g 4\n");
    std::string text;
    ASSERT_TRUE(exports::write_callgrind(profile, exports::to_string_sink(text)).has_value());
    const Totals back = totals(imported(text));
    for (const auto& [name, sums] : totals(profile)) {
        EXPECT_EQ(back.at(name), sums) << name;
    }
}

TEST(Callgrind, takes_a_callee_without_a_file_for_one_of_the_file_it_is_called_from) {
    const Profile profile = imported(
        "events: Ir\nfl=(1) inl.cpp\nfn=(1) main\n3 3\ncfn=(2) work\ncalls=1 2\n3 901\n"
        "fn=(2)\n2 1\nfi=(2) hdr.h\n5 800\ncfn=(3) deep\ncalls=100 4\n5 100\n"
        "fl=(2)\nfn=(3)\n4 100\n");
    EXPECT_EQ(totals(profile),
              (Totals{{"main", {904, 3}}, {"work", {901, 801}}, {"deep", {100, 100}}}));
    EXPECT_EQ(function_called(profile, "work").source, "inl.cpp");
    EXPECT_EQ(function_called(profile, "deep").source, "hdr.h");
}

TEST(Callgrind, leaves_out_where_jumps_lead) {
    const Profile profile = imported(
        "events: Ir\nfl=(1) a.c\nfn=(1) main\n1 5\njfi=(2) b.h\njfn=(2) f\njump=3 7\n1\n"
        "fl=(2)\nfn=(2)\n2 6\n");
    EXPECT_EQ(totals(profile), (Totals{{"main", {5, 5}}, {"f", {6, 6}}}));
    EXPECT_EQ(function_called(profile, "f").source, "b.h");
}

TEST(Callgrind, refuses_with_the_line) {
    const auto refused = [](const std::string& text, const std::string& part) {
        expect_refusal(text, Format::callgrind, "callgrind: " + part);
    };
    refused("events: Ir\nfn=f\n1 x\n", "line 3: must hold costs, not \"x\"");
    refused("events: Ir\nfn=(7)\n", "line 2: this number was not given a name");
    refused("events: Ir\nfn=f\ncalls=1 1\n", "line 3: calls= without cfn=");
    refused("events: Ir\nxy=f\n", "line 2: no line of callgrind begins with \"xy\"");
    refused("events: Ir\nhello\n", "line 2: neither costs nor a name nor a header");
    refused("fn=f\n1 2\n", "it does not name its events");
    refused("events: Ir\nfn=f\n1 18446744073709551615\n1 1\n", "line 4: the sum of all costs");
    refused("events: Ir\nfn=f\n1 18446744073709551615\nfn=g\n1 1\n",
            "the sum of all weights needs");
}

}  // namespace
}  // namespace sample::imports
