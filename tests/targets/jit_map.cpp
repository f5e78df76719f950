// Two functions made at run time, that do 75 and 25 per cent of the work, and a perf map that names
// them.
//
//     jit_map MODE SECONDS      MODE: start | end (when the map is written), none,
//                               exec (start, and then all of it again as another image), fork
//                               (start, and a child does the work; meanwhile the map gets another
//                               name for the same code, which is only the parent's), left (start,
//                               in another thread, when the first one has left the process)
//
// Stats: in every round "compiled three parts" does 3n steps, which is in the map twice: the first
// name covers both functions, and is wrong; "compiled_one_part" does n.
#include "jit.h"
#include "work.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace {

constexpr std::size_t kSecond = 4096;

std::FILE* open_map(const char* mode) {
    const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
    std::FILE* const map = std::fopen(path.c_str(), mode);
    if (map == nullptr) {
        std::abort();
    }
    return map;
}

void write_map(const unsigned char* memory) {
    std::FILE* const map = open_map("we");
    const auto start = reinterpret_cast<unsigned long>(memory);
    std::fprintf(map, "%lx %zx compiled_and_thrown_away\n", start, 2 * kSecond);
    std::fprintf(map, "%lx %zx compiled three parts\n", start, sizeof targets::kJitCode);
    std::fprintf(map, "%lx %zx py::compiled_one_part:/src/one.py\n", start + kSecond,
                 sizeof targets::kJitCode);
    std::fclose(map);
}

/// Renames all code once the child runs; returns in the child, and in the parent when that is gone.
bool is_child_of_fork(const unsigned char* memory) {
    int ends[2] = {};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        std::abort();
    }
    const pid_t child = fork();
    char byte = 0;
    if (child == 0) {
        return write(ends[1], &byte, 1) == 1;
    }
    if (child < 0 || read(ends[0], &byte, 1) != 1) {
        std::abort();
    }
    std::FILE* const map = open_map("ae");
    std::fprintf(map, "%lx %zx renamed_by_the_parent\n", reinterpret_cast<unsigned long>(memory),
                 2 * kSecond);
    std::fclose(map);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) {
        std::abort();
    }
    targets::tell("pid", static_cast<std::uint64_t>(getpid()));
    return false;
}

}  // namespace

TARGET_KEEP std::uint64_t calls_compiled(targets::JitFunction function, std::uint64_t state,
                                         std::uint64_t steps) {
    return function(state, steps, nullptr) + 1;
}

static int run(const std::string& mode, char** argv) {
    unsigned char* const memory = targets::jit_memory(2 * kSecond);
    const targets::JitFunction three = targets::compile_to(memory, targets::kJitCode);
    const targets::JitFunction one = targets::compile_to(memory + kSecond, targets::kJitCode);
    if (mode == "start" || mode == "exec" || mode == "fork") {
        write_map(memory);
    }
    if (mode == "fork" && !is_child_of_fork(memory)) {
        return 0;
    }
    targets::Rounds rounds{targets::Budget{targets::seconds_to_ns(argv[2]), 0}};
    std::uint64_t state = 88172645463325252U;
    while (rounds.next()) {
        const std::uint64_t n = 256 * (1 + (state >> 40U) % 64);
        state = calls_compiled(three, state, 3 * n);
        state = calls_compiled(one, state, n);
    }
    targets::consume(state);
    if (mode == "end") {
        write_map(memory);
    }
    if (mode == "exec") {
        execl("/proc/self/exe", argv[0], "start", argv[2], nullptr);
        return 1;
    }
    if (mode != "fork") {
        targets::tell("pid", static_cast<std::uint64_t>(getpid()));
    }
    rounds.tell_stats();
    return 0;
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("start|end|none|exec|fork|left SECONDS");
    }
    const std::string mode = argv[1];
    if (mode != "left") {
        return run(mode, argv);
    }
    std::thread{[argv] {
        targets::await_first_threads_end();
        std::exit(run("start", argv));
    }}.detach();
    pthread_exit(nullptr);
}
