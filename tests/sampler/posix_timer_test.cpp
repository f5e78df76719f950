#include "sampler/source/posix_timer.h"

#include "tests/sampler/child_process.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

namespace sample::source {
namespace {

constexpr std::uint64_t kCookie = 0x1122334455667788;
constexpr std::uint64_t kMillisecond = 1'000'000;

std::atomic<int> g_expiries{0};
std::atomic<int> g_last_thread{0};
std::atomic<int> g_wrong{0};

void on_expiry(int /*signal*/, siginfo_t* info, void* /*context*/) {
    const bool right = info->si_code == SI_TIMER &&
                       reinterpret_cast<std::uint64_t>(info->si_value.sival_ptr) == kCookie;
    g_wrong.fetch_add(right ? 0 : 1);
    g_last_thread.store(static_cast<int>(capture::raw_syscall(SYS_gettid)));
    g_expiries.fetch_add(1);
}

/// What the kernel says of a timer: 0, or a negative errno.
long ask(TimerId id, itimerspec& setting) {
    return capture::raw_syscall(SYS_timer_gettime, id, capture::as_argument(&setting));
}

class PosixTimer : public ::testing::Test {
protected:
    PosixTimer() {
        g_expiries.store(0);
        g_wrong.store(0);
        struct sigaction action = {};
        action.sa_sigaction = on_expiry;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        ::sigaction(SIGURG, &action, &before_);
    }
    ~PosixTimer() override { ::sigaction(SIGURG, &before_, nullptr); }
    static void await_expiries(int count) {
        while (g_expiries.load() < count) {  // the test's time limit is the bound
        }
    }

private:
    struct sigaction before_ = {};
};

TEST_F(PosixTimer, is_made_stopped) {
    const TimerId timer = create_thread_timer(::gettid(), SIGURG, kCookie);
    ASSERT_GE(timer, 0);
    itimerspec setting{};
    ASSERT_EQ(ask(timer, setting), 0);
    EXPECT_EQ(setting.it_value.tv_sec, 0);
    EXPECT_EQ(setting.it_value.tv_nsec, 0);
    delete_timer(timer);
}

TEST_F(PosixTimer, interrupts_its_thread_again_and_again) {
    const TimerId timer = create_thread_timer(::gettid(), SIGURG, kCookie);
    ASSERT_GE(timer, 0);
    start_timer(timer, 1, kMillisecond);
    await_expiries(3);
    delete_timer(timer);
    EXPECT_EQ(g_wrong.load(), 0);
    EXPECT_EQ(g_last_thread.load(), ::gettid());
}

TEST_F(PosixTimer, interrupts_another_thread) {
    std::atomic<int> tid{0};
    std::atomic<bool> over{false};
    std::thread other{[&] {
        tid.store(::gettid());
        while (!over.load()) {
        }
    }};
    while (tid.load() == 0) {
        std::this_thread::yield();
    }
    const TimerId timer = create_thread_timer(tid.load(), SIGURG, kCookie);
    EXPECT_GE(timer, 0);
    start_timer(timer, 1, kMillisecond);
    await_expiries(2);
    EXPECT_EQ(g_last_thread.load(), tid.load());
    delete_timer(timer);
    over.store(true);
    other.join();
}

TEST_F(PosixTimer, goes_by_the_times_it_was_given) {
    const TimerId timer = create_thread_timer(::gettid(), SIGURG, kCookie);
    ASSERT_GE(timer, 0);
    start_timer(timer, 3'600'000'000'000 + 5, 1'000 * kMillisecond + 7);
    itimerspec setting{};
    ASSERT_EQ(ask(timer, setting), 0);
    EXPECT_EQ(setting.it_interval.tv_sec, 1);
    EXPECT_EQ(setting.it_interval.tv_nsec, 7);
    EXPECT_GT(setting.it_value.tv_sec, 1'800);
    EXPECT_LE(setting.it_value.tv_sec, 3'600);
    delete_timer(timer);
}

TEST_F(PosixTimer, is_gone_once_it_is_deleted) {
    const TimerId timer = create_thread_timer(::gettid(), SIGURG, kCookie);
    ASSERT_GE(timer, 0);
    delete_timer(timer);
    itimerspec setting{};
    EXPECT_EQ(ask(timer, setting), -EINVAL);
}

TEST_F(PosixTimer, is_not_made_for_a_thread_of_somebody_else) {
    EXPECT_EQ(create_thread_timer(::getppid(), SIGURG, kCookie), -EINVAL);
}

TEST_F(PosixTimer, is_not_inherited) {
    const TimerId timer = create_thread_timer(::gettid(), SIGURG, kCookie);
    ASSERT_GE(timer, 0);
    collector::Child child{[timer] {
        itimerspec setting{};
        ::_exit(ask(timer, setting) == -EINVAL ? 0 : 1);
    }};
    EXPECT_EQ(child.reap(), 0);
    delete_timer(timer);
}

}  // namespace
}  // namespace sample::source
