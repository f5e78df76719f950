// What our instrumentation looks like to a reader that knows the container and its standard events,
// and nothing of us: tests/trace/plain_reader.h, and what the public facts say of the events' data.
#include "tests/trace/instrumentation_fixture.h"
#include "tests/trace/plain_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace sample::trace {
namespace {

constexpr std::uint64_t kBegin = 1'000'000'000'000;

/// An interval, as a viewer would draw it.
struct Interval {
    std::uint64_t timer = 0;
    bool is_note = false;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    auto operator<=>(const Interval&) const = default;
};

/// By the rule of the facts: absolute, unless less than the cycle before.
class PlainBatches {
public:
    void take(unsigned tid, const plain::Bytes& data) {
        plain::Cursor in{data};
        std::uint64_t& last = last_[tid];
        while (!in.at_end()) {
            const std::uint64_t head = varint(in);
            const std::uint64_t stamp = head >> 2;
            last = stamp < last ? last + stamp : stamp;
            if ((head & 3) == 1) {
                const std::uint64_t id = varint(in);
                open_[tid].push_back({id >> 1, (id & 1) != 0, last, 0});
            } else if ((head & 3) == 0) {
                Interval interval = open_[tid].back();
                open_[tid].pop_back();
                interval.end = last;
                intervals[tid].push_back(interval);
            } else {
                throw std::runtime_error("a coroutine");
            }
        }
    }
    std::map<unsigned, std::vector<Interval>> intervals;

private:
    static std::uint64_t varint(plain::Cursor& in) {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const std::uint64_t byte = in.number(1);
            value |= (byte & 0x7f) << shift;
            if (byte < 0x80) {
                return value;
            }
        }
    }
    std::map<unsigned, std::uint64_t> last_;
    std::map<unsigned, std::vector<Interval>> open_;
};

plain::File plain_file(const auto& fill) {
    return plain::read(record(a_session(), [&](TestWriter& writer) {
        define_threads(writer);
        fill(writer.writer());
    }));
}

std::vector<const plain::Event*> named(const plain::File& file, const std::string& name) {
    std::vector<const plain::Event*> found;
    for (const plain::Event& event : file.events) {
        if (event.name == name) {
            found.push_back(&event);
        }
    }
    return found;
}

TEST(InstrumentationContainer, a_file_without_any_declares_nothing_of_it) {
    const plain::File file = plain::read(small_recording());
    for (const auto& [uid, type] : file.types) {
        EXPECT_TRUE(type.logger == "Sample" || type.logger == "$Trace" ||
                    type.logger == "Diagnostics")
            << type.logger;
        EXPECT_LT(uid, 48U) << type.logger << '.' << type.name;
    }
    EXPECT_EQ(file.types.size(), 17U);
}

