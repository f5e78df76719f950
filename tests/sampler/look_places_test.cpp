#include "sampler/source/look_places.h"

#include "sampler/source/thread_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <random>

namespace sample::source {
namespace {

constexpr std::uint64_t kMicro = 1000;
constexpr std::uint64_t kMilli = 1000 * kMicro;

TEST(LookPlaces, are_even_where_threads_keep_running) {
    LookPlaces places;
    std::mt19937 random;
    constexpr int kOff = 8;  // of 64
    std::array<int, 8> looks{};
    for (std::uint64_t look = 0; look < 8 * LookPlaces::kEvenSteps; ++look) {
        ++looks[places.next(static_cast<std::uint32_t>(random())) >> 29U];
    }
    for (const int eighth : looks) {
        EXPECT_NEAR(eighth, LookPlaces::kEvenSteps, kOff);
    }
}

/// What a thread does over and over: two parts of work, then sleep.
struct Turn {
    std::uint64_t first_ns;
    std::uint64_t second_ns;
    std::uint64_t sleep_ns;
    std::uint64_t late_ns;  ///< It wakes up so much later at most.

    friend std::ostream& operator<<(std::ostream& out, const Turn& turn) {
        return out << turn.first_ns / kMicro << "_and_" << turn.second_ns / kMicro << "_us_then_"
                   << turn.sleep_ns / kMicro << "_or_" << turn.late_ns / kMicro << "_more";
    }
};

/// One moment after the other of a thread that does so, by its own clock.
class Turning {
public:
    explicit Turning(const Turn& turn) : turn_{turn} {}

    struct Moment {
        std::uint64_t cpu_ns;
        std::size_t part;  ///< 2: it sleeps.
    };
    Moment at(std::uint64_t now_ns) {
        const std::uint64_t work_ns = turn_.first_ns + turn_.second_ns;
        while (now_ns >= woke_ns_ + work_ns + sleep_ns_) {
            woke_ns_ += work_ns + sleep_ns_;
            worked_ns_ += work_ns;
            sleep_ns_ = turn_.sleep_ns + random_() % (turn_.late_ns + 1);
        }
        const std::uint64_t into_ns = now_ns - woke_ns_;
        return {worked_ns_ + std::min(into_ns, work_ns), into_ns < turn_.first_ns ? std::size_t{0}
                                                         : into_ns < work_ns      ? 1U
                                                                                  : 2U};
    }

private:
    Turn turn_;
    std::mt19937 random_;
    std::uint64_t woke_ns_ = kMilli;
    std::uint64_t worked_ns_ = 1;
    std::uint64_t sleep_ns_ = turn_.sleep_ns;
};

/// The first part's share of what a sampling thread of 1 kHz finds, in per cent. `is_one_of_many`:
/// of so many threads that each has a stride of its own.
double shown_share(const Turn& turn, bool is_one_of_many) {
    constexpr std::uint64_t kPeriod = kMilli;
    constexpr std::uint64_t kTicks = 1'000'000;
    Turning thread{turn};
    LookPlaces places;
    LookStride stride;
    InterruptChoice choice;
    std::mt19937 generator{1};
    const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
    std::array<std::uint64_t, 2> found{};
    std::uint64_t accounted_ns = 0;
    std::uint64_t next_look = 0;
    for (std::uint64_t tick = 1; tick < kTicks; ++tick) {
        const std::uint64_t into_ns = kPeriod * places.next(random()) >> 32U;
        if (tick < next_look) {
            continue;
        }
        const Turning::Moment now = thread.at(tick * kPeriod + into_ns);
        const std::uint64_t ran_ns = choice.check(now.cpu_ns, into_ns);
        stride.looked(tick * kPeriod, now.cpu_ns);
        next_look = tick + (is_one_of_many ? stride.next_ticks(random()) : 1);
        if (ran_ns == 0) {
            continue;
        }
        if (choice.wants_window(tick * kPeriod)) {
            choice.end_window(tick * kPeriod, {});
        }
        if (!choice.keeps_running()) {
            places.met_sleeper();
        }
        const std::uint64_t for_one_ns = kPeriod * (is_one_of_many ? stride.average_ticks() : 1);
        const bool is_due = choice.keeps_running()
                                ? choice.wants_signal(for_one_ns)
                                : InterruptChoice::wants_visit(for_one_ns, random());
        if (is_due && now.part < 2 && choice.looked_ns() > accounted_ns) {
            choice.interrupted();
            found[now.part] += choice.looked_ns() - accounted_ns;
            accounted_ns = choice.looked_ns();
        }
    }
    return 100.0 * static_cast<double>(found[0]) / static_cast<double>(found[0] + found[1]);
}

class Sleepers : public testing::TestWithParam<Turn> {};

TEST_P(Sleepers, have_each_part_of_their_work_met_as_long_as_it_takes) {
    const Turn turn = GetParam();
    const double truth = 100.0 * static_cast<double>(turn.first_ns) /
                         static_cast<double>(turn.first_ns + turn.second_ns);
    EXPECT_NEAR(shown_share(turn, false), truth, 2);
    EXPECT_NEAR(shown_share(turn, true), truth, 2) << "one of many threads";
}

INSTANTIATE_TEST_SUITE_P(
    LookPlaces, Sleepers,
    testing::Values(Turn{kMilli, kMilli, 8 * kMilli, 0}, Turn{kMilli, kMilli, 2 * kMilli, 0},
                    Turn{2 * kMilli, 2 * kMilli, 12'667 * kMicro, 20 * kMicro},
                    Turn{5 * kMilli, 5 * kMilli, 30 * kMilli, 0},
                    Turn{150 * kMicro, 150 * kMicro, 700 * kMicro, 0},
                    Turn{450 * kMicro, 450 * kMicro, 100 * kMicro, 0},
                    Turn{150 * kMicro, 150 * kMicro, 700 * kMicro, 60 * kMicro},
                    Turn{100 * kMicro, 300 * kMicro, kMilli, 60 * kMicro},
                    Turn{kMilli, kMilli, 38 * kMilli, 60 * kMicro},
                    Turn{kMilli, kMilli, 80 * kMilli, 60 * kMicro},
                    Turn{3 * kMilli, kMilli, 5 * kMilli, 60 * kMicro}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace sample::source
