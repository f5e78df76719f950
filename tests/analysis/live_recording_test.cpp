#include "analysis/live/live_recording.h"

#include "analysis/live/record_queue.h"
#include "callgraph/build_profile.h"
#include "callgraph/recording.h"
#include "core/units.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>

namespace sample::analysis {
namespace {

constexpr std::uint64_t kStart = 5 * kNsPerSecond;
constexpr std::uint64_t kWeight = 100'000;

/// Makes the records of a session and hands them to a sink.
class MadeUpSession {
public:
    explicit MadeUpSession(trace::RecordSink& sink) : sink_{sink} {
        trace::SessionStart start;
        start.start_ns = kStart;
        start.period = kWeight;
        start.requested_hz = 10'000;
        start.source = "sigtrap";
        start.command_line = "./app";
        sink.record(start);
        trace::Module module;
        module.id = ModuleId{1};
        module.path = "/nonexistent/app";
        sink.record(module);
        trace::Process process;
        process.id = ProcessId{1};
        process.pid = 100;
        process.executable = "/nonexistent/app";
        sink.record(process);
    }

    ThreadId thread(const std::string& name) {
        const ThreadId id{++threads_};
        sink_.record(trace::Thread{id, ProcessId{1}, 100 + threads_, kStart, name});
        return id;
    }
    NodeId node(NodeId parent, std::uint64_t address) {
        const NodeId id{++nodes_};
        sink_.node({id, parent, ModuleId{1}, address});
        return id;
    }
    void sample(ThreadId thread, NodeId node, bool is_booking = false) {
        sink_.sample({thread, kStart + (++samples_ * kWeight), node, kWeight, is_booking});
    }

private:
    trace::RecordSink& sink_;
    std::uint32_t threads_ = 0;
    std::uint32_t nodes_ = 0;
    std::uint64_t samples_ = 0;
};

/// Three threads in a tree of stacks, some time booked; `after_each` tenth sample.
template <class AfterEach>
void act(MadeUpSession& session, AfterEach after_each) {
    constexpr int kSamples = 3000;
    std::vector<ThreadId> threads;
    for (const char* name : {"app", "worker-1", "worker-2"}) {
        threads.push_back(session.thread(name));
    }
    std::vector<NodeId> nodes{session.node({}, 0x1000)};
    for (int i = 0; i < kSamples; ++i) {
        if (i % 100 == 0) {
            nodes.push_back(session.node(nodes[nodes.size() / 2], 0x1000 + 0x10 * nodes.size()));
        }
        session.sample(threads[static_cast<std::size_t>(i) % threads.size()],
                       nodes[static_cast<std::size_t>(i) * 7 % nodes.size()], i % 50 == 0);
        if (i % 10 == 0) {
            after_each();
        }
    }
}

/// What two profiles must have in common to be the same figures.
std::map<std::string, std::vector<std::uint64_t>> figures_of(const callgraph::Profile& profile) {
    std::map<std::string, std::vector<std::uint64_t>> figures;
    for (const callgraph::Function& each : profile.functions) {
        figures["function " + each.name] = {each.self, each.total, each.samples, each.self_samples};
    }
    for (const callgraph::Category& each : profile.categories) {
        figures["category " + each.name] = {profile.node(each.node).total};
    }
    figures["all"] = {profile.nodes.size(), profile.nodes[0].total, profile.nodes[0].samples};
    return figures;
}

void take_all(RecordQueue& queue, LiveRecording& live) {
    while (const auto batch = queue.take()) {
        live.add(*batch);
    }
}

TEST(LiveRecording, has_the_figures_of_the_recording) {
    auto queue = RecordQueue::create();
    ASSERT_TRUE(queue.has_value());
    callgraph::Recording recording;
    trace::Tee both{{queue->get(), &recording}};
    LiveRecording live{{}};
    MadeUpSession session{both};
    act(session, [&] {
        ASSERT_TRUE(both.flush(trace::FlushMode::worthwhile).has_value());
        take_all(**queue, live);
    });
    both.record(trace::SessionEnd{kStart + kNsPerSecond, false, {}});
    ASSERT_TRUE(both.flush(trace::FlushMode::everything).has_value());
    take_all(**queue, live);

    const auto profile = live.profile({});
    ASSERT_TRUE(profile.has_value());
    EXPECT_EQ(figures_of(*profile), figures_of(callgraph::build_profile(recording, {})));
    EXPECT_EQ(live.recording().recorded_samples(trace::kSessionMetric), 2940);
    EXPECT_TRUE(live.has_ended());
    EXPECT_EQ(live.elapsed_ns(), kNsPerSecond);
}

TEST(LiveRecording, misses_nothing_while_nobody_takes) {
    auto queue = RecordQueue::create();
    ASSERT_TRUE(queue.has_value());
    callgraph::Recording recording;
    trace::Tee both{{queue->get(), &recording}};
    MadeUpSession session{both};
    int flushes = 0;
    act(session, [&] {
        ASSERT_TRUE(both.flush(trace::FlushMode::worthwhile).has_value());
        both.lost(2);
        ++flushes;
    });
    ASSERT_TRUE(both.flush(trace::FlushMode::everything).has_value());
    LiveRecording live{{}};
    int batches = 0;
    while (const auto batch = (*queue)->take()) {
        live.add(*batch);
        ++batches;
    }
    EXPECT_LT(batches, flushes / 10) << "they were not merged";
    const auto profile = live.profile({});
    ASSERT_TRUE(profile.has_value());
    EXPECT_EQ(figures_of(*profile), figures_of(callgraph::build_profile(recording, {})));
    EXPECT_EQ(live.lost(), 2 * flushes);
}

/// A batch that was handed over `second` seconds after the first.
RecordBatch batch_of(std::uint64_t second, std::uint64_t lasted_ns = 0) {
    RecordBatch batch;
    batch.end_ns = kStart + second * kNsPerSecond;
    batch.begin_ns = batch.end_ns - lasted_ns;
    return batch;
}

/// What a session says first.
RecordBatch first_batch() {
    RecordBatch batch = batch_of(0);
    trace::SessionStart start;
    start.start_ns = kStart;
    batch.records.emplace_back(start);
    trace::Process process;
    process.id = ProcessId{1};
    process.pid = 100;
    process.executable = "/nonexistent/app";
    batch.records.emplace_back(process);
    batch.records.emplace_back(trace::Thread{ThreadId{1}, ProcessId{1}, 100, kStart, "app"});
    batch.records.emplace_back(trace::Thread{ThreadId{2}, ProcessId{1}, 101, kStart, "worker"});
    batch.nodes.push_back({NodeId{1}, NodeId{}, ModuleId{}, 0x1000});
    return batch;
}

std::uint64_t total_of(const LiveRecording& live, const LiveChoice& choice) {
    const auto profile = live.profile(choice);
    return profile && !profile->nodes.empty() ? profile->nodes[0].total : 0;
}

TEST(LiveRecording, forgets_what_is_older_than_ten_seconds) {
    LiveRecording live{{}};
    live.add(first_batch());
    const LiveChoice last{true};
    for (const std::uint64_t second : {1U, 1U, 5U, 9U}) {
        RecordBatch batch = batch_of(second);
        batch.add({ThreadId{1}, batch.end_ns, NodeId{1}, kWeight});
        live.add(batch);
    }
    EXPECT_EQ(total_of(live, last), 4 * kWeight);
    live.advance(kStart + 12 * kNsPerSecond);
    EXPECT_EQ(total_of(live, last), 2 * kWeight);
    live.advance(kStart + 60 * kNsPerSecond);
    EXPECT_EQ(total_of(live, last), 0);
    EXPECT_EQ(total_of(live, {}), 4 * kWeight);
}

TEST(LiveRecording, does_not_take_a_long_wait_for_one_second) {
    LiveRecording live{{}};
    live.add(first_batch());
    RecordBatch batch = batch_of(60, 50 * kNsPerSecond);
    batch.add({ThreadId{1}, batch.end_ns, NodeId{1}, 50 * kNsPerSecond});
    live.add(batch);
    EXPECT_EQ(total_of(live, {}), 50 * kNsPerSecond);
    EXPECT_EQ(total_of(live, {true}), 0);
}

TEST(LiveRecording, knows_the_last_whole_second) {
    LiveRecording live{{}};
    live.add(first_batch());
    for (const std::uint64_t second : {3U, 3U, 4U}) {
        RecordBatch batch = batch_of(second);
        batch.add({ThreadId{1}, batch.end_ns, NodeId{1}, kWeight});
        live.add(batch);
    }
    EXPECT_EQ(live.last_second().samples, 2);
    EXPECT_EQ(live.last_second().weight, 2 * kWeight);
    live.advance(kStart + 30 * kNsPerSecond);
    EXPECT_EQ(live.last_second().samples, 0);
}

TEST(LiveRecording, counts_seconds_from_the_start_of_the_session) {
    constexpr std::uint64_t kTenth = kNsPerSecond / 10;
    LiveRecording live{{}};
    RecordBatch first;
    trace::SessionStart start;
    start.start_ns = kStart + 7 * kTenth;
    first.records.emplace_back(start);
    first.records.emplace_back(trace::Process{});
    std::get<trace::Process>(first.records.back()).id = ProcessId{1};
    first.records.emplace_back(trace::Thread{ThreadId{1}, ProcessId{1}, 100, kStart, "app"});
    first.nodes.push_back({NodeId{1}, NodeId{}, ModuleId{}, 0x1000});
    first.end_ns = start.start_ns;
    live.add(first);
    const auto pass = [&](std::uint64_t tenth) {
        RecordBatch batch;
        batch.begin_ns = batch.end_ns = start.start_ns + tenth * kTenth;
        batch.add({ThreadId{1}, batch.end_ns, NodeId{1}, kWeight});
        live.add(batch);
    };
    for (std::uint64_t tenth = 1; tenth <= 9; ++tenth) {
        pass(tenth);
        EXPECT_EQ(live.last_second().samples, tenth);
        EXPECT_EQ(live.last_second().length_ns, tenth * kTenth);
    }
    for (std::uint64_t tenth = 10; tenth <= 29; ++tenth) {
        pass(tenth);
    }
    EXPECT_EQ(live.last_second().samples, 10);
    EXPECT_EQ(live.last_second().weight, 10 * kWeight);
    EXPECT_EQ(live.last_second().length_ns, kNsPerSecond);
    // Whoever watches looks once more when the session is over.
    RecordBatch end;
    end.records.emplace_back(trace::SessionEnd{start.start_ns + 29 * kTenth, false, {}});
    end.end_ns = start.start_ns + 45 * kTenth;
    live.add(end);
    EXPECT_EQ(live.last_second().samples, 10);
}

TEST(LiveRecording, shows_one_thread) {
    LiveRecording live{{}};
    live.add(first_batch());
    RecordBatch batch = batch_of(1);
    batch.add({ThreadId{1}, batch.end_ns, NodeId{1}, kWeight});
    batch.add({ThreadId{2}, batch.end_ns, NodeId{1}, 2 * kWeight});
    live.add(batch);
    for (const bool is_last : {false, true}) {
        LiveChoice choice{is_last};
        choice.selection.threads = {"worker"};
        EXPECT_EQ(total_of(live, choice), 2 * kWeight);
    }
    LiveChoice unknown;
    unknown.selection.threads = {"nobody"};
    EXPECT_FALSE(live.profile(unknown).has_value());
}

}  // namespace

/// External, so that it has a name.
void to_be_named() {}

namespace {

TEST(LiveRecording, learns_names_in_the_background) {
    Dl_info here{};
    void* const function = reinterpret_cast<void*>(&to_be_named);
    ASSERT_NE(dladdr(function, &here), 0);
    const auto address = reinterpret_cast<std::uintptr_t>(function) -
                         reinterpret_cast<std::uintptr_t>(here.dli_fbase);
    LiveNaming naming;
    naming.use_cache = false;
    naming.form = symbolize::NameForm::brief;
    LiveRecording live{naming};
    RecordBatch batch = first_batch();
    trace::Module module;
    module.id = ModuleId{1};
    module.path = "/proc/self/exe";
    batch.records.emplace_back(module);
    batch.nodes.push_back({NodeId{2}, NodeId{}, ModuleId{1}, address});
    batch.add({ThreadId{1}, batch.end_ns, NodeId{2}, kWeight});
    live.add(batch);
    const auto name = [&live] {
        const auto profile = live.profile({});
        return profile && !profile->functions.empty() ? profile->functions[0].name : "";
    };
    EXPECT_TRUE(name().starts_with("exe+0x")) << name();
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    std::uint64_t now = batch.end_ns;
    while (name().starts_with("exe+0x") && std::chrono::steady_clock::now() < limit) {
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        live.advance(++now);
    }
    EXPECT_EQ(name(), "sample::analysis::to_be_named");
}

}  // namespace
}  // namespace sample::analysis
