// Names that travel: what is encoded comes back, and nothing else is believed.
#include "tests/trace/symbol_block_fixture.h"
#include "trace/varint_bytes.h"

#include <gtest/gtest.h>

#include <span>

namespace sample::trace {
namespace {

TEST(SymbolCodec, gives_back_every_name) {
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        const SymbolBlock block = made_up_block(seed, seed % 70, 1 + seed % 5);
        const auto bytes = encode(block);
        const auto again = decode_symbols(bytes);
        ASSERT_TRUE(again) << seed;
        EXPECT_EQ(said_by(*again), said_by(block)) << seed;
        EXPECT_EQ(encode(*again), bytes) << seed;
    }
}

TEST(SymbolCodec, keeps_the_ends_of_the_number_range) {
    SymbolBlock block;
    block.symbols.functions = {{"f", "f", "", 0xffffffff, ~std::uint64_t{0}, NameOrigin::known},
                               {"", "", "a.c", 0, 0, NameOrigin::none}};
    block.symbols.files = {"", "a.c"};
    block.symbols.frames = {{0, 1, 0xffffffff}, {1, 0, 0}};
    block.symbols.runs = {{0, 2}, {1, 1}};
    block.addresses = {0, ~std::uint64_t{0}};
    const auto again = decode_symbols(encode(block));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->addresses, block.addresses);
    EXPECT_EQ(said_by(*again), said_by(block));
}

TEST(SymbolCodec, leaves_out_what_no_address_refers_to) {
    SymbolBlock block = made_up_block(1, 40, 3);
    const std::vector<std::uint64_t> none;
    const auto again = decode_symbols(encode_symbols(none, {}, block.symbols));
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->symbols.functions.empty());
    EXPECT_EQ(again->symbols.files.size(), 1U);
}

TEST(SymbolCodec, refuses_what_is_cut_off_or_too_long) {
    const SymbolBlock block = made_up_block(7, 50, 4);
    auto bytes = encode(block);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(decode_symbols(std::span{bytes}.first(size))) << size;
    }
    bytes.push_back(std::byte{'x'});
    EXPECT_FALSE(decode_symbols(bytes));
}

TEST(SymbolCodec, refuses_another_version) {
    const SymbolBlock block = made_up_block(7, 5, 2);
    auto bytes = encode(block);
    bytes[0] = std::byte{2};
    EXPECT_FALSE(decode_symbols(bytes));
}

/// A block of one address whose head and columns are `numbers`, and then `text`.
std::optional<SymbolBlock> decode_numbers(std::initializer_list<std::uint64_t> numbers,
                                          std::string_view text) {
    std::vector<std::byte> bytes;
    for (const std::uint64_t number : numbers) {
        append_varint(bytes, number);
    }
    for (const char letter : text) {
        bytes.push_back(static_cast<std::byte>(letter));
    }
    return decode_symbols(bytes);
}

