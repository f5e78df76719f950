#include "cli/record/preloadable.h"

#include "cli/output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <string_view>

namespace sample::cli {
namespace {

constexpr std::string_view kNotTaken = " :$";

bool is_taken(std::string_view path) {
    return path.find_first_of(kNotTaken) == std::string_view::npos;
}

/// Where links are kept. Others may look into it: their processes can be part of a session.
std::string folder_of_links(const std::string& path) {
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
    const bool has_runtime = runtime != nullptr && runtime[0] == '/' && is_taken(runtime) &&
                             ::access(runtime, W_OK | X_OK) == 0;
    const std::size_t number = std::hash<std::string>{}(path.substr(0, path.rfind('/')));
    return fmt::format("{}/sample-library-{}-{:x}", has_runtime ? runtime : "/tmp", ::geteuid(),
                       number);
}

bool is_ours_alone(const std::string& folder) {
    struct stat info {};
    return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
           info.st_uid == ::geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

Result<std::string> preloadable(const std::string& path) {
    if (is_taken(path)) {
        return path;
    }
    const std::string folder = folder_of_links(path);
    if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
        return unexpected(Error::from_errno("cannot make the folder " + folder));
    }
    if (!is_ours_alone(folder)) {
        return unexpected(ErrorCode::permission,
                          folder +
                              " is not this user's own folder: remove it, or install sample in "
                              "a folder whose path has no blank, colon or $");
    }
    std::string link = folder + path.substr(path.rfind('/'));
    // Sessions may begin at the same time: whoever is first makes it.
    if (follow_links(link) != path) {
        ::unlink(link.c_str());
        if (::symlink(path.c_str(), link.c_str()) != 0 && errno != EEXIST) {
            return unexpected(Error::from_errno("cannot make the link " + link));
        }
    }
    return link;
}

}  // namespace sample::cli
