// The texts of /proc/PID/task/TID, and threads of the test program that do what they tell.
#include "core/fd.h"
#include "sampler/source/tasks.h"
#include "tests/sampler/child_process.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace sample::source {
namespace {

using Kind = TaskState::Kind;

TEST(TaskState, knows_a_running_thread) {
    EXPECT_EQ(parse_task_state("running\n").kind, Kind::awake);
    EXPECT_EQ(parse_task_state("running").kind, Kind::awake);
}

TEST(TaskState, finds_the_registers_behind_a_system_calls_arguments) {
    const TaskState state = parse_task_state(
        "230 0x0 0x0 0x7ffd2c6a3e10 0x0 0x2 0x7f1d2e3f4a5b 0x7ffd2c6a3dc8 0x7f6a0b1c2d3e\n");
    EXPECT_EQ(state.kind, Kind::asleep);
    EXPECT_EQ(state.sp, 0x7ffd2c6a3dc8U);
    EXPECT_EQ(state.pc, 0x7f6a0b1c2d3eU);
}

TEST(TaskState, knows_a_thread_that_sleeps_outside_of_a_system_call) {
    const TaskState state = parse_task_state("-1 0x7ffd2c6a3dc8 0x55d0deadbeef\n");
    EXPECT_EQ(state.kind, Kind::asleep);
    EXPECT_EQ(state.sp, 0x7ffd2c6a3dc8U);
    EXPECT_EQ(state.pc, 0x55d0deadbeefU);
}

TEST(TaskState, says_unknown_of_anything_else) {
    for (const char* text :
         {"", "\n", "   \n", "run", "0", "-1", "0x12", "-1 0x0 0x0\n", "-1 0x7ffd 0x0\n",
          "-1 0x0 0x7ffd\n", "0 0x 0x\n", "0 7ffd 7ffe\n", "0 0x7ffg 0x7ffe\n", "0 0X7ffd 0X7ffe\n",
          "0 0x11112222333344445 0x1\n", "0 0x1 0x11112222333344445\n", "garbage garbage\n"}) {
        const TaskState state = parse_task_state(text);
        EXPECT_EQ(state.kind, Kind::unknown) << text;
        EXPECT_EQ(state.pc, 0U) << text;
    }
}

TEST(TaskState, reads_the_largest_addresses) {
    const TaskState state = parse_task_state("-1 0xffffffffffffffff 0xfedcba9876543210");
    EXPECT_EQ(state.sp, ~std::uint64_t{0});
    EXPECT_EQ(state.pc, 0xfedcba9876543210U);
}

TEST(ScheduleCounts, are_the_second_number_and_the_third) {
    const ScheduleCounts counts = parse_schedule_counts("113434131 2518000 42\n");
    EXPECT_EQ(counts.wait_ns, 2'518'000U);
    EXPECT_EQ(counts.runs, 42U);
    for (const char* text : {"", " ", "1", "1 "}) {
        EXPECT_EQ(parse_schedule_counts(text).wait_ns, 0U) << text;
        EXPECT_EQ(parse_schedule_counts(text).runs, 0U) << text;
    }
}

TEST(ProcessorOf, is_told_of_threads_that_can_be_put_off_it) {
    const auto stat = [](const char* behind_processor) {
        return "123 (a (name) 7 8) R 1 2 3 0 -1 4194304 1 0 0 0 5 6 0 0 20 0 1 0 99 1000 10 "
               "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 " +
               std::string{behind_processor};
    };
    EXPECT_EQ(parse_processor(stat("63 0 0 0 0 0 0\n")), 63U);
    EXPECT_EQ(parse_processor(stat("3 0 5 0 0 0 0\n")), 3U) << "SCHED_IDLE";
    EXPECT_EQ(parse_processor(stat("3 50 1 0 0 0 0\n")), kNoProcessor) << "SCHED_FIFO";
    EXPECT_EQ(parse_processor(stat("3 0 6 0 0 0 0\n")), kNoProcessor) << "SCHED_DEADLINE";
    for (const char* text : {"", ")", "1 (x) ", "1 (x) R 1 2 3"}) {
        EXPECT_EQ(parse_processor(text), kNoProcessor) << text;
    }
    const Fd folder{open_task_folder()};
    EXPECT_LT(processor_of(folder.get(), ::gettid()), 100'000U);
}

TEST(RanNs, is_the_start_of_what_the_scheduler_counts_next) {
    EXPECT_EQ(parse_ran_ns("cat (3893, #threads: 1)\n---\n"
                           "se.exec_start                                :      60955132.319243\n"
                           "se.vruntime                                  :        807297.342164\n"),
              60'955'132'319'243U);
    for (const char* text :
         {"", "se.exec_start", "se.exec_start :\n1", "se.vruntime : 807297.342164\n"}) {
        EXPECT_EQ(parse_ran_ns(text), 0U) << text;
    }
    EXPECT_EQ(ran_ns_of(-1), 0U);
}

TEST(WasStopped, goes_by_who_ran_when_the_other_ones_time_had_come) {
    constexpr std::uint64_t kSince = 1'000'000;
    EXPECT_EQ(was_stopped(kSince, kSince, 0), Stopped::at_once);
    EXPECT_EQ(was_stopped(kSince - 1, kSince, 0), Stopped::no) << "it slept, if it was only woken";
    EXPECT_EQ(was_stopped(kSince, kSince, 5'000), Stopped::gave_way) << "in the kernel";
    EXPECT_EQ(was_stopped(kSince - 90'000, kSince, 100'000), Stopped::soon) << "a third one came";
    EXPECT_EQ(was_stopped(kSince, kSince, 100'000), Stopped::late) << "it went on for long";
    EXPECT_EQ(was_stopped(kSince - 100'001, kSince, 100'000), Stopped::no);
    EXPECT_EQ(was_stopped(kSince + 1, kSince, 0), Stopped::no) << "it runs elsewhere";
    EXPECT_EQ(was_stopped(0, kSince, 0), Stopped::no) << "the kernel does not tell";
}

TEST(SecondNumber, is_the_one_behind_the_first_space) {
    EXPECT_EQ(second_number("113434131 2518000 42\n"), 2'518'000U);
    EXPECT_EQ(second_number("0 18446744073709551615 1\n"), ~std::uint64_t{0});
    for (const char* text : {"", "\n", "12", "12 ", "12 x", "nothing here"}) {
        EXPECT_EQ(second_number(text), 0U) << text;
    }
}

/// A thread of this process, and what /proc says of it.
class Watched : public ::testing::Test {
protected:
    /// Returns once the thread has said who it is. `run` ends when `over` is set.
    template <class Run>
    void start(Run run) {
        thread = std::thread{[this, run] {
            tid.store(::gettid());
            run();
        }};
        while (tid.load() == 0) {
            std::this_thread::yield();
        }
    }
    ~Watched() override {
        over.store(true);
        if (thread.joinable()) {
            thread.join();
        }
    }
    /// Waits until the thread is in that state: the test's time limit is the bound.
    [[nodiscard]] TaskState await(Kind kind) const {
        for (;;) {
            const TaskState state = task_state(folder.get(), tid.load());
            if (state.kind == kind) {
                return state;
            }
            std::this_thread::yield();
        }
    }

    Fd folder{open_task_folder()};
    std::atomic<bool> over{false};
    std::atomic<int> tid{0};
    std::thread thread;
};

TEST_F(Watched, sleeps_where_it_is_inside_of_libc) {
    std::atomic<std::uint64_t> low{0};
    start([&] {
        pthread_attr_t attributes;
        void* stack = nullptr;
        std::size_t size = 0;
        pthread_getattr_np(pthread_self(), &attributes);
        pthread_attr_getstack(&attributes, &stack, &size);
        pthread_attr_destroy(&attributes);
        low.store(reinterpret_cast<std::uint64_t>(stack));
        while (!over.load()) {
            const timespec pause{0, 50'000'000};
            ::nanosleep(&pause, nullptr);
        }
    });
    while (low.load() == 0) {
        std::this_thread::yield();
    }
    const TaskState state = await(Kind::asleep);
    Dl_info found{};
    ASSERT_NE(::dladdr(reinterpret_cast<void*>(state.pc), &found), 0);
    EXPECT_NE(std::string{found.dli_fname}.find("libc.so"), std::string::npos) << found.dli_fname;
    EXPECT_GT(state.sp, low.load());
    EXPECT_LT(state.sp, static_cast<std::uint64_t>(thread.native_handle()));
}

TEST_F(Watched, is_awake_while_it_works) {
    start([this] {
        while (!over.load()) {
        }
    });
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(task_state(folder.get(), tid.load()).kind, Kind::awake);
    }
}

TEST_F(Watched, is_unknown_once_it_is_gone) {
    start([] {});
    thread.join();
    while (cpu_ns_of(tid.load()) != 0) {  // the kernel tells of its end before it is gone
        std::this_thread::yield();
    }
    EXPECT_EQ(task_state(folder.get(), tid.load()).kind, Kind::unknown);
    EXPECT_EQ(schedule_counts(folder.get(), tid.load()).wait_ns, 0U);
    EXPECT_NE(state_letter(folder.get(), tid.load()), 'Z');
}

TEST_F(Watched, waited_for_a_processor_as_the_kernel_says) {
    const auto from_file = [] {
        std::uint64_t ran = 0;
        std::uint64_t waited = 0;
        std::ifstream{"/proc/thread-self/schedstat"} >> ran >> waited;
        return waited;
    };
    const std::uint64_t before = from_file();
    const std::uint64_t seen = schedule_counts(folder.get(), ::gettid()).wait_ns;
    EXPECT_GE(seen, before);
    EXPECT_LE(seen, from_file());
    EXPECT_EQ(schedule_counts(-1, ::gettid()).wait_ns, 0U);
}

TEST_F(Watched, has_the_cpu_time_that_it_says) {
    const std::uint64_t before = capture::thread_cpu_ns();
    const std::uint64_t seen = cpu_ns_of(::gettid());
    EXPECT_GE(seen, before);
    EXPECT_LE(seen, capture::thread_cpu_ns());
}

TEST_F(Watched, is_no_zombie_whatever_its_name_is) {
    start([this] {
        ::prctl(PR_SET_NAME, "x) Z 1 (y");
        while (!over.load()) {
            std::this_thread::yield();
        }
    });
    for (int i = 0; i < 20; ++i) {
        EXPECT_NE(state_letter(folder.get(), tid.load()), 'Z');
    }
}

TEST(Zombie, is_a_first_thread_that_others_outlive) {
    collector::Child child{[] {
        const int folder = open_task_folder();
        const int first = ::gettid();
        if (state_letter(folder, first) == 'Z') {
            ::_exit(1);
        }
        std::thread{[folder, first] {
            while (state_letter(folder, first) != 'Z') {
                std::this_thread::yield();
            }
            ::_exit(7);
        }}.detach();
        ::syscall(SYS_exit, 0);  // not by pthread_exit, which throws
    }};
    const int status = child.reap();
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
}

// More threads than one getdents64 tells.
TEST(TaskList, names_every_thread_once) {
    constexpr int kThreads = 200;
    std::atomic<bool> over{false};
    std::atomic<int> begun{0};
    std::vector<int> expected(kThreads);
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            expected[static_cast<std::size_t>(i)] = ::gettid();
            begun.fetch_add(1);
            over.wait(false);
        });
    }
    while (begun.load() != kThreads) {
        std::this_thread::yield();
    }
    expected.insert(expected.begin(), ::gettid());
    std::sort(expected.begin() + 1, expected.end());
    const Fd folder{open_task_folder()};
    std::vector<int> seen;
    const auto keep = [&seen](int tid) {
        seen.push_back(tid);
        return true;
    };
    for_each_number(folder.get(), keep);
    EXPECT_EQ(seen, expected);
    seen.clear();
    for_each_number(folder.get(), keep);
    EXPECT_EQ(seen, expected) << "from the start again";
    int visits = 0;
    for_each_number(folder.get(), [&visits](int) { return ++visits != 100; });
    EXPECT_EQ(visits, 100) << "ends when it is told to";
    over.store(true);
    over.notify_all();
    for (std::thread& thread : threads) {
        thread.join();
    }
}

TEST(ProcessHasEnded, is_true_of_a_process_that_nobody_has_reaped_yet) {
    collector::Child child{[] { ::pause(); }};
    EXPECT_FALSE(process_has_ended(child.pid()));
    EXPECT_FALSE(process_has_ended(::getpid()));
    ::kill(child.pid(), SIGKILL);
    child.await_death();
    EXPECT_TRUE(process_has_ended(child.pid()));
    static_cast<void>(child.reap());
    EXPECT_TRUE(process_has_ended(child.pid()));
}

}  // namespace
}  // namespace sample::source
