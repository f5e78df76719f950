// Threads of the test program that wait, and what another thread sees of them.
#include "sampler/source/wait_watch.h"

#include "core/fd.h"
#include "sampler/source/tasks.h"
#include "tests/sampler/area_fixture.h"
#include "tests/sampler/own_process.h"
#include "unwind/walk/walk.h"

#include <atomic>
#include <thread>

namespace sample::source {
namespace {

using capture::WaitKind;
using collector::AreaReader;
using collector::KeepingSink;
using collector::TestArea;

/// Waits until `word` is not 0; not by libc's help, so that it is the leaf's caller.
[[gnu::noinline]] void wait_here(std::atomic<std::uint32_t>& word) {
    word.wait(0);
    asm volatile("" ::: "memory");
}

class Waiting : public ::testing::Test {
protected:
    void SetUp() override {
        capture::attach(&test.area(), modules.table(), nullptr);
        watch.begin(test.area(), folder.get());
        thread = std::thread{[this] {
            seen.tid = ::gettid();
            known.store(true);
            while (!over.load()) {
                wait_here(word);
            }
        }};
        while (!known.load()) {
            std::this_thread::yield();
        }
        while (task_state(folder.get(), seen.tid).kind != TaskState::Kind::asleep) {
            std::this_thread::yield();
        }
    }
    void TearDown() override {
        over.store(true);
        word.store(1);
        word.notify_all();
        thread.join();
        capture::detach_after_fork();
    }
    void look(bool ran) {
        (void)seen.choice.check(cpu_ns_of(seen.tid));
        watch.look_at(seen, ran, false, capture::read_ticks());
    }
    [[nodiscard]] std::vector<WaitKind> kinds() {
        reader.drain(sink);
        std::vector<WaitKind> result;
        for (const KeepingSink::KeptWait& wait : sink.waits) {
            result.push_back(static_cast<WaitKind>(wait.record.head.b));
        }
        return result;
    }

    TestArea test;
    capture::OwnModules modules;
    AreaReader reader{test.area()};
    KeepingSink sink;
    Fd folder{open_task_folder()};
    WaitWatch watch;
    WatchedThread seen;
    std::atomic<bool> known{false};
    std::atomic<bool> over{false};
    std::atomic<std::uint32_t> word{0};
    std::thread thread;
};

TEST_F(Waiting, is_seen_in_its_stack) {
    look(true);
    EXPECT_EQ(kinds(), std::vector{WaitKind::stack});
    const KeepingSink::KeptWait& wait = sink.waits.at(0);
    EXPECT_EQ(wait.record.tid, static_cast<std::uint32_t>(seen.tid));
    EXPECT_EQ(wait.record.cpu_ns, cpu_ns_of(seen.tid));
    EXPECT_EQ(wait.record.stop & capture::kStopReasonMask,
              static_cast<std::uint32_t>(unwind::StopReason::root));
    EXPECT_TRUE(FrameAddress::from_bits(wait.frames.back()).is_exact());
    EXPECT_TRUE(std::any_of(wait.frames.begin(), wait.frames.end(), [&](std::uint64_t frame) {
        return modules.function_of(frame) == reinterpret_cast<std::uint64_t>(&wait_here);
    }));
}

// The thread that looks has the thread-local storage of whoever made it, who may be unloading.
TEST_F(Waiting, is_seen_without_libraries_while_the_looking_threads_maker_unloads_one) {
    capture::begin_unload(modules.table(), capture::Unloader::this_thread);
    look(true);
    capture::end_unload(nullptr);
    EXPECT_EQ(kinds(), std::vector{WaitKind::stack});
    EXPECT_NE(sink.waits.at(0).record.stop & capture::kStopUnnamed, 0U);
}

TEST_F(Waiting, is_taken_once) {
    look(true);
    for (int i = 0; i < 20; ++i) {
        look(false);
    }
    const std::vector<WaitKind> told = kinds();
    EXPECT_EQ(std::count(told.begin(), told.end(), WaitKind::stack), 1);
    EXPECT_TRUE(seen.wait.waits);
}

TEST_F(Waiting, is_told_now_and_then) {
    look(true);
    const std::uint64_t repeat = test.area().header.period_ticks * 100;
    look(false);
    EXPECT_EQ(kinds().size(), 1U) << "not yet";
    watch.look_at(seen, false, false, seen.wait.reported_ticks + repeat + 1);
    EXPECT_EQ(kinds(), (std::vector{WaitKind::stack, WaitKind::goes_on}));
}

TEST_F(Waiting, ends_when_it_was_last_seen) {
    look(true);
    const std::uint64_t last = capture::read_ticks();
    watch.look_at(seen, false, false, last);
    watch.look_at(seen, true, false, last + 1);
    const std::vector<WaitKind> told = kinds();
    ASSERT_GE(told.size(), 2U);
    EXPECT_EQ(told[1], WaitKind::ended);
    EXPECT_EQ(sink.waits[1].record.ticks, last);
}

TEST_F(Waiting, ends_with_the_thread) {
    look(true);
    const std::uint64_t last = capture::read_ticks();
    watch.look_at(seen, false, false, last);
    watch.lose(seen);
    EXPECT_EQ(kinds(), (std::vector{WaitKind::stack, WaitKind::ended}));
    EXPECT_EQ(sink.waits[1].record.ticks, last);
    seen.wait.waits = false;
    watch.lose(seen);
    EXPECT_EQ(kinds().size(), 2U) << "one that did not wait";
}

// The process was stopped, say, and with it the thread that looks.
TEST_F(Waiting, is_not_known_while_nobody_looked) {
    look(true);
    const std::uint64_t last = capture::read_ticks();
    watch.look_at(seen, false, true, last);
    watch.look_at(seen, true, true, last + 1);
    const std::vector<WaitKind> told = kinds();
    ASSERT_GE(told.size(), 3U) << "where it still waits it has waited all the time";
    EXPECT_EQ(told[1], WaitKind::ended);
    EXPECT_EQ(sink.waits[1].record.ticks, last);
    EXPECT_EQ(told[2], WaitKind::missed);
    EXPECT_EQ(sink.waits[2].record.ticks, last + 1);
}

// What was copied of the stack may be of two moments.
TEST_F(Waiting, is_not_believed_if_its_clock_moved) {
    (void)seen.choice.check(cpu_ns_of(seen.tid) + 1);
    watch.look_at(seen, true, false, capture::read_ticks());
    EXPECT_FALSE(seen.wait.waits);
    EXPECT_EQ(kinds(), std::vector{WaitKind::clocks});
}

TEST_F(Waiting, keeps_no_more_frames_than_a_stack_may_have) {
    test.area().header.max_depth = 2;
    WaitWatch short_watch;
    short_watch.begin(test.area(), folder.get());
    (void)seen.choice.check(cpu_ns_of(seen.tid));
    short_watch.look_at(seen, true, false, capture::read_ticks());
    (void)kinds();
    ASSERT_EQ(sink.waits.size(), 1U);
    EXPECT_EQ(sink.waits[0].frames.size(), 2U);
}

TEST_F(Waiting, is_not_told_where_no_slot_is_left) {
    for (auto& free : test.area().header.free_slots) {
        free.store(0);
    }
    WaitWatch blind;
    blind.begin(test.area(), folder.get());
    blind.look_at(seen, true, false, capture::read_ticks());
    blind.lose(seen);
    EXPECT_TRUE(kinds().empty());
}

}  // namespace
}  // namespace sample::source
