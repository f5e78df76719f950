// A thread waits on a stack that the program has brought, below a function with a large array that
// nothing touches. The stack lies within a mapping whose other pages nothing touches, either.
//
//     brought_stack SECONDS
//
// Stats: `waited_ns=`; `touched=`, how many of the mapping's other pages are in memory at the end.
#include "work.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStackBytes = std::size_t{512} << 10U;
constexpr std::size_t kOtherBytes = std::size_t{1} << 20U;

std::uint64_t wait_ns = 0;
std::uint64_t waited_ns = 0;

TARGET_KEEP void waits_there() {
    const std::uint64_t start = targets::wall_ns();
    targets::sleep_until(start + wait_ns);
    waited_ns = targets::wall_ns() - start;
}

TARGET_KEEP void has_large_array() {
    std::array<char, std::size_t{128} << 10U> untouched;
    asm volatile("" : : "r"(untouched.data()) : "memory");
    waits_there();
    asm volatile("" : : "r"(untouched.data()) : "memory");
}

void* run(void* /*nothing*/) {
    pthread_setname_np(pthread_self(), "brought");
    has_large_array();
    return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return targets::usage("SECONDS");
    }
    wait_ns = targets::seconds_to_ns(argv[1]);
    void* const memory = mmap(nullptr, kStackBytes + kOtherBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_t thread{};
    if (memory == MAP_FAILED || pthread_attr_setstack(&attributes, memory, kStackBytes) != 0 ||
        pthread_create(&thread, &attributes, run, nullptr) != 0) {
        return 1;
    }
    pthread_join(thread, nullptr);
    std::array<unsigned char, kOtherBytes / kPage> pages{};
    mincore(static_cast<char*>(memory) + kStackBytes, kOtherBytes, pages.data());
    targets::tell("waited_ns", waited_ns);
    targets::tell("touched", static_cast<std::uint64_t>(std::count_if(
                                 pages.begin(), pages.end(),
                                 [](unsigned char page) { return (page & 1U) != 0; })));
}
