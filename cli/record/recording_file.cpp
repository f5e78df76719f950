#include "cli/record/recording_file.h"

#include "cli/output.h"
#include "core/text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

namespace sample::cli {

std::string expand_pattern(const std::string& pattern, const std::string& executable, pid_t pid) {
    std::string path;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%' || i + 1 == pattern.size()) {
            path += pattern[i];
            continue;
        }
        switch (pattern[++i]) {
            case 'p':
                path += std::to_string(pid);
                break;
            case 'n':
                path += file_name(executable);
                break;
            case 't': {
                std::array<char, 32> text{};
                const std::time_t now = std::time(nullptr);
                std::tm local{};
                ::localtime_r(&now, &local);
                std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &local);
                path += text.data();
                break;
            }
            case '%':
                path += '%';
                break;
            default:
                path += '%';
                path += pattern[i];
        }
    }
    return path;
}

void NewRecording::discard() const {
    struct stat info {};
    if (!created.empty() && ::lstat(created.c_str(), &info) == 0 && info.st_dev == device &&
        info.st_ino == inode) {
        ::unlink(created.c_str());
    }
}

Result<NewRecording> open_recording(const std::string& path, bool force) {
    const std::string target = follow_links(path);
    struct stat info {};
    if (::stat(target.c_str(), &info) == 0) {
        if (!S_ISREG(info.st_mode)) {
            auto special = open_special(path);
            return special ? Result<NewRecording>{NewRecording{std::move(*special), {}}}
                           : Result<NewRecording>{unexpected(special.error())};
        }
        if (!force) {
            return already_exists(path);
        }
        if (::unlink(target.c_str()) != 0) {
            return unexpected(Error::from_errno("cannot replace " + path));
        }
    }
    Fd fd{::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)};
    if (fd.is_open() && ::fstat(fd.get(), &info) == 0) {
        return NewRecording{std::move(fd), target, info.st_dev, info.st_ino};
    }
    if (errno == EEXIST) {
        return ::stat(target.c_str(), &info) == 0
                   ? already_exists(path)
                   : unexpected(ErrorCode::not_found,
                                path +
                                    " is a link that leads to nothing: remove it, or name "
                                    "another file");
    }
    return unexpected(Error::from_errno("cannot write " + path));
}

bool is_regular_file(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace sample::cli
