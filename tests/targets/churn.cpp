// Threads that load a library, call it, and unload it, over and over: one library lies where
// another one was.
//
//     churn FOLDER COUNT [THREADS]
//
// FOLDER has churn_0.so to churn_7.so. Each of THREADS (4) threads loads COUNT times, the copies in
// turn. Stats, for each copy K: host_call<K> calls plugin_entry_K, which calls plugin_middle_K,
// which calls host_back<K>; each of them is called by nothing else. `loads=` says how often it was,
// `descriptors_*=` and `anonymous_kib_*=` what the process held after a tenth and at the end.
#include "work.h"

#include <dirent.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

using Back = std::uint64_t (*)(std::uint64_t);
using Entry = std::uint64_t (*)(std::uint64_t, Back);

constexpr unsigned kCopies = 8;

std::atomic<unsigned long> g_loads{0};
std::atomic<unsigned> g_failed{0};

std::uint64_t count_descriptors() {
    std::uint64_t count = 0;
    if (DIR* folder = opendir("/proc/self/fd")) {
        while (readdir(folder) != nullptr) {
            ++count;
        }
        closedir(folder);
    }
    return count;
}

std::uint64_t anonymous_kib() {
    std::uint64_t kib = 0;
    if (std::FILE* status = std::fopen("/proc/self/status", "re")) {
        char line[256];
        while (std::fgets(line, sizeof line, status) != nullptr) {
            if (std::strncmp(line, "RssAnon:", 8) == 0) {
                kib = std::strtoull(line + 8, nullptr, 10);
            }
        }
        std::fclose(status);
    }
    return kib;
}

void tell_what_is_held(const char* when) {
    targets::tell((std::string{"descriptors_"} + when).c_str(), count_descriptors());
    targets::tell((std::string{"anonymous_kib_"} + when).c_str(), anonymous_kib());
}

}  // namespace

template <unsigned K>
TARGET_KEEP std::uint64_t host_back(std::uint64_t state) {
    for (unsigned unit = 0; unit < 100; ++unit) {
        state = targets::work_unit(state);
    }
    return state + K;
}

template <unsigned K>
TARGET_KEEP std::uint64_t host_call(Entry entry, std::uint64_t state) {
    return entry(state, &host_back<K>) + 1;
}

using HostCall = std::uint64_t (*)(Entry, std::uint64_t);
constexpr std::array<HostCall, kCopies> kHostCalls{&host_call<0>, &host_call<1>, &host_call<2>,
                                                   &host_call<3>, &host_call<4>, &host_call<5>,
                                                   &host_call<6>, &host_call<7>};

TARGET_KEEP void churn(const std::string& folder, unsigned thread, unsigned long count) {
    std::uint64_t state = 88172645463325252U;
    for (unsigned long round = 0; round < count; ++round) {
        const unsigned long copy = (2UL * thread + round) % kCopies;
        const std::string number = std::to_string(copy);
        std::string path = folder;
        path.append("/churn_").append(number).append(".so");
        void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        void* entry =
            library == nullptr ? nullptr : dlsym(library, ("plugin_entry_" + number).c_str());
        if (entry == nullptr) {
            g_failed = 1;
            return;
        }
        for (unsigned call = 0; call < 48; ++call) {
            state = kHostCalls[copy](reinterpret_cast<Entry>(entry), state);
        }
        dlclose(library);
        ++g_loads;
    }
    targets::consume(state);
}

int main(int argc, char** argv) {
    if (argc < 3) {
        return targets::usage("FOLDER COUNT [THREADS]");
    }
    const unsigned long count = targets::number(argv[2]);
    const auto threads = static_cast<unsigned>(argc > 3 ? targets::number(argv[3]) : 4);
    const auto run = [&](unsigned long rounds) {
        std::vector<std::thread> crowd;
        for (unsigned thread = 0; thread < threads; ++thread) {
            crowd.emplace_back(churn, std::string{argv[1]}, thread, rounds);
        }
        for (std::thread& thread : crowd) {
            thread.join();
        }
    };
    run(count / 10);
    tell_what_is_held("before");
    run(count - count / 10);
    tell_what_is_held("after");
    targets::tell("loads", g_loads);
    return static_cast<int>(g_failed.load());
}
