#include "sampler/collector/events/gatekeeper.h"

#include "sampler/capture/clocks.h"
#include "sampler/source/perf_event.h"
#include "tests/sampler/area_fixture.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <semaphore>
#include <thread>

namespace sample::collector {
namespace {

/// The agent's side of the gate: see agent/processes/gate.cpp.
class GatekeeperTest : public ::testing::Test {
protected:
    static constexpr std::chrono::seconds kLong{60};

    void SetUp() override {
        auto started = Gatekeeper::start([this] { finished.release(); });
        ASSERT_TRUE(started) << started.error().message();
        gatekeeper = std::move(*started);
        void* mapped =
            ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, gatekeeper->page_fd(), 0);
        ASSERT_NE(mapped, MAP_FAILED);
        page = static_cast<capture::SessionPage*>(mapped);
        gatekeeper->add({kPid, true}, test.mapping(), {});
    }
    void TearDown() override { ::munmap(page, 4096); }

    void ring() const {
        page->doorbell.fetch_add(1, std::memory_order_release);
        ::syscall(SYS_futex, &page->doorbell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
    /// Until `word` is `wanted`. False: not within a minute.
    [[nodiscard]] static bool await(std::atomic<std::uint32_t>& word, std::uint32_t wanted) {
        const auto end = std::chrono::steady_clock::now() + kLong;
        for (;;) {
            const std::uint32_t seen = word.load(std::memory_order_acquire);
            if (seen == wanted || std::chrono::steady_clock::now() > end) {
                return seen == wanted;
            }
            const timespec timeout{1, 0};
            ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &timeout, nullptr, 0);
        }
    }
    [[nodiscard]] capture::AreaHeader& header() const { return test.area().header; }

    static constexpr pid_t kPid = 4242;
    TestArea test;
    std::binary_semaphore finished{0};
    std::unique_ptr<Gatekeeper> gatekeeper;
    capture::SessionPage* page = nullptr;
};

TEST_F(GatekeeperTest, acknowledges_each_request) {
    for (std::uint32_t request = 1; request <= 200; ++request) {
        header().gate_closers.store(request % 2);
        header().gate_requests.store(request);
        ring();
        ASSERT_TRUE(await(header().gate_acks, request)) << request;
    }
}

/// A process that joins enables its events itself, and has to know.
TEST_F(GatekeeperTest, tells_processes_whether_it_wants_their_events_off) {
    EXPECT_EQ(header().gate_shut.load(), 0U);
    gatekeeper->set_sampling(false);
    EXPECT_EQ(header().gate_shut.load(), 1U);
    const TestArea child;
    gatekeeper->add({kPid + 1, false}, child.mapping(), {});
    EXPECT_EQ(child.area().header.gate_shut.load(), 1U);
    gatekeeper->set_sampling(true);
    EXPECT_EQ(header().gate_shut.load(), 0U);
    EXPECT_EQ(child.area().header.gate_shut.load(), 0U);
    EXPECT_TRUE(gatekeeper->hold(*test.mapping(), true));
    EXPECT_EQ(header().gate_shut.load(), 1U);
}

TEST_F(GatekeeperTest, calls_back_once_when_a_process_finishes) {
    header().finish_request.store(1);
    ring();
    ASSERT_TRUE(finished.try_acquire_for(kLong));
    header().gate_requests.store(1);
    ring();
    ASSERT_TRUE(await(header().gate_acks, 1));
    EXPECT_FALSE(finished.try_acquire());
    EXPECT_EQ(header().finish_ack.load(), 0U) << "the session says when it is done";
}

TEST_F(GatekeeperTest, hears_of_no_end_but_the_roots) {
    const TestArea child;
    gatekeeper->add({kPid + 1, false}, child.mapping(), {});
    child.area().header.finish_request.store(1);
    child.area().header.gate_requests.store(1);
    ring();
    ASSERT_TRUE(await(child.area().header.gate_acks, 1));
    EXPECT_FALSE(finished.try_acquire());
}

TEST_F(GatekeeperTest, gives_a_sign_of_life) {
    for (std::uint32_t ping = 1; ping <= 200; ++ping) {
        page->pings.store(ping);
        ring();
        ASSERT_TRUE(await(page->pongs, ping)) << ping;
    }
}

/// How often this thread's event has expired.
constinit std::atomic<int> g_expiries{0};

/// An event of this thread that expires after 10 µs of its time, and the signal's handler.
Fd own_event() {
    struct sigaction action {};
    action.sa_handler = [](int) { ++g_expiries; };
    ::sigaction(SIGTRAP, &action, nullptr);
    g_expiries = 0;
    source::PerfRequest request;
    request.period = 10'000;
    request.sigtrap = true;
    request.inherits = false;
    return Fd{std::max(source::open_event(request, 0), -1)};
}

void work_for(std::chrono::nanoseconds cpu) {
    const std::uint64_t end = capture::thread_cpu_ns() + static_cast<std::uint64_t>(cpu.count());
    while (capture::thread_cpu_ns() < end) {
    }
}

TEST_F(GatekeeperTest, lets_an_event_expire_once) {
    Fd event = own_event();
    if (!event.is_open()) {
        GTEST_SKIP() << "no events here";
    }
    ASSERT_TRUE(gatekeeper->add_one_shot(*test.mapping(), kPid, std::move(event)));
    work_for(std::chrono::milliseconds{20});
    EXPECT_EQ(g_expiries, 1);
    gatekeeper->remove_one_shot(*test.mapping(), kPid);
    ASSERT_TRUE(gatekeeper->add_one_shot(*test.mapping(), kPid, own_event()));
    work_for(std::chrono::milliseconds{20});
    EXPECT_EQ(g_expiries, 1);
}

TEST_F(GatekeeperTest, an_event_that_expires_once_does_not_while_the_gate_is_closed) {
    Fd event = own_event();
    if (!event.is_open()) {
        GTEST_SKIP() << "no events here";
    }
    header().gate_closers.store(1);
    header().gate_requests.store(1);
    ring();
    ASSERT_TRUE(await(header().gate_acks, 1));
    EXPECT_FALSE(gatekeeper->add_one_shot(*test.mapping(), kPid, std::move(event)));
    work_for(std::chrono::milliseconds{20});
    EXPECT_EQ(g_expiries, 0);
}

TEST_F(GatekeeperTest, an_image_goes_and_the_next_one_of_its_process_stays) {
    const TestArea next;
    gatekeeper->add({kPid, true}, next.mapping(), {});
    gatekeeper->remove(*test.mapping());
    header().gate_requests.store(1);
    next.area().header.gate_requests.store(1);
    ring();
    ASSERT_TRUE(await(next.area().header.gate_acks, 1));
    EXPECT_EQ(header().gate_acks.load(), 0U);
}

TEST_F(GatekeeperTest, holds_for_a_tracer_until_a_look_after_its_call) {
    const TestArea tracer;
    gatekeeper->add({kPid + 1}, tracer.mapping(), {});
    tracer.area().header.tracing_calls.store(1);
    gatekeeper->hold_for_tracer(kPid, kPid + 1);
    EXPECT_EQ(header().traced.load(), 1U);
    for (int look = 0; look < 3; ++look) {
        EXPECT_FALSE(gatekeeper->hold(*test.mapping(), false));
    }
    tracer.area().header.tracing_calls.store(0);
    EXPECT_FALSE(gatekeeper->hold(*test.mapping(), false)) << "it may have looked before the call";
    EXPECT_TRUE(gatekeeper->hold(*test.mapping(), false));
    EXPECT_EQ(header().traced.load(), 0U);
}

TEST_F(GatekeeperTest, holds_no_longer_for_a_tracer_that_is_gone) {
    const TestArea tracer;
    gatekeeper->add({kPid + 1}, tracer.mapping(), {});
    tracer.area().header.tracing_calls.store(1);
    gatekeeper->hold_for_tracer(kPid, kPid + 1);
    gatekeeper->remove(*tracer.mapping());
    EXPECT_FALSE(gatekeeper->hold(*test.mapping(), false));
    EXPECT_TRUE(gatekeeper->hold(*test.mapping(), false));
}

TEST_F(GatekeeperTest, answers_every_process) {
    const TestArea second;
    gatekeeper->add({kPid + 1}, second.mapping(), {});
    second.area().header.gate_requests.store(1);
    header().gate_requests.store(5);
    ring();
    EXPECT_TRUE(await(header().gate_acks, 5));
    EXPECT_TRUE(await(second.area().header.gate_acks, 1));
}

TEST_F(GatekeeperTest, answers_what_was_asked_before_the_process_was_known) {
    const TestArea early;
    early.area().header.gate_closers.store(1);
    early.area().header.gate_requests.store(3);
    gatekeeper->add({kPid + 1}, early.mapping(), {});
    EXPECT_EQ(early.area().header.gate_acks.load(), 3U);
}

TEST_F(GatekeeperTest, answers_no_more_once_a_process_is_removed) {
    const TestArea second;
    gatekeeper->add({kPid + 1}, second.mapping(), {});
    gatekeeper->remove(*test.mapping());
    header().gate_requests.store(1);
    second.area().header.gate_requests.store(1);
    ring();
    ASSERT_TRUE(await(second.area().header.gate_acks, 1));
    EXPECT_EQ(header().gate_acks.load(), 0U);
    gatekeeper->remove_all();
}

TEST_F(GatekeeperTest, closes_the_descriptors_of_a_process_that_is_removed) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    const Fd reader{ends[0]};
    gatekeeper->add_event(kPid, Fd{ends[1]}, 0);
    char byte = 0;
    EXPECT_EQ(::read(reader.get(), &byte, 1), -1) << "still open";
    gatekeeper->remove(*test.mapping());
    EXPECT_EQ(::read(reader.get(), &byte, 1), 0) << "closed";
}

TEST_F(GatekeeperTest, closes_the_event_of_a_thread_that_has_ended) {
    gatekeeper->add({::getpid()}, test.mapping(), {});
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    const Fd reader{ends[0]};
    char byte = 0;
    std::thread thread{[&] {
        gatekeeper->add_event(::getpid(), Fd{ends[1]}, ::gettid());
        gatekeeper->close_ended_events();
        EXPECT_EQ(::read(reader.get(), &byte, 1), -1) << "still open";
    }};
    thread.join();
    // The kernel lets the thread go a moment after it can be joined.
    const auto end = std::chrono::steady_clock::now() + kLong;
    ssize_t got = -1;
    while (got != 0 && std::chrono::steady_clock::now() < end) {
        gatekeeper->close_ended_events();
        got = ::read(reader.get(), &byte, 1);
    }
    EXPECT_EQ(got, 0) << "closed";
}

TEST_F(GatekeeperTest, drops_an_event_of_an_unknown_process) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    const Fd reader{ends[0]};
    gatekeeper->add_event(kPid + 7, Fd{ends[1]}, 0);
    char byte = 0;
    EXPECT_EQ(::read(reader.get(), &byte, 1), 0) << "closed";
}

TEST(Gatekeeper, ends_at_any_moment) {
    for (int i = 0; i < 1'000; ++i) {
        auto started = Gatekeeper::start([] {});
        ASSERT_TRUE(started) << started.error().message();
    }
}

}  // namespace
}  // namespace sample::collector
