// A program that spends its time in the kernel.
//
//     syscalls read|tiny|mixed SECONDS
//
// read:  reads of /dev/zero of about 200 µs each, which is two periods at 10 kHz: the kernel merges
//        the overflows within one of them into one signal.
// tiny:  getppid, again and again.
// mixed: half the CPU time in such reads, half in plain work.
//
// Truth: `process_cpu_us=` by getrusage, of which `system_us=` in the kernel; `calls=`; `bytes=`.
#include "work.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

namespace {

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
    const ssize_t got = read(fd, buffer.data(), buffer.size());
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
        const std::uint64_t start = targets::thread_cpu_ns();
        read_zeros(fd, buffer, ignored);
        read_zeros(fd, buffer, ignored);
        if (targets::thread_cpu_ns() - start >= 400'000 || buffer.size() >= 64U << 20U) {
            return buffer;
        }
        buffer.resize(buffer.size() * 3 / 2);
    }
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("read|tiny|mixed SECONDS");
    }
    const bool tiny = std::strcmp(argv[1], "tiny") == 0;
    const bool mixed = std::strcmp(argv[1], "mixed") == 0;
    const std::uint64_t cpu_ns = targets::seconds_to_ns(argv[2]);
    const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    std::vector<char> buffer = sized_buffer(zero);
    Count count;
    const std::uint64_t start = targets::thread_cpu_ns();
    while (targets::thread_cpu_ns() - start < cpu_ns) {
        if (tiny) {
            ask_parent(count);
        } else {
            const std::uint64_t before = targets::thread_cpu_ns();
            read_zeros(zero, buffer, count);
            if (mixed) {
                targets::burn(targets::thread_cpu_ns() - before);
            }
        }
    }
    targets::tell("process_cpu_us", targets::process_cpu_us());
    targets::tell("system_us", system_us());
    targets::tell("calls", count.calls);
    targets::tell("bytes", count.bytes);
}
