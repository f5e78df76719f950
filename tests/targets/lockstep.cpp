// A loop of a fixed period by the clock, in which three functions have 50, 30 and 20 per cent of
// each turn.
//
//     lockstep SECONDS MICROSECONDS
//
// Stats: in the first thread, and then as long in a later one (`later`), fifty() works until half
// of a turn of MICROSECONDS is over, thirty() until eight tenths are, twenty() until its end. Turns
// lie on one grid of CLOCK_MONOTONIC, whatever is missed of it: so a profiler whose period is as
// long as a turn, or a multiple or a fraction of it, meets the same places again and again.
#include "work.h"

#include <pthread.h>

#include <thread>

namespace {

[[gnu::always_inline]] inline void work_until(std::uint64_t end_ns) {
    std::uint64_t state = end_ns;
    while (targets::wall_ns() < end_ns) {
        state = targets::work_unit(state);
    }
    targets::consume(state);
}

}  // namespace

TARGET_KEEP void fifty(std::uint64_t end_ns) {
    work_until(end_ns);
}
TARGET_KEEP void thirty(std::uint64_t end_ns) {
    work_until(end_ns);
}
TARGET_KEEP void twenty(std::uint64_t end_ns) {
    work_until(end_ns);
}

namespace {

void turns(std::uint64_t whole_ns, std::uint64_t turn_ns) {
    const std::uint64_t start = targets::wall_ns();
    for (std::uint64_t now = start; now < start + whole_ns; now = targets::wall_ns()) {
        const std::uint64_t turn = now - (now - start) % turn_ns;
        fifty(turn + turn_ns * 5 / 10);
        thirty(turn + turn_ns * 8 / 10);
        twenty(turn + turn_ns);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("SECONDS MICROSECONDS");
    }
    const std::uint64_t whole_ns = targets::seconds_to_ns(argv[1]);
    const std::uint64_t turn_ns = targets::number(argv[2]) * 1000;
    turns(whole_ns, turn_ns);
    std::thread{[&] {
        pthread_setname_np(pthread_self(), "later");
        turns(whole_ns, turn_ns);
    }}.join();
    targets::tell("process_cpu_us", targets::process_cpu_us());
}
