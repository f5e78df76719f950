#include "sampler/collector/process/profiled_process.h"

#include "sampler/collector/process/handler_histogram.h"
#include "sampler/collector/process/proc_files.h"
#include "tests/sampler/child_process.h"
#include "tests/sampler/process_fixture.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace sample::collector {
namespace {

TEST_F(ProfiledProcessTest, records_who_it_is) {
    start(0);
    end(1'000'000);
    ASSERT_EQ(read.processes.size(), 1U);
    EXPECT_EQ(read.processes[0].pid, own_tid());
    EXPECT_EQ(read.processes[0].source, "test");
    EXPECT_EQ(read.processes[0].executable, "/bin/tested");
    EXPECT_EQ(read.processes[0].command_line, "tested --fast");
    ASSERT_EQ(read.threads.size(), 1U);
    EXPECT_EQ(read.threads[0].tid, own_tid());
    EXPECT_EQ(read.threads[0].name, "main");
    ASSERT_EQ(read.module_loads.size(), 2U);
    EXPECT_EQ(path_of(read.module_loads[0].module), "/bin/app");
    EXPECT_EQ(read.module_loads[0].base, kApp);
    EXPECT_EQ(read.module_loads[0].start, kApp);
    EXPECT_EQ(read.module_loads[0].size, 0x10000U);
}

TEST_F(ProfiledProcessTest, books_all_of_the_processs_clock) {
    start(2'000'000);
    for (int i = 0; i < 10; ++i) {
        test.add_sample(main, {{exact(kApp + 0x20), calls_at(kApp + 0x10)}});
    }
    const std::uint32_t worker = test.start_thread(999'999, "worker", 50'000);
    test.add_sample(worker, {{exact(kApp + 0x30)}, 0, 200'000});
    test.end_thread(worker, 400'000);
    end(7'777'777);
    EXPECT_EQ(recorded_ns(), 7'777'777U);
    EXPECT_EQ(booked_ns(trace::kBeforeStart), 2'000'000U);
    ASSERT_EQ(read.samples.size(), 11U);
    // The worker's own rest, and the main thread's.
    ASSERT_EQ(read.bookings.size(), 3U);
    std::uint64_t workers = 0;
    for (const trace::Sample& booking : read.bookings) {
        workers += booking.thread.value == 2 ? booking.weight : 0;
    }
    EXPECT_EQ(workers, 150'000U);
    ASSERT_EQ(read.process_ends.size(), 1U);
    EXPECT_EQ(read.process_ends[0].cpu_ns, 7'777'777U);
    EXPECT_EQ(read.process_ends[0].kind, trace::EndKind::exited);
    EXPECT_EQ(read.process_ends[0].code, 3);
    EXPECT_EQ(read.process_ends[0].handler_count, 11U);
}

TEST_F(ProfiledProcessTest, books_what_came_before_on_the_main_thread) {
    for (std::uint32_t i = 0; i < 20; ++i) {
        static_cast<void>(test.start_thread(999'000 + i));
    }
    start(2'000'000);
    end(2'000'000);
    const auto of_main = std::find_if(read.threads.begin(), read.threads.end(),
                                      [&](const auto& each) { return each.tid == own_tid(); });
    ASSERT_NE(of_main, read.threads.end());
    ASSERT_EQ(read.bookings.size(), 1U);
    EXPECT_EQ(read.bookings[0].thread, of_main->id);
}

TEST_F(ProfiledProcessTest, books_the_rest_on_the_main_thread_though_it_has_ended) {
    start(0);
    test.end_thread(main, 0);
    end(5'000'000);
    EXPECT_EQ(recorded_ns(), 5'000'000U);
    EXPECT_EQ(booked_ns(trace::kNotSampled), 5'000'000U);
}

TEST_F(ProfiledProcessTest, adds_up_to_the_processs_clock_though_its_samples_weigh_more) {
    start(0);
    for (int i = 0; i < 10; ++i) {
        test.add_sample(main, {{exact(kApp)}});
    }
    end(9 * kPeriodNs);
    ASSERT_EQ(read.samples.size(), 10U);
    EXPECT_EQ(recorded_ns(), 9 * kPeriodNs);
}

TEST_F(ProfiledProcessTest, books_threads_without_a_slot_on_no_other_thread) {
    start(0);
    test.add_sample(main, {{exact(kApp)}});
    test.area().header.slotless_threads.store(3);
    test.area().header.slotless_weight.store(2'000'000);
    process->drain();
    test.area().header.slotless_weight.store(5'000'000);
    end(6'000'000);
    EXPECT_EQ(recorded_ns(), 6'000'000U);
    EXPECT_EQ(booked_ns(trace::kTooManyThreads), 5'000'000U);
    EXPECT_EQ(booked_ns(trace::kNotSampled), 6'000'000U - 5'000'000U - kPeriodNs);
    ASSERT_EQ(read.threads.size(), 2U);
    EXPECT_EQ(read.threads[1].name, "[further threads]");
    for (const trace::Sample& booking : read.bookings) {
        const bool is_theirs = stack_of(booking.node).front() == trace::kTooManyThreads;
        EXPECT_EQ(booking.thread == read.threads[1].id, is_theirs);
    }
    ASSERT_EQ(recorder.notes().size(), 1U);
    EXPECT_EQ(recorder.notes()[0].rfind("3 threads came while", 0), 0U) << recorder.notes()[0];
}

TEST_F(ProfiledProcessTest, believes_no_more_of_threads_without_a_slot_than_the_clock) {
    start(0);
    test.area().header.slotless_weight.store(~std::uint64_t{0});
    end(6'000'000);
    EXPECT_EQ(recorded_ns(), 6'000'000U);
}

TEST_F(ProfiledProcessTest, misses_no_kernel_where_its_own_code_has_no_samples) {
    const auto used = [] {
        rusage told{};
        ::getrusage(RUSAGE_SELF, &told);
        return told;
    };
    const auto us_of = [](const timeval& time) { return time.tv_sec * 1'000'000 + time.tv_usec; };
    test.area().header.kernel_excluded.store(1);
    test.area().header.observer_tid.store(own_tid() + 1);
    const rusage first = used();
    start(process_cpu_ns(::getpid()).value());
    volatile std::uint64_t sum = 0;
    while (us_of(used().ru_utime) - us_of(first.ru_utime) < 100'000) {
        for (std::uint64_t i = 0; i < 100'000; ++i) {
            sum = sum + i;
        }
    }
    const bool misses = process->misses_the_kernel();
    const auto system_us = us_of(used().ru_stime) - us_of(first.ru_stime);
    EXPECT_FALSE(misses && system_us < 10'000) << "a tick less than what it takes";
    const auto all_us = [&] { return us_of(used().ru_utime) + us_of(used().ru_stime); };
    while (us_of(used().ru_stime) - us_of(first.ru_stime) < all_us() / 20 + 40'000) {
        static_cast<void>(status_of(::getpid()));
    }
    EXPECT_TRUE(process->misses_the_kernel());
}

TEST_F(ProfiledProcessTest, leaves_out_what_earlier_images_spent) {
    start(30'000'000, 28'000'000);
    test.add_sample(main, {{exact(kApp)}});
    end(40'000'000);
    EXPECT_EQ(booked_ns(trace::kBeforeStart), 2'000'000U);
    EXPECT_EQ(recorded_ns(), 12'000'000U);
    ASSERT_EQ(read.process_ends.size(), 1U);
    EXPECT_EQ(read.process_ends[0].cpu_ns, 12'000'000U);
}

TEST_F(ProfiledProcessTest, invents_no_time_when_the_clock_is_unknown) {
    start(0);
    test.add_sample(main, {{exact(kApp)}});
    end(std::nullopt);
    EXPECT_EQ(recorded_ns(), kPeriodNs);
    ASSERT_EQ(read.process_ends.size(), 1U);
    EXPECT_EQ(read.process_ends[0].cpu_ns, 0U);
}

TEST_F(ProfiledProcessTest, notes_the_most_that_unwind_tables_took) {
    start(0);
    test.area().header.table_bytes.store(3'000'000);
    process->measure_memory();
    test.area().header.table_bytes.store(2'000'000);
    end(1'000'000);
    ASSERT_EQ(read.process_ends.size(), 1U);
    EXPECT_EQ(read.process_ends[0].unwind_table_bytes, 3'000'000U);
}

TEST(AreaMapping, tells_the_agent_how_deep_stacks_are_kept) {
    const auto mapping = AreaMapping::create(kPeriodNs, 2.0, false, 100);
    ASSERT_TRUE(mapping) << mapping.error().message();
    EXPECT_EQ((*mapping)->area().header.max_depth, 100U);
}

TEST_F(ProfiledProcessTest, keeps_time_that_the_source_could_not_see_apart) {
    start(0);
    test.add_sample(main, {{exact(kApp + 0x200)}, 0, kPeriodNs, 3'000'000});
    end(10'000'000);
    ASSERT_EQ(read.samples.size(), 1U);
    EXPECT_EQ(read.samples[0].weight, kPeriodNs);
    EXPECT_EQ(booked_ns(trace::kKernelUnseen), 3'000'000U);
    EXPECT_EQ(recorded_ns(), 10'000'000U);
}

TEST_F(ProfiledProcessTest, notes_a_threads_last_name) {
    start(0);
    const std::uint32_t worker = test.start_thread(999'999, "before");
    test.end_thread(worker, 1, "after");
    end(1'000'000);
    ASSERT_FALSE(read.thread_names.empty());
    EXPECT_EQ(read.thread_names[0].id.value, 2U);
    EXPECT_EQ(read.thread_names[0].name, "after");
}

TEST_F(ProfiledProcessTest, counts_what_the_handler_cost) {
    start(0);
    test.slot(main).samples.store(100);
    test.slot(main).lost.store(4);
    test.slot(main).handler_ticks.store(static_cast<std::uint64_t>(5e6 * clock.ticks_per_ns()));
    test.slot(main).handler_histogram[capture::histogram_class(1'000)].store(99);
    test.slot(main).handler_histogram[capture::histogram_class(100'000)].store(1);
    end(1'000'000);
    ASSERT_EQ(read.process_ends.size(), 1U);
    const trace::ProcessEnd& last = read.process_ends[0];
    EXPECT_EQ(last.handler_count, 100U);
    EXPECT_EQ(last.lost, 4U);
    EXPECT_NEAR(static_cast<double>(last.handler_sum_ns), 5e6, 2.0);
    // 99 of 100: the longest one is left out; rounded up to its class.
    EXPECT_GE(last.handler_p99_ns, static_cast<std::uint64_t>(1'000 / clock.ticks_per_ns()));
    EXPECT_LE(last.handler_p99_ns, static_cast<std::uint64_t>(1'300 / clock.ticks_per_ns()));
    EXPECT_GT(last.agent_rss_bytes, 0U);
}

TEST(HandlerTimes, are_usual_without_those_in_which_others_had_the_processor) {
    HandlerHistogram histogram{};
    EXPECT_EQ(usual_time(histogram), 0U);
    histogram[capture::histogram_class(1'024)] = 60;
    histogram[capture::histogram_class(4'096)] = 30;
    const std::uint64_t usual = usual_time(histogram);
    EXPECT_EQ(usual, (60 * 1'152 + 30 * 4'608) / 90) << "classes by their middle";
    histogram[capture::histogram_class(10'000'000)] = 10;
    EXPECT_EQ(usual_time(histogram), usual);
}

TEST_F(ProfiledProcessTest, gives_the_slots_of_killed_threads_back) {
    Child dead{[] { ::_exit(0); }};
    ASSERT_NE(dead.reap(), -1);
    start(0);
    const std::uint32_t worker = test.start_thread(static_cast<std::uint32_t>(dead.pid()));
    test.add_sample(worker, {{exact(kApp + 0x200)}});
    process->collect_dead_threads();
    EXPECT_EQ(count_free(test.area().header.free_slots), capture::kMaxThreads - 1);
    EXPECT_EQ(test.slot(main).tid.load(), own_tid()) << "the main thread lives";
    end(1'000'000);
    EXPECT_EQ(read.samples.size(), 1U);
    EXPECT_EQ(recorded_ns(), 1'000'000U);
}

TEST_F(ProfiledProcessTest, gives_slots_back_whose_threads_could_write_nothing) {
    Child dead{[] { ::_exit(0); }};
    ASSERT_NE(dead.reap(), -1);
    start(0);
    // No chunk was free when it came, so that its start is not there.
    const std::uint32_t worker = capture::claim_bit(test.area().header.free_slots);
    test.slot(worker).chunk = capture::kNoIndex;
    test.slot(worker).tid.store(static_cast<std::uint32_t>(dead.pid()));
    process->collect_dead_threads();
    EXPECT_EQ(count_free(test.area().header.free_slots), capture::kMaxThreads - 1);
}

// Threads that ended leave slots to others while the dead are collected: who came is not who died.
TEST_F(ProfiledProcessTest, takes_no_slot_from_a_thread_that_came_a_moment_ago) {
    Child dead{[] { ::_exit(0); }};
    ASSERT_NE(dead.reap(), -1);
    const auto dead_tid = static_cast<std::uint32_t>(dead.pid());
    start(0);
    // Chunks in use make each look around slow enough for the newcomer.
    for (int i = 0; i < 1'000; ++i) {
        ASSERT_NE(capture::claim_bit(test.area().header.free_chunks), capture::kNoIndex);
    }
    std::uint32_t last = 0;
    for (int i = 0; i < 3'000; ++i) {
        last = test.start_thread(dead_tid);
        test.end_thread(last, 0);
    }
    auto& bits = test.area().header.free_slots[last / 64];
    const std::uint64_t mask = std::uint64_t{1} << (last % 64);
    std::atomic<bool> waiting{false};
    std::thread newcomer{[&] {
        waiting.store(true);
        while ((bits.load(std::memory_order_acquire) & mask) == 0) {
        }
        bits.fetch_and(~mask);
        test.write_start(last, own_tid(), "newcomer");
    }};
    while (!waiting.load()) {
        std::this_thread::yield();
    }
    process->collect_dead_threads();
    newcomer.join();
    process->drain();
    EXPECT_EQ(test.slot(last).tid.load(), own_tid());
    EXPECT_EQ(bits.load() & mask, 0U) << "its slot is free to be taken a second time";
}

TEST_F(ProfiledProcessTest, survives_weights_and_times_from_nowhere) {
    start(0);
    for (const std::uint64_t wild : {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{0}}) {
        test.add_sample(main, {{exact(wild)}, 0, wild, 0xffffffff, 0xffffffff, wild});
    }
    end(1'000'000);
    EXPECT_EQ(read.samples.size(), 3U);
}

}  // namespace
}  // namespace sample::collector
