// Reading symbol tables by libelf; the contracts are in the header.
#include "tests/unwind/truth/symbols.h"

#include "core/fd.h"

#include <gelf.h>
#include <libelf.h>

#include <fcntl.h>

#include <algorithm>

namespace sample::unwind::truth {

Symbols Symbols::of_file(const std::string& path) {
    Symbols symbols;
    elf_version(EV_CURRENT);
    const Fd fd{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    Elf* elf = elf_begin(fd.get(), ELF_C_READ_MMAP, nullptr);
    symbols.read(elf);
    elf_end(elf);
    return symbols;
}

Symbols Symbols::of_image(std::span<const std::byte> bytes) {
    Symbols symbols;
    elf_version(EV_CURRENT);
    std::vector<std::byte> copy{bytes.begin(), bytes.end()};
    Elf* elf = elf_memory(reinterpret_cast<char*>(copy.data()), copy.size());
    symbols.read(elf);
    elf_end(elf);
    return symbols;
}

void Symbols::read(Elf* elf) {
    std::size_t names = 0;
    if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) {
        return;
    }
    for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
         section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr) {
            continue;
        }
        const char* name = elf_strptr(elf, names, header.sh_name);
        if ((header.sh_flags & SHF_EXECINSTR) != 0 && name != nullptr) {
            sections_.push_back({header.sh_addr, header.sh_addr + header.sh_size, name});
        }
        if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) {
            read_table(elf, section, header.sh_link);
        }
    }
    // Of several names for one place, the first by alphabet: the same one at each run.
    std::sort(functions_.begin(), functions_.end(), [](const Symbol& a, const Symbol& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.name > b.name;
    });
}

void Symbols::read_table(Elf* elf, Elf_Scn* section, std::size_t names) {
    GElf_Shdr header;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0) {
        return;
    }
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; i < count; ++i) {
        GElf_Sym symbol;
        if (gelf_getsym(data, i, &symbol) == nullptr || symbol.st_shndx == SHN_UNDEF) {
            continue;
        }
        const int type = GELF_ST_TYPE(symbol.st_info);
        const char* name = elf_strptr(elf, names, symbol.st_name);
        // Without a size (assembly): to the next symbol.
        const std::uint64_t end =
            symbol.st_size == 0 ? ~std::uint64_t{0} : symbol.st_value + symbol.st_size;
        if ((type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC) && name != nullptr &&
            *name != '\0') {
            functions_.push_back({symbol.st_value, end, name});
        }
    }
}

const std::string& Symbols::name_of(std::uint64_t address) const {
    static const std::string unknown = "?";
    const auto holds = [address](const Symbol& one) {
        return address >= one.begin && address < one.end;
    };
    const auto section = std::find_if(sections_.begin(), sections_.end(), holds);
    auto after = std::upper_bound(
        functions_.begin(), functions_.end(), address,
        [](std::uint64_t value, const Symbol& symbol) { return value < symbol.begin; });
    if (after != functions_.begin()) {
        --after;
        const bool same_section = section == sections_.end() || after->begin >= section->begin;
        if (holds(*after) && same_section) {
            return after->name;
        }
    }
    return section == sections_.end() ? unknown : section->name;
}

}  // namespace sample::unwind::truth
