#include "symbolize/elf/elf_file.h"

#include "core/units.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>

#include <sys/stat.h>

#include <bit>
#include <cstring>
#include <string_view>

namespace sample::symbolize {

FileStamp FileStamp::at(int folder, const char* path, int flags) {
    struct stat info = {};
    FileStamp stamp;
    if (::fstatat(folder, path, &info, flags) == 0) {
        stamp.size_and_one = static_cast<std::uint64_t>(info.st_size) + 1;
        stamp.changed_ns = static_cast<std::uint64_t>(info.st_mtim.tv_sec) * kNsPerSecond +
                           static_cast<std::uint64_t>(info.st_mtim.tv_nsec);
    }
    return stamp;
}

ElfHandle open_elf(int fd) {
    static const unsigned version = elf_version(EV_CURRENT);  // libelf wants it once, first.
    static_cast<void>(version);
    return ElfHandle{fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, nullptr) : nullptr};
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

Elf_Scn* find_section(Elf* elf, const char* name, Elf_Scn* before) {
    std::size_t names = 0;
    if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) {
        return nullptr;
    }
    for (Elf_Scn* scn = elf_nextscn(elf, before); scn != nullptr; scn = elf_nextscn(elf, scn)) {
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

std::span<const std::byte> section_bytes(Elf* elf, const char* name) {
    return section_bytes(find_section(elf, name));
}

std::span<const std::byte> section_bytes(Elf_Scn* scn) {
    GElf_Shdr header{};
    if (scn == nullptr || gelf_getshdr(scn, &header) == nullptr ||
        ((header.sh_flags & SHF_COMPRESSED) != 0 && elf_compress(scn, 0, 0) < 0)) {
        return {};
    }
    const Elf_Data* const data = elf_rawdata(scn, nullptr);
    if (data == nullptr || data->d_buf == nullptr) {
        return {};
    }
    return {static_cast<const std::byte*>(data->d_buf), data->d_size};
}

bool has_own_byte_order(Elf* elf) {
    GElf_Ehdr header{};
    constexpr unsigned char kOrder =
        std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    return elf != nullptr && gelf_getehdr(elf, &header) != nullptr &&
           header.e_ident[EI_DATA] == kOrder;
}

}  // namespace sample::symbolize
