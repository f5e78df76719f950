// Three parts of work, each until somebody outside says that it is enough.
//
//     parts FIRST SECOND THIRD [thread]
//
// Each part goes on until its file is there, and ends by making FILE.seen. `first_us=` and so on is
// the CPU time that each took. `thread`: in a thread of its own.
#include "work.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace {

constexpr int kUnitsBetweenLooks = 2000;  // about a millisecond

bool is_there(const char* file) {
    return access(file, F_OK) == 0;
}

void tell_part(const char* name, std::uint64_t since_ns, const char* file) {
    targets::tell(name, (targets::thread_cpu_ns() - since_ns) / 1000);
    const int seen =
        open((std::string{file} + ".seen").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    close(seen);
}

}  // namespace

TARGET_KEEP std::uint64_t first_part(const char* file, std::uint64_t state) {
    while (!is_there(file)) {
        for (int unit = 0; unit < kUnitsBetweenLooks; ++unit) {
            state = targets::work_unit(state);
        }
    }
    return state;
}

TARGET_KEEP std::uint64_t second_part(const char* file, std::uint64_t state) {
    while (!is_there(file)) {
        for (int unit = 0; unit < kUnitsBetweenLooks; ++unit) {
            state = targets::work_unit(state + 1);
        }
    }
    return state;
}

TARGET_KEEP std::uint64_t third_part(const char* file, std::uint64_t state) {
    while (!is_there(file)) {
        for (int unit = 0; unit < kUnitsBetweenLooks; ++unit) {
            state = targets::work_unit(state + 2);
        }
    }
    return state;
}

namespace {

void work(char** files) {
    std::uint64_t since = targets::thread_cpu_ns();
    std::uint64_t state = first_part(files[0], 1);
    tell_part("first_us", since, files[0]);
    since = targets::thread_cpu_ns();
    state = second_part(files[1], state);
    tell_part("second_us", since, files[1]);
    since = targets::thread_cpu_ns();
    state = third_part(files[2], state);
    tell_part("third_us", since, files[2]);
    targets::tell("state", state);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 4) {
        work(argv + 1);
    } else if (argc == 5 && std::string{argv[4]} == "thread") {
        std::thread{work, argv + 1}.join();
    } else {
        return targets::usage("FIRST SECOND THIRD [thread]");
    }
    return 0;
}
