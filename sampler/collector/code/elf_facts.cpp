#include "sampler/collector/code/elf_facts.h"

#include "core/mapped_file.h"
#include "core/mapped_reading.h"
#include "sampler/collector/process/proc_files.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

namespace sample::collector {
namespace {

using Bytes = std::span<const std::byte>;

// A file may be made so that reading all that its headers speak of takes days.
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kLongestNotes = std::size_t{64} << 10U;
constexpr std::size_t kLongestBuildId = 64;
constexpr unsigned kMostNoteSegments = 16;

template <class T>
std::optional<T> read_at(Bytes file, std::uint64_t offset) {
    if (offset > file.size() || file.size() - offset < sizeof(T)) {
        return std::nullopt;
    }
    T value;
    std::memcpy(&value, file.data() + offset, sizeof value);
    return value;
}

Bytes slice(Bytes file, std::uint64_t offset, std::uint64_t size) {
    if (offset > file.size() || size > file.size() - offset) {
        return {};
    }
    return file.subspan(offset, size);
}

std::string_view text_at(Bytes bytes, std::uint64_t offset) {
    if (offset >= bytes.size()) {
        return {};
    }
    const auto* begin = reinterpret_cast<const char*>(bytes.data()) + offset;
    return {begin, ::strnlen(begin, std::min(bytes.size() - offset, kLongestText))};
}

std::vector<std::uint8_t> build_id_of(Bytes notes) {
    std::uint64_t at = 0;
    while (const auto note = read_at<Elf64_Nhdr>(notes, at)) {
        const std::uint64_t name = at + sizeof(Elf64_Nhdr);
        const std::uint64_t bytes =
            name + ((std::uint64_t{note->n_namesz} + 3) & ~std::uint64_t{3});
        if (note->n_type == NT_GNU_BUILD_ID && text_at(notes, name) == "GNU") {
            const Bytes id =
                slice(notes, bytes, std::min<std::size_t>(note->n_descsz, kLongestBuildId));
            const auto* begin = reinterpret_cast<const std::uint8_t*>(id.data());
            return {begin, begin + id.size()};
        }
        at = bytes + ((std::uint64_t{note->n_descsz} + 3) & ~std::uint64_t{3});
    }
    return {};
}

std::uint64_t offset_of(const ElfFacts& facts, std::uint64_t address) {
    for (const ElfSegment& segment : facts.segments) {
        if (address >= segment.address && address - segment.address < segment.file_size) {
            return segment.offset + (address - segment.address);
        }
    }
    return 0;
}

/// The text of the first entry of that tag.
std::string dynamic_text(Bytes file, Bytes dynamic, const ElfFacts& facts, std::int64_t tag) {
    std::uint64_t strings = 0;
    std::optional<std::uint64_t> name;
    for (std::uint64_t at = 0; const auto entry = read_at<Elf64_Dyn>(dynamic, at);
         at += sizeof(Elf64_Dyn)) {
        if (entry->d_tag == DT_NULL) {
            break;
        }
        if (entry->d_tag == DT_STRTAB) {
            strings = offset_of(facts, entry->d_un.d_ptr);
        } else if (entry->d_tag == tag && !name) {
            name = entry->d_un.d_val;
        }
    }
    constexpr std::uint64_t kMostBytes = 256;
    if (strings == 0 || !name || *name > file.size() || strings > file.size() - *name) {
        return {};
    }
    const std::uint64_t at = strings + *name;
    return std::string{text_at(slice(file, at, std::min(kMostBytes, file.size() - at)), 0)};
}

void read_program_headers(Bytes file, const Elf64_Ehdr& head, ElfFacts& facts) {
    unsigned note_segments = 0;
    Bytes dynamic;
    for (std::uint64_t i = 0; i < head.e_phnum; ++i) {
        const auto header = read_at<Elf64_Phdr>(file, head.e_phoff + i * sizeof(Elf64_Phdr));
        if (!header) {
            return;
        }
        if (header->p_type == PT_LOAD) {
            facts.segments.push_back({header->p_offset, header->p_vaddr, header->p_filesz});
        } else if (header->p_type == PT_INTERP) {
            facts.interpreter = text_at(slice(file, header->p_offset, header->p_filesz), 0);
        } else if (header->p_type == PT_NOTE && facts.build_id.empty() &&
                   ++note_segments <= kMostNoteSegments) {
            const Bytes notes = slice(file, header->p_offset, header->p_filesz);
            facts.build_id = build_id_of(notes.first(std::min(notes.size(), kLongestNotes)));
        } else if (header->p_type == PT_DYNAMIC) {
            dynamic = slice(file, header->p_offset, header->p_filesz);
        }
    }
    facts.first_library = dynamic_text(file, dynamic, facts, DT_NEEDED);
    facts.is_loader = facts.interpreter.empty() &&
                      dynamic_text(file, dynamic, facts, DT_SONAME).starts_with("ld-linux");
}

bool has_section(Bytes file, const Elf64_Ehdr& head, std::string_view wanted) {
    const auto names = read_at<Elf64_Shdr>(
        file, head.e_shoff + std::uint64_t{head.e_shstrndx} * sizeof(Elf64_Shdr));
    if (head.e_shoff == 0 || !names) {
        return false;
    }
    const Bytes strings = slice(file, names->sh_offset, names->sh_size);
    for (std::uint64_t i = 0; i < head.e_shnum; ++i) {
        const auto header = read_at<Elf64_Shdr>(file, head.e_shoff + i * sizeof(Elf64_Shdr));
        if (!header) {
            return false;
        }
        if (text_at(strings, header->sh_name) == wanted) {
            return true;
        }
    }
    return false;
}

/// Nothing: there is no table of dynamic symbols.
std::optional<bool> defines(Bytes file, const Elf64_Ehdr& head, std::string_view function) {
    const auto header_at = [&](std::uint64_t index) {
        return read_at<Elf64_Shdr>(file, head.e_shoff + index * sizeof(Elf64_Shdr));
    };
    for (std::uint64_t i = 0; head.e_shoff != 0 && i < head.e_shnum; ++i) {
        const auto header = header_at(i);
        if (!header || header->sh_type != SHT_DYNSYM) {
            continue;
        }
        const auto names = header_at(header->sh_link);
        if (!names) {
            return std::nullopt;
        }
        const Bytes strings = slice(file, names->sh_offset, names->sh_size);
        const Bytes symbols = slice(file, header->sh_offset, header->sh_size);
        for (std::uint64_t at = 0; const auto symbol = read_at<Elf64_Sym>(symbols, at);
             at += sizeof(Elf64_Sym)) {
            if (symbol->st_shndx != SHN_UNDEF && text_at(strings, symbol->st_name) == function) {
                return true;
            }
        }
        return false;
    }
    return std::nullopt;
}

ElfFacts facts_of(Bytes file, bool with_sections) {
    ElfFacts facts;
    const auto head = read_at<Elf64_Ehdr>(file, 0);
    if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) {
        return facts;
    }
    facts.is_elf = true;
    facts.is_x86_64 = head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_machine == EM_X86_64;
    if (facts.is_x86_64) {
        read_program_headers(file, *head, facts);
        facts.is_go = with_sections && has_section(file, *head, ".go.buildinfo");
    }
    return facts;
}

/// Nothing of a file that is cut off meanwhile.
ElfFacts read_facts(const std::string& path, bool with_sections) {
    const MappedReading reading;
    const auto file = MappedFile::open(path);
    ElfFacts facts = file ? facts_of(file->bytes(), with_sections) : ElfFacts{};
    return reading.is_broken() ? ElfFacts{} : facts;
}

}  // namespace

