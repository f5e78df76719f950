// Reading of section headers; the contract is in the header.
#include "unwind/index/section_file.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

namespace sample::unwind {

namespace {

constexpr std::size_t kHeadersAtOnce = 32;
constexpr std::size_t kNameBytes = 16;
constexpr std::uint64_t kMaxSections = 1U << 16;

bool read_elf_header(const SectionFile& file, Elf64_Ehdr& out) noexcept {
    return file.read(0, &out, sizeof(out)) && memcmp(out.e_ident, ELFMAG, SELFMAG) == 0 &&
           out.e_ident[EI_CLASS] == ELFCLASS64 && out.e_machine == EM_X86_64;
}

/// The beginning of a section's name, from the file's string section.
class Names {
public:
    Names(const SectionFile& file, const Elf64_Shdr& strings) noexcept
        : file_{file},
          offset_{strings.sh_offset},
          size_{strings.sh_size},
          first_bytes_{size_ < first_.size() ? static_cast<std::size_t>(size_) : first_.size()} {
        if (!file_.read(offset_, first_.data(), first_bytes_)) {
            first_bytes_ = 0;
        }
    }

    /// Most names are among the first bytes, which are read once.
    [[nodiscard]] bool is(std::uint64_t name, std::string_view text) noexcept {
        const std::size_t bytes = text.size() + 1;
        if (name > size_ || size_ - name < bytes) {
            return false;
        }
        std::array<char, kNameBytes> other{};
        const char* found = first_.data() + name;
        if (name + bytes > first_bytes_) {
            found = other.data();
            if (!file_.read(offset_ + name, other.data(), bytes)) {
                return false;
            }
        }
        return memcmp(found, text.data(), text.size()) == 0 && found[text.size()] == 0;
    }

private:
    const SectionFile& file_;
    std::uint64_t offset_;
    std::uint64_t size_;
    std::array<char, 1024> first_;
    std::size_t first_bytes_;
};

FileSection section_of(const Elf64_Shdr& header) noexcept {
    const bool loaded = (header.sh_flags & SHF_ALLOC) != 0;
    return FileSection{loaded ? header.sh_addr : 0, header.sh_offset, header.sh_size,
                       (header.sh_flags & SHF_COMPRESSED) != 0};
}

void take(const Elf64_Shdr& header, Names& names, FrameSections& out) noexcept {
    const bool loaded = (header.sh_flags & SHF_ALLOC) != 0;
    if (header.sh_type != SHT_PROGBITS && header.sh_type != SHT_X86_64_UNWIND) {
        return;
    }
    if (loaded && out.eh_frame.size == 0 && names.is(header.sh_name, ".eh_frame")) {
        out.eh_frame = section_of(header);
    } else if (!loaded && out.debug_frame.size == 0 && names.is(header.sh_name, ".debug_frame")) {
        out.debug_frame = section_of(header);
    }
}

}  // namespace

bool SectionFile::read(std::uint64_t offset, void* to, std::size_t bytes) const noexcept {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
        // The system call itself: a program may have a pread of its own.
        const long got = syscall(SYS_pread64, long{fd_}, at, bytes, offset);
        if (got <= 0) {
            return false;
        }
        at += got;
        offset += static_cast<std::uint64_t>(got);
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

bool SectionFile::find(FrameSections& out) const noexcept {
    Elf64_Ehdr elf;
    std::array<Elf64_Shdr, kHeadersAtOnce> headers;
    if (!read_elf_header(*this, elf) || elf.e_shoff == 0 || elf.e_shentsize != sizeof(Elf64_Shdr)) {
        return false;
    }
    // Numbers that do not fit the ELF header are in the first section header.
    std::uint64_t count = elf.e_shnum;
    std::uint64_t strings = elf.e_shstrndx;
    if (count == 0 || strings == SHN_XINDEX) {
        if (!read(elf.e_shoff, headers.data(), sizeof(Elf64_Shdr))) {
            return false;
        }
        count = count == 0 ? headers[0].sh_size : count;
        strings = strings == SHN_XINDEX ? headers[0].sh_link : strings;
    }
    Elf64_Shdr strings_header;
    if (count > kMaxSections || strings >= count ||
        !read(elf.e_shoff + strings * sizeof(Elf64_Shdr), &strings_header, sizeof(Elf64_Shdr))) {
        return false;
    }
    Names names{*this, strings_header};
    for (std::uint64_t first = 0; first < count; first += headers.size()) {
        const std::uint64_t rest = count - first;
        const std::size_t now =
            rest < headers.size() ? static_cast<std::size_t>(rest) : headers.size();
        if (!read(elf.e_shoff + first * sizeof(Elf64_Shdr), headers.data(),
                  now * sizeof(Elf64_Shdr))) {
            return false;
        }
        for (std::size_t i = 0; i < now; ++i) {
            take(headers[i], names, out);
        }
    }
    return true;
}

bool SectionFile::is_loaded_at(std::uint64_t bias,
                               std::span<const Elf64_Phdr> headers) const noexcept {
    Elf64_Ehdr elf;
    if (!read_elf_header(*this, elf) || elf.e_phentsize != sizeof(Elf64_Phdr) ||
        elf.e_phnum != headers.size()) {
        return false;
    }
    std::array<Elf64_Phdr, kHeadersAtOnce> some;
    for (std::size_t first = 0; first < headers.size(); first += some.size()) {
        const std::size_t rest = headers.size() - first;
        const std::size_t bytes = (rest < some.size() ? rest : some.size()) * sizeof(Elf64_Phdr);
        if (!read(elf.e_phoff + first * sizeof(Elf64_Phdr), some.data(), bytes) ||
            memcmp(some.data(), &headers[first], bytes) != 0) {
            return false;
        }
    }
    for (const Elf64_Phdr& header : headers) {
        std::array<char, 256> note;  // A build-id's note has 36 bytes.
        const std::size_t bytes = header.p_filesz < note.size() ? header.p_filesz : note.size();
        if (header.p_type == PT_NOTE &&
            (!read(header.p_offset, note.data(), bytes) ||
             memcmp(note.data(), reinterpret_cast<const void*>(bias + header.p_vaddr), bytes) !=
                 0)) {
            return false;
        }
    }
    return true;
}

}  // namespace sample::unwind
