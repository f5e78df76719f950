#include "kernel_setting.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace sample::e2e {
namespace {

bool write_setting(int file, std::string_view value) {
    return pwrite(file, value.data(), value.size(), 0) == static_cast<ssize_t>(value.size());
}

/// Waits until nobody holds the other end of `keeper` any more.
[[noreturn]] void restore_at_the_end(int file, int keeper, std::string_view old_value) {
    setsid();  // the death of the test's process group is not ours
    char byte = 0;
    while (read(keeper, &byte, 1) < 0 && errno == EINTR) {
    }
    _exit(write_setting(file, old_value) ? 0 : 1);
}

}  // namespace

KernelSetting::KernelSetting(const std::string& name, const std::string& value) {
    const std::string path = "/proc/sys/kernel/" + name;
    const Fd file{open(path.c_str(), O_RDWR | O_CLOEXEC)};
    std::array<char, 64> old_value{};
    std::array<int, 2> ends{-1, -1};
    // The lock belongs to the open file, which the restorer keeps.
    if (!file.is_open() || flock(file.get(), LOCK_EX) != 0 || pipe2(ends.data(), O_CLOEXEC) != 0) {
        problem_ = path + " cannot be changed: " + strerrordesc_np(errno);
        return;
    }
    const Fd reader{ends[0]};
    keeper_.reset(ends[1]);
    const ssize_t size = pread(file.get(), old_value.data(), old_value.size(), 0);
    restorer_ = size > 0 ? fork() : -1;
    if (restorer_ == 0) {
        keeper_.reset();
        restore_at_the_end(file.get(), reader.get(),
                           {old_value.data(), static_cast<std::size_t>(size)});
    }
    if (restorer_ < 0 || !write_setting(file.get(), value)) {
        problem_ = path + " cannot be changed: " + strerrordesc_np(errno);
    }
}

KernelSetting::~KernelSetting() {
    keeper_.reset();
    if (restorer_ > 0) {
        waitpid(restorer_, nullptr, 0);
    }
}

}  // namespace sample::e2e
