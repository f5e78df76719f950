#include "core/regular_file.h"

#include "core/file_rights.h"

#include <sys/stat.h>

#include <cerrno>

namespace sample {
namespace {

constexpr int kWithoutWaiting = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

bool is_regular(const Fd& file, struct stat& info) {
    if (!file.is_open() || ::fstat(file.get(), &info) != 0) {
        return false;
    }
    if (!S_ISREG(info.st_mode)) {
        errno = 0;
        return false;
    }
    return true;
}

}  // namespace

Fd open_regular(const Fd& place, int access) {
    struct stat info = {};
    if (!ActingAs::may_open_files()) {
        errno = EACCES;
        return {};
    }
    if (!is_regular(place, info)) {
        return {};
    }
    const std::string link = "/proc/self/fd/" + std::to_string(place.get());
    return Fd{::open(link.c_str(), access | kWithoutWaiting)};
}

Fd open_regular(const std::string& path, int access, int links) {
    const Fd place{::open(path.c_str(), O_PATH | O_CLOEXEC | links)};
    Fd file = open_regular(place, access);
    if (file.is_open() || errno != ENOENT || !place.is_open()) {
        return file;
    }
    // No /proc: by its name again, which has to lead to the same file still.
    struct stat before = {};
    struct stat now = {};
    file = Fd{::open(path.c_str(), access | kWithoutWaiting | links)};
    if (!is_regular(place, before) || !is_regular(file, now) || before.st_dev != now.st_dev ||
        before.st_ino != now.st_ino) {
        return {};
    }
    return file;
}

}  // namespace sample
