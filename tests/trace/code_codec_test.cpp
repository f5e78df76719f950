// Code and source text come back as they were, and nothing else is taken for them.
#include "trace/code_codec.h"

#include "code_fixture.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

namespace sample::trace {
namespace {

TEST(CodeCodec, gives_code_back) {
    const ModuleCode code = some_code();
    const auto back = decode_code(encode_code(code));
    ASSERT_TRUE(back);
    EXPECT_EQ(text_of(*back), text_of(code));
    ASSERT_NE(back->block_at(0x1007), nullptr);
    EXPECT_EQ(back->block_at(0x1007)->address, 0x1005U);
    EXPECT_EQ(back->block_at(0x1008), nullptr);
    EXPECT_EQ(back->frames_at(0x1004).size(), 2U);
    EXPECT_EQ(back->frames_at(0x4000).size(), 1U);
    EXPECT_TRUE(back->frames_at(0x4001).empty()) << "no block, no place";
}

TEST(CodeCodec, gives_no_code_back) {
    const auto back = decode_code(encode_code({}));
    ASSERT_TRUE(back);
    EXPECT_TRUE(back->blocks.empty());
}

TEST(CodeCodec, gives_sources_back) {
    const auto sources = some_sources();
    const auto back = decode_sources(encode_sources(sources));
    ASSERT_TRUE(back);
    EXPECT_EQ(text_of(*back), text_of(sources));
}

TEST(CodeCodec, refuses_what_was_cut_off) {
    const auto code = encode_code(some_code());
    const auto sources = encode_sources(some_sources());
    for (std::size_t size = 0; size < code.size(); ++size) {
        EXPECT_FALSE(decode_code(std::span{code}.first(size))) << size;
    }
    for (std::size_t size = 0; size < sources.size(); ++size) {
        EXPECT_FALSE(decode_sources(std::span{sources}.first(size))) << size;
    }
}

TEST(CodeCodec, survives_any_changed_byte) {
    for (const bool is_code : {true, false}) {
        const auto whole = is_code ? encode_code(some_code()) : encode_sources(some_sources());
        for (std::size_t i = 0; i < whole.size(); ++i) {
            for (const int value : {0, 1, 0x7f, 0x80, 0xff}) {
                auto changed = whole;
                changed[i] = static_cast<std::byte>(value);
                if (is_code) {
                    const auto code = decode_code(changed);
                    EXPECT_TRUE(!code || decode_code(encode_code(*code)));
                } else {
                    const auto sources = decode_sources(changed);
                    EXPECT_TRUE(!sources || decode_sources(encode_sources(*sources)));
                }
            }
        }
    }
}

TEST(CodeCodec, refuses_claims_of_more_than_there_is) {
    // Version 1, x86-64, one block at 0x10 of 2^40 bytes.
    const std::vector<int> words{1, 62, 1, 0x10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0, 0};
    std::vector<std::byte> bytes;
    bytes.reserve(words.size());
    for (const int word : words) {
        bytes.push_back(static_cast<std::byte>(word));
    }
    EXPECT_FALSE(decode_code(bytes));
}

TEST(CodeCodec, refuses_a_block_without_a_place) {
    ModuleCode code = some_code();
    code.places[2] = 0x1006;
    EXPECT_FALSE(decode_code(encode_code(code)));
}

}  // namespace
}  // namespace sample::trace
