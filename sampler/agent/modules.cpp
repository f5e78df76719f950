#include "sampler/agent/modules.h"

#include "sampler/agent/process_state.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/libraries.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/ring_records.h"
#include "sampler/source/own_descriptors.h"
#include "sampler/source/tasks.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <span>
#include <string_view>

// Absent before glibc 2.35, so it has to be declared again, as weak.
// NOLINTNEXTLINE(readability-redundant-declaration)
extern "C" __attribute__((weak)) int _dl_find_object(void* address,
                                                     struct dl_find_object* result) noexcept;

namespace sample::agent {
namespace {

constexpr std::size_t kMaxModules = 1024;

constinit std::array<unwind::Module, kMaxModules> g_modules{};
/// What the collector is told of each.
constinit std::array<capture::ModuleDescription, kMaxModules> g_descriptions{};
constinit std::array<unwind::cfi::FrameIndex, kMaxModules> g_indexes{};
// With the rows of hot pcs and the module table it stays below 4 MiB.
constexpr std::uint64_t kIndexBytes = std::uint64_t{3} << 20;
constinit unwind::IndexBudget g_index_budget{.limit_bytes = kIndexBytes};
static_assert(kIndexBytes + capture::kRowCacheBytes + kMaxModules * sizeof(unwind::Module) <=
              std::uint64_t{4} << 20);
constinit std::size_t g_count = 0;
// A handler may still read the last one or two: they are rewritten only after three more unloads,
// each of which takes one or two.
constinit std::array<unwind::ModuleTable, 8> g_tables{};
constinit std::uint64_t g_generation = 0;
constinit std::array<char, PATH_MAX> g_executable{};
constinit const char* g_executable_link = nullptr;  ///< That leads to it, whatever its name.

void index_module(const dl_phdr_info& info, const char* path, unwind::Module& module,
                  unwind::cfi::FrameIndex& index) noexcept {
    const int saved_errno = errno;
    const unwind::IndexSource source{module.span,
                                     info.dlpi_addr,
                                     module.local_tables(),
                                     {info.dlpi_phdr, info.dlpi_phnum},
                                     true};
    source::with_own_descriptors([&]() noexcept {
        const long fd = capture::raw_syscall(SYS_openat, AT_FDCWD, capture::as_argument(path),
                                             O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd >= 0 && unwind::build_index(static_cast<int>(fd), source, g_index_budget, index) ==
                           unwind::IndexResult::built) {
            module.index = &index;
        }
    });
    errno = saved_errno;
}

/// The path of the program's file, as the kernel has it, to open and to tell.
void find_executable() noexcept {
    constexpr const char* kOwnFile = "/proc/thread-self/exe";
    const auto read_link = [](const char* link) noexcept {
        capture::raw_syscall(SYS_readlink, capture::as_argument(link),
                             capture::as_argument(g_executable.data()), g_executable.size() - 1);
    };
    g_executable_link = kOwnFile;
    if (!is_run_by_loader()) {
        read_link(kOwnFile);
        return;
    }
    g_executable_link = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    const int saved_errno = errno;
    source::with_own_descriptors([&]() noexcept {
        const long fd =
            capture::raw_syscall(SYS_openat, AT_FDCWD, capture::as_argument(g_executable_link),
                                 O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd >= 0) {
            read_link((source::ShortPath{"/proc/thread-self/fd/"} << static_cast<int>(fd)).c_str());
        }
    });
    errno = saved_errno;
}

/// What the first note of that owner and type says, as it lies in memory; empty, without an
/// address, if there is none. Source: gABI, Note Section.
std::span<const std::uint8_t> find_note(std::span<const ElfW(Phdr)> headers, std::uint64_t bias,
                                        std::string_view owner, std::uint32_t type) noexcept {
    for (const ElfW(Phdr) & header : headers) {
        if (header.p_type != PT_NOTE) {
            continue;
        }
        const auto* at = reinterpret_cast<const std::uint8_t*>(bias + header.p_vaddr);
        const auto* end = at + header.p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof note);
            const std::uint8_t* name = at + sizeof note;
            const std::uint8_t* bytes = name + ((note.n_namesz + 3U) & ~3U);
            const std::uint8_t* next = bytes + ((note.n_descsz + 3U) & ~3U);
            if (next > end || next < at) {
                break;
            }
            if (note.n_type == type && note.n_namesz > owner.size() &&
                memcmp(name, owner.data(), owner.size()) == 0 && name[owner.size()] == 0) {
                return {bytes, note.n_descsz};
            }
            at = next;
        }
    }
    return {};
}

