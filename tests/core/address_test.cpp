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

}  // namespace
}  // namespace sample
