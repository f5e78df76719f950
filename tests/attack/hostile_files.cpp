// A program that puts something hostile where a profiler will look for its files, and then works.
//
//     hostile_files WHERE WHAT [ARGUMENT]
//
// WHERE: `module` a library at ARGUMENT that is loaded, and replaced while it is mapped; `mapping`
// a file at ARGUMENT whose code is mapped and that is removed then, where the kernel's name for it
// leads ("ARGUMENT (deleted)"); `map` this
// process's perf map; `dump` a jitdump in this folder that is mapped executable, then replaced.
// WHAT lies there then: fifo, device, link (to a device), folder, sparse (8 TiB of nothing),
// large (2 GiB that name code), lease (a file whose opening would wait), gone; of a map also
// `names` (names that a terminal or a spreadsheet would obey).
//
// It prints `done` when it has worked; what it made is gone when it ends.
#include "tests/targets/jit.h"
#include "tests/targets/work.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

constexpr off_t kSparse = off_t{1} << 43;
constexpr off_t kLarge = off_t{1} << 31;

/// Puts `what` at `path`, where nothing is. False: this user may not.
bool put(const std::string& what, const char* path, const unsigned char* code = nullptr) {
    if (what == "fifo") {
        return mkfifo(path, 0600) == 0;
    }
    if (what == "device") {
        return mknod(path, S_IFCHR | 0600, makedev(1, 5)) == 0;  // As /dev/zero, which never ends.
    }
    if (what == "link") {
        return symlink("/dev/zero", path) == 0;
    }
    if (what == "folder") {
        return mkdir(path, 0700) == 0;
    }
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (what == "sparse") {
        return ftruncate(fd, kSparse) == 0;
    }
    if (what == "names") {
        return dprintf(fd, "%llx 1000 =HYPERLINK(\"http://x\")\x1b[31m\x1b]0;title\x07\n",
                       static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(code))) > 0;
    }
    if (what == "large") {
        // A line at its end makes it look whole.
        const std::string line = "\n1000 10 end_of_map\n";
        return pwrite(fd, line.data(), line.size(), kLarge) > 0;
    }
    // Stays open, as the lease's holder. Who opens the file has a signal sent to it.
    signal(SIGIO, SIG_IGN);
    return fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
}

void remove(const char* path) {
    if (unlink(path) != 0) {
        rmdir(path);
    }
}

using Work = std::uint64_t (*)(std::uint64_t, unsigned);

std::uint64_t g_state = 88172645463325252U;

/// For a while, so that there are samples, and the profiler looks.
template <class Step>
void work(Step step) {
    targets::Rounds rounds{targets::Budget{targets::seconds_to_ns("0.4"), 0}};
    while (rounds.next()) {
        g_state = step(g_state);
    }
    targets::consume(g_state);
}

void work_in(const unsigned char* memory) {
    const auto function =
        reinterpret_cast<targets::JitWork>(reinterpret_cast<std::uintptr_t>(memory));
    work([&](std::uint64_t state) { return function(state, 20'000); });
}

void work_in_jit(unsigned char* memory) {
    targets::compile_to(memory, targets::kJitCode);
    work_in(memory);
}

/// Code that no library brings and no compiler makes.
int run_mapping(const std::string& what, const std::string& path) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const bool is_written = write(fd, targets::kJitCode, sizeof targets::kJitCode) ==
                            static_cast<ssize_t>(sizeof targets::kJitCode);
    void* const code = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (!is_written || code == MAP_FAILED) {
        return 2;
    }
    unlink(path.c_str());
    const std::string place = path + " (deleted)";
    const bool is_put = put(what, place.c_str());
    work_in(static_cast<const unsigned char*>(code));
    remove(place.c_str());
    return is_put ? 0 : 3;
}

int run(const std::string& where, const std::string& what, const char* argument) {
    if (where == "module") {
        void* const library = dlopen(argument, RTLD_NOW | RTLD_LOCAL);
        auto* const step =
            library != nullptr ? reinterpret_cast<Work>(dlsym(library, "plugin_work")) : nullptr;
        if (step == nullptr) {
            return 2;
        }
        unlink(argument);
        const bool is_put = what == "gone" || put(what, argument);
        work([&](std::uint64_t state) { return step(state, 100); });
        remove(argument);
        return is_put ? 0 : 3;
    }
    if (where == "mapping") {
        return run_mapping(what, argument);
    }
    const std::string pid = std::to_string(getpid());
    if (where == "map") {
        const std::string path = "/tmp/perf-" + pid + ".map";
        unsigned char* const code = targets::jit_memory(4096);
        const bool is_put = put(what, path.c_str(), code);
        work_in_jit(code);
        // Read when the process ends, so it has to stay: the test removes it.
        std::printf("map=%s\n", path.c_str());
        return is_put ? 0 : 3;
    }
    const std::string path = "jit-" + pid + ".dump";
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0 ||
        mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
        return 2;
    }
    unlink(path.c_str());
    const bool is_put = put(what, path.c_str());
    work_in_jit(targets::jit_memory(4096));
    remove(path.c_str());
    return is_put ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        return targets::usage("WHERE WHAT [ARGUMENT]");
    }
    const int result = run(argv[1], argv[2], argc > 3 ? argv[3] : "");
    if (result == 0) {
        std::puts("done");
    }
    return result;
}
