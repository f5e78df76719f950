// A program with a sanitizer in it: built once for each.
//
//     sanitized [WAY]
//
// WAY: clean (or none), overflow (of the heap), leak, race, shift (undefined), children (by fork,
// and by exec of itself and of a program without the sanitizer).
//
// Stats: it works, with a thread beside, and ends as its sanitizer has it. Its environment names no
// runtime of a sanitizer.
#include "work.h"

#include <sys/wait.h>
#include <unistd.h>

#include <string_view>
#include <thread>

namespace {

int shared = 0;
void* volatile last = nullptr;

}  // namespace

TARGET_KEEP std::uint64_t work_sanitized() {
    std::uint64_t state = 88172645463325252U;
    for (int unit = 0; unit < 100'000; ++unit) {
        state = targets::work_unit(state);
    }
    return state;
}

namespace {

int run(const char* program, const char* argument) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        execlp(program, program, argument, nullptr);
        _exit(4);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view way = argc > 1 ? argv[1] : "clean";
    const char* preload = getenv("LD_PRELOAD");
    const bool names_runtime = preload != nullptr && strstr(preload, "san.") != nullptr;
    std::thread beside{[way] {
        shared += static_cast<int>(work_sanitized() & 1U);
        if (way == "race") {
            shared += 1;
        }
    }};
    if (way == "race") {
        shared += 1;
    }
    const std::uint64_t state = work_sanitized();
    beside.join();
    volatile int size = 10;
    if (way == "overflow") {
        auto* bytes = static_cast<volatile char*>(malloc(static_cast<std::size_t>(size)));
        bytes[size] = 1;
        free(const_cast<char*>(bytes));
    } else if (way == "leak") {
        // Many: a pointer to one may be left over in a frame on the stack, which counts as use.
        for (int i = 0; i < 100; ++i) {
            last = malloc(static_cast<std::size_t>(size));
        }
        last = nullptr;
    } else if (way == "shift") {
        size = 1 << (size + 30);
    } else if (way == "children") {
        std::printf("self %d\n", run(argv[0], "clean"));
        std::printf("other %d\n", run("true", "x"));
        std::fflush(stdout);
        std::printf("shell %d\n", system("exit 3"));
    }
    std::printf("worked, %d, runtime named %d\n", state != 0 ? 1 : 0, names_runtime ? 1 : 0);
}
