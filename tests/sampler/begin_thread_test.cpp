// What a thread does at its start and its end when the session's clock is the wall's.
#include "sampler/capture/capture.h"
#include "sampler/capture/thread_slots.h"
#include "tests/sampler/area_fixture.h"

#include <unistd.h>

#include <thread>

namespace sample::capture {
namespace {

using collector::AreaReader;
using collector::KeepingSink;
using collector::TestArea;

class BeginThread : public ::testing::Test {
protected:
    BeginThread() { attach(&test.area(), nullptr, nullptr); }
    ~BeginThread() override { detach_after_fork(); }
    void observe_waits() const { test.area().header.observes_waits.store(1); }
    [[nodiscard]] std::size_t used_slots() const {
        return kMaxThreads - collector::count_free(test.area().header.free_slots);
    }
    TestArea test;
    AreaReader reader{test.area()};
    KeepingSink sink;
};

TEST_F(BeginThread, says_that_it_is_there) {
    observe_waits();
    int tid = 0;
    std::thread{[&] {
        tid = ::gettid();
        begin_thread();
    }}.join();
    reader.drain(sink);
    ASSERT_EQ(sink.starts.size(), 1U);
    EXPECT_EQ(sink.starts[0].second.tid, static_cast<std::uint32_t>(tid));
    EXPECT_EQ(sink.starts[0].second.cpu_ns, 0U) << "nothing was spent before";
    EXPECT_GT(sink.starts[0].second.ticks, 0U);
}

TEST_F(BeginThread, takes_one_slot) {
    observe_waits();
    std::thread{[&] {
        begin_thread();
        begin_thread();
        EXPECT_EQ(used_slots(), 1U);
        end_thread();
    }}.join();
    reader.drain(sink);
    EXPECT_EQ(sink.starts.size(), 1U);
    EXPECT_EQ(sink.ends.size(), 1U);
    EXPECT_EQ(used_slots(), 0U);
}

// A thread whose samples took long rests: that is nothing to the next one in its slot.
TEST_F(BeginThread, begins_without_what_the_slots_last_thread_had) {
    observe_waits();
    const auto state_of_thread = [this] {
        ThreadState* state = nullptr;
        std::thread{[&] {
            begin_thread();
            state = t_thread.state;
            end_thread();
        }}.join();
        reader.drain(sink);
        return state;
    };
    ThreadState* const first = state_of_thread();
    ASSERT_NE(first, nullptr);
    first->long_samples = 3;
    first->rest_until_ticks = ~std::uint64_t{0};
    ASSERT_EQ(state_of_thread(), first) << "the same slot";
    EXPECT_EQ(first->long_samples, 0U);
    EXPECT_EQ(first->rest_until_ticks, 0U);
}

TEST_F(BeginThread, waits_for_its_first_sample_by_the_cpu_clock) {
    std::thread{[] { begin_thread(); }}.join();
    EXPECT_EQ(used_slots(), 0U);
}

TEST_F(BeginThread, does_nothing_without_an_area) {
    observe_waits();
    detach_after_fork();
    std::thread{[] { begin_thread(); }}.join();
    EXPECT_EQ(used_slots(), 0U);
}

TEST_F(BeginThread, goes_on_where_no_slot_is_left) {
    observe_waits();
    for (auto& word : test.area().header.free_slots) {
        word.store(0);
    }
    std::thread{[] {
        begin_thread();
        end_thread();
    }}.join();
    reader.drain(sink);
    EXPECT_EQ(sink.records(), 0U);
    EXPECT_EQ(test.area().header.slotless_threads.load(), 1U);
    EXPECT_GT(test.area().header.slotless_weight.load(), 0U);
}

TEST_F(BeginThread, is_told_apart_from_whom_an_observer_is) {
    observe_waits();
    ThreadState* const observer = claim_observer_slot(test.area());
    ASSERT_NE(observer, nullptr);
    begin_thread();
    EXPECT_EQ(used_slots(), 2U) << "the observer's slot is not the calling thread's own";
    end_thread();
}

}  // namespace
}  // namespace sample::capture
