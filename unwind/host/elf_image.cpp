// Mapping of an ELF file; the contract is in the header.
#include "unwind/host/elf_image.h"

#include "core/regular_file.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace sample::unwind {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLargestImage = std::uint64_t{1} << 36;
constexpr std::uint64_t kLargestIndex = std::uint64_t{1} << 30;

constexpr std::uint64_t page_down(std::uint64_t address) noexcept {
    return address & ~(kPage - 1);
}
constexpr std::uint64_t page_up(std::uint64_t address) noexcept {
    return page_down(address + kPage - 1);
}

/// The ELF header and the program headers, which have to be in the file's first page.
struct Headers {
    alignas(Elf64_Phdr) std::array<std::byte, kPage> page{};
    std::span<const Elf64_Phdr> programs;
};

Result<void> read_headers(int fd, const std::string& path, std::uint16_t machine, Headers& out) {
    const ssize_t got = pread(fd, out.page.data(), out.page.size(), 0);
    if (got < 0) {
        return unexpected(Error::from_errno("cannot read " + path));
    }
    Elf64_Ehdr elf;
    std::memcpy(&elf, out.page.data(), sizeof(elf));
    const bool is_ours = static_cast<std::size_t>(got) >= sizeof(elf) &&
                         std::memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 &&
                         elf.e_machine == machine && elf.e_phentsize == sizeof(Elf64_Phdr);
    if (!is_ours || elf.e_phoff > static_cast<std::size_t>(got) ||
        elf.e_phoff % alignof(Elf64_Phdr) != 0 ||
        elf.e_phnum > (static_cast<std::size_t>(got) - elf.e_phoff) / sizeof(Elf64_Phdr)) {
        return unexpected(ErrorCode::corrupt,
                          path + " is not an ELF program or library for the expected processor");
    }
    out.programs = {reinterpret_cast<const Elf64_Phdr*>(out.page.data() + elf.e_phoff),
                    elf.e_phnum};
    return {};
}

bool is_loadable(const Elf64_Phdr& program, std::uint64_t file_size) noexcept {
    return program.p_type == PT_LOAD && program.p_vaddr < kLargestImage &&
           program.p_memsz < kLargestImage && program.p_filesz <= program.p_memsz &&
           program.p_offset <= file_size && program.p_filesz <= file_size - program.p_offset &&
           program.p_vaddr % kPage == program.p_offset % kPage;
}

/// The virtual addresses that the segments cover, whole pages; empty if there are none.
AddressRange covered(std::span<const Elf64_Phdr> programs, std::uint64_t file_size) noexcept {
    AddressRange range{~std::uint64_t{0}, 0};
    for (const Elf64_Phdr& program : programs) {
        if (is_loadable(program, file_size)) {
            range.begin = std::min(range.begin, page_down(program.p_vaddr));
            range.end = std::max(range.end, page_up(program.p_vaddr + program.p_memsz));
        }
    }
    return range;
}

}  // namespace

Result<ElfImage> ElfImage::map(const std::string& path, std::uint16_t machine) {
    const Fd fd = open_regular(path);
    if (!fd.is_open()) {
        return unexpected(Error::from_errno("cannot open " + path));
    }
    Headers headers;
    if (auto read = read_headers(fd.get(), path, machine, headers); !read) {
        return unexpected(read.error());
    }
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) {
        return unexpected(Error::from_errno("cannot read " + path));
    }
    const auto file_size = static_cast<std::uint64_t>(status.st_size);
    const AddressRange range = covered(headers.programs, file_size);
    if (range.begin >= range.end) {
        return unexpected(ErrorCode::unsupported, path + " has no segment to load");
    }
    // Zeros where the file has nothing, so that every byte of the image is readable.
    void* base = mmap(nullptr, range.end - range.begin, PROT_READ,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        return unexpected(Error::from_errno("cannot map " + path));
    }
    ElfImage image{reinterpret_cast<std::uint64_t>(base), range.end - range.begin};
    const std::uint64_t delta = image.base_ - range.begin;
    for (const Elf64_Phdr& program : headers.programs) {
        if (!is_loadable(program, file_size) || program.p_filesz == 0) {
            continue;
        }
        const std::uint64_t begin = page_down(program.p_vaddr);
        void* at = reinterpret_cast<void*>(begin + delta);
        if (mmap(at, program.p_vaddr + program.p_filesz - begin, PROT_READ, MAP_PRIVATE | MAP_FIXED,
                 fd.get(), static_cast<off_t>(page_down(program.p_offset))) == MAP_FAILED) {
            return unexpected(Error::from_errno("cannot map " + path));
        }
    }
    // A damaged header may speak of segments that were not mapped, or of tables outside of them.
    std::vector<Elf64_Phdr> mapped;
    std::copy_if(headers.programs.begin(), headers.programs.end(), std::back_inserter(mapped),
                 [file_size](const Elf64_Phdr& program) {
                     return program.p_type != PT_LOAD || is_loadable(program, file_size);
                 });
    image.at_zero_ = describe_module(0, mapped, delta);
    for (AddressRange* read : {&image.at_zero_.tables, &image.at_zero_.code}) {
        read->begin = std::clamp(read->begin, range.begin, range.end);
        read->end = std::clamp(read->end, read->begin, range.end);
    }
    image.make_index(fd.get(), mapped, delta);
    return image;
}

struct ElfImage::OwnIndex {
    IndexBudget budget;
    cfi::FrameIndex index;
};

void ElfImage::FreeIndex::operator()(OwnIndex* index) const noexcept {
    free_index(index->index, index->budget);
    const std::unique_ptr<OwnIndex> deleted{index};
}

void ElfImage::make_index(int fd, std::span<const Elf64_Phdr> headers, std::uint64_t delta) {
    std::unique_ptr<OwnIndex, FreeIndex> made{std::make_unique<OwnIndex>().release()};
    made->budget.limit_bytes = kLargestIndex;
    const IndexSource source{{base_, base_ + size_}, delta, at_zero_.local_tables(), headers};
    index_result_ = build_index(fd, source, made->budget, made->index);
    if (index_result_ == IndexResult::built) {
        index_ = std::move(made);
        at_zero_.index = &index_->index;
    }
}

ElfImage::ElfImage(ElfImage&& other) noexcept
    : base_{other.base_},
      size_{std::exchange(other.size_, 0)},
      at_zero_{other.at_zero_},
      index_result_{other.index_result_},
      index_{std::move(other.index_)} {}

ElfImage& ElfImage::operator=(ElfImage&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    std::swap(at_zero_, other.at_zero_);
    std::swap(index_result_, other.index_result_);
    std::swap(index_, other.index_);
    return *this;
}

ElfImage::~ElfImage() {
    if (size_ != 0) {
        munmap(reinterpret_cast<void*>(base_), size_);
    }
}

Module ElfImage::module_at(std::uint64_t bias) const noexcept {
    Module module = at_zero_;
    for (AddressRange* range : {&module.span, &module.tables, &module.code}) {
        range->begin += range->end == 0 ? 0 : bias;
        range->end += range->end == 0 ? 0 : bias;
    }
    module.header += module.header == 0 ? 0 : bias;
    module.entry += module.entry == 0 ? 0 : bias;
    module.image_delta -= bias;
    return module;
}

}  // namespace sample::unwind
