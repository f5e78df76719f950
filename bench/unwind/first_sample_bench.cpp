// How long the first walk through a library takes that was loaded a moment ago, and is not in the
// table of modules: 100 MB, 104,000 FDEs, nine of its frames on the stack.
//
//     unwind_first_sample_bench [REPETITIONS]          (default 200)
//
// Each repetition loads the library, walks from the callback that it calls, walks once more, and
// unloads it. "evicted": its pages were dropped from the page cache first, as far as the kernel
// does so, so that tables are read from the disk. Prints medians and worst cases in microseconds,
// of elapsed time and of the thread's CPU time, which others on the machine do not lengthen.
#include "bench/unwind/loaded_modules.h"
#include "bench/unwind/stack_bounds.h"
#include "unwind/walk/ucontext.h"
#include "unwind/walk/walk.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string_view>
#include <vector>

namespace sample::unwind::bench {
namespace {

constexpr std::size_t kFramesOfLibrary = 9;

using Callback = void(void*);
using Entry = void(Callback*, void*);

double microseconds(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

/// Microseconds, one of each a walk.
struct Times {
    std::vector<double> elapsed;
    std::vector<double> cpu;
};

struct Timed {
    Times first;
    Times second;  ///< With the rows in the cache.
};

class Bench {
public:
    /// False if the library cannot be loaded or was not walked through.
    bool repeat(Timed& out) {
        void* library = dlopen(SAMPLE_LARGE_LIBRARY, RTLD_NOW);
        auto* entry = library == nullptr
                          ? nullptr
                          : reinterpret_cast<Entry*>(dlsym(library, "large_library_call"));
        if (entry == nullptr) {
            std::fprintf(stderr, "cannot load " SAMPLE_LARGE_LIBRARY "\n");
            return false;
        }
        ++generation_;
        out_ = &out;
        entry([](void* bench) { static_cast<Bench*>(bench)->walk_twice(); }, this);
        dlclose(library);
        return whole_;
    }

private:
    void walk_twice() {
        ucontext_t context;
        getcontext(&context);
        const Registers registers = registers_of(context);
        time_walk(registers, out_->first);
        time_walk(registers, out_->second);
    }
    void time_walk(const Registers& registers, Times& times) {
        // The modules from before: the library is found by asking the loader.
        const ModuleTable table{modules_, generation_, LoaderLookup::ask};
        RowCache cache{*storage_};
        StackMemory memory = StackMemory::live(bounds_, StackMemory::Outside::probe);
        const double cpu = microseconds(CLOCK_THREAD_CPUTIME_ID);
        const double begin = microseconds(CLOCK_MONOTONIC);
        const WalkResult result = unwind::walk(table, cache, registers, memory, frames_);
        times.elapsed.push_back(microseconds(CLOCK_MONOTONIC) - begin);
        times.cpu.push_back(microseconds(CLOCK_THREAD_CPUTIME_ID) - cpu);
        whole_ = result.reason == StopReason::root && result.depth > kFramesOfLibrary;
    }

    std::vector<Module> modules_ = loaded_modules();
    std::unique_ptr<std::array<RowCache::Entry, 16384>> storage_ =
        std::make_unique<std::array<RowCache::Entry, 16384>>();
    StackBounds bounds_ = stack_bounds();
    std::array<FrameAddress, 1024> frames_{};
    std::uint64_t generation_ = 0;
    Timed* out_ = nullptr;
    bool whole_ = false;
};

void evict_library() {
    const int fd = open(SAMPLE_LARGE_LIBRARY, O_RDONLY | O_CLOEXEC);
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

void print(const char* what, std::vector<double>& times) {
    std::sort(times.begin(), times.end());
    std::printf("%-34s median %9.1f us   worst %9.1f us   (%zu)\n", what, times[times.size() / 2],
                times.back(), times.size());
}

int run(unsigned repetitions) {
    Bench bench;
    Timed cached;
    Timed evicted;
    for (unsigned i = 0; i < repetitions; ++i) {
        if (!bench.repeat(cached)) {
            std::fprintf(stderr, "the walk did not go through the library to the root\n");
            return 1;
        }
    }
    for (unsigned i = 0; i < repetitions / 10 + 1; ++i) {
        evict_library();
        if (!bench.repeat(evicted)) {
            return 1;
        }
    }
    print("first walk, elapsed", cached.first.elapsed);
    print("first walk, CPU", cached.first.cpu);
    print("second walk, elapsed", cached.second.elapsed);
    print("first walk, file evicted, elapsed", evicted.first.elapsed);
    print("first walk, file evicted, CPU", evicted.first.cpu);
    return 0;
}

}  // namespace
}  // namespace sample::unwind::bench

int main(int argc, char** argv) {
    unsigned repetitions = 200;
    if (argc > 1) {
        const std::string_view text = argv[1];
        std::from_chars(text.data(), text.data() + text.size(), repetitions);
    }
    return sample::unwind::bench::run(repetitions);
}
