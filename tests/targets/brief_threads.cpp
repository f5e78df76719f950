// Threads that come one after the other and are soon gone, beside a first one that naps all the
// time.
//
//     brief_threads MS SECONDS ALONE END
//
// Each lives for MS, and leaves the processor over and over. For SECONDS there are always sixteen
// of them. Then the first thread makes the file ALONE and naps on until END is there.
//
// Stats: `threads=`.
#include "work.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace {

std::atomic<int> g_living{0};

void nap(std::uint64_t ns) {
    targets::sleep_until(targets::wall_ns() + ns);
}

}  // namespace

TARGET_KEEP void naps_briefly(std::uint64_t end_ns) {
    while (targets::wall_ns() < end_ns) {
        targets::burn(5'000);
        nap(20'000);
    }
}

int main(int argc, char** argv) {
    if (argc != 5) {
        return targets::usage("MS SECONDS ALONE END");
    }
    constexpr int kAtOnce = 16;
    const std::uint64_t length_ns = targets::number(argv[1]) * 1'000'000;
    const std::uint64_t end_ns = targets::wall_ns() + targets::seconds_to_ns(argv[2]);
    std::uint64_t threads = 0;
    while (targets::wall_ns() < end_ns) {
        for (; g_living < kAtOnce; ++threads) {
            ++g_living;
            std::thread{[&] {
                naps_briefly(targets::wall_ns() + length_ns);
                --g_living;
            }}.detach();
        }
        nap(100'000);
    }
    while (g_living != 0) {
        nap(1'000'000);
    }
    close(open(argv[3], O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    while (access(argv[4], F_OK) != 0) {
        nap(100'000);
    }
    targets::tell("threads", threads);
}
