#include "cli/record/memory_copy.h"

#include "callgraph/load_recording.h"
#include "tests/trace/recording_fixture.h"
#include "trace/recording_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sample::cli {
namespace {

using trace::FlushMode;

/// Hands on what a small file holds, as a session does.
void hand_on(const std::vector<std::byte>& file, trace::RecordSink& sink) {
    const auto outcome = trace::read_recording(file, sink, [](trace::Attachment&&) {});
    ASSERT_TRUE(outcome) << outcome.error().message();
    ASSERT_TRUE(sink.flush(FlushMode::everything));
}

using Weight =
    std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t>;

std::vector<Weight> weights_of(const callgraph::Recording& recording) {
    std::vector<Weight> weights;
    for (const callgraph::StackWeight& each : recording.weights()) {
        weights.emplace_back(each.thread.value, each.node.value, each.sampled, each.samples,
                             each.booked);
    }
    return weights;
}

std::vector<std::pair<std::uint32_t, std::uint64_t>> stacks_of(
    const callgraph::Recording& recording) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> stacks;
    for (const callgraph::StackFrame& each : recording.nodes()) {
        stacks.emplace_back(each.parent.value, recording.addresses()[each.address].address);
    }
    return stacks;
}

TEST(MemoryCopy, is_what_the_file_holds) {
    const trace::TemporaryFile file;
    MemoryCopy copy;
    hand_on(trace::small_recording(),
            *copy.beside(std::make_unique<trace::RecordingWriter>(file.open())));
    const auto taken = copy.take();
    const auto read = callgraph::load_recording(file.path());
    ASSERT_TRUE(taken);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(weights_of(*taken), weights_of(*read));
    EXPECT_EQ(stacks_of(*taken), stacks_of(*read));
    ASSERT_EQ(taken->threads().size(), read->threads().size());
    EXPECT_EQ(taken->threads()[1].name, read->threads()[1].name);
    EXPECT_EQ(taken->modules().size(), read->modules().size());
    ASSERT_TRUE(taken->end());
    EXPECT_EQ(taken->end()->note, read->end()->note);
    ASSERT_TRUE(taken->processes()[0].end);
    EXPECT_EQ(taken->processes()[0].end->cpu_ns, read->processes()[0].end->cpu_ns);
    EXPECT_EQ(taken->unprofiled().size(), read->unprofiled().size());
    EXPECT_EQ(taken->bad_records(), read->bad_records());
    EXPECT_FALSE(copy.take());
}

TEST(MemoryCopy, leaves_what_the_file_says_of_itself_as_it_is) {
    MemoryCopy copy;
    const auto sink = copy.beside(
        std::make_unique<trace::RecordingWriter>(Fd{::open("/dev/full", O_WRONLY | O_CLOEXEC)}));
    sink->record(trace::a_session());
    const auto flushed = sink->flush(FlushMode::everything);
    ASSERT_FALSE(flushed);
    EXPECT_EQ(flushed.error().message(), "cannot write the recording: No space left on device");
}

TEST(MemoryCopy, is_none_where_programs_say_something) {
    MemoryCopy copy;
    copy.record(trace::a_session());
    copy.zone({});
    copy.record(trace::SessionEnd{});
    EXPECT_FALSE(copy.take());
}

TEST(MemoryCopy, is_none_of_samples_by_a_further_metric) {
    MemoryCopy copy;
    copy.record(trace::a_session());
    trace::Sample sample;
    sample.metric = MetricId{2};
    copy.sample(sample);
    EXPECT_FALSE(copy.take());
}

TEST(MemoryCopy, is_none_where_it_would_be_large) {
    for (const std::size_t nodes : {MemoryCopy::kMostNodes, MemoryCopy::kMostNodes + 1}) {
        MemoryCopy copy;
        copy.record(trace::a_session());
        for (std::uint32_t id = 1; id <= nodes; ++id) {
            copy.node({NodeId{id}, NodeId{}, ModuleId{1}, id % 16});
        }
        EXPECT_EQ(copy.take().has_value(), nodes == MemoryCopy::kMostNodes);
    }
    for (const std::size_t records : {MemoryCopy::kMostRecords, MemoryCopy::kMostRecords + 1}) {
        MemoryCopy copy;
        for (std::size_t i = 0; i < records; ++i) {
            copy.record(trace::a_session());
        }
        EXPECT_EQ(copy.take().has_value(), records == MemoryCopy::kMostRecords);
    }
}

}  // namespace
}  // namespace sample::cli
