// Programs that lock, limit or count their memory, each by a word:
//   locks      mlockall, then threads that work
//   limited    as much address space as it has now and 48 MiB more, of which it takes 40
// Prints what is true of the profiler's mappings at the end, and on standard error what all take.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

volatile std::uint64_t sink = 0;

void work() {
    for (std::uint64_t i = 0; i < 300'000'000; ++i) {
        sink = sink * 31 + i;
    }
}

void work_in_threads() {
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back(work);
    }
    for (std::thread& one : threads) {
        one.join();
    }
}

/// Kilobytes, summed over the profiler's mappings.
struct Sums {
    long size = 0;
    long locked = 0;
    long in_core = 0;
};

Sums sum_mappings() {
    Sums sums;
    std::ifstream maps{"/proc/self/smaps"};
    bool ours = false;
    bool area = false;
    long size = 0;
    for (std::string line; std::getline(maps, line);) {
        long value = 0;
        if (line.find('-') < 17 && line.find(':') > 17) {
            area = line.find("memfd:sample") != std::string::npos;
            ours = area || line.find("libsample.so") != std::string::npos;
        } else if (std::sscanf(line.c_str(), "Size: %ld", &value) == 1) {
            size = value;
            sums.size += ours ? value : 0;
        } else if (std::sscanf(line.c_str(), "Locked: %ld", &value) == 1) {
            sums.locked += ours ? value : 0;
        } else if (line.rfind("VmFlags:", 0) == 0) {
            sums.in_core += area && line.find(" dd") == std::string::npos ? size : 0;
        }
    }
    return sums;
}

long status_of(const char* key) {
    std::ifstream status{"/proc/self/status"};
    for (std::string line; std::getline(status, line);) {
        if (line.rfind(key, 0) == 0) {
            return std::stol(line.substr(std::strlen(key)));
        }
    }
    return -1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    // Each thread's heap would take 64 MiB of addresses, or not, by chance.
    ::mallopt(M_ARENA_MAX, 1);
    const long before_kb = status_of("VmSize:");
    if (what == "locks") {
        std::printf("mlockall=%d\n", ::mlockall(MCL_CURRENT | MCL_FUTURE));
    } else if (what == "limited") {
        const std::uint64_t bytes = (static_cast<std::uint64_t>(before_kb) << 10U) + (48U << 20U);
        const rlimit limit{bytes, bytes};
        ::setrlimit(RLIMIT_AS, &limit);
        void* taken =
            ::mmap(nullptr, 40U << 20U, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        std::printf("took=%d\n", taken != MAP_FAILED ? 1 : 0);
        work();
        return 0;
    }
    work_in_threads();
    const Sums sums = sum_mappings();
    std::printf("locked_kb=%ld\nin_core_kb=%ld\n", sums.locked, sums.in_core);
    std::fprintf(stderr, "size_kb=%ld\naddresses_kb=%ld\nresident_kb=%ld\n", sums.size,
                 status_of("VmPeak:"), status_of("VmRSS:"));
}
