#include "symbolize/elf/memory_elf.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <utility>
#include <vector>

namespace sample::symbolize {
namespace {

constexpr std::uint64_t kPartAlignment = 16;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

std::uint64_t page_bytes() {
    static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

/// Where everything goes. Section 0 is none, the parts follow, the last is the sections' names.
struct Layout {
    Elf64_Ehdr header{};
    std::vector<Elf64_Shdr> sections;
    std::string names{'\0'};
    std::uint64_t size = 0;
};

Layout lay_out(std::span<const ElfPart> parts) {
    Layout layout;
    layout.sections.resize(parts.size() + 2);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        layout.sections[i + 1].sh_name = static_cast<Elf64_Word>(layout.names.size());
        layout.names += parts[i].name + '\0';
    }
    Elf64_Shdr& names = layout.sections.back();
    names.sh_name = static_cast<Elf64_Word>(layout.names.size());
    layout.names += std::string{".shstrtab"} + '\0';
    names.sh_type = SHT_STRTAB;
    names.sh_offset = sizeof(Elf64_Ehdr) + layout.sections.size() * sizeof(Elf64_Shdr);
    names.sh_size = layout.names.size();
    names.sh_addralign = 1;
    std::uint64_t end = names.sh_offset + names.sh_size;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Elf64_Shdr& section = layout.sections[i + 1];
        const bool is_mapped = parts[i].fd >= 0;
        section.sh_type = SHT_PROGBITS;
        section.sh_offset = is_mapped ? round_up(end, page_bytes()) + parts[i].offset % page_bytes()
                                      : round_up(end, kPartAlignment);
        section.sh_size = parts[i].bytes.size();
        section.sh_addralign = 1;
        end = section.sh_offset + section.sh_size;
        if (is_mapped) {
            end = round_up(end, page_bytes());
        }
    }
    Elf64_Ehdr& header = layout.header;
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] =
        std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_shoff = sizeof header;
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(layout.sections.size());
    header.e_shstrndx = static_cast<Elf64_Half>(layout.sections.size() - 1);
    layout.size = end;
    return layout;
}

}  // namespace

std::optional<MemoryElf> MemoryElf::make(std::span<const ElfPart> parts) {
    const Layout layout = lay_out(parts);
    void* const memory = ::mmap(nullptr, layout.size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return std::nullopt;
    }
    MemoryElf result;
    result.bytes_ = {static_cast<std::byte*>(memory), Unmapper{layout.size}};
    std::byte* const out = result.bytes_.get();
    std::memcpy(out, &layout.header, sizeof layout.header);
    std::memcpy(out + layout.header.e_shoff, layout.sections.data(),
                layout.sections.size() * sizeof(Elf64_Shdr));
    std::memcpy(out + layout.sections.back().sh_offset, layout.names.data(), layout.names.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const ElfPart& part = parts[i];
        std::byte* const place = out + layout.sections[i + 1].sh_offset;
        if (part.bytes.empty()) {
            continue;
        }
        const std::uint64_t before = part.offset % page_bytes();
        if (part.fd < 0) {
            std::memcpy(place, part.bytes.data(), part.bytes.size());
        } else if (::mmap(place - before, part.bytes.size() + before, PROT_READ,
                          MAP_PRIVATE | MAP_FIXED, part.fd,
                          static_cast<off_t>(part.offset - before)) == MAP_FAILED) {
            return std::nullopt;
        }
    }
    result.elf_.reset(elf_memory(reinterpret_cast<char*>(out), layout.size));
    return result.elf_ ? std::optional{std::move(result)} : std::nullopt;
}

Fd MemoryElf::to_file() const {
    Fd file{::memfd_create("dwo", MFD_CLOEXEC)};
    return file.is_open() && write_all(file.get(), bytes()) == bytes().size() ? std::move(file)
                                                                              : Fd{};
}

void Unmapper::operator()(std::byte* bytes) const {
    ::munmap(bytes, size);
}

Dwarf* EmptyDwarf::get() {
    // One unit of version 4 without an entry: its length, version, abbreviations, address size.
    static constexpr unsigned char kUnit[] = {8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 0};
    if (!file_) {
        const ElfPart part{".debug_info", std::as_bytes(std::span{kUnit})};
        file_ = MemoryElf::make({&part, 1});
        dwarf_.reset(file_ ? dwarf_begin_elf(file_->elf(), DWARF_C_READ, nullptr) : nullptr);
    }
    return dwarf_.get();
}

}  // namespace sample::symbolize
