#include "export/shared/gzip_sink.h"

#include "pprof_file.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace sample::exports {
namespace {

/// Bytes that do not compress, so that more comes out than fits any buffer.
std::string noise(std::size_t bytes) {
    std::mt19937 random{7};
    std::string text(bytes, ' ');
    for (char& byte : text) {
        byte = static_cast<char>(random());
    }
    return text;
}

TEST(GzipSink, gives_back_what_was_written) {
    for (const std::size_t bytes : {0U, 1U, 65'536U, 1'000'000U}) {
        const std::string text = noise(bytes);
        std::string compressed;
        const Sink sink = to_string_sink(compressed);
        GzipSink gzip{sink};
        gzip.write(std::string_view{text}.substr(0, bytes / 3));
        gzip.write(std::string_view{text}.substr(bytes / 3));
        ASSERT_TRUE(gzip.finish().has_value());
        const auto back = gunzip(compressed);
        ASSERT_TRUE(back.has_value()) << bytes;
        EXPECT_EQ(*back, text);
    }
}

TEST(GzipSink, keeps_the_first_failure_and_drops_the_rest) {
    int calls = 0;
    const Sink sink = [&calls](std::string_view) -> Result<void> {
        ++calls;
        return unexpected(ErrorCode::system, "failure " + std::to_string(calls));
    };
    GzipSink gzip{sink};
    gzip.write(noise(1'000'000));
    EXPECT_FALSE(gzip.is_good());
    gzip.write(noise(1'000'000));
    const auto finished = gzip.finish();
    ASSERT_FALSE(finished.has_value());
    EXPECT_EQ(finished.error().context, "failure 1");
    EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace sample::exports
