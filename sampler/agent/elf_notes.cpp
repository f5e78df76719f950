#include "sampler/agent/elf_notes.h"

#include <dlfcn.h>

#include <cstring>

// Absent before glibc 2.35, so it has to be declared again, as weak.
// NOLINTNEXTLINE(readability-redundant-declaration)
extern "C" __attribute__((weak)) int _dl_find_object(void* address,
                                                     struct dl_find_object* result) noexcept;

namespace sample::agent {

std::span<const std::uint8_t> find_note(std::span<const ElfW(Phdr)> headers, std::uint64_t bias,
                                        std::string_view owner, std::uint32_t type) noexcept {
    for (const ElfW(Phdr) & header : headers) {
        if (header.p_type != PT_NOTE) {
            continue;
        }
        const auto* at = reinterpret_cast<const std::uint8_t*>(bias + header.p_vaddr);
        const auto* end = at + header.p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof note);
            const std::uint8_t* name = at + sizeof note;
            const std::uint8_t* bytes = name + ((note.n_namesz + 3U) & ~3U);
            const std::uint8_t* next = bytes + ((note.n_descsz + 3U) & ~3U);
            if (next > end || next < at) {
                break;
            }
            if (note.n_type == type && note.n_namesz > owner.size() &&
                memcmp(name, owner.data(), owner.size()) == 0 && name[owner.size()] == 0) {
                return {bytes, note.n_descsz};
            }
            at = next;
        }
    }
    return {};
}

bool is_go_code(std::uint64_t address) noexcept {
    constexpr std::uint32_t kGoBuildId =
        4;  // Go cmd/link/internal/ld/elf.go, ELF_NOTE_GOBUILDID_TAG
    dl_find_object found{};
    if (&_dl_find_object == nullptr ||
        _dl_find_object(reinterpret_cast<void*>(address), &found) != 0) {
        return false;
    }
    ElfW(Ehdr) head;
    memcpy(&head, found.dlfo_map_start, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
        return false;
    }
    const auto* headers = reinterpret_cast<const ElfW(Phdr)*>(
        static_cast<const char*>(found.dlfo_map_start) + head.e_phoff);
    return !find_note({headers, head.e_phnum}, found.dlfo_link_map->l_addr, "Go", kGoBuildId)
                .empty();
}

}  // namespace sample::agent
