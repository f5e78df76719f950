#include "cli/record/agent_library.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

namespace sample::cli {

Result<std::string> find_agent_library() {
    std::array<char, PATH_MAX> program{};
    const ssize_t size = ::readlink("/proc/self/exe", program.data(), program.size());
    if (size <= 0) {
        return unexpected(Error::from_errno("cannot find the program's own folder"));
    }
    std::string folder{program.data(), static_cast<std::size_t>(size)};
    folder.resize(folder.rfind('/') + 1);
    for (const char* place : {"", "../" SAMPLE_LIBRARY_FOLDER "/", "../lib/"}) {
        std::string path = folder + place + "libsample.so";
        if (::access(path.c_str(), R_OK) == 0) {
            std::array<char, PATH_MAX> resolved{};
            if (::realpath(path.c_str(), resolved.data()) != nullptr) {
                path = resolved.data();
            }
            if (path.find_first_of(" :") != std::string::npos) {
                return unexpected(ErrorCode::unsupported,
                                  path +
                                      " cannot be preloaded: LD_PRELOAD allows no space and no "
                                      "colon in a path; install it elsewhere");
            }
            return path;
        }
    }
    return unexpected(ErrorCode::not_found, "libsample.so is neither in " + folder + " nor in " +
                                                folder +
                                                "../" SAMPLE_LIBRARY_FOLDER
                                                ": install both, or build the target "
                                                "sample_agent");
}

}  // namespace sample::cli
