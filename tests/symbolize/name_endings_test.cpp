#include "symbolize/names/name_endings.h"

#include <gtest/gtest.h>

#include <string>

namespace sample::symbolize {
namespace {

TEST(FunctionParts, are_named_after_their_function) {
    for (const char* name :
         {"f.cold", "f.cold.3", "f.warm", "f.part.0", "f.constprop.12", "f.isra.0", "f.lto_priv.1",
          "f.localalias", "f.localalias.2", "f.llvm.4711123456789", "f.__uniq.123", "f.part.0.cold",
          "f.constprop.0.isra.0.part.3.cold", "f [clone .cold]",
          "f [clone .constprop.0] [clone .isra.1]", "f [clone .part.0.cold]",
          "f.part.0 [clone .cold]"}) {
        EXPECT_EQ(without_part(name), "f") << name;
    }
    EXPECT_EQ(without_part("f.cold [guessed]"), "f [guessed]");
    EXPECT_EQ(without_part("f(int) [clone .part.0] [guessed]"), "f(int) [guessed]");
    EXPECT_TRUE(is_called_part("f.part.0 [guessed]"));
    EXPECT_EQ(without_part("std::vector<int>::push_back(int) [clone .isra.0] [clone .cold]"),
              "std::vector<int>::push_back(int)");
}

TEST(FunctionParts, are_not_what_has_another_ending) {
    for (const char* name : {"", "f", "cold", ".cold", " [clone .cold]", "f.part", "f.constprop.",
                             "f.isra.x", "f.cold.", "fcold", "f.1", "f._omp_fn.0", "f.resolver",
                             "f.avx2", "f(int) [clone ._omp_fn.0]", "f() [clone .actor]",
                             "f [clone ]", "f.llvm", "app+0x10.cold]"}) {
        EXPECT_EQ(without_part(name), name);
    }
    EXPECT_EQ(without_part("f._omp_fn.0.cold"), "f._omp_fn.0");
    EXPECT_EQ(without_part("f() [clone ._omp_fn.0] [clone .cold]"), "f() [clone ._omp_fn.0]");
}

TEST(FunctionParts, that_their_function_calls_have_a_number) {
    for (const char* name : {"f.part.0", "f.cold.1", "f() [clone .part.0]", "f.constprop.0.part.0",
                             "f.part.0.constprop.1", "f.part.0 [clone .cold]"}) {
        EXPECT_TRUE(is_called_part(name)) << name;
    }
    for (const char* name : {"f", "f.cold", "f.constprop.0", "f.isra.1", "f() [clone .cold]"}) {
        EXPECT_FALSE(is_called_part(name)) << name;
    }
}

TEST(FunctionParts, of_hostile_names_take_one_pass) {
    for (const char* part :
         {".cold", " [clone .cold]", ".part.0", "]", " [clone ", ".", "0", ".0"}) {
        std::string name = "f";
        for (int i = 0; i < 10'000; ++i) {
            name += part;
        }
        EXPECT_LE(without_part(name).size(), name.size());
    }
}

}  // namespace
}  // namespace sample::symbolize
