// A loop of a fixed period by the clock, in which three functions have 50, 30 and 20 per cent of
// each turn.
//
//     lockstep SECONDS MICROSECONDS [WORK_MICROSECONDS]
//
// Stats: in the first thread, and then as long in a later one (`later`), fifty() works until half
// of the work of a turn is over, thirty() until eight tenths are, twenty() until its end. That is
// the whole turn of MICROSECONDS, or WORK_MICROSECONDS and then sleep. Turns lie on one grid of
// CLOCK_MONOTONIC, whatever is missed of it: so a profiler whose period is as long as a turn, or a
// multiple or a fraction of it, meets the same places again and again. Where the thread is taken
// off its processor, which may keep step with the turns, too, the shares are others:
// `main_fifty_ns=` and its like, to `later_twenty_ns=`, are each part's time by its thread's CPU
// clock.
#include "work.h"

#include <pthread.h>

#include <array>
#include <string>
#include <thread>

namespace {

/// The thread's CPU clock then. It is read in here, so that a part has all of one reading; by the
/// clock that is the end of the one before and the beginning of its own.
[[gnu::always_inline]] inline std::uint64_t work_until(std::uint64_t end_ns) {
    std::uint64_t state = end_ns;
    while (targets::wall_ns() < end_ns) {
        state = targets::work_unit(state);
    }
    targets::consume(state);
    return targets::thread_cpu_ns();
}

}  // namespace

TARGET_KEEP std::uint64_t fifty(std::uint64_t end_ns) {
    return work_until(end_ns);
}
TARGET_KEEP std::uint64_t thirty(std::uint64_t end_ns) {
    return work_until(end_ns);
}
TARGET_KEEP std::uint64_t twenty(std::uint64_t end_ns) {
    return work_until(end_ns);
}

namespace {

constexpr std::size_t kParts = 3;

/// The CPU time of each part.
std::array<std::uint64_t, kParts> turns(std::uint64_t whole_ns, std::uint64_t turn_ns,
                                        std::uint64_t work_ns) {
    std::array<std::uint64_t, kParts> spent{};
    const std::uint64_t start = targets::wall_ns();
    for (std::uint64_t now = start; now < start + whole_ns; now = targets::wall_ns()) {
        const std::uint64_t turn = now - (now - start) % turn_ns;
        std::array<std::uint64_t, kParts + 1> at{targets::thread_cpu_ns()};
        at[1] = fifty(turn + work_ns * 5 / 10);
        at[2] = thirty(turn + work_ns * 8 / 10);
        at[3] = twenty(turn + work_ns);
        for (std::size_t part = 0; part < kParts; ++part) {
            spent[part] += at[part + 1] - at[part];
        }
        if (work_ns < turn_ns) {
            targets::sleep_until(turn + turn_ns);
        }
    }
    return spent;
}

void tell_parts(const std::string& thread, const std::array<std::uint64_t, kParts>& spent) {
    constexpr std::array<const char*, kParts> kNames{"_fifty_ns", "_thirty_ns", "_twenty_ns"};
    for (std::size_t part = 0; part < kParts; ++part) {
        targets::tell((thread + kNames[part]).c_str(), spent[part]);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        return targets::usage("SECONDS MICROSECONDS [WORK_MICROSECONDS]");
    }
    const std::uint64_t whole_ns = targets::seconds_to_ns(argv[1]);
    const std::uint64_t turn_ns = targets::number(argv[2]) * 1000;
    const std::uint64_t work_ns = argc == 4 ? targets::number(argv[3]) * 1000 : turn_ns;
    tell_parts("main", turns(whole_ns, turn_ns, work_ns));
    std::thread{[&] {
        pthread_setname_np(pthread_self(), "later");
        tell_parts("later", turns(whole_ns, turn_ns, work_ns));
    }}.join();
    targets::tell("process_cpu_us", targets::process_cpu_us());
}
