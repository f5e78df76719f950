// says_switched FOLDER LIBRARY: says the same at each of four steps, which somebody else begins:
// makes FOLDER/parent-N and waits for FOLDER/go-N; and so does a forked child, by FOLDER/child-N.
// From the third step on it has the library.
//
// says_switched churn LIBRARY FILE: loads and unloads the library until the file is there, and says
// whether anybody writes to where its channels were.
#include "sample/trace.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

SAMPLE_TRACE_CHANNEL_DEFINE(physics);
SAMPLE_TRACE_COUNTER_IF_CHANGED(bodies, "bodies", INTEGER);

namespace {

constexpr int kSteps = 4;
constexpr std::size_t kPage = 4096;

void step(const std::string& folder, const char* who, int number) {
    ::close(::open((folder + "/" + who + "-" + std::to_string(number)).c_str(),
                   O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    while (::access((folder + "/go-" + std::to_string(number)).c_str(), F_OK) != 0) {
        ::usleep(1000);
    }
}

void* load(const char* path, void (*&say)()) {
    void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    say = library == nullptr ? nullptr : reinterpret_cast<void (*)()>(::dlsym(library, "say"));
    if (say == nullptr) {
        std::exit(2);
    }
    return library;
}

void steps(const std::string& folder, const char* who, const char* path) {
    void (*say)() = nullptr;
    for (int number = 0; number < kSteps; ++number) {
        step(folder, who, number);
        if (number == 2) {
            load(path, say);
        }
        SAMPLE_TRACE_SET(bodies, number == 0 ? 7 : 8);
        { SAMPLE_TRACE_ZONE("cpu"); }
        { SAMPLE_TRACE_ZONE_ON(physics, "physics"); }
        if (say != nullptr) {
            say();
        }
        SAMPLE_TRACE_BOOKMARK("%s %d", who, number);
    }
}

/// Whether what is mapped in place of a library that has gone stays as it was.
bool is_left_alone(const char* path) {
    void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const auto channel =
        library == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(::dlsym(library, "channel_000"));
    if (channel == 0) {
        std::exit(2);
    }
    ::dlclose(library);
    void* const place =
        ::mmap(reinterpret_cast<void*>(channel / kPage * kPage), kPage, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (place == MAP_FAILED) {
        return true;  // somebody else has it already
    }
    constexpr std::uint32_t kOurs = 0xabcdef01;
    constexpr int kLooks = 100;
    const std::span words{static_cast<volatile std::uint32_t*>(place), kPage / sizeof kOurs};
    std::fill(words.begin(), words.end(), kOurs);
    const auto is_ours = [](std::uint32_t word) { return word == kOurs; };
    bool is_alone = true;
    for (int looks = 0; looks < kLooks && is_alone; ++looks) {
        is_alone = std::all_of(words.begin(), words.end(), is_ours);
    }
    ::munmap(place, kPage);
    return is_alone;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 4 && std::strcmp(argv[1], "churn") == 0) {
        while (::access(argv[3], F_OK) != 0) {
            if (!is_left_alone(argv[2])) {
                return 1;
            }
        }
        return 0;
    }
    if (argc != 3) {
        return 2;
    }
    const pid_t child = ::fork();
    steps(argv[1], child == 0 ? "child" : "parent", argv[2]);
    int status = 0;
    return child == 0 || (::waitpid(child, &status, 0) == child && status == 0) ? 0 : 1;
}
