// Kills the process that has started it, and goes on.
//
//     outlives
//
// Stats: `quiet=1` once a hundred naps of 2 ms, one behind the other, were not interrupted; 0 if
// there were none such for a minute. `alone=1` once it has no thread but its own while it works; 0
// likewise.
#include "work.h"

#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <iterator>

int main() {
    const pid_t starter = getppid();
    targets::burn(20'000'000);
    if (getppid() == starter) {
        kill(starter, SIGKILL);
    }
    constexpr int kNaps = 100;
    constexpr time_t kMostSeconds = 60;
    timespec begin{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int quiet = 0;
    for (timespec now = begin; quiet < kNaps && now.tv_sec - begin.tv_sec < kMostSeconds;
         clock_gettime(CLOCK_MONOTONIC, &now)) {
        const timespec nap{0, 2'000'000};
        quiet = nanosleep(&nap, nullptr) == 0 ? quiet + 1 : 0;
    }
    targets::tell("quiet", quiet == kNaps ? 1UL : 0UL);
    bool is_alone = false;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (timespec now = begin; !is_alone && now.tv_sec - begin.tv_sec < kMostSeconds;
         clock_gettime(CLOCK_MONOTONIC, &now)) {
        targets::burn(5'000'000);
        is_alone = std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {}) == 1;
    }
    targets::tell("alone", is_alone ? 1UL : 0UL);
    return 0;
}
