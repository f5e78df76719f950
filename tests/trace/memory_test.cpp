// Memory that programs allocate, through a file and back: in the order of all threads, with the
// tags of scopes, whatever a file can say.
#include "tests/trace/instrumentation_fixture.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sample::trace {
namespace {

using Lines = std::vector<std::string>;

constexpr std::uint64_t kMemoryStart = 1'000'000'000'000;

class MemorySink final : public KeepingSink {
public:
    void memory(const MemoryEvent& event) override { events.push_back(event); }
    std::vector<MemoryEvent> events;
};

std::string line_of(const MemoryEvent& event) {
    constexpr const char* kKinds[]{"alloc", "free", "realloc_alloc", "realloc_free"};
    const std::string head = "thread " + std::to_string(event.thread.value) + ' ' +
                             kKinds[static_cast<int>(event.kind)] + ' ' +
                             std::to_string(event.address) + " of " +
                             std::to_string(event.heap.value);
    return gives_out(event.kind)
               ? head + ": " + std::to_string(event.bytes) + " aligned " +
                     std::to_string(event.alignment_log2) + " tag " +
                     std::to_string(event.tag.value) + " stack " + std::to_string(event.call_stack)
               : head;
}

Lines lines_of(const std::vector<MemoryEvent>& events) {
    Lines lines;
    for (const MemoryEvent& event : events) {
        lines.push_back(line_of(event));
    }
    return lines;
}

MemoryEvent alloc(std::uint32_t thread, std::uint64_t after_ns, std::uint64_t address,
                  std::uint64_t bytes, std::uint32_t tag = 0) {
    MemoryEvent event;
    event.thread = ThreadId{thread};
    event.time_ns = kMemoryStart + after_ns;
    event.address = address;
    event.bytes = bytes;
    event.alignment_log2 = 4;
    event.tag = MemoryTagId{tag};
    event.call_stack = thread + 10;
    return event;
}

MemoryEvent release(std::uint32_t thread, std::uint64_t after_ns, std::uint64_t address) {
    MemoryEvent event;
    event.thread = ThreadId{thread};
    event.kind = MemoryKind::free;
    event.time_ns = kMemoryStart + after_ns;
    event.address = address;
    return event;
}

template <class Fill>
MemorySink memory_through_file(const Fill& fill) {
    MemorySink sink;
    const auto file = record(a_session(), [&](TestWriter& writer) {
        define_threads(writer);
        fill(writer.writer());
    });
    EXPECT_TRUE(read_recording(file, sink));
    return sink;
}

void define_names(RecordingWriter& writer) {
    writer.instrumentation(HeapSpec{HeapId{1}, "arena"});
    writer.instrumentation(MemoryTagSpec{MemoryTagId{1}, "level"});
    writer.instrumentation(MemoryTagSpec{MemoryTagId{2}, "meshes", MemoryTagId{1}});
}

TEST(TracedMemory, comes_back_with_all_that_was_said_of_it) {
    std::vector<MemoryEvent> said{alloc(1, 1, 0x1000, 1), alloc(1, 2, 0x2000, 7, 1),
                                  alloc(1, 3, 0x3000, 8, 2), release(1, 4, 0x1000),
                                  alloc(1, 5, 0x1000, (std::uint64_t{1} << 35U) - 1)};
    said[2].kind = MemoryKind::realloc_alloc;
    said[2].heap = HeapId{1};
    said[2].alignment_log2 = 12;
    said[3].kind = MemoryKind::realloc_free;
    const MemorySink got = memory_through_file([&](RecordingWriter& writer) {
        define_names(writer);
        for (const MemoryEvent& event : said) {
            writer.memory(event);
        }
    });
    EXPECT_EQ(lines_of(got.events), lines_of(said));
    for (const MemoryEvent& event : got.events) {
        EXPECT_LT(event.time_ns - kMemoryStart, 100'000U);
    }
}

TEST(TracedMemory, is_put_in_order_across_threads_and_flushes) {
    // A block goes from one thread to the other and back, again and again. The collector asks
    // thread 2 first each time.
    std::vector<MemoryEvent> in_order;
    const MemorySink got = memory_through_file([&](RecordingWriter& writer) {
        define_names(writer);
        for (std::uint64_t round = 0; round < 50; ++round) {
            std::vector<MemoryEvent> first;
            std::vector<MemoryEvent> second;
            for (std::uint64_t i = 0; i < 1'000; ++i) {
                const std::uint64_t at = (round * 1'000 + i) * 10;
                const std::uint32_t from = i % 2 == 0 ? 1 : 2;
                in_order.push_back(alloc(from, at, 0x1000, 16, 1 + i % 2));
                (from == 1 ? first : second).push_back(in_order.back());
                in_order.push_back(release(3 - from, at + 5, 0x1000));
                (from == 1 ? second : first).push_back(in_order.back());
            }
            for (const auto& events : {second, first}) {
                for (const MemoryEvent& event : events) {
                    writer.memory(event);
                }
            }
            EXPECT_TRUE(writer.flush(FlushMode::worthwhile));
        }
    });
    EXPECT_EQ(lines_of(got.events), lines_of(in_order));
}

TEST(TracedMemory, scopes_of_tags_leave_scopes_of_events_as_they_are) {
    const MemorySink got = memory_through_file([&](RecordingWriter& writer) {
        define_names(writer);
        writer.instrumentation(EventTypeSpec{EventTypeId{1}, "A", "B", wire::kNoSync, {}});
        writer.memory(alloc(1, 1, 0x1000, 1, 1));
        EXPECT_TRUE(writer.flush(FlushMode::everything));
        RaisedEvent event;
        event.thread = ThreadId{1};
        event.type = EventTypeId{1};
        event.scope = ScopeKind::enter;
        writer.instrumentation(event);
        writer.memory(alloc(1, 2, 0x2000, 1, 1));
        EXPECT_TRUE(writer.flush(FlushMode::everything));
        event.scope = ScopeKind::leave;
        writer.instrumentation(event);
        writer.memory(alloc(1, 3, 0x3000, 1));
    });
    ASSERT_EQ(got.events.size(), 3U);
    EXPECT_EQ(got.events[0].tag, MemoryTagId{1});
    EXPECT_EQ(got.events[1].tag, MemoryTagId{1});
    EXPECT_TRUE(got.events[2].tag.is_none());
    std::vector<ScopeKind> scopes;
    for (const Instrumentation& one : got.said) {
        if (const auto* event = std::get_if<RaisedEvent>(&one)) {
            scopes.push_back(event->scope);
        }
    }
    EXPECT_EQ(scopes, (std::vector{ScopeKind::enter, ScopeKind::leave}));
}

}  // namespace
}  // namespace sample::trace