TEST(SymbolCodec, checks_every_number) {
    //                          head                file  function             run frame    address
    //                          place
    EXPECT_TRUE(
        decode_numbers({1, 1, 1, 1, 1, 1, 3, 2 | 0 << 2, 1, 1, 0, 0, 1, 0, 2, 0, 16, 0}, "a.cf"));
    // A frame's function, file and line, and a line beyond 32 bits.
    EXPECT_FALSE(decode_numbers({1, 1, 1, 1, 1, 1, 3, 2, 1, 1, 0, 0, 1, 2, 2, 0, 16, 0}, "a.cf"));
    EXPECT_FALSE(decode_numbers({1, 1, 1, 1, 1, 1, 3, 2, 1, 1, 0, 0, 1, 0, 4, 0, 16, 0}, "a.cf"));
    EXPECT_FALSE(decode_numbers({1, 1, 1, 1, 1, 1, 3, 2, 1, 1, 0, 0, 1, 0, 1, 0, 16, 0}, "a.cf"));
    EXPECT_FALSE(decode_numbers(
        {1, 1, 1, 1, 1, 1, 3, 2, 1, 1, 0, 0, 1, 0, 2, std::uint64_t{2} << 32, 16, 0}, "a.cf"));
    // A source, an origin, a link, an empty file name.
    EXPECT_FALSE(decode_numbers({1, 1, 1, 1, 1, 1, 3, 2, 1, 2, 0, 0, 1, 0, 2, 0, 16, 0}, "a.cf"));
    EXPECT_FALSE(decode_numbers({1, 1, 1, 1, 1, 1, 3, 3, 1, 1, 0, 0, 1, 0, 2, 0, 16, 0}, "a.cf"));
    EXPECT_FALSE(decode_numbers({1, 1, 1, 1, 1, 1, 3, 14, 1, 1, 0, 0, 1, 0, 2, 0, 16, 0}, "a.cf"));
    EXPECT_FALSE(decode_numbers({1, 1, 1, 1, 1, 1, 0, 2, 1, 1, 0, 0, 1, 0, 2, 0, 16, 0}, "f"));
    // A run without frames, one of too many, a place before the first run.
    EXPECT_FALSE(decode_numbers({1, 1, 1, 1, 1, 1, 3, 2, 1, 1, 0, 0, 0, 0, 2, 0, 16, 0}, "a.cf"));
    EXPECT_FALSE(decode_numbers({1, 1, 1, 1, 1, 1, 3, 2, 1, 1, 0, 0, 2, 0, 2, 0, 16, 0}, "a.cf"));
    EXPECT_FALSE(decode_numbers({1, 1, 1, 1, 1, 1, 3, 2, 1, 1, 0, 0, 1, 0, 2, 0, 16, 1}, "a.cf"));
    // Texts of another length than the rest.
    EXPECT_FALSE(decode_numbers({1, 1, 1, 1, 1, 1, 3, 2, 2, 1, 0, 0, 1, 0, 2, 0, 16, 0}, "a.cf"));
}

TEST(SymbolCodec, takes_no_memory_for_claims) {
    constexpr std::uint64_t kMany = std::uint64_t{1} << 40;
    EXPECT_FALSE(decode_numbers({1, kMany, 0, 0, 0, 0}, "abc"));
    EXPECT_FALSE(decode_numbers({1, 0, kMany, 0, 0, 0}, "abc"));
    EXPECT_FALSE(decode_numbers({1, 0, 0, kMany, 0, 0}, "abc"));
    EXPECT_FALSE(decode_numbers({1, 0, 0, 0, kMany, 0}, "abc"));
    EXPECT_FALSE(decode_numbers({1, 0, 0, 0, 0, kMany}, "abc"));
    EXPECT_FALSE(decode_numbers({1, kMany, kMany, kMany, kMany, kMany}, "abc"));
}

TEST(SymbolCodec, refuses_sources_that_few_bytes_multiply) {
    SymbolBlock block;
    block.symbols.files = {"", std::string(1 << 20, 'x')};
    for (std::uint32_t i = 0; i < 300; ++i) {
        block.symbols.functions.push_back(
            {"f", "", block.symbols.files[1], 0, i, NameOrigin::known});
        block.symbols.frames.push_back({i, 0, 0});
        block.symbols.runs.push_back({i, 1});
        block.addresses.push_back(i);
    }
    EXPECT_FALSE(decode_symbols(encode(block)));
}

TEST(SymbolCodec, survives_every_flipped_bit) {
    const SymbolBlock block = made_up_block(3, 12, 3);
    auto bytes = encode(block);
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        const auto mask = std::byte{1} << (bit % 8);
        bytes[bit / 8] ^= mask;
        if (const auto decoded = decode_symbols(bytes)) {
            EXPECT_EQ(decoded->addresses.size(), decoded->symbols.runs.size());
            said_by(*decoded);
        }
        bytes[bit / 8] ^= mask;
    }
}

}  // namespace
}  // namespace sample::trace
