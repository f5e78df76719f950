// Building and searching module tables; the contracts are in the header.
#include "unwind/walk/module_table.h"

#include "unwind/walk/stack_memory.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>

// Absent before glibc 2.35 and in other C libraries, so it has to be declared again, as weak.
// NOLINTNEXTLINE(readability-redundant-declaration)
extern "C" __attribute__((weak)) int _dl_find_object(void* address,
                                                     dl_find_object* result) noexcept;

namespace sample::unwind {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kMaxProgramHeaders = 64;

constexpr std::uint64_t page_down(std::uint64_t address) noexcept {
    return address & ~(kPage - 1);
}
constexpr std::uint64_t page_up(std::uint64_t address) noexcept {
    return page_down(address + kPage - 1);
}

AddressRange segment_range(std::uint64_t bias, const Elf64_Phdr& header) noexcept {
    return AddressRange{page_down(bias + header.p_vaddr),
                        page_up(bias + header.p_vaddr + header.p_memsz)};
}

/// Grows `range`, which is readable, by segments that touch it.
void grow(AddressRange& range, std::uint64_t bias, std::span<const Elf64_Phdr> headers) noexcept {
    // Segments ascend; one pass each way joins a run in either direction.
    for (const Elf64_Phdr& header : headers) {
        const AddressRange segment = segment_range(bias, header);
        if (header.p_type == PT_LOAD && (header.p_flags & PF_R) != 0 &&
            segment.begin <= range.end && segment.end > range.end) {
            range.end = segment.end;
        }
    }
    for (std::size_t i = headers.size(); i > 0; --i) {
        const Elf64_Phdr& header = headers[i - 1];
        const AddressRange segment = segment_range(bias, header);
        if (header.p_type == PT_LOAD && (header.p_flags & PF_R) != 0 &&
            segment.end >= range.begin && segment.begin < range.begin) {
            range.begin = segment.begin;
        }
    }
}

bool is_elf(const Elf64_Ehdr& header) noexcept {
    return header.e_ident[EI_MAG0] == ELFMAG0 && header.e_ident[EI_MAG1] == ELFMAG1 &&
           header.e_ident[EI_MAG2] == ELFMAG2 && header.e_ident[EI_MAG3] == ELFMAG3 &&
           header.e_ident[EI_CLASS] == ELFCLASS64;
}

void add_segment(Module& module, std::uint64_t bias, const Elf64_Phdr& header) noexcept {
    const AddressRange range = segment_range(bias, header);
    if (module.span.end == 0) {
        module.span = range;
        if (header.p_offset == 0 && (header.p_flags & PF_R) != 0 &&
            header.p_filesz >= sizeof(Elf64_Ehdr)) {
            const auto* elf = reinterpret_cast<const Elf64_Ehdr*>(range.begin + module.image_delta);
            module.entry = is_elf(*elf) && elf->e_entry != 0 ? bias + elf->e_entry : 0;
        }
    }
    module.span.begin = range.begin < module.span.begin ? range.begin : module.span.begin;
    module.span.end = range.end > module.span.end ? range.end : module.span.end;
    if ((header.p_flags & (PF_R | PF_X)) == (PF_R | PF_X) &&
        range.end - range.begin > module.code.end - module.code.begin) {
        module.code = range;
    }
}

bool ask_loader(Pc pc, dl_find_object& found) noexcept {
    return &_dl_find_object != nullptr &&
           _dl_find_object(reinterpret_cast<void*>(pc.value), &found) == 0;
}

}  // namespace

const Module* ModuleTable::find(Pc pc) const noexcept {
    std::size_t first = 0;
    for (std::size_t size = modules_.size(); size > 0;) {
        const std::size_t half = size / 2;
        const bool right = modules_[first + half].span.begin <= pc.value;
        first = right ? first + half + 1 : first;
        size = right ? size - half - 1 : half;
    }
    if (first == 0 || !modules_[first - 1].span.contains(pc.value)) {
        return nullptr;
    }
    return &modules_[first - 1];
}

