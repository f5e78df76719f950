// Ten functions of really equal cost.
//
//     ten_functions SECONDS | --rounds N
//
// Stats: equal_0 to equal_9 are copies of the same instructions, equally aligned, and each does a
// tenth of the work. The order of the calls and their lengths come from a generator of random
// numbers, so that no sampling period can fall into step with them; in a round each of the ten gets
// the same ten lengths. The time stamp counter around each call gives the measured shares as a
// check
// (`tsc_0=` to `tsc_9=`).
#include "work.h"

#include <x86intrin.h>

#include <array>
#include <string>
#include <utility>

namespace {

constexpr std::size_t kFunctions = 10;

class Random {
public:
    std::size_t below(std::size_t limit) {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        return (state_ >> 33U) % limit;
    }

private:
    std::uint64_t state_ = 88172645463325252U;
};

}  // namespace

#define EQUAL(number)                                                                  \
    TARGET_KEEP [[gnu::aligned(64)]] std::uint64_t equal_##number(std::uint64_t state, \
                                                                  std::size_t units) { \
        for (std::size_t unit = 0; unit < units; ++unit) {                             \
            state = targets::work_unit(state);                                         \
        }                                                                              \
        return state;                                                                  \
    }
EQUAL(0)
EQUAL(1)
EQUAL(2)
EQUAL(3)
EQUAL(4)
EQUAL(5)
EQUAL(6)
EQUAL(7)
EQUAL(8)
EQUAL(9)
#undef EQUAL

int main(int argc, char** argv) {
    using Function = std::uint64_t (*)(std::uint64_t, std::size_t);
    constexpr std::array<Function, kFunctions> kEqual{equal_0, equal_1, equal_2, equal_3, equal_4,
                                                      equal_5, equal_6, equal_7, equal_8, equal_9};
    targets::Rounds rounds{targets::Budget::parse(argc, argv)};
    Random random;
    std::array<std::uint64_t, kFunctions> tsc{};
    std::array<std::size_t, kFunctions> order{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    std::array<std::size_t, kFunctions> units{};
    std::uint64_t state = 88172645463325252U;
    while (rounds.next()) {
        for (std::size_t& length : units) {
            length = 1 + random.below(32);
        }
        for (std::size_t turn = 0; turn < kFunctions; ++turn) {
            for (std::size_t last = kFunctions - 1; last > 0; --last) {
                std::swap(order[last], order[random.below(last + 1)]);
            }
            for (const std::size_t which : order) {
                const std::uint64_t before = __rdtsc();
                state = kEqual[which](state, units[(which + turn) % kFunctions]);
                tsc[which] += __rdtsc() - before;
            }
        }
    }
    targets::consume(state);
    rounds.tell_stats();
    for (std::size_t which = 0; which < kFunctions; ++which) {
        targets::tell(("tsc_" + std::to_string(which)).c_str(), tsc[which]);
    }
}
