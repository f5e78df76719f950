// Control flow that leaves frames behind: exceptions, and setjmp with longjmp.
//
//     jumps SECONDS | --rounds N
//
// Stats: a round throws from twelve frames down and catches at the top, then longjmps from as deep.
// `caught=` and `jumped=` both equal `rounds=`. Some samples fall into the runtime's own unwinder;
// all belong below throw_round() or jump_round().
#include "work.h"

#include <csetjmp>

namespace {

std::jmp_buf home;
volatile bool jumps = true;  // Never false; g++ takes the recursion for endless otherwise.

struct Thrown {
    std::uint64_t value;
};

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion): the depth is the subject
TARGET_KEEP std::uint64_t throw_below(unsigned depth, std::uint64_t value) {
    if (depth == 0) {
        throw Thrown{targets::work_unit(value)};
    }
    return throw_below(depth - 1, value) + 1;
}

TARGET_KEEP std::uint64_t throw_round(std::uint64_t value) {
    try {
        return throw_below(12, value);
    } catch (const Thrown& thrown) {
        return thrown.value;
    }
}

// NOLINTNEXTLINE(misc-no-recursion): the depth is the subject
TARGET_KEEP int jump_below(unsigned depth) {
    if (depth == 0) {
        targets::consume(targets::work_unit(1));
        if (jumps) {
            std::longjmp(home, 1);  // NOLINT(cert-err52-cpp): the subject of the test
        }
        return 0;
    }
    return jump_below(depth - 1) + 1;
}

TARGET_KEEP std::uint64_t jump_round() {
    if (setjmp(home) == 0) {  // NOLINT(cert-err52-cpp): the subject of the test
        jump_below(12);
        return 0;
    }
    return 1;
}

int main(int argc, char** argv) {
    targets::Rounds rounds{targets::Budget::parse(argc, argv)};
    std::uint64_t value = 88172645463325252U;
    std::uint64_t caught = 0;
    std::uint64_t jumped = 0;
    while (rounds.next()) {
        const std::uint64_t before = value;
        value = throw_round(value);
        caught += value != before ? 1 : 0;
        jumped += jump_round();
    }
    rounds.tell_stats();
    targets::tell("caught", caught);
    targets::tell("jumped", jumped);
}
