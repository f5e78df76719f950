#include "core/result.h"

#include "core/mapped_file.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace sample {
namespace {

TEST(Error, names_the_system_error) {
    errno = ENOENT;
    EXPECT_EQ(Error::from_errno("cannot open x").message(),
              "cannot open x: No such file or directory");
}

TEST(MappedFile, reports_a_missing_file) {
    const auto file = MappedFile::open("/nonexistent/file");
    ASSERT_FALSE(file.has_value());
    EXPECT_EQ(file.error().errno_value, ENOENT);
}

TEST(MappedFile, refuses_a_directory) {
    const auto file = MappedFile::open("/");
    ASSERT_FALSE(file.has_value());
    EXPECT_EQ(file.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace sample
