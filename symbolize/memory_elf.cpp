#include "symbolize/memory_elf.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <utility>

namespace sample::symbolize {
namespace {

constexpr std::uint64_t kAlignment = 16;

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

Layout lay_out(std::span<const ElfPart> parts, bool map_files) {
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
        const bool is_mapped = map_files && parts[i].fd >= 0;
        section.sh_type = SHT_PROGBITS;
        section.sh_offset = is_mapped ? round_up(end, page_bytes()) + parts[i].offset % page_bytes()
                                      : round_up(end, kAlignment);
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

/// Writes what is not mapped; `out` has layout.size bytes, all 0.
void write_file(const Layout& layout, std::span<const ElfPart> parts, bool map_files,
                std::span<std::byte> out) {
    std::memcpy(out.data(), &layout.header, sizeof layout.header);
    std::memcpy(&out[sizeof layout.header], layout.sections.data(),
                layout.sections.size() * sizeof(Elf64_Shdr));
    std::memcpy(&out[layout.sections.back().sh_offset], layout.names.data(), layout.names.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (!(map_files && parts[i].fd >= 0) && !parts[i].bytes.empty()) {
            std::memcpy(&out[layout.sections[i + 1].sh_offset], parts[i].bytes.data(),
                        parts[i].bytes.size());
        }
    }
}

}  // namespace

std::optional<MemoryElf> MemoryElf::make(std::span<const ElfPart> parts) {
    const Layout layout = lay_out(parts, true);
    void* const memory = ::mmap(nullptr, layout.size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return std::nullopt;
    }
    MemoryElf result{{static_cast<std::byte*>(memory), layout.size}};
    write_file(layout, parts, true, result.bytes_);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].fd < 0 || parts[i].bytes.empty()) {
            continue;
        }
        const std::uint64_t before = parts[i].offset % page_bytes();
        if (::mmap(&result.bytes_[layout.sections[i + 1].sh_offset - before],
                   parts[i].bytes.size() + before, PROT_READ, MAP_PRIVATE | MAP_FIXED, parts[i].fd,
                   static_cast<off_t>(parts[i].offset - before)) == MAP_FAILED) {
            return std::nullopt;
        }
    }
    result.elf_.reset(
        elf_memory(reinterpret_cast<char*>(result.bytes_.data()), result.bytes_.size()));
    if (!result.elf_) {
        return std::nullopt;
    }
    return result;
}

MemoryElf::MemoryElf(MemoryElf&& other) noexcept
    : bytes_{std::exchange(other.bytes_, {})}, elf_{std::move(other.elf_)} {}

MemoryElf& MemoryElf::operator=(MemoryElf&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(elf_, other.elf_);
    return *this;
}

MemoryElf::~MemoryElf() {
    elf_.reset();
    if (!bytes_.empty()) {
        ::munmap(bytes_.data(), bytes_.size());
    }
}

EmptyDwarf::~EmptyDwarf() {
    dwarf_end(dwarf_);
}

Dwarf* EmptyDwarf::get() {
    // One unit of version 4 without an entry: its length, version, abbreviations, address size.
    static constexpr unsigned char kUnit[] = {8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 0};
    if (!file_) {
        const ElfPart part{".debug_info", std::as_bytes(std::span{kUnit})};
        file_ = MemoryElf::make({&part, 1});
        dwarf_ = file_ ? dwarf_begin_elf(file_->elf(), DWARF_C_READ, nullptr) : nullptr;
    }
    return dwarf_;
}

std::vector<std::byte> elf_file_of(std::span<const ElfPart> parts) {
    const Layout layout = lay_out(parts, false);
    std::vector<std::byte> result(layout.size);
    write_file(layout, parts, false, result);
    return result;
}

}  // namespace sample::symbolize
