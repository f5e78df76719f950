#include "core/address.h"

#include <gtest/gtest.h>

namespace sample {
namespace {

TEST(FrameAddress, looks_a_leaf_up_as_it_stands) {
    const FrameAddress frame{Pc{0x401000}};
    EXPECT_TRUE(frame.is_exact());
    EXPECT_EQ(frame.lookup_pc(), Pc{0x401000});
}

TEST(FrameAddress, looks_a_caller_up_inside_its_call_instruction) {
    const FrameAddress frame{ReturnAddress{0x401000}};
    EXPECT_FALSE(frame.is_exact());
    EXPECT_EQ(frame.lookup_pc(), Pc{0x400fff});
}

TEST(FrameAddress, survives_a_trip_through_its_bits) {
    const FrameAddress frame{Pc{0x7fffffffe000}};
    EXPECT_EQ(FrameAddress::from_bits(frame.bits()), frame);
}

TEST(FrameAddress, keeps_a_guess_apart_from_what_is_looked_up) {
    const FrameAddress frame = FrameAddress::guessed(ReturnAddress{0x401000});
    EXPECT_TRUE(frame.is_guessed());
    EXPECT_FALSE(frame.is_exact());
    EXPECT_FALSE(frame.is_elided());
    EXPECT_EQ(frame.lookup_pc(), Pc{0x400fff});
    EXPECT_NE(frame, FrameAddress{ReturnAddress{0x401000}});
    EXPECT_FALSE(FrameAddress{ReturnAddress{0x401000}}.is_guessed());
    EXPECT_FALSE(FrameAddress{Pc{0x401000}}.is_guessed());
}

TEST(FrameAddress, has_a_marker_that_no_address_equals) {
    static_assert(FrameAddress::elided().is_elided());
    EXPECT_FALSE(FrameAddress::elided().is_guessed());
    for (const std::uint64_t wild : {~std::uint64_t{0}, ~std::uint64_t{0} >> 1, std::uint64_t{0}}) {
        EXPECT_FALSE(FrameAddress{Pc{wild}}.is_elided());
        EXPECT_FALSE(FrameAddress{Pc{wild}}.is_guessed());
        EXPECT_FALSE(FrameAddress{ReturnAddress{wild}}.is_elided());
        EXPECT_FALSE(FrameAddress{ReturnAddress{wild}}.is_guessed());
        EXPECT_FALSE(FrameAddress::guessed(ReturnAddress{wild}).is_elided());
        EXPECT_FALSE(FrameAddress::guessed(ReturnAddress{wild}).is_exact());
    }
}

}  // namespace
}  // namespace sample
