// What dlopen(3) does depends on who calls it: the folders that the calling library names for its
// dependencies (RUNPATH) are searched. So a call that could be meant so is passed on as it is, by a
// jump, and what it has loaded is noticed at the next look. Only that of a path is made by us:
// there nothing depends on the caller.
#include "receivers/modules/libraries.h"

#include "receivers/modules/next.h"
#include "receivers/modules/profilers.h"

#include <link.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sample::modules {
namespace {

constinit Next<void*(const char*, int)> g_dlopen{"dlopen"};
constinit Next<int(void*)> g_dlclose{"dlclose"};

constexpr std::size_t kMostLibraries = 512;
constexpr std::size_t kMostPath = 256;

struct Library {
    std::uintptr_t start;  ///< 0: the entry is free.
    bool is_there;         ///< At this look.
    bool is_new;
    std::array<char, kMostPath> path;
};

constinit std::array<Library, kMostLibraries> g_libraries{};
constinit std::atomic<bool> g_is_looking{false};
constinit bool g_has_looked = false;

Library* entry_of(std::uintptr_t start, const char* path) noexcept {
    Library* free = nullptr;
    for (Library& library : g_libraries) {
        if (library.start == start && std::strncmp(library.path.data(), path, kMostPath - 1) == 0) {
            return &library;
        }
        if (library.start == 0 && free == nullptr) {
            free = &library;
        }
    }
    if (free != nullptr) {
        free->start = start;
        free->is_new = true;
        std::strncpy(free->path.data(), path, kMostPath - 1);
    }
    return free;
}

int note_library(dl_phdr_info* info, std::size_t /*bytes*/, void* /*unused*/) {
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD) {
            const std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
            if (Library* const entry = entry_of(start, info->dlpi_name); entry != nullptr) {
                entry->is_there = true;
            }
            break;
        }
    }
    return 0;
}

bool are_libraries_wanted() noexcept {
    return is_wanted(Event::library_loaded) || is_wanted(Event::library_unloaded);
}

/// Null: this call is made by us, between two looks. Else whom to pass it on to.
extern "C" [[gnu::visibility("hidden"), gnu::used]] void* sample_modules_before_dlopen(
    const char* path) noexcept {
    const bool is_path =
        path != nullptr && std::strchr(path, '/') != nullptr && std::strchr(path, '$') == nullptr;
    if (are_libraries_wanted()) {
        look_at_libraries();
        if (is_path) {
            return nullptr;
        }
    }
    return reinterpret_cast<void*>(g_dlopen.get());
}

extern "C" [[gnu::visibility("hidden"), gnu::used]] void* sample_modules_dlopen(const char* path,
                                                                                int mode) {
    void* const handle = g_dlopen.get()(path, mode);
    look_at_libraries();
    return handle;
}

}  // namespace

void look_at_libraries() noexcept {
    if (!are_libraries_wanted() || g_is_looking.exchange(true, std::memory_order_acquire)) {
        return;
    }
    for (Library& library : g_libraries) {
        library.is_there = false;
    }
    ::dl_iterate_phdr(note_library, nullptr);
    for (Library& library : g_libraries) {
        if (library.start == 0) {
            continue;
        }
        const char* const path = library.path.data();
        if (!library.is_there) {
            tell<const char*, std::uintptr_t>(Event::library_unloaded, path, library.start);
            library = {};
        } else if (library.is_new) {
            library.is_new = false;
            if (g_has_looked) {
                tell<const char*, std::uintptr_t>(Event::library_loaded, path, library.start);
            }
        }
    }
    g_has_looked = true;
    g_is_looking.store(false, std::memory_order_release);
}

void forget_looking() noexcept {
    g_is_looking.store(false, std::memory_order_relaxed);
}

}  // namespace sample::modules

// dlopen(path, mode): both arguments stay where they are, so that a jump is a call of the caller's.
asm(R"(
    .pushsection .text
    .globl dlopen
    .type dlopen, @function
    .balign 16
dlopen:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call sample_modules_before_dlopen
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    je 1f
    jmpq *%rax
1:  jmp sample_modules_dlopen
    .cfi_endproc
    .size dlopen, . - dlopen
    .popsection
)");

SAMPLE_STANDS_BEFORE int dlclose(void* handle) noexcept {
    namespace modules = sample::modules;
    modules::look_at_libraries();
    const int result = modules::g_dlclose.get()(handle);
    modules::look_at_libraries();
    return result;
}
