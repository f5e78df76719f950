// Notes of a module, as they lie in memory. Async-signal-safe. Source: gABI, Note Section.
#pragma once

#include <link.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace sample::agent {

/// What the first note of that owner and type says; empty, without an address, if there is none.
inline std::span<const std::uint8_t> find_note(std::span<const ElfW(Phdr)> headers,
                                               std::uint64_t bias, std::string_view owner,
                                               std::uint32_t type) noexcept {
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

}  // namespace sample::agent
