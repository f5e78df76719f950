// mmap, mprotect and pkey_mprotect: memory that the program makes executable itself, which is where
// code that is made at run time lies. What the loader maps for libraries does not come by here.
#include "receivers/modules/code.h"

#include "receivers/modules/next.h"
#include "receivers/modules/profilers.h"

#include <sys/mman.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace sample::modules {
namespace {

constinit Next<void*(void*, std::size_t, int, int, int, off_t)> g_mmap{"mmap"};
constinit Next<int(void*, std::size_t, int)> g_mprotect{"mprotect"};
constinit Next<int(void*, std::size_t, int, int)> g_pkey_mprotect{"pkey_mprotect"};

void tell_code(const void* start, std::size_t bytes, int protection) noexcept {
    if ((protection & PROT_EXEC) != 0) [[unlikely]] {
        tell<const void*, std::uint64_t>(Event::code_made, start, bytes);
    }
}

}  // namespace

void find_code_functions() noexcept {
    static_cast<void>(g_mmap.get());
    static_cast<void>(g_mprotect.get());
    static_cast<void>(g_pkey_mprotect.get());
}

}  // namespace sample::modules

namespace modules = sample::modules;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's are reserved.

SAMPLE_STANDS_BEFORE void* mmap(void* address, std::size_t bytes, int protection, int flags, int fd,
                                off_t offset) noexcept {
    void* const start = modules::g_mmap.get()(address, bytes, protection, flags, fd, offset);
    if (start != MAP_FAILED) {
        modules::tell_code(start, bytes, protection);
    }
    return start;
}

static_assert(sizeof(off_t) == sizeof(off64_t));
extern "C" [[gnu::alias("mmap"), gnu::visibility("default")]] void* mmap64(
    void* address, std::size_t bytes, int protection, int flags, int fd, off64_t offset) noexcept;

SAMPLE_STANDS_BEFORE int mprotect(void* start, std::size_t bytes, int protection) noexcept {
    const int result = modules::g_mprotect.get()(start, bytes, protection);
    if (result == 0) {
        modules::tell_code(start, bytes, protection);
    }
    return result;
}

SAMPLE_STANDS_BEFORE int pkey_mprotect(void* start, std::size_t bytes, int protection,
                                       int key) noexcept {
    const int result = modules::g_pkey_mprotect.get()(start, bytes, protection, key);
    if (result == 0) {
        modules::tell_code(start, bytes, protection);
    }
    return result;
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
