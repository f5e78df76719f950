// The contracts are in the header.
#include "tests/unwind/differential/images.h"

#include "core/fd.h"
#include "core/mapped_file.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace sample::unwind::differential {

namespace {

// Two pages and more are reserved for it; its ELF header says how much is used.
constexpr std::size_t kPage = 4096;

/// This kernel's vDSO as a file that can be mapped by its path under /proc.
Fd vdso_file() {
    const auto* base = reinterpret_cast<const std::byte*>(getauxval(AT_SYSINFO_EHDR));
    if (base == nullptr) {
        return {};
    }
    Elf64_Ehdr header;
    std::memcpy(&header, base, sizeof(header));
    const std::size_t used = header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
    Fd file{memfd_create("vdso", MFD_CLOEXEC)};
    const std::size_t size = (used + kPage - 1) / kPage * kPage;
    if (!file.is_open() || write(file.get(), base, size) != static_cast<ssize_t>(size)) {
        return {};
    }
    return file;
}

std::vector<Elf64_Phdr> segments_of(const std::string& path) {
    std::vector<Elf64_Phdr> segments;
    const auto file = MappedFile::open(path);
    if (!file || file->bytes().size() < sizeof(Elf64_Ehdr)) {
        return segments;
    }
    Elf64_Ehdr header;
    std::memcpy(&header, file->bytes().data(), sizeof(header));
    const std::size_t bytes = header.e_phnum * sizeof(Elf64_Phdr);
    if (header.e_phoff > file->bytes().size() || bytes > file->bytes().size() - header.e_phoff) {
        return segments;
    }
    segments.resize(header.e_phnum);
    std::memcpy(segments.data(), &file->bytes()[header.e_phoff], bytes);
    std::erase_if(segments, [](const Elf64_Phdr& segment) { return segment.p_type != PT_LOAD; });
    return segments;
}

std::unique_ptr<Image> load(const std::string& name) {
    const Fd vdso = name == "[vdso]" ? vdso_file() : Fd{};
    const std::string path = vdso.is_open() ? "/proc/self/fd/" + std::to_string(vdso.get()) : name;
    if (path.empty() || path[0] != '/' || path.starts_with("//")) {
        return nullptr;
    }
    auto elf = ElfImage::map(path);
    if (!elf) {
        return nullptr;
    }
    return std::make_unique<Image>(name, std::move(*elf), segments_of(path));
}

}  // namespace

std::optional<std::uint64_t> Image::bias_of(const CodeMapping& mapping) const noexcept {
    for (const Elf64_Phdr& segment : segments_) {
        const std::uint64_t begin = segment.p_offset & ~(kPage - 1);
        if ((segment.p_flags & PF_X) != 0 && mapping.file_offset >= begin &&
            mapping.file_offset < segment.p_offset + segment.p_filesz) {
            return mapping.address - mapping.file_offset + segment.p_offset - segment.p_vaddr;
        }
    }
    return std::nullopt;
}

bool Image::is_code(std::uint64_t address) const noexcept {
    return std::any_of(segments_.begin(), segments_.end(), [address](const Elf64_Phdr& segment) {
        return (segment.p_flags & PF_X) != 0 && address - segment.p_vaddr < segment.p_memsz;
    });
}

const Image* ImageStore::find(std::string_view path) {
    auto found = images_.find(path);
    if (found == images_.end()) {
        found = images_.emplace(path, load(std::string{path})).first;
    }
    return found->second.get();
}

}  // namespace sample::unwind::differential
