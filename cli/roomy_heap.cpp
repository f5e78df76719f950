#include "cli/roomy_heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace sample::cli {
namespace {

constexpr int kLargestOfHeap = 32 << 20;  // of M_MMAP_THRESHOLD no more is allowed

bool is_limited(__rlimit_resource resource) {
    rlimit limit{};
    return ::getrlimit(resource, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

bool is_memory_limited() {
    return is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA);
}

void keep_freed_memory() {
    ::mallopt(M_MMAP_THRESHOLD, kLargestOfHeap);
    ::mallopt(M_TRIM_THRESHOLD, 2 * kLargestOfHeap);
}

void make_heap_roomy() {
    if (is_memory_limited()) {
        return;
    }
    constexpr int kRoom = 256 << 20;
    constexpr int kStep = 1 << 20;
    ::mallopt(M_MMAP_THRESHOLD, kLargestOfHeap);
    ::mallopt(M_TRIM_THRESHOLD, 2 * kRoom);
    ::mallopt(M_ARENA_MAX, 1);
    ::mallopt(M_TOP_PAD, kRoom);
    void* const first = std::malloc(kLargestOfHeap / 2);  // makes it take all that room
    ::mallopt(M_TOP_PAD, kStep);
    constexpr std::uintptr_t kLargePage = 2 << 20;
    const auto begin =
        (reinterpret_cast<std::uintptr_t>(first) + kLargePage - 1) / kLargePage * kLargePage;
    const auto end = reinterpret_cast<std::uintptr_t>(::sbrk(0)) / kLargePage * kLargePage;
    // Unless this is another malloc.
    if (first != nullptr && begin < end && end - begin < 2 * std::size_t{kRoom}) {
        ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
    }
    std::free(first);
}

}  // namespace sample::cli