TEST(InstrumentationContainer, zones_are_intervals_of_timers_in_their_threads_streams) {
    std::map<unsigned, std::vector<Interval>> expected;
    const plain::File file = plain_file([&](RecordingWriter& writer) {
        writer.instrumentation(ZoneSpec{ZoneId{1}, "outer", "", kNoColour, "/src/a.cpp", 12});
        writer.instrumentation(ZoneSpec{ZoneId{2}, "inner", "io", 0xff0000});
        writer.instrumentation(ZoneNote{ZoneNoteId{1}, ZoneId{2}, {{"n", std::int64_t{5}}}});
        for (std::uint64_t i = 0; i < 4'000; ++i) {
            const std::uint32_t thread = 1 + i % 2;
            const std::uint64_t time = kBegin + i * 1'717;
            writer.zone(edge_of(thread, EdgeKind::begin, time, 1));
            ZoneEdge inner = edge_of(thread, EdgeKind::begin, time + 100, 2);
            inner.note = ZoneNoteId{i == 77 ? 1U : 0U};
            writer.zone(inner);
            writer.zone(edge_of(thread, EdgeKind::end, time + 900));
            writer.zone(edge_of(thread, EdgeKind::end, time + 1'700));
            expected[thread + 2].push_back({i == 77 ? 1U : 2U, i == 77, time + 100, time + 900});
            expected[thread + 2].push_back({1, false, time, time + 1'700});
        }
    });
    const auto specs = named(file, "CpuProfiler.EventSpec");
    ASSERT_EQ(specs.size(), 2U);
    EXPECT_EQ(specs[0]->numbers.at("Id"), 1U);
    EXPECT_EQ(specs[0]->numbers.at("Line"), 12U);
    EXPECT_EQ(specs[0]->text("Name"), "outer");
    EXPECT_EQ(specs[0]->text("File"), "/src/a.cpp");
    EXPECT_EQ(specs[1]->text("Name"), "inner");

    PlainBatches batches;
    const auto all = named(file, "CpuProfiler.EventBatchV3");
    for (const plain::Event* batch : all) {
        const plain::Bytes& data = batch->arrays.at("Data");
        EXPECT_LE(data.size(), 4'096U);
        batches.take(batch->tid, data);
    }
    EXPECT_GT(all.size(), 4U) << "a batch is to go on where the one before ended";
    EXPECT_EQ(batches.intervals, expected);

    // The threads' names tell which stream is whose.
    std::map<std::uint64_t, std::string> names;
    for (const plain::Event* thread : named(file, "$Trace.ThreadInfo")) {
        names[thread->numbers.at("ThreadId")] = thread->text("Name");
    }
    EXPECT_EQ(names[3], "main");
    EXPECT_EQ(names[4], "worker");
}

TEST(InstrumentationContainer, has_the_standard_events_fields) {
    const plain::File file = plain_file([&](RecordingWriter& writer) {
        for (const Instrumentation& one : one_of_each(kBegin)) {
            writer.instrumentation(one);
        }
    });
    const auto one = [&](const std::string& name) -> const plain::Event& {
        const auto found = named(file, name);
        EXPECT_EQ(found.size(), 1U) << name;
        static const plain::Event none;
        return found.empty() ? none : *found[0];
    };
    const auto counters = named(file, "Counters.Spec");
    ASSERT_EQ(counters.size(), 3U);
    EXPECT_EQ(counters[1]->numbers.at("Id"), 2U);
    EXPECT_EQ(counters[1]->numbers.at("DisplayHint"), 1U);
    EXPECT_EQ(counters[2]->numbers.at("Type"), 1U);
    EXPECT_EQ(counters[2]->text("Name"), "load");
    const auto values = named(file, "Counters.SetValueInt");
    ASSERT_EQ(values.size(), 2U);
    EXPECT_EQ(values[0]->tid, 3U);
    EXPECT_EQ(values[0]->numbers.at("Cycle"), kBegin + 10);
    EXPECT_EQ(values[0]->numbers.at("CounterId"), 1U);
    EXPECT_EQ(values[0]->numbers.at("Value"), static_cast<std::uint64_t>(-5));
    EXPECT_EQ(std::bit_cast<double>(one("Counters.SetValueFloat").numbers.at("Value")), 0.125);

    const plain::Event& spec = one("Misc.BookmarkSpec");
    EXPECT_EQ(spec.text("FormatString"), "Loaded %d of %s");
    EXPECT_EQ(spec.text("FileName"), "/src/a.cpp");
    EXPECT_EQ(spec.numbers.at("Line"), 9U);
    const plain::Event& bookmark = one("Misc.Bookmark");
    EXPECT_EQ(bookmark.numbers.at("BookmarkPoint"), spec.numbers.at("BookmarkPoint"));
    EXPECT_EQ(bookmark.numbers.at("Cycle"), kBegin + 16);
    EXPECT_EQ(bookmark.arrays.at("FormatArgs"),
              (plain::Bytes{2, 0x44, 0xc1, 7, 0, 0, 0, 'l', 'e', 'v', 'e', 'l', ' ', '1', 0}));

    const plain::Event& point = one("Logging.LogMessageSpec");
    EXPECT_EQ(point.numbers.at("Verbosity"), 3U);
    EXPECT_EQ(point.text("FormatString"), "slow: %f");
    const plain::Event& category = one("Logging.LogCategory");
    EXPECT_EQ(category.text("Name"), "Disk");
    EXPECT_EQ(category.numbers.at("CategoryPointer"), point.numbers.at("CategoryPointer"));
    EXPECT_EQ(one("Logging.LogMessage").numbers.at("LogPoint"), point.numbers.at("LogPoint"));

    EXPECT_EQ(one("Misc.BeginFrame").numbers.at("FrameType"), 0U);
    EXPECT_EQ(one("Misc.EndFrame").numbers.at("Cycle"), kBegin + 21);
    EXPECT_EQ(one("Misc.RegionBegin").text("RegionName"), "level");
    EXPECT_EQ(one("Misc.RegionEnd").text("RegionName"), "level");
    EXPECT_EQ(one("Misc.RegionBeginWithId").numbers.at("CycleAndId"), kBegin + 15);
    EXPECT_EQ(one("Misc.RegionEndWithId").numbers.at("RegionId"), kBegin + 15);

    EXPECT_EQ(named(file, "Trace.ChannelAnnounce").size(), 2U);
    EXPECT_EQ(one("Trace.ChannelToggle").numbers.at("Id"), 2U);

    // The metadata is CBOR: {"path": "/a/b", "bytes": -70000, …} (RFC 8949).
    const plain::Event& metadata = one("CpuProfiler.Metadata");
    EXPECT_EQ(metadata.numbers.at("SpecId"), 2U);
    const plain::Bytes& cbor = metadata.arrays.at("Metadata");
    const plain::Bytes begin{0xa4, 0x64, 'p',  'a', 't', 'h', 0x64, '/',  'a',  '/',
                             'b',  0x65, 'b',  'y', 't', 'e', 's',  0x3a, 0x00, 0x01,
                             0x11, 0x6f, 0x65, 'l', 'a', 'r', 'g',  'e'};
    ASSERT_GE(cbor.size(), begin.size());
    EXPECT_EQ(plain::Bytes(cbor.begin(), cbor.begin() + static_cast<std::ptrdiff_t>(begin.size())),
              begin);
    EXPECT_EQ(one("CpuProfiler.MetadataSpec").text("Name"), "load \xc3\xa9");

    // A group is the threads that are named inside.
    std::string group;
    std::map<std::string, std::string> groups;
    for (const plain::Event& event : file.events) {
        if (event.name == "$Trace.ThreadGroupBegin") {
            group = event.text("Name");
        } else if (event.name == "$Trace.ThreadGroupEnd") {
            group.clear();
        } else if (event.name == "$Trace.ThreadInfo" && !group.empty()) {
            groups[event.text("Name")] = group;
        }
    }
    EXPECT_EQ(groups, (std::map<std::string, std::string>{{"worker", "pool"}}));
}

TEST(InstrumentationContainer, serial_numbers_have_no_gaps) {
    const plain::File file = plain_file([&](RecordingWriter& writer) {
        EventTypeSpec type{
            EventTypeId{1}, "RainbowLogger", "ZippyEvent", 0, {{"Field0", code(FieldType::u32)}}};
        writer.instrumentation(type);
        for (std::uint32_t i = 0; i < 500; ++i) {
            RaisedEvent event;
            event.thread = ThreadId{1 + i % 3};
            event.time_ns = i % 5 == 0 ? kBegin + i : 0;
            event.type = EventTypeId{1};
            event.serial = 70'000'000 + std::uint64_t{i} * 3;
            event.scope = i % 7 == 0 ? ScopeKind::enter : ScopeKind::none;
            wire::append(event.fixed, i, 4);
            writer.instrumentation(event);
            if (event.scope == ScopeKind::enter) {
                event.scope = ScopeKind::leave;
                writer.instrumentation(event);
            }
            if (i % 40 == 0) {
                EXPECT_TRUE(writer.flush());
            }
        }
    });
    std::set<std::uint64_t> serials;
    for (const plain::Event& event : file.events) {
        if (event.numbers.contains("(serial)")) {
            EXPECT_TRUE(serials.insert(event.numbers.at("(serial)")).second);
        }
    }
    EXPECT_EQ(named(file, "RainbowLogger.ZippyEvent").size(), 500U);
    EXPECT_EQ(named(file, "(enter)").size(), 72U);
    EXPECT_EQ(named(file, "(leave)").size(), 72U);
    EXPECT_GT(serials.size(), 500U) << "times of events have some, too";
    EXPECT_EQ(*serials.begin(), 0U);
    EXPECT_EQ(*serials.rbegin(), serials.size() - 1);
}

TEST(InstrumentationContainer, holds_back_what_a_thread_says_inside_of_an_ordered_scope) {
    const plain::File file = plain_file([&](RecordingWriter& writer) {
        writer.instrumentation(EventTypeSpec{EventTypeId{1}, "Dog", "Barks", 0, {}});
        writer.instrumentation(EventTypeSpec{EventTypeId{2}, "Dog", "Quiet", wire::kNoSync, {}});
        RaisedEvent scope;
        scope.thread = ThreadId{1};
        scope.type = EventTypeId{1};
        scope.serial = 7;
        scope.scope = ScopeKind::enter;
        RaisedEvent quiet;
        quiet.thread = ThreadId{1};
        quiet.type = EventTypeId{2};
        RaisedEvent leave = quiet;
        leave.scope = ScopeKind::leave;
        for (const RaisedEvent& event : {scope, quiet, leave}) {
            writer.instrumentation(event);
            EXPECT_TRUE(writer.flush());
        }
    });
    std::vector<std::string> names;
    for (const plain::Event& event : file.events) {
        if (event.tid == 3) {
            names.push_back(event.name);
        }
    }
    EXPECT_EQ(names, (std::vector<std::string>{"(enter)", "Dog.Barks", "Dog.Quiet", "(leave)"}));
}

}  // namespace
}  // namespace sample::trace
