// A process that sleeps and sleeps, until the sampling thread inside it leaves it alone, or for a
// minute; then changes rights, and works.
//
//     rests WORK_MS [WAKES]
//
// It is left alone if that thread wakes less than WAKES times a second (16). Stats: how often the
// thread `sample-agent` woke in the last second of sleep (wakes), how many such threads there are
// after the change of rights (agents), how long it worked (after_rest_us).
#include "work.h"

#include <dirent.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace {

/// The sampling threads, and how often they went to sleep.
struct Agents {
    int count = 0;
    long switches = 0;
};

Agents agents() {
    Agents found;
    DIR* folder = opendir("/proc/self/task");
    for (const dirent* entry = readdir(folder); entry != nullptr; entry = readdir(folder)) {
        std::ifstream status{std::string{"/proc/self/task/"} + entry->d_name + "/status"};
        bool is_agent = false;
        for (std::string line; std::getline(status, line);) {
            if (line == "Name:\tsample-agent") {
                is_agent = true;
                ++found.count;
            } else if (is_agent && line.rfind("voluntary_ctxt_switches:", 0) == 0) {
                found.switches += std::stol(line.substr(line.find('\t')));
            }
        }
    }
    closedir(folder);
    return found;
}

TARGET_KEEP void after_rest(std::uint64_t work_ns) {
    targets::burn(work_ns);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2 || argc > 3) {
        return targets::usage("WORK_MS [WAKES]");
    }
    constexpr int kMostSeconds = 60;
    const long few = argc == 3 ? std::stol(argv[2]) : 16;
    long wakes = few;
    for (int second = 0; second < kMostSeconds && wakes >= few; ++second) {
        const long before = agents().switches;
        sleep(1);
        wakes = agents().switches - before;
    }
    targets::tell("wakes", static_cast<std::uint64_t>(wakes));
    sleep(1);
    if (setuid(getuid()) != 0) {
        return 2;
    }
    targets::tell("agents", static_cast<std::uint64_t>(agents().count));
    const std::uint64_t start = targets::thread_cpu_ns();
    after_rest(targets::number(argv[1]) * 1'000'000);
    targets::tell("after_rest_us", (targets::thread_cpu_ns() - start) / 1000);
}
