#include "sampler/collector/joining/go_programs.h"

#include "sampler/collector/code/elf_facts.h"

#include <sys/stat.h>

#include <string>

namespace sample::collector {

bool GoPrograms::is_go(pid_t pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/exe";
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) {
        return false;
    }
    const FileKey key{
        static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino),
        static_cast<std::uint64_t>(info.st_size), static_cast<std::uint64_t>(info.st_ctim.tv_sec),
        static_cast<std::uint64_t>(info.st_ctim.tv_nsec)};
    const auto known = is_go_.find(key);
    if (known != is_go_.end()) {
        return known->second;
    }
    const bool is_go = read_elf_facts(path).is_go;
    constexpr std::size_t kMost = 4096;
    if (is_go_.size() >= kMost) {
        is_go_.clear();
    }
    is_go_.emplace(key, is_go);
    return is_go;
}

}  // namespace sample::collector
