#include "export/shared/functions.h"

#include <gtest/gtest.h>

#include <set>

namespace sample::exports {
namespace {

using callgraph::Function;
using callgraph::Profile;

Function function(std::string name, std::string source, std::uint32_t module = 0,
                  std::uint32_t flags = 0) {
    Function result;
    result.name = std::move(name);
    result.source = std::move(source);
    result.module = module;
    result.flags = flags;
    return result;
}

std::vector<std::string> names(std::vector<Function> functions) {
    Profile profile;
    profile.modules.push_back({"a.so", "/a.so", ""});
    profile.modules.push_back({"b.so", "/b.so", ""});
    profile.functions = std::move(functions);
    return unique_names(profile);
}

TEST(UniqueNames, leaves_alone_what_differs) {
    EXPECT_EQ(names({function("f", "x.c"), function("f", "y.c"), function("g", "x.c")}),
              (std::vector<std::string>{"f", "f", "g"}));
}

TEST(UniqueNames, says_what_the_difference_is) {
    EXPECT_EQ(names({function("f", "x.c", 1), function("f", "x.c", 1, callgraph::kPlugin),
                     function("f", "x.c", 1, callgraph::kNative | callgraph::kPlugin),
                     function("f", "x.c", 2), function("f", "x.c", 2)}),
              (std::vector<std::string>{"f", "f [plugin]", "f [native] [plugin]", "f [b.so]",
                                        "f [b.so] (2)"}));
}

TEST(UniqueNames, a_module_is_no_source_file) {
    EXPECT_EQ(names({function("f", "a.so", 1), function("f", "b.so", 2)}),
              (std::vector<std::string>{"f", "f [b.so]"}));
}

TEST(UniqueNames, takes_no_name_that_is_taken) {
    const auto made = names({function("f", "x.c"), function("f", "x.c"), function("f (2)", "x.c"),
                             function("f", "x.c"), function("f (2)", "x.c")});
    EXPECT_EQ((std::set<std::string>{made.begin(), made.end()}).size(), made.size());
    EXPECT_EQ(made[0], "f");
    EXPECT_EQ(made[2], "f (2)");
}

}  // namespace
}  // namespace sample::exports
