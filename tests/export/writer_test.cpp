#include "export/writer.h"

#include "core/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
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
    writer.text("a").number(18'446'744'073'709'551'615U).text(big).text("z");
    ASSERT_TRUE(writer.finish().has_value());
    EXPECT_EQ(text, "a18446744073709551615" + big + "z");
}

TEST(Writer, writes_exact_decimals_without_zeros_at_their_end) {
    const auto written = [](std::int64_t value, unsigned digits) {
        std::string text;
        const Sink sink = to_string_sink(text);
        Writer writer{sink};
        writer.decimal(value, digits);
        return writer.finish() ? text : "";
    };
    EXPECT_EQ(written(1'234'567, 6), "1.234567");
    EXPECT_EQ(written(1'200'000, 6), "1.2");
    EXPECT_EQ(written(3'000'000, 6), "3");
    EXPECT_EQ(written(-1, 6), "-0.000001");
    EXPECT_EQ(written(0, 6), "0");
    EXPECT_EQ(written(100, 0), "100");
    EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min(), 18), "-9.223372036854775808");
}

TEST(Writer, keeps_the_first_failure_and_drops_the_rest) {
    int calls = 0;
    const Sink sink = [&calls](std::string_view) -> Result<void> {
        ++calls;
        return unexpected(ErrorCode::system, "failure " + std::to_string(calls));
    };
    Writer writer{sink};
    writer.text(std::string(100'000, 'x'));
    EXPECT_FALSE(writer.is_good());
    writer.text(std::string(100'000, 'x'));
    const auto finished = writer.finish();
    ASSERT_FALSE(finished.has_value());
    EXPECT_EQ(finished.error().context, "failure 1");
    EXPECT_EQ(calls, 1);
}

TEST(FdSink, reports_a_full_disk) {
    const Fd full{::open("/dev/full", O_WRONLY | O_CLOEXEC)};
    ASSERT_TRUE(full.is_open());
    const auto written = to_fd_sink(full.get(), "out.json")("x");
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().errno_value, ENOSPC);
    EXPECT_NE(written.error().message().find("out.json"), std::string::npos);
}

}  // namespace
}  // namespace sample::exports
