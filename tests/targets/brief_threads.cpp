// Threads that come one after the other and are soon gone, beside a first one that naps all the
// time.
//
//     brief_threads work MS SECONDS
//     brief_threads nap MS SECONDS ALONE END
//
// Each lives for MS: of CPU time in works_briefly(), or of the wall clock in naps_briefly(), where
// it leaves the processor over and over. For SECONDS there is always one of them, of the second
// kind sixteen. Then the first thread makes the file ALONE and naps on until END is there.
//
// Stats: `threads=`; `brief_us=`, their CPU time; `first_us=`, that of the first thread.
#include "work.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

namespace {

std::atomic<int> g_living{0};
std::atomic<std::uint64_t> g_brief_ns{0};

void nap(std::uint64_t ns) {
    targets::sleep_until(targets::wall_ns() + ns);
}

}  // namespace

TARGET_KEEP void works_briefly(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

TARGET_KEEP void naps_briefly(std::uint64_t end_ns) {
    while (targets::wall_ns() < end_ns) {
        targets::burn(5'000);
        nap(20'000);
    }
}

int main(int argc, char** argv) {
    const std::string kind = argc > 1 ? argv[1] : "";
    if ((kind != "work" || argc != 4) && (kind != "nap" || argc != 6)) {
        return targets::usage("work MS SECONDS | nap MS SECONDS ALONE END");
    }
    const std::uint64_t length_ns = targets::number(argv[2]) * 1'000'000;
    const std::uint64_t end_ns = targets::wall_ns() + targets::seconds_to_ns(argv[3]);
    std::uint64_t threads = 0;
    while (targets::wall_ns() < end_ns) {
        for (const int most = kind == "nap" ? 16 : 1; g_living < most; ++threads) {
            ++g_living;
            std::thread{[&] {
                if (kind == "nap") {
                    naps_briefly(targets::wall_ns() + length_ns);
                } else {
                    works_briefly(length_ns);
                }
                g_brief_ns += targets::thread_cpu_ns();
                --g_living;
            }}.detach();
        }
        nap(100'000);
    }
    while (g_living != 0) {
        nap(1'000'000);
    }
    if (kind == "nap") {
        close(open(argv[4], O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        while (access(argv[5], F_OK) != 0) {
            nap(100'000);
        }
    }
    targets::tell("threads", threads);
    targets::tell("brief_us", g_brief_ns / 1000);
    targets::tell("first_us", targets::thread_cpu_ns() / 1000);
}
