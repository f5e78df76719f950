#include "cli/recording_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <ctime>

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
                path += executable.substr(executable.rfind('/') + 1);
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

Result<Fd> open_recording(const std::string& path, bool force) {
    const int how = force ? O_TRUNC : O_EXCL;
    Fd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0600)};
    if (fd.is_open()) {
        ::fchmod(fd.get(), 0600);
        return fd;
    }
    if (errno == EEXIST) {
        return unexpected(
            ErrorCode::already_exists,
            path + " exists: choose another name with -o, or replace it with --force");
    }
    return unexpected(Error::from_errno("cannot write " + path));
}

bool is_regular_file(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace sample::cli
