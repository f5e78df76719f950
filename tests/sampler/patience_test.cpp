// How long the agent waits for a collector that is stopped, dead, or has no processor.
#include "sampler/agent/session/patience.h"

#include "tests/sampler/child_process.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <fstream>
#include <string>

namespace sample::agent {
namespace {

using collector::Child;

constexpr std::uint64_t kLongNs = 60'000'000'000;
constexpr int kManyWaits = 60;

void wait_a_slice() {
    const timespec slice{0, Patience::kSliceNs};
    ::nanosleep(&slice, nullptr);
}

/// Waits that bring nothing, until the patience is at its end; at most `most`.
int waits_for(Patience patience, int most) {
    int waits = 0;
    do {
        wait_a_slice();
        ++waits;
    } while (waits < most && patience.goes_on());
    return waits;
}

[[noreturn]] void sleep_for_ever() {
    for (;;) {
        ::pause();
    }
}

/// What a child does before is work.
void await_state(pid_t pid, char state) {
    const std::string wanted = std::string{") "} + state + ' ';
    for (std::string stat; stat.find(wanted) == std::string::npos;) {
        std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
        std::getline(file, stat);
    }
}

[[noreturn]] void work_for_ever() {
    for (;;) {
        asm volatile("");
    }
}

TEST(Patience, ends_with_a_collector_that_is_stopped) {
    const Child stopped{work_for_ever};
    ::kill(stopped.pid(), SIGSTOP);
    int status = 0;
    ASSERT_EQ(::waitpid(stopped.pid(), &status, WUNTRACED), stopped.pid());
    // 60 ms in waits of 5 ms, the first one and one that was late.
    EXPECT_LE(waits_for(Patience{stopped.pid(), kLongNs}, kManyWaits), 20);
}

TEST(Patience, ends_with_a_collector_that_does_nothing) {
    const Child asleep{sleep_for_ever};
    await_state(asleep.pid(), 'S');
    EXPECT_LE(waits_for(Patience{asleep.pid(), kLongNs}, kManyWaits), 25);
}

TEST(Patience, ends_at_once_with_a_dead_one) {
    const Child dead{[] { ::_exit(0); }};
    dead.await_death();  // and nobody has reaped it
    EXPECT_TRUE(is_dead(dead.pid()));
    EXPECT_EQ(waits_for(Patience{dead.pid(), kLongNs}, kManyWaits), 1);
}

TEST(Patience, lasts_while_the_collector_works) {
    const Child working{work_for_ever};
    EXPECT_EQ(waits_for(Patience{working.pid(), kLongNs}, kManyWaits), kManyWaits);
    EXPECT_LT(waits_for(Patience{working.pid(), 100'000'000}, kManyWaits), kManyWaits)
        << "but not for ever";
}

TEST(Patience, lasts_while_the_collector_is_kept_from_a_processor) {
    cpu_set_t one{};
    CPU_SET(::sched_getcpu(), &one);
    const auto confined = [&one](int policy) {
        return [&one, policy] {
            const sched_param none{};
            if (::sched_setaffinity(0, sizeof one, &one) == 0 &&
                ::sched_setscheduler(0, policy, &none) == 0) {
                work_for_ever();
            }
        };
    };
    // The least of all priorities, beside others that never rest: its clock hardly moves.
    const Child starved{confined(SCHED_IDLE)};
    const Child first{confined(SCHED_OTHER)};
    const Child second{confined(SCHED_OTHER)};
    EXPECT_EQ(waits_for(Patience{starved.pid(), kLongNs}, kManyWaits), kManyWaits);
}

TEST(Patience, lasts_while_the_kernel_keeps_the_collector_as_far_as_asked) {
    const Child kept{[] {
        // Until its child is gone, a process that has called vfork waits as one does for a disk.
        // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork)
        if (::vfork() == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            sleep_for_ever();
        }
    }};
    await_state(kept.pid(), 'D');
    EXPECT_LE(waits_for(Patience{kept.pid(), kLongNs}, kManyWaits), 25);
    constexpr int kAll = 2 * kManyWaits;
    const Patience asked{kept.pid(), kLongNs, Patience::kQuietNs, kAll * Patience::kSliceNs};
    EXPECT_EQ(waits_for(asked, kManyWaits), kManyWaits);
    EXPECT_LE(waits_for(asked, 2 * kAll), kAll + 25);
    Patience of_a_parent{0, kLongNs};
    of_a_parent.set_collector(kept.pid(), kAll * Patience::kSliceNs);
    EXPECT_EQ(waits_for(of_a_parent, kManyWaits), kManyWaits);
}

TEST(Patience, is_short_where_the_collector_is_not_known) {
    EXPECT_LE(waits_for(Patience{0, kLongNs}, kManyWaits), 20);
}

}  // namespace
}  // namespace sample::agent
