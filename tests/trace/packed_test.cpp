// Packed bytes come back; what was not packed does not take memory.
#include "trace/packed.h"

#include "trace/varint_bytes.h"
#include "trace/wire.h"

#include <gtest/gtest.h>

#include <random>

namespace sample::trace {
namespace {

std::vector<std::byte> noise(std::size_t size) {
    std::mt19937 random{7};
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(random());
    }
    return bytes;
}

TEST(Packed, gives_back_what_was_packed) {
    for (const std::size_t size : {0U, 1U, 2U, 100U, 70'000U}) {
        for (const auto& bytes : {noise(size), std::vector<std::byte>(size, std::byte{'a'})}) {
            const auto packed = pack(bytes);
            EXPECT_LE(packed.size(), bytes.size() + 10);
            EXPECT_EQ(unpack(packed), bytes) << size;
        }
    }
    EXPECT_LT(pack(std::vector<std::byte>(70'000)).size(), 400U);
}

TEST(Packed, refuses_what_is_damaged) {
    EXPECT_FALSE(unpack({}));
    for (const auto& bytes : {noise(300), std::vector<std::byte>(300, std::byte{'a'})}) {
        auto packed = pack(bytes);
        EXPECT_FALSE(unpack(std::span{packed}.first(packed.size() - 1)));
        packed.push_back(std::byte{0});
        EXPECT_FALSE(unpack(packed));
    }
}

TEST(Packed, refuses_a_size_that_the_bytes_cannot_hold) {
    for (const std::uint64_t size :
         {std::uint64_t{5'000}, std::uint64_t{1} << 40, ~std::uint64_t{0} >> 1}) {
        for (const std::uint64_t is_lz4 : {0U, 1U}) {
            std::vector<std::byte> packed;
            append_varint(packed, (size << 1) | is_lz4);
            wire::append(packed, 0, 8);
            EXPECT_FALSE(unpack(packed)) << size;
        }
    }
}

}  // namespace
}  // namespace sample::trace
