// What is opened, and what is only looked at.
#include "core/regular_file.h"

#include "core/fd.h"
#include "core/file_rights.h"
#include "core/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace sample {
namespace {

namespace fs = std::filesystem;

class RegularFile : public testing::Test {
protected:
    RegularFile() {
        std::string pattern = (fs::temp_directory_path() / "sample-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
    }
    ~RegularFile() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
    [[nodiscard]] std::string file(const std::string& name, mode_t mode = 0644) const {
        std::ofstream{path(name)} << "text";
        EXPECT_EQ(::chmod(path(name).c_str(), mode), 0);
        return path(name);
    }
    /// Not opened, not even for a moment, and the reason is that it is no regular file.
    void expect_only_looked_at(const std::string& name) const {
        const Fd watch{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
        ASSERT_GE(::inotify_add_watch(watch.get(), path(name).c_str(), IN_OPEN), 0);
        EXPECT_FALSE(open_regular(path(name)).is_open());
        EXPECT_EQ(errno, 0);
        EXPECT_FALSE(open_regular(path(name), O_WRONLY).is_open());
        EXPECT_FALSE(MappedFile::open(path(name)));
        std::array<char, 4096> events{};
        EXPECT_LT(::read(watch.get(), events.data(), events.size()), 0);
        EXPECT_EQ(errno, EAGAIN);
    }

    fs::path folder_;
};

TEST_F(RegularFile, is_opened_by_any_name) {
    const std::string name = file("a");
    fs::create_symlink(name, path("link"));
    EXPECT_TRUE(open_regular(name).is_open());
    EXPECT_TRUE(open_regular(path("link")).is_open());
    EXPECT_FALSE(open_regular(path("link"), O_RDONLY, O_NOFOLLOW).is_open());
    const Fd writable = open_regular(name, O_WRONLY);
    EXPECT_EQ(::write(writable.get(), "more", 4), 4);
    EXPECT_TRUE(open_regular("/proc/self/fd/" + std::to_string(writable.get())).is_open());
    EXPECT_FALSE(open_regular(path("none")).is_open());
    EXPECT_EQ(errno, ENOENT);
}

TEST_F(RegularFile, is_the_one_that_was_looked_at) {
    const std::string name = file("a");
    const Fd place{::open(name.c_str(), O_PATH | O_CLOEXEC)};
    fs::remove(name);
    ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
    std::array<char, 4> text{};
    EXPECT_EQ(::read(open_regular(place).get(), text.data(), text.size()), 4);
}

TEST_F(RegularFile, is_no_pipe_no_folder_no_device) {
    ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
    expect_only_looked_at("fifo");
    fs::create_symlink(path("fifo"), path("link"));
    expect_only_looked_at("link");
    fs::create_directory(path("folder"));
    expect_only_looked_at("folder");
    if (::mknod(path("device").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {
        expect_only_looked_at("device");
    }
}

TEST_F(RegularFile, is_not_waited_for) {
    const std::string name = file("a");
    std::signal(SIGIO, SIG_IGN);
    const Fd holder{::open(name.c_str(), O_RDWR | O_CLOEXEC)};
    if (::fcntl(holder.get(), F_SETLEASE, F_WRLCK) != 0) {
        GTEST_SKIP() << "no leases here";
    }
    EXPECT_FALSE(open_regular(name).is_open());
    EXPECT_EQ(errno, EWOULDBLOCK);
}

class Rights : public RegularFile {
protected:
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "only root has rights to give up";
        }
        ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
    }
    const std::shared_ptr<const FileRights> nobody_ =
        std::make_shared<const FileRights>(FileRights{65534, 65534, {}});
};

TEST_F(Rights, are_the_other_users_while_it_lasts) {
    const std::string open_file = file("open");
    const std::string own = file("own", 0600);
    fs::create_directory(path("closed"));
    const std::string inside = file("closed/open");
    ASSERT_EQ(::chmod(path("closed").c_str(), 0700), 0);
    const std::string groups = file("groups", 0640);
    {
        const ActingAs acting{nobody_};
        EXPECT_EQ(ActingAs::current(), nobody_);
        EXPECT_TRUE(open_regular(open_file).is_open());
        for (const std::string& name : {own, inside, groups}) {
            EXPECT_FALSE(open_regular(name).is_open()) << name;
            EXPECT_EQ(errno, EACCES) << name;
        }
        const ActingAs nobody_else{nullptr};
        EXPECT_FALSE(open_regular(own).is_open());
    }
    EXPECT_EQ(ActingAs::current(), nullptr);
    EXPECT_TRUE(open_regular(own).is_open());
    EXPECT_TRUE(open_regular(inside).is_open());
}

TEST_F(Rights, of_a_process_are_those_that_it_has_now) {
    const std::string status = read_small_file("/proc/self/status");
    const auto own = file_rights_in(status);
    ASSERT_TRUE(own);
    EXPECT_EQ(own->user, 0U);
    EXPECT_EQ(lesser_rights_in(status, nobody_), nullptr);
    // Gone: what was known last.
    EXPECT_EQ(lesser_rights_in("", nobody_), nobody_);
    const ActingAs acting{nobody_};
    EXPECT_EQ(*file_rights_in(read_small_file("/proc/thread-self/status")), *nobody_);
}

}  // namespace
}  // namespace sample
