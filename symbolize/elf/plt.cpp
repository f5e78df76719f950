#include "symbolize/elf/plt.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>

namespace sample::symbolize {
namespace {

constexpr std::uint64_t kDefaultEntryBytes = 16;

std::uint32_t read_u32(const unsigned char* bytes) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

}  // namespace

PltTable::PltTable(Elf* elf) : elf_{elf} {
    GElf_Ehdr ehdr{};
    std::size_t names = 0;
    if (gelf_getehdr(elf, &ehdr) == nullptr || ehdr.e_machine != EM_X86_64 ||
        ehdr.e_ident[EI_CLASS] != ELFCLASS64 || elf_getshdrstrndx(elf, &names) != 0) {
        return;
    }
    for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
        GElf_Shdr header{};
        if (gelf_getshdr(scn, &header) == nullptr) {
            continue;
        }
        const char* const name_text = elf_strptr(elf, names, header.sh_name);
        const std::string_view name = name_text != nullptr ? name_text : "";
        if (header.sh_type == SHT_RELA && (header.sh_flags & SHF_ALLOC) != 0) {
            read_relocations(scn, header, name == ".rela.plt");
        } else if (header.sh_type == SHT_PROGBITS && (header.sh_flags & SHF_EXECINSTR) != 0 &&
                   name.starts_with(".plt")) {
            // Linkers of old state no entry size, or the wrong 4.
            const std::uint64_t entry =
                header.sh_entsize >= 8 ? header.sh_entsize : kDefaultEntryBytes;
            const Elf_Data* const data = elf_rawdata(scn, nullptr);
            if (data != nullptr && data->d_buf != nullptr) {
                sections_.push_back({header.sh_addr, entry,
                                     static_cast<const unsigned char*>(data->d_buf), data->d_size});
            }
        }
    }
}

void PltTable::read_relocations(Elf_Scn* scn, const GElf_Shdr& header, bool is_plt) {
    Elf_Scn* const symbols = elf_getscn(elf_, header.sh_link);
    GElf_Shdr symbols_header{};
    Elf_Data* const relocations = elf_getdata(scn, nullptr);
    if (symbols == nullptr || gelf_getshdr(symbols, &symbols_header) == nullptr ||
        relocations == nullptr) {
        return;
    }
    Elf_Data* const symbol_data = elf_getdata(symbols, nullptr);
    const auto count = static_cast<int>(std::min<std::size_t>(
        relocations->d_size / sizeof(Elf64_Rela), std::numeric_limits<int>::max()));
    for (int i = 0; i < count; ++i) {
        GElf_Rela relocation{};
        if (gelf_getrela(relocations, i, &relocation) == nullptr) {
            return;
        }
        const auto type = GELF_R_TYPE(relocation.r_info);
        GElf_Sym symbol{};
        const char* name = nullptr;
        if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) && symbol_data != nullptr &&
            gelf_getsym(symbol_data, static_cast<int>(GELF_R_SYM(relocation.r_info)), &symbol) !=
                nullptr) {
            name = elf_strptr(elf_, symbols_header.sh_link, symbol.st_name);
        }
        if (name != nullptr && *name != '\0') {
            slots_.emplace(relocation.r_offset, name);
        }
        if (is_plt) {
            by_index_.push_back(name);
        }
    }
}

std::optional<PltStub> PltTable::find(std::uint64_t address) const {
    for (const Section& section : sections_) {
        if (address < section.start || address - section.start >= section.size) {
            continue;
        }
        const std::uint64_t offset =
            (address - section.start) / section.entry_bytes * section.entry_bytes;
        const char* const target = target_of(section, offset);
        if (target == nullptr) {
            return std::nullopt;
        }
        const std::string_view name{target};
        return PltStub{std::string{name.substr(0, name.find('@'))}, section.start + offset};
    }
    return std::nullopt;
}

/// Reads the stub's instructions: [endbr64] [bnd] jmp *slot(%rip), or, of a lazy stub whose jump is
/// in .plt.sec, [endbr64] push $index.
const char* PltTable::target_of(const Section& section, std::size_t offset) const {
    std::array<unsigned char, kDefaultEntryBytes> code{};
    std::memcpy(code.data(), section.bytes + offset, std::min(code.size(), section.size - offset));
    std::size_t at = 0;
    if (read_u32(code.data()) == 0xfa1e0ff3) {
        at += 4;
    }
    if (code.at(at) == 0x68) {
        const std::uint32_t index = read_u32(&code.at(at + 1));
        return index < by_index_.size() ? by_index_[index] : nullptr;
    }
    if (code.at(at) == 0xf2) {
        ++at;
    }
    if (code.at(at) != 0xff || code.at(at + 1) != 0x25) {
        return nullptr;
    }
    const auto displacement = static_cast<std::int32_t>(read_u32(&code.at(at + 2)));
    const std::uint64_t next = section.start + offset + at + 6;
    const auto slot = slots_.find(next + static_cast<std::uint64_t>(std::int64_t{displacement}));
    return slot == slots_.end() ? nullptr : slot->second;
}

}  // namespace sample::symbolize
