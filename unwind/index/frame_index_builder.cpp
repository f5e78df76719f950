// Building of search tables; the contracts are in the header.
#include "unwind/index/frame_index_builder.h"

#include "unwind/cfi/fde.h"
#include "unwind/index/section_file.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace sample::unwind {

namespace {

using cfi::FrameFormat;
using cfi::FrameSection;
using cfi::IndexedSection;
using cfi::IndexEntry;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLargestOffset = 0x7fffffff;

// Few FDEs, or few for so much code: start files, PLTs and libraries alone. Of Debian's libraries
// only those with much assembly have as much code an FDE.
constexpr std::uint64_t kFewEntries = 8;
constexpr std::uint64_t kMuchCodePerEntry = 2048;

constexpr std::uint64_t whole_pages(std::uint64_t bytes) noexcept {
    return (bytes + kPage - 1) & ~(kPage - 1);
}

/// Anonymous memory within the budget; 0 if there is none. What is refused is counted.
std::uint64_t allocate(std::uint64_t bytes, IndexBudget& budget) noexcept {
    const std::uint64_t room =
        budget.limit_bytes < budget.used_bytes ? 0 : budget.limit_bytes - budget.used_bytes;
    if (bytes <= room && whole_pages(bytes) <= room) {
        // The system call itself: a program may have an mmap of its own.
        const long address = syscall(SYS_mmap, 0L, whole_pages(bytes), long{PROT_READ | PROT_WRITE},
                                     long{MAP_PRIVATE | MAP_ANONYMOUS}, -1L, 0L);
        if (address != -1) {
            budget.used_bytes += whole_pages(bytes);
            return static_cast<std::uint64_t>(address);
        }
    }
    budget.refused_bytes += bytes;
    return 0;
}

void release(std::uint64_t address, std::uint64_t bytes, IndexBudget& budget) noexcept {
    if (bytes != 0) {
        syscall(SYS_munmap, address, whole_pages(bytes));
        budget.used_bytes -= whole_pages(bytes);
    }
}

/// Calls `visit(entry)` for each FDE of the code.
template <class Visit>
void for_each_fde(const FrameSection& section, AddressRange code, Visit visit) noexcept {
    for (std::uint64_t at = section.begin; at < section.end && section.end - at >= 4;) {
        const cfi::Content content = cfi::content_at(section.begin, section.end, at);
        cfi::Fde fde;
        // A CIE is no FDE, and is refused like one that is not understood.
        if (cfi::parse_fde(section, at, fde) == cfi::Found::yes &&
            // What the linker threw away keeps its entry in .debug_frame, at address 0.
            (section.format == FrameFormat::eh_frame || fde.pc_begin != section.address_bias) &&
            fde.pc_begin < fde.pc_end && fde.pc_begin >= code.begin && fde.pc_end <= code.end &&
            fde.pc_begin - code.begin <= kLargestOffset && at - section.begin <= kLargestOffset) {
            visit(IndexEntry{static_cast<std::int32_t>(fde.pc_begin - code.begin),
                             static_cast<std::int32_t>(at - section.begin)});
        }
        if (!content.empty()) {
            at = content.end;
        } else if (cfi::load<std::uint32_t>(at) == 0) {
            at += 4;  // A terminator, which linkers may leave between two files' entries.
        } else {
            return;
        }
    }
}

bool is_before(const IndexEntry& left, const IndexEntry& right) noexcept {
    return left.pc != right.pc ? left.pc < right.pc : left.fde < right.fde;
}

/// In place and without recursion; linkers leave most sections sorted.
void sort(std::span<IndexEntry> entries) noexcept {
    if (!std::is_sorted(entries.begin(), entries.end(), is_before)) {
        std::make_heap(entries.begin(), entries.end(), is_before);
        std::sort_heap(entries.begin(), entries.end(), is_before);
    }
}

IndexResult index_section(const FrameSection& section, AddressRange image, IndexBudget& budget,
                          IndexedSection& out) noexcept {
    const std::uint64_t count = count_fdes(section, image);
    if (count == 0) {
        return IndexResult::nothing;
    }
    const std::uint64_t bytes = count * sizeof(IndexEntry);
    const std::uint64_t entries = allocate(bytes, budget);
    if (entries == 0) {
        return IndexResult::no_room;
    }
    const std::uint64_t listed =
        list_fdes(section, image, {reinterpret_cast<IndexEntry*>(entries), count});
    syscall(SYS_mprotect, entries, whole_pages(bytes), long{PROT_READ});
    out = IndexedSection{section, image.begin, entries, listed};
    return IndexResult::built;
}

/// Whether the loader put these bytes of the file into memory that can be read.
bool is_readable(const FileSection& section, std::span<const Elf64_Phdr> headers) noexcept {
    for (const Elf64_Phdr& header : headers) {
        const std::uint64_t into = section.address - header.p_vaddr;
        if (header.p_type == PT_LOAD && (header.p_flags & PF_R) != 0 &&
            section.address >= header.p_vaddr && into < header.p_filesz &&
            section.size <= header.p_filesz - into) {
            return true;
        }
    }
    return false;
}

IndexResult index_eh_frame(const FileSection& found, const IndexSource& source, IndexBudget& budget,
                           IndexedSection& out) noexcept {
    if (found.size == 0 || !is_readable(found, source.headers)) {
        return IndexResult::nothing;
    }
    const std::uint64_t begin = found.address + source.bias;
    return index_section({begin, begin + found.size, FrameFormat::eh_frame, 0}, source.image,
                         budget, out);
}

IndexResult index_debug_frame(const SectionFile& file, const FileSection& found,
                              const IndexSource& source, IndexBudget& budget,
                              IndexedSection& out) noexcept {
    if (found.size == 0) {
        return IndexResult::nothing;
    }
    if (found.compressed) {
        budget.refused_bytes += found.size;
        return IndexResult::compressed;
    }
    const std::uint64_t bytes = allocate(found.size, budget);
    if (bytes == 0) {
        return IndexResult::no_room;
    }
    IndexResult result = IndexResult::unreadable;
    if (file.read(found.offset, reinterpret_cast<void*>(bytes), found.size)) {
        result = index_section({bytes, bytes + found.size, FrameFormat::debug_frame, source.bias},
                               source.image, budget, out);
        syscall(SYS_mprotect, bytes, whole_pages(found.size), long{PROT_READ});
    }
    if (result != IndexResult::built) {
        release(bytes, found.size, budget);
    }
    return result;
}

}  // namespace

