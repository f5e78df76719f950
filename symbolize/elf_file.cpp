#include "symbolize/elf_file.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>

#include <sys/stat.h>

#include <cstring>
#include <string_view>

namespace sample::symbolize {

FileState FileState::of(int fd) {
    struct stat info = {};
    return ::fstat(fd, &info) == 0
               ? FileState{info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec}
               : FileState{};
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

bool is_cut_off(Elf* elf) {
    std::size_t file_bytes = 0;
    std::size_t sections = 0;
    GElf_Ehdr file{};
    if (elf_rawfile(elf, &file_bytes) == nullptr || gelf_getehdr(elf, &file) == nullptr ||
        elf_getshdrnum(elf, &sections) != 0) {
        return true;
    }
    const auto is_beyond = [file_bytes](std::uint64_t offset, std::uint64_t size) {
        return offset > file_bytes || size > file_bytes - offset;
    };
    // libelf counts no sections where their headers, usually a file's last part, are not there.
    if (file.e_shoff != 0 && sections == 0) {
        return true;
    }
    for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
        GElf_Shdr header{};
        if (gelf_getshdr(scn, &header) != nullptr && header.sh_type != SHT_NOBITS &&
            is_beyond(header.sh_offset, header.sh_size)) {
            return true;
        }
    }
    return false;
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
