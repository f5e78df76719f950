// A program that spends its time in the kernel.
//
//     syscalls read|tiny|mixed|file SECONDS
//
// read:  reads of /dev/zero of about 200 µs each, which is two periods at 10 kHz: the kernel merges
//        the overflows within one of them into one signal.
// tiny:  getppid, again and again.
// mixed: half the CPU time in such reads, half in plain work.
// file:  half the CPU time in equally long reads of a file in memory, half in plain work. A signal
//        does not cut these short, as it does reads of /dev/zero; and the lengths of the work vary
//        at random, so that nothing falls into step with it.
//
// Stats: `process_cpu_us=` by getrusage, of which `system_us=` in the kernel; `reading_us=`: of
// SECONDS, what went into read_zeros(); `calls=`; `bytes=`.
#include "work.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <vector>

namespace {

constexpr std::size_t kLargestBuffer = std::size_t{16} << 20U;

std::uint64_t system_us() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_stime.tv_sec) * 1'000'000U +
           static_cast<std::uint64_t>(usage.ru_stime.tv_usec);
}

struct Count {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
};

}  // namespace

TARGET_KEEP void read_zeros(int fd, std::vector<char>& buffer, Count& count) {
    const ssize_t got = pread(fd, buffer.data(), buffer.size(), 0);
    count.bytes += got > 0 ? static_cast<std::uint64_t>(got) : 0;
    ++count.calls;
}

TARGET_KEEP void ask_parent(Count& count) {
    for (int call = 0; call < 500; ++call) {
        syscall(SYS_getppid);
        ++count.calls;
    }
}

/// A buffer whose read takes about 200 µs here and now.
static std::vector<char> sized_buffer(int fd) {
    std::vector<char> buffer(std::size_t{256} << 10U);
    for (;;) {
        Count ignored;
        read_zeros(fd, buffer, ignored);
        // The quickest: samples, and the machine's slow moments, are no part of a read.
        std::uint64_t took = ~std::uint64_t{0};
        for (int time = 0; time < 3; ++time) {
            const std::uint64_t start = targets::thread_cpu_ns();
            read_zeros(fd, buffer, ignored);
            took = std::min(took, targets::thread_cpu_ns() - start);
        }
        if (took >= 200'000 || buffer.size() * 3 / 2 > kLargestBuffer) {
            return buffer;
        }
        buffer.resize(buffer.size() * 3 / 2);
    }
}

/// Zeros that are there: as many as any buffer takes.
static int zeros_in_memory() {
    const int file = memfd_create("zeros", MFD_CLOEXEC);
    const std::vector<char> zeros(kLargestBuffer);
    return write(file, zeros.data(), zeros.size()) == static_cast<ssize_t>(zeros.size()) ? file
                                                                                         : -1;
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("read|tiny|mixed|file SECONDS");
    }
    const auto is_mode = [argv](const char* name) { return std::strcmp(argv[1], name) == 0; };
    const std::uint64_t cpu_ns = targets::seconds_to_ns(argv[2]);
    const int zero = is_mode("file") ? zeros_in_memory() : open("/dev/zero", O_RDONLY | O_CLOEXEC);
    std::vector<char> buffer = sized_buffer(zero);
    std::minstd_rand random;
    Count count;
    std::uint64_t reading_ns = 0;
    const std::uint64_t start = targets::thread_cpu_ns();
    std::uint64_t now = start;
    while (now - start < cpu_ns) {
        if (is_mode("tiny")) {
            ask_parent(count);
            now = targets::thread_cpu_ns();
            continue;
        }
        read_zeros(zero, buffer, count);
        const std::uint64_t spent_ns = targets::thread_cpu_ns() - now;
        reading_ns += spent_ns;
        if (is_mode("mixed")) {
            targets::burn(spent_ns);
        } else if (is_mode("file") && reading_ns > targets::thread_cpu_ns() - start - reading_ns) {
            targets::burn(random() % (4 * spent_ns));
        }
        now = targets::thread_cpu_ns();
    }
    targets::tell("process_cpu_us", targets::process_cpu_us());
    targets::tell("system_us", system_us());
    targets::tell("reading_us", reading_ns / 1000);
    targets::tell("calls", count.calls);
    targets::tell("bytes", count.bytes);
}
