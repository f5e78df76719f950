// Code that comes and goes: libraries, and functions made at run time.
#include "storm.h"
#include "tests/targets/jit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace storm {
namespace {

using Back = std::uint64_t (*)(std::uint64_t);

/// A library for as long as this object lives.
class Library {
public:
    Library(const char* path, int flags) : handle_{dlopen(path, flags)} {
        if (handle_ == nullptr) {
            require(false, dlerror());
        }
    }
    ~Library() { require(dlclose(handle_) == 0, "dlclose"); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    template <class Function>
    [[nodiscard]] Function find(const char* name) const {
        auto* const found = reinterpret_cast<Function>(dlsym(handle_, name));
        require(found != nullptr, "dlsym");
        return found;
    }

private:
    void* handle_;
};

using PluginWork = std::uint64_t (*)(std::uint64_t, unsigned);

std::uint64_t plugin(std::uint64_t seed) {
    constexpr int kFlags[] = {RTLD_NOW, RTLD_LAZY, RTLD_NOW | RTLD_GLOBAL,
                              RTLD_LAZY | RTLD_DEEPBIND};
    std::uint64_t sum = seed;
    for (int time = 0; time < 5; ++time) {
        const Library library{Beside{"plugin.so"}.path, kFlags[seed % 4]};
        sum = library.find<PluginWork>("plugin_work")(sum | 1U, 200);
    }
    return sum;
}

std::uint64_t come_back(std::uint64_t state) {
    return work(state, 30);
}

std::uint64_t throw_back(std::uint64_t state) {
    throw std::runtime_error{std::to_string(work(state, 30))};
}

/// One of eight libraries that lie where another one was, and call back.
std::uint64_t call_copy(std::uint64_t seed) {
    const std::string copy = std::to_string(seed % 8);
    const Library library{Beside{("churn_" + copy + ".so").c_str()}.path, RTLD_NOW};
    const auto entry =
        library.find<std::uint64_t (*)(std::uint64_t, Back)>(("plugin_entry_" + copy).c_str());
    try {
        return entry(seed, seed % 3 == 0 ? throw_back : come_back);
    } catch (const std::runtime_error& error) {
        return std::strtoull(error.what(), nullptr, 10);
    }
}

std::uint64_t churn(std::uint64_t seed) {
    std::uint64_t sum = 0;
    for (std::uint64_t time = 0; time < 8; ++time) {
        sum = mix(sum, call_copy(mix(seed, time)));
    }
    return sum;
}

std::uint64_t churn_in_threads(std::uint64_t seed) {
    return in_threads(seed, 3, churn);
}

/// A library that fails to load, a name that is not there.
std::uint64_t failing_loads(std::uint64_t seed) {
    require(dlopen("/there/is/no/library.so", RTLD_NOW) == nullptr && dlerror() != nullptr,
            "dlopen of nothing");
    require(dlopen("/proc/self/status", RTLD_NOW) == nullptr && dlerror() != nullptr,
            "dlopen of no library");
    require(dlsym(RTLD_DEFAULT, "storm_has_no_such_name") == nullptr && dlerror() != nullptr,
            "dlsym");
    return work(seed);
}

/// A library without a file, in a namespace of its own or in this one's.
std::uint64_t library_of_memory(std::uint64_t seed) {
    const int from = open(Beside{"plugin.so"}.path, O_RDONLY | O_CLOEXEC);
    const int memory = memfd_create("storm", MFD_CLOEXEC);
    require(from >= 0 && memory >= 0, "memfd_create");
    char buffer[4096];
    for (ssize_t count = 0; (count = read(from, buffer, sizeof buffer)) != 0;) {
        require(count > 0 && write(memory, buffer, static_cast<std::size_t>(count)) == count,
                "copy");
    }
    close(from);
    std::uint64_t sum = 0;
    {
        const Library library{("/proc/self/fd/" + std::to_string(memory)).c_str(), RTLD_NOW};
        close(memory);
        sum = library.find<PluginWork>("plugin_work")(seed | 1U, 500);
    }
    return sum;
}

int count_module(dl_phdr_info* /*info*/, std::size_t /*size*/, void* count) {
    ++*static_cast<int*>(count);
    targets::consume(work(3, 10));
    return 0;
}

std::uint64_t list_modules(std::uint64_t seed) {
    const Library library{Beside{"plugin.so"}.path, RTLD_NOW};
    int count = 0;
    dl_iterate_phdr(count_module, &count);
    require(count > 3, "modules");
    return work(seed);
}

/// A function in memory that was mapped for it, that moves, and that goes.
std::uint64_t made_code(std::uint64_t seed) {
    constexpr std::size_t kBytes = 4096;
    std::uint64_t sum = seed | 1U;
    for (int time = 0; time < 5; ++time) {
        unsigned char* memory = targets::jit_memory(kBytes);
        std::memcpy(memory, targets::kJitCode, sizeof targets::kJitCode);
        sum = reinterpret_cast<targets::JitWork>(memory)(sum, 20'000);
        void* moved = mremap(memory, kBytes, 2 * kBytes, MREMAP_MAYMOVE);
        require(moved != MAP_FAILED, "mremap");
        sum = reinterpret_cast<targets::JitWork>(moved)(sum, 20'000);
        munmap(moved, 2 * kBytes);
    }
    return sum;
}

constexpr Operation kOperations[] = {
    {"plugin", plugin, kAnywhere},
    {"churn", churn, kAnywhere},
    {"churn_in_threads", churn_in_threads, kAnywhere},
    {"failing_loads", failing_loads, kAnywhere},
    {"library_of_memory", library_of_memory, kAnywhere},
    {"list_modules", list_modules, kAnywhere},
    {"made_code", made_code, kAnywhere},
};

}  // namespace

Operations library_operations() {
    return kOperations;
}

}  // namespace storm
