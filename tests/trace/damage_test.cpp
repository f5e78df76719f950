// Recordings that were cut off or damaged, and files that are none.
#include "tests/trace/recording_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace sample::trace {
namespace {

using namespace std::string_view_literals;

std::vector<std::string> log_of(std::span<const std::byte> file) {
    KeepingSink kept;
    EXPECT_TRUE(read_recording(file, kept));
    return kept.log;
}

TEST(DamagedRecording, delivers_a_prefix_wherever_it_is_cut) {
    const auto file = small_recording();
    const auto all = log_of(file);
    ASSERT_GT(all.size(), 40U);
    std::size_t most = 0;
    for (std::size_t size = 1; size < file.size(); ++size) {
        KeepingSink kept;
        const auto outcome = read_recording(std::span{file}.first(size), kept);
        ASSERT_TRUE(outcome) << size;
        EXPECT_FALSE(outcome->whole) << size;
        // Between two packets nothing but the end is missing.
        const bool is_between = outcome->bytes_used == size || outcome->bytes_used == 0;
        EXPECT_TRUE(is_between || !outcome->problem.empty()) << size;
        EXPECT_LE(outcome->bytes_used, size);
        EXPECT_GE(kept.log.size(), most) << size;
        most = kept.log.size();
        ASSERT_LE(most, all.size());
        EXPECT_TRUE(std::equal(kept.log.begin(), kept.log.end(), all.begin())) << size;
    }
    EXPECT_EQ(most + 1, all.size());  // All but the end of the session.
}

TEST(DamagedRecording, has_nothing_but_whole_packets_after_each_cut) {
    const auto file = small_recording();
    for (std::size_t size = 1; size < file.size(); ++size) {
        KeepingSink kept;
        const auto outcome = read_recording(std::span{file}.first(size), kept);
        ASSERT_TRUE(outcome);
        KeepingSink again;
        if (outcome->bytes_used > 0) {
            ASSERT_TRUE(read_recording(std::span{file}.first(outcome->bytes_used), again));
        }
        EXPECT_EQ(again.log, kept.log) << size;
    }
}

TEST(DamagedRecording, survives_every_flipped_bit) {
    const auto file = small_recording();
    auto damaged = file;
    for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
        const auto mask = std::byte{1} << (bit % 8);
        damaged[bit / 8] ^= mask;
        KeepingSink kept;
        if (const auto outcome = read_recording(damaged, kept); outcome) {
            EXPECT_LE(outcome->bytes_used, file.size());
            EXPECT_TRUE(!outcome->whole || outcome->problem.empty());
        }
        for (const Sample& sample : kept.samples) {
            ASSERT_LE(sample.node.value, kept.nodes.size());
            ASSERT_LE(sample.thread.value, kept.threads.size());
        }
        for (const StackNode& node : kept.nodes) {
            ASSERT_LT(node.parent.value, node.id.value);
            ASSERT_LE(node.module.value, kept.modules.size());
            ASSERT_GE(node.module.value, 1U);
        }
        damaged[bit / 8] ^= mask;
    }
}

TEST(DamagedRecording, is_whole_but_for_attachments_with_trailing_bytes) {
    auto file = small_recording();
    file.push_back(std::byte{7});
    KeepingSink kept;
    const auto outcome = read_recording(file, kept);
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->whole);
    EXPECT_EQ(outcome->problem, "");
    EXPECT_EQ(outcome->attachments_problem, "the file ends in the middle of a packet");
    EXPECT_EQ(outcome->bytes_used, file.size() - 1);
    EXPECT_EQ(kept.session_ends.size(), 1U);
}

TEST(DamagedRecording, refuses_what_is_no_recording) {
    KeepingSink kept;
    const auto error_of = [&](std::string_view content) {
        const auto outcome = read_recording(bytes_of(content), kept);
        EXPECT_FALSE(outcome) << content;
        return outcome ? Error{} : outcome.error();
    };
    EXPECT_EQ(error_of("").code, ErrorCode::truncated);
    EXPECT_NE(error_of("").message().find("empty"), std::string::npos);
    EXPECT_EQ(error_of("\x7f"
                       "ELF and so on")
                  .code,
              ErrorCode::corrupt);
    EXPECT_NE(error_of("#!/bin/sh\n").message().find("not a recording"), std::string::npos);
    EXPECT_EQ(error_of("TRC2....").code, ErrorCode::unsupported);
    EXPECT_EQ(error_of("2CRT\0\0\x02\x07"sv).code, ErrorCode::unsupported);
    EXPECT_EQ(error_of("2CRT\0\0\x04\x04"sv).code, ErrorCode::unsupported);
    EXPECT_EQ(error_of("2CRT\0\0\x04\x63"sv).code, ErrorCode::unsupported);
    const auto foreign = error_of("2CRT\0\0\x04\x07\x04\0\xff\x3f"sv);
    EXPECT_EQ(foreign.code, ErrorCode::unsupported);
    EXPECT_NE(foreign.message().find("without any events"), std::string::npos);
    EXPECT_EQ(error_of("ECRT\x04\x07\x04\0\xff\x3f"sv).code, ErrorCode::unsupported);
    EXPECT_TRUE(kept.log.empty());
}

}  // namespace
}  // namespace sample::trace