bool may_need_index(const cfi::Tables& tables, std::uint64_t code_bytes) noexcept {
    std::uint64_t entries = 0;
    return !cfi::has_search_table(tables, entries) || entries <= kFewEntries ||
           code_bytes / entries > kMuchCodePerEntry;
}

std::uint64_t count_fdes(const FrameSection& section, AddressRange code) noexcept {
    std::uint64_t count = 0;
    for_each_fde(section, code, [&count](IndexEntry) { ++count; });
    return count;
}

std::uint64_t list_fdes(const FrameSection& section, AddressRange code,
                        std::span<IndexEntry> entries) noexcept {
    std::size_t count = 0;
    for_each_fde(section, code, [&count, entries](IndexEntry entry) {
        if (count < entries.size()) {
            entries[count++] = entry;
        }
    });
    sort(entries.first(count));
    return count;
}

IndexResult build_index(int fd, const IndexSource& source, IndexBudget& budget,
                        cfi::FrameIndex& out) noexcept {
    out = cfi::FrameIndex{};
    const SectionFile file{fd};
    FrameSections sections;
    if (!file.find(sections)) {
        return IndexResult::unreadable;
    }
    std::uint64_t entries = 0;
    const bool searchable = cfi::has_search_table(source.tables, entries);
    if (searchable && sections.debug_frame.size == 0) {
        return IndexResult::not_needed;
    }
    if (source.is_loaded && !file.is_loaded_at(source.bias, source.headers)) {
        return IndexResult::other_file;
    }
    const IndexResult eh_frame =
        searchable ? IndexResult::nothing
                   : index_eh_frame(sections.eh_frame, source, budget, out.eh_frame);
    const IndexResult debug_frame =
        index_debug_frame(file, sections.debug_frame, source, budget, out.debug_frame);
    for (const IndexResult result : {eh_frame, debug_frame}) {
        if (result != IndexResult::built && result != IndexResult::nothing) {
            ++budget.refused_modules;
            break;
        }
    }
    if (eh_frame == IndexResult::built || debug_frame == IndexResult::built) {
        ++budget.modules;
        return IndexResult::built;
    }
    return eh_frame != IndexResult::nothing ? eh_frame : debug_frame;
}

void free_index(cfi::FrameIndex& index, IndexBudget& budget) noexcept {
    for (const IndexedSection* indexed : {&index.eh_frame, &index.debug_frame}) {
        release(indexed->entries, indexed->count * sizeof(IndexEntry), budget);
    }
    const FrameSection& copied = index.debug_frame.section;
    release(copied.begin, copied.end - copied.begin, budget);
    budget.modules -= index.eh_frame.count + index.debug_frame.count != 0 ? 1 : 0;
    index = cfi::FrameIndex{};
}

}  // namespace sample::unwind
