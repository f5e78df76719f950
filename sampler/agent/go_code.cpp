#include "sampler/agent/go_code.h"

#include "sampler/agent/elf_notes.h"

#include <dlfcn.h>

// Absent before glibc 2.35, so it has to be declared again, as weak.
// NOLINTNEXTLINE(readability-redundant-declaration)
extern "C" __attribute__((weak)) int _dl_find_object(void* address,
                                                     struct dl_find_object* result) noexcept;

namespace sample::agent {

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
