#include "export/shared/writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace sample::exports {
namespace {

TEST(Writer, hands_everything_over_in_order) {
    std::string text;
    const Sink sink = to_string_sink(text);
    Writer writer{sink};
    const std::string big(100'000, 'x');
    writer.put("a", 18'446'744'073'709'551'615U, big, "z");
    ASSERT_TRUE(writer.finish().has_value());
    EXPECT_EQ(text, "a18446744073709551615" + big + "z");
}

TEST(Writer, writes_exact_decimals_without_zeros_at_their_end) {
    EXPECT_EQ(decimal(std::int64_t{1'234'567}, 1'000'000), "1.234567");
    EXPECT_EQ(decimal(std::int64_t{1'200'000}, 1'000'000), "1.2");
    EXPECT_EQ(decimal(std::int64_t{3'000'000}, 1'000'000), "3");
    EXPECT_EQ(decimal(std::int64_t{-1}, 1'000'000), "-0.000001");
    EXPECT_EQ(decimal(std::int64_t{0}, 1'000'000), "0");
    EXPECT_EQ(decimal(std::int64_t{100}, 1), "100");
    EXPECT_EQ(decimal(std::numeric_limits<std::int64_t>::min(), 1'000'000'000'000'000'000),
              "-9.223372036854775808");
}

TEST(Writer, keeps_the_first_failure_and_drops_the_rest) {
    int calls = 0;
    const Sink sink = [&calls](std::string_view) -> Result<void> {
        ++calls;
        return unexpected(ErrorCode::system, "failure " + std::to_string(calls));
    };
    Writer writer{sink};
    writer.put(std::string(100'000, 'x'));
    EXPECT_FALSE(writer.is_good());
    writer.put(std::string(100'000, 'x'));
    const auto finished = writer.finish();
    ASSERT_FALSE(finished.has_value());
    EXPECT_EQ(finished.error().context, "failure 1");
    EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace sample::exports
