// A program that spends a known share of its CPU time in reads.
//
//     reads READ_US PERCENT SECONDS
//
// Reads /dev/zero into a buffer whose read takes about READ_US microseconds; between two reads it
// works, so that reads take PERCENT of the CPU time. The lengths of the work vary at random: no
// sampling period can fall into step.
//
// Stats: `read_cpu_ns=` in read_zeros(), also while the size was sought, its page faults too, and
// `work_cpu_ns=` in plain_work(), by the thread's clock around each; `process_cpu_us=` by
// getrusage; `buffers=` filled, and `short_reads=` that a pending signal cut short (0 when bare),
// which read_zeros() continues.
#include "work.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <span>

/// How many reads more than one it took.
TARGET_KEEP std::uint64_t read_zeros(int fd, std::span<char> buffer) {
    std::uint64_t more = 0;
    for (std::size_t filled = 0;; ++more) {
        const ssize_t got = read(fd, buffer.data() + filled, buffer.size() - filled);
        if (got < 0 && errno != EINTR) {
            std::perror("read");
            std::exit(1);
        }
        filled += got > 0 ? static_cast<std::size_t>(got) : 0;
        if (filled == buffer.size()) {
            return more;
        }
    }
}

TARGET_KEEP std::uint64_t plain_work(std::uint64_t state, std::uint64_t units) {
    for (std::uint64_t unit = 0; unit < units; ++unit) {
        state = targets::work_unit(state);
    }
    return state;
}

/// A buffer whose read takes about `ns` here and now. It grows without a copy, and its pages are
/// made by the reads alone.
static std::span<char> sized_buffer(int fd, std::uint64_t ns) {
    constexpr std::size_t kMost = std::size_t{256} << 20U;
    void* memory = mmap(nullptr, kMost, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("mmap");
        std::exit(1);
    }
    std::size_t size = std::size_t{1} << 14U;
    for (;;) {
        constexpr unsigned kReads = 16;
        const std::span buffer{static_cast<char*>(memory), size};
        read_zeros(fd, buffer);
        // The quickest: samples, and the machine's slow moments, are no part of a read.
        std::uint64_t took = ~std::uint64_t{0};
        for (unsigned time = 0; time < kReads; ++time) {
            const std::uint64_t start = targets::thread_cpu_ns();
            read_zeros(fd, buffer);
            took = std::min(took, targets::thread_cpu_ns() - start);
        }
        if (took >= ns || size >= kMost) {
            return buffer;
        }
        size = std::min(kMost, size + size / 8);
    }
}

int main(int argc, char** argv) {
    if (argc != 4) {
        return targets::usage("READ_US PERCENT SECONDS");
    }
    const std::uint64_t percent = targets::number(argv[2]);
    const std::uint64_t cpu_ns = targets::seconds_to_ns(argv[3]);
    const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    const std::uint64_t start_ns = targets::thread_cpu_ns();
    const std::span<char> buffer = sized_buffer(zero, targets::number(argv[1]) * 1000);
    std::uint64_t read_ns = targets::thread_cpu_ns() - start_ns;
    std::uint64_t work_ns = 0;
    std::uint64_t buffers = 0;
    std::uint64_t short_reads = 0;
    std::uint64_t state = 88172645463325252U;
    std::uint64_t unit_ns = 500;
    while (read_ns + work_ns < cpu_ns) {
        const std::uint64_t before = targets::thread_cpu_ns();
        short_reads += read_zeros(zero, buffer);
        const std::uint64_t between = targets::thread_cpu_ns();
        read_ns += between - before;
        ++buffers;
        const std::uint64_t wanted_ns = read_ns * (100 - percent) / percent;
        if (work_ns < wanted_ns) {
            // Up to twice what is missing on average: about as often too much as too little.
            const std::uint64_t units =
                1 + (state >> 33U) % (2 * (1 + (wanted_ns - work_ns) / unit_ns));
            state = plain_work(state, units);
            const std::uint64_t took = targets::thread_cpu_ns() - between;
            work_ns += took;
            unit_ns = 1 + took / units;
        }
    }
    targets::consume(state);
    targets::tell("read_cpu_ns", read_ns);
    targets::tell("work_cpu_ns", work_ns);
    targets::tell("process_cpu_us", targets::process_cpu_us());
    targets::tell("buffers", buffers);
    targets::tell("short_reads", short_reads);
}
