#include "symbolize/elf/go_functions.h"

#include "symbolize/names/demangle.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>

namespace sample::symbolize {
namespace {

constexpr std::uint32_t kMagic20 = 0xfffffff1;

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
    bytes.resize(bytes.size() + sizeof(T));
    std::memcpy(bytes.data() + bytes.size() - sizeof(T), &value, sizeof(T));
}

/// main.one at [0, 0x20) of the code, main.two, with more letters, at [0x20, 0x50).
std::vector<std::byte> table_of_two(std::uint32_t magic, std::uint64_t code,
                                    std::size_t more_letters = 0) {
    const std::string names =
        std::string{"main.one\0main.two", 17} + std::string(more_letters, 'o') + '\0';
    constexpr std::uint64_t kHeader = 72;
    std::vector<std::byte> bytes;
    append(bytes, magic);
    append(bytes, std::uint32_t{0x08010000});  // instructions of a byte, pointers of eight
    const std::uint64_t functions = kHeader + names.size();
    for (const std::uint64_t word : {std::uint64_t{2}, std::uint64_t{0}, code, kHeader, functions,
                                     functions, functions, functions}) {
        append(bytes, word);
    }
    for (const char letter : names) {
        append(bytes, letter);
    }
    // {code, description}, twice; the end of the code; {code, name}, twice.
    for (const std::uint32_t field : {0x0U, 20U, 0x20U, 28U, 0x50U, 0x0U, 0U, 0x20U, 9U}) {
        append(bytes, field);
    }
    return bytes;
}

TEST(GoFunctions, have_names_and_extents) {
    for (const std::uint32_t magic : {kMagic20 - 1, kMagic20}) {
        const std::vector<std::byte> table = table_of_two(magic, 0x401000);
        const std::vector<GoFunction> functions = go_functions(table);
        ASSERT_EQ(functions.size(), 2U);
        EXPECT_EQ(functions[0].start, 0x401000U);
        EXPECT_EQ(functions[0].end, 0x401020U);
        EXPECT_STREQ(functions[0].name, "main.one");
        EXPECT_EQ(functions[1].start, 0x401020U);
        EXPECT_EQ(functions[1].end, 0x401050U);
        EXPECT_STREQ(functions[1].name, "main.two");
    }
}

TEST(GoFunctions, are_left_out_with_names_longer_than_any) {
    const std::size_t most = kLongestName - std::string_view{"main.two"}.size();
    EXPECT_EQ(go_functions(table_of_two(kMagic20, 0x401000, most)).size(), 2U);
    EXPECT_EQ(go_functions(table_of_two(kMagic20, 0x401000, most + 1)).size(), 1U);
}

TEST(GoFunctions, are_none_in_another_layout_or_at_an_address_that_the_loader_writes) {
    EXPECT_TRUE(go_functions(table_of_two(0xfffffffb, 0x401000)).empty());
    EXPECT_TRUE(go_functions(table_of_two(kMagic20, 0)).empty());
    EXPECT_TRUE(go_functions({}).empty());
}

TEST(GoFunctions, end_where_the_table_is_cut_off) {
    const std::vector<std::byte> table = table_of_two(kMagic20, 0x401000);
    for (std::size_t size = 0; size < table.size(); ++size) {
        const std::vector<std::byte> cut{table.begin(),
                                         table.begin() + static_cast<std::ptrdiff_t>(size)};
        EXPECT_LT(go_functions(cut).size(), 2U) << size;
    }
}

}  // namespace
}  // namespace sample::symbolize
