// Loads and unloads two libraries by turns, whose destructors work.
//
//     unloads FOLDER ROUNDS
//
// Stats: `leaves_1_ns=`, `leaves_2_ns=` of CPU time that dlclose took of each.
#include "work.h"

#include <dlfcn.h>

#include <array>
#include <string>

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("FOLDER ROUNDS");
    }
    const std::string folder = argv[1];
    std::array<std::uint64_t, 2> leaves_ns{};
    for (int round = 0; round < std::stoi(argv[2]); ++round) {
        for (const int copy : {1, 2}) {
            const std::string path = folder + "/leaving_" + std::to_string(copy) + ".so";
            void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
            if (library == nullptr) {
                std::fprintf(stderr, "%s\n", dlerror());
                return 1;
            }
            const std::uint64_t before = targets::thread_cpu_ns();
            dlclose(library);
            leaves_ns[static_cast<std::size_t>(copy - 1)] += targets::thread_cpu_ns() - before;
        }
    }
    targets::tell("leaves_1_ns", leaves_ns[0]);
    targets::tell("leaves_2_ns", leaves_ns[1]);
    return 0;
}
