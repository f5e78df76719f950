#include "cli/record/command_check.h"

#include "core/sanitizer_runtime.h"
#include "sampler/collector/code/elf_facts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace sample::cli {
namespace {

constexpr int kMaxInterpreters = 4;

bool is_regular(const std::string& path, struct stat& info) {
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

/// The first executable file of that name in PATH; then `denied` tells of one that may not be run.
std::string search_path(const std::string& word, bool& denied) {
    const char* variable = std::getenv("PATH");
    std::istringstream folders{variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin"};
    std::string folder;
    while (std::getline(folders, folder, ':')) {
        std::string path = (folder.empty() ? "." : folder) + "/" + word;
        struct stat info = {};
        if (!is_regular(path, info)) {
            continue;
        }
        if (::access(path.c_str(), X_OK) == 0) {
            return path;
        }
        denied = true;
    }
    return {};
}

/// The interpreter that a script's first line names; empty if it is no script.
std::string interpreter_of(const std::string& path) {
    std::ifstream file{path};
    std::string line;
    if (!std::getline(file, line) || !line.starts_with("#!")) {
        return {};
    }
    std::istringstream words{line.substr(2)};
    std::string interpreter;
    words >> interpreter;
    std::string argument;
    if (interpreter.ends_with("/env") && words >> argument && !argument.starts_with("-")) {
        bool denied = false;
        return search_path(argument, denied);
    }
    return interpreter;
}

std::string why_not(const std::string& path) {
    struct stat info = {};
    if (!is_regular(path, info)) {
        return {};
    }
    if (((info.st_mode & S_ISUID) != 0 && info.st_uid != ::geteuid()) ||
        ((info.st_mode & S_ISGID) != 0 && info.st_gid != ::getegid())) {
        return path + " is setuid or setgid: the loader ignores preloaded libraries for it";
    }
    const collector::ElfFacts facts = collector::read_elf_facts(path);
    if (!facts.is_elf) {
        return {};
    }
    if (!facts.is_x86_64) {
        return path + " is not a 64-bit x86 program";
    }
    if (facts.interpreter.empty()) {
        return path + " is statically linked: no library can be preloaded into it";
    }
    if (facts.interpreter.find("ld-musl") != std::string::npos) {
        return path + " is linked against musl: the agent needs glibc";
    }
    return {};
}

}  // namespace

Result<CommandCheck> check_command(const std::string& word) {
    CommandCheck check;
    struct stat info = {};
    if (word.find('/') != std::string::npos) {
        if (::stat(word.c_str(), &info) != 0) {
            return unexpected(ErrorCode::not_found, word + ": No such file or directory");
        }
        if (S_ISDIR(info.st_mode)) {
            return unexpected(ErrorCode::permission, word + ": Is a directory");
        }
        if (::access(word.c_str(), X_OK) != 0) {
            return unexpected(ErrorCode::permission,
                              word + ": Permission denied; is it executable (chmod +x)?");
        }
        check.path = word;
    } else {
        bool denied = false;
        check.path = search_path(word, denied);
        if (check.path.empty()) {
            return denied ? unexpected(ErrorCode::permission, word + ": Permission denied")
                          : unexpected(ErrorCode::not_found, word + ": command not found in PATH");
        }
    }
    std::string file = check.path;
    for (int depth = 0; depth < kMaxInterpreters; ++depth) {
        check.cannot_profile = why_not(file);
        const std::string library = collector::read_elf_facts(file).first_library;
        check.runtime = is_sanitizer_runtime(library) ? library : "";
        file = interpreter_of(file);
        if (!check.cannot_profile.empty() || file.empty()) {
            break;
        }
    }
    return check;
}

}  // namespace sample::cli
