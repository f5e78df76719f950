// Touches fresh pages, sleeps, or makes system calls, each a known number of times in a function of
// its own, so that what an event counts can be compared.
//
//   faults touch PAGES | read PAGES | threads THREADS PAGES | sleep TIMES | write TIMES
#include "work.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace {

constexpr std::size_t kPageBytes = 4096;

char* fresh_pages(std::size_t pages) {
    void* address = mmap(nullptr, pages * kPageBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(address, pages * kPageBytes, MADV_NOHUGEPAGE);
    return static_cast<char*>(address);
}

TARGET_KEEP void touch_pages(volatile char* memory, std::size_t pages) {
    for (std::size_t page = 0; page < pages; ++page) {
        memory[page * kPageBytes] = 1;
    }
}

TARGET_KEEP void read_pages(char* memory, std::size_t pages) {
    const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    std::size_t done = 0;
    while (done < pages * kPageBytes) {
        const ssize_t size = read(zero, memory + done, pages * kPageBytes - done);
        if (size <= 0) {
            break;
        }
        done += static_cast<std::size_t>(size);
    }
    close(zero);
}

TARGET_KEEP unsigned long sleep_often(unsigned long times) {
    unsigned long interrupted = 0;
    for (unsigned long i = 0; i < times; ++i) {
        const timespec pause{0, 1'000'000};
        interrupted += nanosleep(&pause, nullptr) != 0 ? 1 : 0;
    }
    return interrupted;
}

TARGET_KEEP void write_often(unsigned long times) {
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (unsigned long i = 0; i < times; ++i) {
        if (write(null, "x", 1) != 1) {
            break;
        }
    }
    close(null);
}

void touch_in_threads(unsigned long count, std::size_t pages) {
    std::vector<std::thread> threads;
    for (unsigned long i = 0; i < count; ++i) {
        threads.emplace_back([pages] { touch_pages(fresh_pages(pages), pages); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        return targets::usage("touch|read|threads|sleep|write COUNT [PAGES]");
    }
    const unsigned long count = targets::number(argv[2]);
    rusage before{};
    getrusage(RUSAGE_SELF, &before);
    unsigned long interrupted = 0;
    switch (argv[1][0]) {
        case 't':
            if (argc > 3) {
                touch_in_threads(count, targets::number(argv[3]));
            } else {
                touch_pages(fresh_pages(count), count);
            }
            break;
        case 'r':
            read_pages(fresh_pages(count), count);
            break;
        case 's':
            interrupted = sleep_often(count);
            break;
        default:
            write_often(count);
            break;
    }
    rusage after{};
    getrusage(RUSAGE_SELF, &after);
    targets::tell("minor_faults", static_cast<std::uint64_t>(after.ru_minflt - before.ru_minflt));
    targets::tell("switches", static_cast<std::uint64_t>(after.ru_nvcsw + after.ru_nivcsw -
                                                         before.ru_nvcsw - before.ru_nivcsw));
    targets::tell("interrupted", interrupted);
    targets::tell("all_minor_faults", static_cast<std::uint64_t>(after.ru_minflt));
    return 0;
}
