#include "cli/output.h"

#include "core/fd.h"
#include "tests/cli/folder_test.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sample::cli {
namespace {

Result<void> write_text(const std::string& path, std::string_view text, bool force) {
    return write_file_atomically(
        path, [text](int fd) { return write_all(fd, text); }, force);
}

TEST(PrintableLines, keep_line_breaks_and_tabs_and_nothing_else_that_a_terminal_obeys) {
    EXPECT_EQ(printable_lines("\"a\x1b[31m\",1\r\n\t\xc2\x9b"
                              "b\rc\n\nd"),
              "\"a\\x1b[31m\",1\n\t\\u009bb\\rc\n\nd");
    EXPECT_EQ(printable_lines(""), "");
}

class OutputFile : public FolderTest {
protected:
    [[nodiscard]] std::ptrdiff_t files() const {
        return std::distance(std::filesystem::directory_iterator{folder_}, {});
    }
};

TEST_F(OutputFile, is_whole_and_private) {
    ASSERT_TRUE(write_text(path("a"), "text", false).has_value());
    EXPECT_EQ(content("a"), "text");
    struct stat info {};
    ASSERT_EQ(::stat(path("a").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, leaves_nothing_behind_when_a_signal_ends_it) {
    const Fd nameless{::open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR)};
    EXPECT_EXIT(
        {
            (void)write_file_atomically(
                path("a"),
                [](int fd) {
                    Result<void> written = write_all(fd, "half");
                    std::raise(SIGKILL);
                    return written;
                },
                false);
        },
        testing::KilledBySignal(SIGKILL), "");
    // Where the file system has no files without a name, the one beside it stays.
    EXPECT_EQ(files(), nameless.is_open() ? 0 : 1);
    EXPECT_FALSE(std::filesystem::exists(path("a")));
}

TEST_F(OutputFile, is_replaced_only_by_force) {
    ASSERT_TRUE(write_text(path("a"), "old", false).has_value());
    const Result<void> refused = write_text(path("a"), "new", false);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
    EXPECT_NE(refused.error().message().find("--force"), std::string::npos);
    EXPECT_EQ(content("a"), "old");
    ASSERT_TRUE(write_text(path("a"), "new", true).has_value());
    EXPECT_EQ(content("a"), "new");
    EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, follows_a_symbolic_link) {
    ASSERT_TRUE(write_text(path("a"), "old", false).has_value());
    std::filesystem::create_symlink(path("a"), path("link"));
    ASSERT_TRUE(write_text(path("link"), "new", true).has_value());
    EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
    EXPECT_EQ(content("a"), "new");
}

TEST_F(OutputFile, refuses_folders_and_missing_folders) {
    EXPECT_FALSE(write_text(folder_, "x", true).has_value());
    EXPECT_FALSE(write_text(path("no/such"), "x", true).has_value());
    EXPECT_EQ(files(), 0);
}

TEST_F(OutputFile, leaves_nothing_behind_when_writing_fails) {
    // A limit of the file's size stands in for a full disk.
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);
        rlimit limit{4, 4};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        const Result<void> written = write_text(path("a"), "longer than four", false);
        ::_exit(!written && written.error().errno_value == EFBIG ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(files(), 0);
}

TEST_F(OutputFile, may_be_a_device) {
    EXPECT_TRUE(write_text("/dev/null", "x", false).has_value());
    const Result<void> full = write_text("/dev/full", "x", false);
    ASSERT_FALSE(full.has_value());
    EXPECT_EQ(full.error().errno_value, ENOSPC);
}

TEST(WriteAll, reports_a_closed_pipe_as_an_error) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    ignore_broken_pipes();
    ::close(ends[0]);
    const Result<void> written = write_all(ends[1], "x");
    ::close(ends[1]);
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().errno_value, EPIPE);
}

}  // namespace
}  // namespace sample::cli
