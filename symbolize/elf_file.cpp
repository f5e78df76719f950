#include "symbolize/elf_file.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace sample::symbolize {

Fd open_regular(const std::string& path) {
    Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat info = {};
    if (!fd.is_open() || ::fstat(fd.get(), &info) != 0) {
        return {};
    }
    if (!S_ISREG(info.st_mode)) {
        errno = 0;
        return {};
    }
    return fd;
}

ElfHandle open_elf(int fd) {
    static const unsigned version = elf_version(EV_CURRENT);  // libelf wants it once, first.
    static_cast<void>(version);
    return ElfHandle{elf_begin(fd, ELF_C_READ_MMAP, nullptr)};
}

bool has_build_id(Elf* elf, std::span<const std::uint8_t> expected) {
    const void* bits = nullptr;
    const auto size = elf != nullptr ? dwelf_elf_gnu_build_id(elf, &bits) : -1;
    return size > 0 && static_cast<std::size_t>(size) == expected.size() &&
           std::memcmp(bits, expected.data(), expected.size()) == 0;
}

Elf_Scn* find_section(Elf* elf, const char* name) {
    std::size_t names = 0;
    if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) {
        return nullptr;
    }
    for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
        GElf_Shdr header{};
        if (gelf_getshdr(scn, &header) == nullptr || header.sh_type == SHT_NOBITS) {
            continue;
        }
        const char* const found = elf_strptr(elf, names, header.sh_name);
        if (found != nullptr && std::string_view{found} == name) {
            return scn;
        }
    }
    return nullptr;
}

}  // namespace sample::symbolize
