#include "sampler/collector/process/area_reader.h"

#include "sampler/capture/capture.h"
#include "sampler/capture/lane_records.h"
#include "tests/sampler/area_fixture.h"

#include <unistd.h>

#include <climits>

namespace sample::collector {
namespace {

using capture::Chunk;
using capture::kMaxThreads;
using Frames = std::vector<std::uint64_t>;

TEST_F(AreaReading, puts_stacks_together_again) {
    const std::uint32_t slot = test.start_thread(100, "main", 7);
    test.add_sample(slot, {{30, 20, 10}, 0, 5, 6, 1, 99});
    test.add_sample(slot, {{31}, 2});
    test.add_sample(slot, {{}, 1});
    test.add_sample(slot, {{40}, 0});
    reader.drain(sink);
    ASSERT_EQ(sink.starts.size(), 1U);
    EXPECT_EQ(sink.starts[0].second.tid, 100U);
    EXPECT_EQ(sink.starts[0].second.cpu_ns, 7U);
    EXPECT_STREQ(sink.starts[0].second.name.data(), "main");
    ASSERT_EQ(sink.samples.size(), 4U);
    const KeepingSink::Kept& first = sink.samples[0];
    EXPECT_EQ(first.frames, (Frames{10, 20, 30}));
    EXPECT_EQ(first.slot, slot);
    EXPECT_EQ(first.weight_ns, 5U);
    EXPECT_EQ(first.unseen_ns, 6U);
    EXPECT_EQ(first.stop, 1U);
    EXPECT_EQ(first.ticks, 99U);
    EXPECT_EQ(sink.samples[1].frames, (Frames{10, 20, 31}));
    EXPECT_EQ(sink.samples[1].kept, 2U);
    EXPECT_EQ(sink.samples[2].frames, (Frames{10}));
    EXPECT_EQ(sink.samples[3].frames, (Frames{40}));
    EXPECT_EQ(reader.corrupt_chunks(), 0U);
}

TEST_F(AreaReading, takes_each_record_once) {
    const std::uint32_t slot = test.start_thread(100);
    test.add_sample(slot, {{1}});
    reader.drain(sink);
    reader.drain(sink);
    EXPECT_EQ(sink.samples.size(), 1U);
    test.add_sample(slot, {{2}, 1});
    reader.drain(sink);
    ASSERT_EQ(sink.samples.size(), 2U);
    EXPECT_EQ(sink.samples[1].frames, (Frames{1, 2})) << "the stack lives from drain to drain";
}

TEST_F(AreaReading, keeps_the_order_of_one_threads_chunks) {
    const std::uint32_t slot = test.start_thread(100);
    // The second chunk lies below the first one.
    ASSERT_EQ(capture::claim_bit(test.area().header.free_chunks), 1U);
    test.add_sample(slot, {{1}});
    capture::leave_chunk(&test.chunk_of(slot));
    ASSERT_TRUE(capture::change_chunk(test.area(), test.thread(slot)));
    ASSERT_EQ(test.chunk_index_of(slot), 2U);
    test.add_sample(slot, {{2}});
    capture::return_bit(test.area().header.free_chunks, 1);
    ASSERT_TRUE(capture::change_chunk(test.area(), test.thread(slot)));
    ASSERT_EQ(test.chunk_index_of(slot), 1U);
    test.add_sample(slot, {{3}});
    reader.drain(sink);
    ASSERT_EQ(sink.samples.size(), 3U);
    EXPECT_EQ(sink.samples[0].frames, Frames{1});
    EXPECT_EQ(sink.samples[1].frames, Frames{2});
    EXPECT_EQ(sink.samples[2].frames, Frames{3});
}

TEST_F(AreaReading, gives_a_full_chunk_back) {
    const std::uint32_t slot = test.start_thread(100);
    const std::size_t before = count_free(test.area().header.free_chunks);
    test.add_sample(slot, {{1}});
    ASSERT_TRUE(capture::change_chunk(test.area(), test.thread(slot)));
    test.add_sample(slot, {{2}});
    EXPECT_EQ(count_free(test.area().header.free_chunks), before - 1);
    reader.drain(sink);
    EXPECT_EQ(count_free(test.area().header.free_chunks), before);
    EXPECT_EQ(test.chunk(0).committed.load(), 0U);
    EXPECT_EQ(test.chunk(0).full.load(), 0U);
    // Claimed again, it is read from its beginning.
    ASSERT_TRUE(capture::change_chunk(test.area(), test.thread(slot)));
    ASSERT_EQ(test.chunk_index_of(slot), 0U);
    test.add_sample(slot, {{3}});
    reader.drain(sink);
    EXPECT_EQ(sink.samples.size(), 3U);
}

TEST_F(AreaReading, follows_a_thread_through_many_chunks) {
    const std::uint32_t slot = test.start_thread(100);
    constexpr std::uint64_t kSamples = 3'000;
    for (std::uint64_t i = 0; i < kSamples; ++i) {
        test.add_sample(slot, {Frames(20, i + 1)});
    }
    reader.drain(sink);
    ASSERT_EQ(sink.samples.size(), kSamples);
    for (std::uint64_t i = 0; i < kSamples; ++i) {
        ASSERT_EQ(sink.samples[i].frames, Frames(20, i + 1));
    }
    EXPECT_EQ(count_free(test.area().header.free_chunks), capture::kMaxChunks - 1);
}

TEST_F(AreaReading, frees_an_ended_threads_slot) {
    const std::uint32_t slot = test.start_thread(100);
    test.add_sample(slot, {{1}});
    test.slot(slot).lost.store(3);
    test.slot(slot).handler_ticks.store(11);
    test.slot(slot).handler_histogram[9].store(2);
    test.end_thread(slot, 123, "renamed");
    reader.drain(sink);
    ASSERT_EQ(sink.ends.size(), 1U);
    EXPECT_EQ(sink.ends[0].second.cpu_ns, 123U);
    EXPECT_STREQ(sink.ends[0].second.name.data(), "renamed");
    EXPECT_EQ(count_free(test.area().header.free_slots), kMaxThreads);
    EXPECT_EQ(count_free(test.area().header.free_chunks), capture::kMaxChunks);
    EXPECT_EQ(test.slot(slot).tid.load(), 0U);
    EXPECT_EQ(test.slot(slot).samples.load(), 0U);
    // Its counts are kept, and counted once.
    const HandlerTotals totals = reader.totals();
    EXPECT_EQ(totals.samples, 1U);
    EXPECT_EQ(totals.lost, 3U);
    EXPECT_EQ(totals.ticks, 11U);
    EXPECT_EQ(totals.histogram[9], 2U);
}

TEST_F(AreaReading, frees_a_killed_threads_slot_and_chunks) {
    const std::uint32_t slot = test.start_thread(100);
    test.add_sample(slot, {{1}});
    Chunk& said = test.chunk(capture::claim_chunk(test.area()));
    said.slot = static_cast<std::uint16_t>(slot);
    said.lane = capture::kInstrumentLane;
    reader.drain(sink);
    reader.free_killed(slot);
    EXPECT_EQ(count_free(test.area().header.free_slots), kMaxThreads);
    EXPECT_EQ(count_free(test.area().header.free_chunks), capture::kMaxChunks);
    EXPECT_EQ(reader.totals().samples, 1U);
    EXPECT_TRUE(reader.used_slots().empty());
    // Whoever comes next starts from nothing.
    const std::uint32_t next = test.start_thread(101);
    EXPECT_EQ(next, slot);
    test.add_sample(next, {{2}});
    reader.drain(sink);
    EXPECT_EQ(sink.samples.back().frames, Frames{2});
    EXPECT_EQ(reader.corrupt_chunks(), 0U);
}

TEST_F(AreaReading, leaves_a_chunk_that_is_somebody_elses) {
    const std::uint32_t killed = test.start_thread(100);
    const std::uint32_t other = test.start_thread(101);
    test.slot(killed).chunk.store(test.chunk_index_of(other));
    const std::size_t before = count_free(test.area().header.free_chunks);
    reader.free_killed(killed);
    EXPECT_EQ(count_free(test.area().header.free_chunks), before);
}

TEST_F(AreaReading, names_the_slots_in_use) {
    (void)test.start_thread(100);
    const std::uint32_t second = test.start_thread(200);
    const auto used = reader.used_slots();
    ASSERT_EQ(used.size(), 2U);
    EXPECT_EQ(used[1].slot, second);
    EXPECT_EQ(used[1].tid, 200U);
}

TEST_F(AreaReading, adds_up_all_that_was_lost) {
    const std::uint32_t slot = test.start_thread(100);
    test.slot(slot).lost.store(1);
    test.area().header.lost_reentry.store(100);
    EXPECT_EQ(reader.totals().lost, 101U);
}

TEST_F(AreaReading, reads_modules) {
    const std::uint32_t slot = test.start_thread(100);
    for (const char* path : {"", "/lib/1", "/lib/12345678"}) {
        test.add_module(slot, path, 0x1000, 0x2000, capture::kModulePlugin);
    }
    reader.drain(sink);
    ASSERT_EQ(sink.modules.size(), 3U);
    EXPECT_EQ(sink.modules[0].first, "");
    EXPECT_EQ(sink.modules[1].first, "/lib/1");
    EXPECT_EQ(sink.modules[2].first, "/lib/12345678");
    EXPECT_EQ(sink.modules[2].second.end, 0x2000U);
    EXPECT_EQ(sink.modules[2].second.head.b, 2U);
}

TEST_F(AreaReading, reads_what_the_handlers_side_reports) {
    capture::attach(&test.area(), nullptr, nullptr);
    const std::array<std::uint8_t, 3> id{1, 2, 3};
    capture::ModuleDescription module;
    module.start = 0x1000;
    module.end = 0x3000;
    module.bias = 0x800;
    module.flags = capture::kModuleVdso;
    module.build_id = id.data();
    module.build_id_bytes = id.size();
    module.path = "/lib/some-library";
    EXPECT_TRUE(capture::report_module(module));
    capture::end_thread();
    capture::detach_after_fork();
    EXPECT_FALSE(capture::report_module(module)) << "detached";

    reader.drain(sink);
    ASSERT_EQ(sink.starts.size(), 1U);
    EXPECT_EQ(sink.starts[0].second.tid, static_cast<std::uint32_t>(::gettid()));
    ASSERT_EQ(sink.modules.size(), 1U);
    EXPECT_EQ(sink.modules[0].first, "/lib/some-library");
    const capture::ModuleRecord& record = sink.modules[0].second;
    EXPECT_EQ(record.start, 0x1000U);
    EXPECT_EQ(record.end, 0x3000U);
    EXPECT_EQ(record.bias, 0x800U);
    EXPECT_EQ(record.flags, capture::kModuleVdso);
    ASSERT_EQ(record.head.b, 3U);
    EXPECT_EQ(record.build_id[2], 3U);
    ASSERT_EQ(sink.ends.size(), 1U);
    EXPECT_GT(sink.ends[0].second.cpu_ns, 0U);
    EXPECT_EQ(count_free(test.area().header.free_slots), kMaxThreads);
}

TEST_F(AreaReading, cuts_the_path_of_a_module_that_is_too_long) {
    capture::attach(&test.area(), nullptr, nullptr);
    const std::string path(5'000, 'x');
    capture::ModuleDescription module;
    module.path = path.c_str();
    EXPECT_TRUE(capture::report_module(module));
    capture::detach_after_fork();
    reader.drain(sink);
    ASSERT_EQ(sink.modules.size(), 1U);
    EXPECT_EQ(sink.modules[0].first, path.substr(0, PATH_MAX - 1));
    EXPECT_EQ(reader.corrupt_chunks(), 0U);
}

}  // namespace
}  // namespace sample::collector
