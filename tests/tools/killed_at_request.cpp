// Preloaded: kills the program when it makes its nth request of ptrace, which it does by syscall(),
// so that the request is not made any more.
//
//   KILLED_AT_REQUEST   from 1
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdlib>

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name, cert-dcl50-cpp): it is libc's.
extern "C" long syscall(long number, ...) noexcept {
    static std::atomic<int> requests{0};
    static const auto libcs = reinterpret_cast<long (*)(long, ...)>(::dlsym(RTLD_NEXT, "syscall"));
    std::array<long, 6> words{};
    va_list arguments;
    va_start(arguments, number);
    for (long& each : words) {
        each = va_arg(arguments, long);
    }
    va_end(arguments);
    const char* const nth = std::getenv("KILLED_AT_REQUEST");
    if (number == SYS_ptrace && nth != nullptr && ++requests == std::atoi(nth)) {
        ::kill(::getpid(), SIGKILL);
    }
    return libcs(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name, cert-dcl50-cpp)
