// Preloaded: libc's clocks are ten years ahead and go ten times as fast, as faketime shows them.
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's are reserved.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    constexpr time_t kTenYears = 315'360'000;
    constexpr long kSecondNs = 1'000'000'000;
    const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
    if (result == 0) {
        time->tv_sec = time->tv_sec * 10 + time->tv_nsec * 10 / kSecondNs + kTenYears;
        time->tv_nsec = time->tv_nsec * 10 % kSecondNs;
    }
    return result;
}
