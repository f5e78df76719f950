// Which functions of two builds are taken for one.
#include "analysis/diff/function_match.h"

#include "diff_fixture.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sample::analysis {
namespace {

struct Described {
    std::string name;
    std::string source;
    std::uint32_t line = 0;
    std::string module = "app";
};

Profile profile_of(const std::vector<Described>& functions, const std::string& program = "app") {
    ProfileMaker maker;
    maker.program("/build/" + program);
    for (const Described& each : functions) {
        maker.module(each.module);
        maker.add({maker.function(each.name, each.source, each.line)}, 1000, 1);
    }
    return maker.make();
}

FunctionMatch match_pair(const Profile& before, const Profile& after) {
    return match_functions(std::vector{&before}, std::vector{&after});
}

/// "ab", "a", "b": one word a function of both, with a letter for each side's functions in it.
std::vector<std::string> match(const Profile& before, const Profile& after) {
    const FunctionMatch match = match_pair(before, after);
    std::vector<std::string> words(match.count);
    for (const std::uint32_t number : match.numbers[0]) {
        words[number] += 'a';
    }
    for (const std::uint32_t number : match.numbers[1]) {
        words[number] += 'b';
    }
    std::sort(words.begin(), words.end());
    return words;
}

using Words = std::vector<std::string>;

TEST(FunctionMatch, runs_of_a_side_are_matched_with_each_other) {
    const Profile run = profile_of({{"f", "/a/x.c"}, {"g", "/a/y.c"}});
    const Profile next = profile_of({{"g", "/a/y.c"}, {"h", ""}, {"f", "/a/x.c"}});
    const Profile other = profile_of({{"f", "/b/z.c"}});
    const FunctionMatch match =
        match_functions(std::vector{&run, &next}, std::vector{&other, &other});
    EXPECT_EQ(match.count, 3U);
    ASSERT_EQ(match.numbers.size(), 4U);
    EXPECT_EQ(match.numbers[0][0], match.numbers[1][2]);
    EXPECT_EQ(match.numbers[0][1], match.numbers[1][0]);
    // Left over once on each side, however many runs a side has.
    EXPECT_EQ(match.numbers[0][0], match.numbers[2][0]);
    EXPECT_EQ(match.numbers[2][0], match.numbers[3][0]);
}

TEST(FunctionMatch, lines_and_folders_of_builds_do_not_matter) {
    EXPECT_EQ(match(profile_of({{"f(int)", "/home/me/v1/src/f.cpp", 10}}),
                    profile_of({{"f(int)", "/ci/workspace/src/f.cpp", 17}})),
              (Words{"ab"}));
}

TEST(FunctionMatch, names_and_modules_do) {
    EXPECT_EQ(match(profile_of({{"f(int)", "f.cpp"}}), profile_of({{"f(long)", "f.cpp"}})),
              (Words{"a", "b"}));
    EXPECT_EQ(
        match(profile_of({{"init", "", 0, "liba.so"}}), profile_of({{"init", "", 0, "libb.so"}})),
        (Words{"a", "b"}));
}

TEST(FunctionMatch, versions_of_libraries_do_not_matter) {
    EXPECT_EQ(match(profile_of({{"inflate", "", 0, "libz.so.1.2.13"}}),
                    profile_of({{"inflate", "", 0, "libz.so.1.3"}})),
              (Words{"ab"}));
}

TEST(FunctionMatch, the_program_may_be_called_otherwise) {
    EXPECT_EQ(match(profile_of({{"main", "main.c", 1, "app-1.0"}}, "app-1.0"),
                    profile_of({{"main", "main.c", 1, "app-1.1"}}, "app-1.1")),
              (Words{"ab"}));
    EXPECT_EQ(match(profile_of({{"main", "main.c", 1, "tool"}}, "app-1.0"),
                    profile_of({{"main", "main.c", 1, "app-1.1"}}, "app-1.1")),
              (Words{"a", "b"}));
}

TEST(FunctionMatch, the_program_may_be_started_by_a_link) {
    Profile linked = profile_of({{"main", "main.c", 1, "current"}}, "app-1.0");
    linked.modules.back().path = "/build/app-1.0";
    EXPECT_EQ(match(linked, profile_of({{"main", "main.c", 1, "app-1.1"}}, "app-1.1")),
              (Words{"ab"}));
}

TEST(FunctionMatch, namesakes_go_with_those_of_their_folder) {
    const Profile before = profile_of({{"init", "/v1/net/util.c"}, {"init", "/v1/disk/util.c"}});
    const Profile after = profile_of({{"init", "/v2/disk/util.c"}, {"init", "/v2/net/util.c"}});
    const FunctionMatch match = match_pair(before, after);
    ASSERT_EQ(match.count, 2U);
    for (std::size_t a = 0; a < 2; ++a) {
        for (std::size_t b = 0; b < 2; ++b) {
            const bool same_folder =
                before.functions[a].source.substr(3) == after.functions[b].source.substr(3);
            EXPECT_EQ(match.numbers[0][a] == match.numbers[1][b], same_folder);
        }
    }
}

TEST(FunctionMatch, of_two_namesakes_one_may_be_new) {
    EXPECT_EQ(match(profile_of({{"init", "/v1/net/util.c"}}),
                    profile_of({{"init", "/v2/disk/util.c"}, {"init", "/v2/net/util.c"}})),
              (Words{"ab", "b"}));
}

TEST(FunctionMatch, what_agrees_with_several_is_one_with_all) {
    EXPECT_EQ(match(profile_of({{"init", ""}}),
                    profile_of({{"init", "/v2/disk/util.c"}, {"init", "/v2/net/util.c"}})),
              (Words{"abb"}));
}

TEST(FunctionMatch, a_module_as_source_is_no_file) {
    EXPECT_EQ(match(profile_of({{"f", "app"}}), profile_of({{"f", "/src/f.c"}})), (Words{"ab"}));
}

TEST(FunctionMatch, unknown_modules_agree_with_any) {
    EXPECT_EQ(match(profile_of({{"f", "/src/f.c", 0, ""}}), profile_of({{"f", "/src/f.c"}})),
              (Words{"ab"}));
}

TEST(FunctionMatch, a_function_that_moved_is_the_same_if_only_one_is_left) {
    EXPECT_EQ(match(profile_of({{"f", "/src/old.c"}}), profile_of({{"f", "/src/new.c"}})),
              (Words{"ab"}));
    EXPECT_EQ(match(profile_of({{"f", "/src/old.c"}}),
                    profile_of({{"f", "/src/new.c"}, {"f", "/src/other.c"}})),
              (Words{"a", "b", "b"}));
}

TEST(FunctionMatch, without_a_name_file_and_line_are_one) {
    EXPECT_EQ(match(profile_of({{"", "/v1/f.c", 7}, {"", "/v1/f.c", 9}}),
                    profile_of({{"", "/v2/f.c", 7}, {"", "/v2/f.c", 11}})),
              (Words{"a", "ab", "b"}));
}

TEST(FunctionMatch, equal_functions_of_one_side_are_one) {
    EXPECT_EQ(match(profile_of({{"f", "f.c"}, {"f", "f.c"}}), profile_of({{"f", "f.c"}})),
              (Words{"aab"}));
}

Profile with_addresses(const std::string& build_id) {
    ProfileMaker maker;
    maker.module("libx.so", build_id);
    const FunctionId first = maker.function("libx.so+0x10");
    const FunctionId second = maker.function("libx.so+0x2f0");
    maker.add({first, second, maker.function("known")}, 1000, 1);
    return maker.make();
}

TEST(WithoutAddresses, they_stay_in_the_same_build) {
    const Profile same = without_addresses(with_addresses("12"), with_addresses("12"));
    EXPECT_EQ(same.functions.size(), 3U);
    EXPECT_EQ(same.functions[0].name, "libx.so+0x10");
}

TEST(WithoutAddresses, of_other_builds_they_are_one_function) {
    for (const char* id : {"34", ""}) {
        const Profile other = without_addresses(with_addresses("12"), with_addresses(id));
        ASSERT_EQ(other.functions.size(), 2U);
        EXPECT_EQ(other.functions[0].name, "libx.so+[no name]");
        EXPECT_EQ(other.functions[0].total, 1000U) << "counted once";
    }
}

TEST(WithoutAddresses, modules_of_one_side_keep_theirs) {
    ProfileMaker without_it;
    const Profile other =
        without_it.module("libother.so").add({without_it.function("f")}, 1, 1).make();
    EXPECT_EQ(without_addresses(with_addresses("12"), other).functions.size(), 3U);
    EXPECT_EQ(without_addresses(with_addresses("12"), Profile{}).functions.size(), 2U);
}

TEST(ProgramOf, an_exec_takes_the_place_of_what_it_replaced) {
    ProfileMaker maker;
    EXPECT_EQ(program_of(maker.program("/bin/sh").program("/opt/app").make()), "app");
    EXPECT_EQ(program_of(Profile{}), "");
}

TEST(ProgramOf, an_import_tells_it_by_its_command_or_by_main) {
    ProfileMaker maker;
    maker.module("ld-linux-x86-64.so.2").add({maker.function("_start")}, 1, 1);
    maker.module("tool-2").add({maker.function("main")}, 1, 1);
    Profile imported = maker.make();
    EXPECT_EQ(program_of(imported), "tool-2");
    imported.command_line = "/opt/app --fast";
    EXPECT_EQ(program_of(imported), "app") << "one of its modules";
    imported.command_line = "python3 script.py";
    EXPECT_EQ(program_of(imported), "tool-2");
}

}  // namespace
}  // namespace sample::analysis