int add_module(dl_phdr_info* info, std::size_t /*size*/, void* /*unused*/) {
    if (g_count == kMaxModules) {
        return 1;
    }
    unwind::Module module =
        unwind::describe_module(info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phnum});
    if (module.span == unwind::AddressRange{}) {
        return 0;
    }
    capture::ModuleDescription& description = g_descriptions[g_count];
    description.start = module.span.begin;
    description.end = module.span.end;
    description.bias = info->dlpi_addr;
    description.path = info->dlpi_name;
    const std::uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    if (g_count == 0) {
        find_executable();
        description.path = g_executable.data();
    } else if (vdso != 0 && module.span.contains(vdso)) {
        description.path = "[vdso]";
        description.flags = capture::kModuleVdso;
    }
    if (module.span.contains(reinterpret_cast<std::uint64_t>(&add_module))) {
        description.flags = capture::kModuleAgent;
    }
    const auto build_id =
        find_note({info->dlpi_phdr, info->dlpi_phnum}, info->dlpi_addr, "GNU", NT_GNU_BUILD_ID);
    description.build_id = build_id.data();
    description.build_id_bytes = build_id.size();
    unwind::cfi::FrameIndex& index = g_indexes[g_count];
    if (g_count == 0) {
        index_module(*info, g_executable_link, module, index);
    } else if (description.flags == 0 &&
               unwind::may_need_index(module.local_tables(), module.code.end - module.code.begin)) {
        index_module(*info, description.path, module, index);
    }
    g_modules[g_count] = module;
    ++g_count;
    return 0;
}

/// The same modules. Under process_state().unload_lock.
const unwind::ModuleTable* next_generation() noexcept {
    const unwind::ModuleTable& last = *module_table();
    ++g_generation;
    unwind::ModuleTable& next = g_tables[g_generation % g_tables.size()];
    next = {last.modules(), g_generation, unwind::LoaderLookup::ask};
    return &next;
}

}  // namespace

const unwind::ModuleTable* module_table() noexcept {
    if (g_count == 0) {
        dl_iterate_phdr(add_module, nullptr);
        const std::size_t sorted = unwind::sort_modules(std::span{g_modules.data(), g_count});
        g_tables[0] = {std::span{g_modules.data(), sorted}, g_generation,
                       unwind::LoaderLookup::ask};
    }
    return &g_tables[g_generation % g_tables.size()];
}

void begin_unload() noexcept {
    const source::Locked locked{process_state().unload_lock};
    capture::begin_unload(next_generation(), capture::Unloader::this_thread);
}

void end_unload() noexcept {
    const source::Locked locked{process_state().unload_lock};
    capture::end_unload(capture::was_read_in_unload() ? next_generation() : nullptr);
}

bool is_run_by_loader() noexcept {
    // The kernel has loaded no other file beside the one that it runs. Source: getauxval(3).
    return getauxval(AT_BASE) == 0;
}

const unwind::IndexBudget& index_budget() noexcept {
    return g_index_budget;
}

void report_modules() noexcept {
    for (std::size_t i = 0; i < g_count; ++i) {
        capture::report_module(g_descriptions[i]);
    }
}

bool is_go_code(std::uint64_t address) noexcept {
    constexpr std::uint32_t kGoBuildId =
        4;  // Go cmd/link/internal/ld/elf.go, ELF_NOTE_GOBUILDID_TAG
    dl_find_object found{};
    if (&_dl_find_object == nullptr ||
        _dl_find_object(reinterpret_cast<void*>(address), &found) != 0) {
        return false;
    }
    // Without a system call, which a filter may have forbidden: of the first page, which is there.
    // Go's linker leaves the headers in it.
    constexpr std::size_t kPage = 4096;
    ElfW(Ehdr) head;
    memcpy(&head, found.dlfo_map_start, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_phoff > kPage - std::min(kPage, head.e_phnum * sizeof(ElfW(Phdr)))) {
        return false;
    }
    const auto* headers = reinterpret_cast<const ElfW(Phdr)*>(
        static_cast<const char*>(found.dlfo_map_start) + head.e_phoff);
    return !find_note({headers, head.e_phnum}, found.dlfo_link_map->l_addr, "Go", kGoBuildId)
                .empty();
}

}  // namespace sample::agent