bool may_define(const std::string& path, std::string_view function) {
    const MappedReading reading;
    const auto file = MappedFile::open(path);
    const auto head = file ? read_at<Elf64_Ehdr>(file->bytes(), 0) : std::nullopt;
    const auto found = head ? defines(file->bytes(), *head, function) : std::nullopt;
    return reading.is_broken() || found.value_or(true);
}

std::optional<std::uint64_t> ElfFacts::bias_of_mapping(std::uint64_t start,
                                                       std::uint64_t offset) const {
    constexpr std::uint64_t kPageMask = 4095;
    // A page of the file may be the end of one segment and the start of the next: a mapping that
    // starts with it is the latter's.
    std::optional<std::uint64_t> bias;
    for (const ElfSegment& segment : segments) {
        const std::uint64_t first = segment.offset & ~kPageMask;
        if (offset >= first && offset - first < segment.offset - first + segment.file_size &&
            (!bias || offset == first)) {
            bias = start - offset - (segment.address - segment.offset);
        }
    }
    return bias;
}

ElfFacts read_elf_facts(const std::string& path) {
    return read_facts(path, true);
}

std::vector<std::uint8_t> read_build_id(const std::string& path) {
    return read_facts(path, false).build_id;
}

bool GoPrograms::is_go(pid_t pid) {
    const std::string path = living_path(pid, "exe");
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) {
        return false;
    }
    const FileKey key{
        static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino),
        static_cast<std::uint64_t>(info.st_size), static_cast<std::uint64_t>(info.st_ctim.tv_sec),
        static_cast<std::uint64_t>(info.st_ctim.tv_nsec)};
    const auto known = is_go_.find(key);
    if (known != is_go_.end()) {
        return known->second;
    }
    const bool is_go = read_elf_facts(path).is_go;
    constexpr std::size_t kMost = 4096;
    if (is_go_.size() >= kMost) {
        is_go_.clear();
    }
    is_go_.emplace(key, is_go);
    return is_go;
}

}  // namespace sample::collector
