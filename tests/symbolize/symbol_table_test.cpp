#include "symbolize/elf/symbol_table.h"

#include <gtest/gtest.h>

namespace sample::symbolize {
namespace {

constexpr std::uint8_t kGlobal = 0;
constexpr std::uint8_t kWeak = 1;
constexpr std::uint8_t kLocal = 2;

std::string_view best(const std::vector<std::pair<const char*, std::uint8_t>>& names,
                      std::string_view hint = "") {
    std::vector<ElfSymbol> aliases;
    aliases.reserve(names.size());
    for (const auto& [name, preference] : names) {
        aliases.push_back({0x1000, 0x1010, name, preference, true});
    }
    return best_alias(aliases, hint);
}

TEST(BestAlias, is_global_before_weak_before_local) {
    EXPECT_EQ(best({{"a", kLocal}, {"b", kWeak}, {"c", kGlobal}}), "c");
    EXPECT_EQ(best({{"a", kLocal}, {"b", kWeak}}), "b");
}

TEST(BestAlias, has_the_fewest_leading_underscores) {
    EXPECT_EQ(best({{"__libc_malloc", kGlobal}, {"malloc", kGlobal}, {"_malloc", kGlobal}}),
              "malloc");
}

TEST(BestAlias, is_the_lexically_first_of_equals_in_any_order) {
    EXPECT_EQ(best({{"beta", kGlobal}, {"alpha", kGlobal}}), "alpha");
    EXPECT_EQ(best({{"alpha", kGlobal}, {"beta", kGlobal}}), "alpha");
}

TEST(BestAlias, has_no_version) {
    EXPECT_EQ(best({{"memcpy@@GLIBC_2.14", kGlobal}}), "memcpy");
    EXPECT_EQ(best({{"memcpy@GLIBC_2.2.5", kGlobal}}), "memcpy");
}

TEST(BestAlias, is_the_one_whose_source_is_known_if_functions_were_folded) {
    EXPECT_EQ(best({{"_Z1av", kGlobal}, {"_Z1bv", kGlobal}}, "_Z1bv"), "_Z1bv");
    EXPECT_EQ(best({{"_Z1av", kGlobal}, {"_Z1bv", kGlobal}}, "_Z1cv"), "_Z1av");
    EXPECT_EQ(best({{"_Z1av.part.0", kLocal}, {"_Z1bv.part.0", kLocal}}, "_Z1bv"), "_Z1bv.part.0");
    EXPECT_EQ(best({{"__libc_malloc", kGlobal}, {"malloc", kGlobal}}, "__libc_malloc"), "malloc");
}

}  // namespace
}  // namespace sample::symbolize