std::size_t sort_modules(std::span<Module> modules) noexcept {
    // In place, without recursion.
    const auto is_before = [](const Module& left, const Module& right) {
        return left.span.begin < right.span.begin;
    };
    std::make_heap(modules.begin(), modules.end(), is_before);
    std::sort_heap(modules.begin(), modules.end(), is_before);
    std::size_t kept = 0;
    for (const Module& module : modules) {
        const std::uint64_t taken = kept == 0 ? 0 : modules[kept - 1].span.end;
        if (module.span.begin < module.span.end && module.span.begin >= taken) {
            modules[kept++] = module;
        }
    }
    return kept;
}

Module describe_module(std::uint64_t bias, std::span<const Elf64_Phdr> headers,
                       std::uint64_t image_delta) noexcept {
    Module module;
    module.image_delta = image_delta;
    for (const Elf64_Phdr& header : headers) {
        if (header.p_type == PT_LOAD && header.p_memsz != 0) {
            add_segment(module, bias, header);
        } else if (header.p_type == PT_GNU_EH_FRAME) {
            module.header = bias + header.p_vaddr;
            module.header_size = header.p_memsz;
        }
    }
    std::uint64_t file_end = 0;
    for (const Elf64_Phdr& header : headers) {
        const AddressRange range = segment_range(bias, header);
        if (header.p_type != PT_LOAD || (header.p_flags & PF_R) == 0) {
            continue;
        }
        const bool has_tables = range.contains(module.header);
        if (has_tables) {
            module.tables = range;
            grow(module.tables, bias, headers);
        }
        if ((has_tables || (header.p_flags & PF_W) == 0) && header.p_filesz != 0 &&
            header.p_offset + header.p_filesz > file_end) {
            file_end = header.p_offset + header.p_filesz;
            module.last_byte = bias + header.p_vaddr + header.p_filesz - 1;
        }
    }
    return module;
}

std::span<const Elf64_Phdr> mapped_headers(std::uint64_t start) noexcept {
    if (start % kPage != 0 || !readable_page(start)) {
        return {};
    }
    const auto* elf = reinterpret_cast<const Elf64_Ehdr*>(start);
    if (!is_elf(*elf) || elf->e_phentsize != sizeof(Elf64_Phdr) ||
        elf->e_phnum > kMaxProgramHeaders ||
        elf->e_phoff + elf->e_phnum * sizeof(Elf64_Phdr) > kPage) {
        return {};
    }
    return {reinterpret_cast<const Elf64_Phdr*>(start + elf->e_phoff), elf->e_phnum};
}

bool find_by_loader(Pc pc, Module& out) noexcept {
    dl_find_object found{};
    if (!ask_loader(pc, found)) {
        return false;
    }
    const auto start = reinterpret_cast<std::uint64_t>(found.dlfo_map_start);
    const auto end = reinterpret_cast<std::uint64_t>(found.dlfo_map_end);
    const std::span<const Elf64_Phdr> headers = mapped_headers(start);
    // The first segment is where the mapping begins; that gives the bias without the link map,
    // whose memory a dlclose in another thread may free.
    for (const Elf64_Phdr& header : headers) {
        if (header.p_type == PT_LOAD) {
            out = describe_module(start - page_down(header.p_vaddr), headers);
            return out.span.contains(pc.value) && out.span.end <= page_up(end);
        }
    }
    return false;
}

bool is_whole(const Module& module, StackMemory& memory) noexcept {
    return module.last_byte == 0 || memory.can_read_beside(module.last_byte);
}

bool is_still_loaded(const Module& module, Pc pc) noexcept {
    if (&_dl_find_object == nullptr) {
        return true;
    }
    dl_find_object found{};
    return ask_loader(pc, found) &&
           reinterpret_cast<std::uint64_t>(found.dlfo_eh_frame) == module.header;
}

}  // namespace sample::unwind
