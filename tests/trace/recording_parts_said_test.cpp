// What programs say, in a recording in parts: whole in each of them.
#include "tests/trace/recording_parts_fixture.h"
#include "trace/wire.h"

namespace sample::trace {
namespace {

/// Of one thread, as "begin 3 +0.5 s".
std::vector<std::string> edges_of(const KeepingSink& part, ThreadId thread) {
    std::vector<std::string> edges;
    for (const ZoneEdge& edge : part.zones) {
        if (edge.thread == thread) {
            const char* const kinds[] = {"begin ", "end ", "suspend ", "resume "};
            edges.push_back(kinds[static_cast<std::size_t>(edge.kind)] +
                            (edge.kind == EdgeKind::begin ? std::to_string(edge.zone.value) + " "
                                                          : std::string{}) +
                            std::to_string((edge.time_ns - kFirstStart) / kOneSecond));
        }
    }
    return edges;
}

using Edges = std::vector<std::string>;

}  // namespace

TEST(RecordingParts, have_zones_that_are_whole) {
    TestParts parts;
    parts.define_one_of_each();
    parts.sink->instrumentation(ZoneSpec{ZoneId{1}, "other"});
    parts.sink->instrumentation(ZoneSpec{ZoneId{2}, "level"});
    parts.sink->instrumentation(ZoneSpec{ZoneId{3}, "frame"});
    parts.sink->zone({ThreadId{1}, EdgeKind::begin, kFirstStart, ZoneId{2}});
    parts.sink->instrumentation(ZoneNote{ZoneNoteId{1}, ZoneId{3}, {{"id", std::int64_t{4}}}});
    parts.sink->zone(
        {ThreadId{1}, EdgeKind::begin, kFirstStart + kOneSecond, ZoneId{3}, ZoneNoteId{1}});
    parts.turn();
    parts.sink->zone({ThreadId{1}, EdgeKind::end, kFirstStart + 12 * kOneSecond, {}});
    parts.sink->zone({ThreadId{1}, EdgeKind::end, kFirstStart + 13 * kOneSecond, {}});
    parts.turn();
    const auto read = parts.finish();
    EXPECT_EQ(edges_of(read[0], ThreadId{1}),
              (Edges{"begin 2 0", "begin 3 1", "end 10", "end 10"}));
    EXPECT_EQ(edges_of(read[1], ThreadId{1}),
              (Edges{"begin 1 10", "begin 2 10", "end 12", "end 13"}));
    EXPECT_TRUE(read[2].zones.empty());
    EXPECT_EQ(all_of<ZoneSpec>(read[1])[1].name, "frame");
    ASSERT_EQ(all_of<ZoneNote>(read[1]).size(), 1U);
    EXPECT_EQ(std::get<std::int64_t>(all_of<ZoneNote>(read[1])[0].values[0].value), 4);
}

TEST(RecordingParts, begin_a_coroutines_zones_where_it_goes_on) {
    TestParts parts;
    parts.define_one_of_each();
    parts.sink->record(Thread{ThreadId{2}, ProcessId{1}, 11, kFirstStart, "b"});
    parts.sink->instrumentation(ZoneSpec{ZoneId{1}, "task"});
    parts.sink->instrumentation(ZoneSpec{ZoneId{2}, "step"});
    parts.sink->zone({ThreadId{1}, EdgeKind::begin, kFirstStart, ZoneId{1}});
    parts.sink->zone({ThreadId{1}, EdgeKind::begin, kFirstStart, ZoneId{2}});
    parts.sink->zone({ThreadId{1}, EdgeKind::suspend, kFirstStart + kOneSecond, ZoneId{1}, {}, 2});
    parts.turn();
    parts.sink->zone(
        {ThreadId{2}, EdgeKind::resume, kFirstStart + 11 * kOneSecond, ZoneId{1}, {}, 2});
    parts.sink->zone(
        {ThreadId{2}, EdgeKind::suspend, kFirstStart + 12 * kOneSecond, ZoneId{1}, {}, 2});
    parts.sink->zone(
        {ThreadId{1}, EdgeKind::resume, kFirstStart + 13 * kOneSecond, ZoneId{1}, {}, 2});
    parts.turn();
    const auto read = parts.finish();
    EXPECT_EQ(edges_of(read[0], ThreadId{1}), (Edges{"begin 1 0", "begin 2 0", "suspend 1"}));
    EXPECT_EQ(edges_of(read[1], ThreadId{1}), (Edges{"begin 1 11", "begin 2 11", "suspend 12"}));
    EXPECT_EQ(edges_of(read[1], ThreadId{2}), (Edges{"resume 13", "end 20", "end 20"}));
    EXPECT_EQ(edges_of(read[2], ThreadId{1}), (Edges{"begin 1 20", "begin 2 20"}));
}

TEST(RecordingParts, have_frames_and_regions_that_are_whole) {
    TestParts parts;
    parts.define_one_of_each();
    parts.sink->instrumentation(FrameKind{3, "physics"});
    parts.sink->instrumentation(FrameEdge{ThreadId{1}, kFirstStart, 3, true});
    parts.sink->instrumentation(RegionBegin{ThreadId{1}, kFirstStart, 77, "loading", "io"});
    parts.sink->instrumentation(RegionEnd{ThreadId{1}, kFirstStart + 5, 78, {}});
    parts.turn();
    parts.sink->instrumentation(RegionBegin{ThreadId{1}, kFirstStart + 1, 78, "late", "io"});
    parts.sink->instrumentation(FrameEdge{ThreadId{1}, kFirstStart + 11 * kOneSecond, 3, false});
    parts.sink->instrumentation(RegionEnd{ThreadId{1}, kFirstStart + 12 * kOneSecond, 77, {}});
    parts.turn();
    const auto read = parts.finish();
    for (const std::size_t i : {0U, 1U}) {
        EXPECT_EQ(all_of<FrameEdge>(read[i]).size(), 2U) << i;
        EXPECT_EQ(all_of<RegionBegin>(read[i]).size(), i + 1) << i;
        EXPECT_EQ(all_of<RegionEnd>(read[i]).size(), i + 1) << i;
        EXPECT_TRUE(all_of<InstrumentationLoss>(read[i]).empty()) << i;
    }
    EXPECT_EQ(all_of<FrameKind>(read[1])[0].name, "physics");
    EXPECT_EQ(all_of<RegionBegin>(read[1])[0].name, "loading");
    EXPECT_TRUE(all_of<FrameEdge>(read[2]).empty());
    EXPECT_TRUE(all_of<RegionBegin>(read[2]).empty());
}

TEST(RecordingParts, carry_over_what_the_program_has_named) {
    TestParts parts;
    parts.define_one_of_each();
    RecordSink& sink = *parts.sink;
    sink.instrumentation(CounterSpec{CounterId{1}, ProcessId{1}, "unused"});
    sink.instrumentation(CounterSpec{CounterId{2}, ProcessId{1}, "fps"});
    sink.instrumentation(MessageSpec{MessageId{1}, true, {}, Verbosity::log, "unused"});
    sink.instrumentation(MessageSpec{MessageId{2}, true, {}, Verbosity::log, "here"});
    sink.instrumentation(Channel{ChannelId{1}, "cpu", true});
    sink.instrumentation(ChannelToggle{ChannelId{1}, false});
    sink.instrumentation(HeapSpec{HeapId{1}, "root"});
    sink.instrumentation(HeapSpec{HeapId{2}, "child", HeapId{1}});
    sink.instrumentation(
        EventTypeSpec{EventTypeId{1}, "Game", "Level", wire::kImportant, {{"n", 0}}});
    RaisedEvent level;
    level.type = EventTypeId{1};
    level.fixed = {std::byte{42}};
    sink.instrumentation(level);
    const NodeId node = parts.node(NodeId{}, ModuleId{1}, 1);
    sink.instrumentation(CallStack{node.value, {0x1234}});
    parts.turn();
    sink.instrumentation(CounterValue{ThreadId{1}, parts.now_ns, CounterId{2}, std::int64_t{60}});
    sink.instrumentation(Message{ThreadId{1}, parts.now_ns, MessageId{2}, {std::byte{0}}});
    MemoryEvent block{ThreadId{1}, MemoryKind::alloc, 4, parts.now_ns, 0x100, 8, HeapId{2}};
    block.call_stack = node.value;
    sink.memory(block);
    const auto read = parts.finish();
    const KeepingSink& part = read[1];
    ASSERT_EQ(all_of<CounterSpec>(part).size(), 1U);
    EXPECT_EQ(all_of<CounterSpec>(part)[0].name, "fps");
    EXPECT_EQ(all_of<CounterValue>(part)[0].counter, CounterId{1});
    EXPECT_EQ(all_of<MessageSpec>(part)[0].format, "here");
    EXPECT_EQ(all_of<Message>(part).size(), 1U);
    ASSERT_EQ(all_of<Channel>(part).size(), 1U);
    EXPECT_FALSE(all_of<Channel>(part)[0].is_enabled);
    ASSERT_EQ(all_of<HeapSpec>(part).size(), 2U);
    EXPECT_EQ(all_of<HeapSpec>(part)[1].parent, HeapId{1});
    ASSERT_EQ(all_of<RaisedEvent>(part).size(), 1U);
    EXPECT_EQ(all_of<RaisedEvent>(part)[0].fixed, level.fixed);
    EXPECT_EQ(all_of<CallStack>(part).size(), 1U);
}

TEST(RecordingParts, have_scopes_that_are_whole) {
    TestParts parts;
    parts.define_one_of_each();
    parts.sink->instrumentation(EventTypeSpec{EventTypeId{1}, "Game", "Load", wire::kNoSync, {}});
    RaisedEvent event;
    event.thread = ThreadId{1};
    event.type = EventTypeId{1};
    event.scope = ScopeKind::enter;
    event.time_ns = kFirstStart + 1;
    parts.sink->instrumentation(event);
    parts.turn();
    event.scope = ScopeKind::leave;
    event.time_ns = parts.now_ns + 1;
    parts.sink->instrumentation(event);
    parts.turn();
    const auto read = parts.finish();
    for (const std::size_t i : {0U, 1U}) {
        const auto raised = all_of<RaisedEvent>(read[i]);
        ASSERT_EQ(raised.size(), 2U) << i;
        EXPECT_EQ(raised[0].scope, ScopeKind::enter) << i;
        EXPECT_EQ(raised[1].scope, ScopeKind::leave) << i;
    }
    EXPECT_TRUE(all_of<RaisedEvent>(read[2]).empty());
}

}  // namespace sample::trace
