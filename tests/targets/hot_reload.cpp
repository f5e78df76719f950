// A program that loads a library again from the same path while its file becomes another build.
//
//     hot_reload FIRST SECOND in-place|rename SECONDS
//
// Stats: ./hot.so is a copy of FIRST and of SECOND in turns, twice each, of which each works for a
// quarter of SECONDS. `first_ns=` and `second_ns=` are the CPU time of either.
#include "work.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <cstring>

namespace {

constexpr const char* kFile = "./hot.so";

void copy(const char* from, const char* to) {
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    const int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    while (sendfile(out, in, nullptr, std::size_t{1} << 30U) > 0) {
    }
    close(in);
    close(out);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        return targets::usage("FIRST SECOND in-place|rename SECONDS");
    }
    const bool renames = std::strcmp(argv[3], "rename") == 0;
    const std::uint64_t budget_ns = targets::seconds_to_ns(argv[4]) / 4;
    std::uint64_t used_ns[2] = {};
    std::uint64_t state = 88172645463325252U;
    for (int turn = 0; turn < 4; ++turn) {
        copy(argv[1 + turn % 2], renames ? "./hot.tmp" : kFile);
        if (renames && rename("./hot.tmp", kFile) != 0) {
            return 1;
        }
        void* const library = dlopen(kFile, RTLD_NOW);
        using Work = std::uint64_t (*)(std::uint64_t, unsigned);
        const auto work =
            library == nullptr ? nullptr : reinterpret_cast<Work>(dlsym(library, "hot_work"));
        if (work == nullptr) {
            return 1;
        }
        const std::uint64_t start = targets::thread_cpu_ns();
        while (targets::thread_cpu_ns() < start + budget_ns) {
            state = work(state, 2000);  // much longer than reading the clock
        }
        used_ns[turn % 2] += targets::thread_cpu_ns() - start;
        dlclose(library);
    }
    targets::consume(state);
    targets::tell("first_ns", used_ns[0]);
    targets::tell("second_ns", used_ns[1]);
    return 0;
}
