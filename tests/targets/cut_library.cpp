// A library whose file is cut right behind its code while it runs, as by an upgrade in its place or
// a full disk: the code goes on, what lies behind it can't be read any more.
//
//     cut_library LIBRARY COPY SECONDS
//
// Copies LIBRARY to COPY, loads that, cuts it, and works in its plugin_work(), which needs nothing
// of the file but its code.
#include "work.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <vector>

using PluginWork = std::uint64_t (*)(std::uint64_t, unsigned);

static std::vector<char> content_of(const char* path) {
    std::vector<char> content;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    std::array<char, 65536> part{};
    for (ssize_t got = 0; fd >= 0 && (got = read(fd, part.data(), part.size())) > 0;) {
        content.insert(content.end(), part.data(), part.data() + got);
    }
    close(fd);
    return content;
}

/// Where the page ends that has the last byte of code.
static off_t end_of_code(const std::vector<char>& file) {
    constexpr off_t kPage = 4096;
    Elf64_Ehdr elf{};
    std::memcpy(&elf, file.data(), sizeof elf);
    off_t end = 0;
    for (unsigned i = 0; i < elf.e_phnum; ++i) {
        Elf64_Phdr segment{};
        std::memcpy(&segment, file.data() + elf.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
            end = static_cast<off_t>(segment.p_offset + segment.p_filesz);
        }
    }
    return (end + kPage - 1) & ~(kPage - 1);
}

int main(int argc, char** argv) {
    if (argc != 4) {
        return targets::usage("LIBRARY COPY SECONDS");
    }
    const std::vector<char> library = content_of(argv[1]);
    const int copy = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    if (library.size() < sizeof(Elf64_Ehdr) ||
        write(copy, library.data(), library.size()) != static_cast<ssize_t>(library.size())) {
        return 2;
    }
    void* plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    auto* work =
        plugin != nullptr ? reinterpret_cast<PluginWork>(dlsym(plugin, "plugin_work")) : nullptr;
    if (work == nullptr || ftruncate(copy, end_of_code(library)) != 0) {
        return 2;
    }
    std::uint64_t state = 88172645463325252U;
    const std::uint64_t end = targets::thread_cpu_ns() + targets::seconds_to_ns(argv[3]);
    while (targets::thread_cpu_ns() < end) {
        state = work(state, 100);
    }
    targets::consume(state);
    std::puts("worked on");
    std::fflush(stdout);
    _exit(0);  // its destructors are gone
}
