// What the tests of instrumentation share: every value as a line of text, so that lists of them can
// be compared, and a program that says one of each.
#pragma once

#include "tests/trace/recording_fixture.h"
#include "trace/event_spec.h"
#include "trace/instrumentation.h"
#include "trace/message_text.h"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace sample::trace {

[[nodiscard]] inline std::string hex_of(const std::vector<std::byte>& bytes) {
    std::ostringstream out;
    out << std::hex;
    for (const std::byte byte : bytes) {
        out << ' ' << std::to_integer<unsigned>(byte);
    }
    return out.str();
}

[[nodiscard]] inline std::string text_of(const std::variant<std::int64_t, double>& value) {
    return std::visit([](auto number) { return std::to_string(number); }, value);
}

[[nodiscard]] inline std::string line_of(const ZoneEdge& edge) {
    constexpr const char* kKinds[]{"begin", "end", "suspend", "resume"};
    return std::string{kKinds[static_cast<int>(edge.kind)]} + " thread " +
           std::to_string(edge.thread.value) + " at " + std::to_string(edge.time_ns) + " zone " +
           std::to_string(edge.zone.value) + " note " + std::to_string(edge.note.value) +
           " depth " + std::to_string(edge.depth);
}

/// One overload for each kind of Instrumentation.
struct LineOf {
    std::ostringstream out;
    void operator()(const ZoneSpec& one) {
        out << "zone spec " << one.id.value << ' ' << one.name << ' ' << one.category << ' '
            << one.colour << ' ' << one.file << ':' << one.line;
    }
    void operator()(const ZoneNote& one) {
        out << "note " << one.id.value << " of zone " << one.zone.value;
        for (const NamedValue& value : one.values) {
            out << ' ' << value.name << '=';
            std::visit([this](const auto& it) { out << it; }, value.value);
            out << '/' << value.value.index();
        }
    }
    void operator()(const CounterSpec& one) {
        out << "counter spec " << one.id.value << " process " << one.process.value << ' '
            << one.name << ' ' << one.is_real << one.is_memory;
    }
    void operator()(const CounterValue& one) {
        at(one) << "counter " << one.counter.value << " = " << text_of(one.value);
    }
    void operator()(const FrameKind& one) { out << "frame kind " << +one.kind << ' ' << one.name; }
    void operator()(const FrameEdge& one) {
        at(one) << "frame " << +one.kind << (one.is_begin ? " begins" : " ends");
    }
    void operator()(const RegionBegin& one) {
        at(one) << "region " << one.region << " begins " << one.name << ' ' << one.category;
    }
    void operator()(const RegionEnd& one) {
        at(one) << "region " << one.region << " ends " << one.name;
    }
    void operator()(const MessageSpec& one) {
        out << "message spec " << one.id.value << (one.is_bookmark ? " bookmark " : " log ")
            << one.category << ' ' << static_cast<int>(one.verbosity) << ' ' << one.format << ' '
            << one.file << ':' << one.line;
    }
    void operator()(const Message& one) {
        at(one) << "message " << one.spec.value << hex_of(one.arguments);
    }
    void operator()(const Flow& one) {
        at(one) << "flow " << one.flow << " step " << static_cast<int>(one.step);
    }
    void operator()(const ThreadGroup& one) {
        out << "thread " << one.thread.value << " in group " << one.name;
    }
    void operator()(const Channel& one) {
        out << "channel " << one.id.value << ' ' << one.name << ' ' << one.is_enabled
            << one.is_read_only;
    }
    void operator()(const ChannelToggle& one) {
        out << "channel " << one.channel.value << " toggled " << one.is_enabled;
    }
    void operator()(const InstrumentationLoss& one) {
        at(one) << "lost " << one.zones << " zones " << one.others << " others";
    }
    void operator()(const EventTypeSpec& one) {
        out << "event type " << one.id.value << ' ' << one.logger << '.' << one.name << " flags "
            << +one.flags;
        for (const EventField& field : one.fields) {
            out << ' ' << field.name << ':' << +field.type_code;
        }
    }
    void operator()(const RaisedEvent& one) {
        at(one) << "event " << one.type.value << " scope " << static_cast<int>(one.scope)
                << " serial " << one.serial << " fixed" << hex_of(one.fixed);
        for (const RaisedEvent::Variable& variable : one.variable) {
            out << " field " << +variable.field << hex_of(variable.data);
        }
    }
    void operator()(const HeapSpec& one) {
        out << "heap " << one.id.value << ' ' << one.name << " in " << one.parent.value;
    }
    void operator()(const MemoryTagSpec& one) {
        out << "tag " << one.id.value << ' ' << one.name << " in " << one.parent.value;
    }
    void operator()(const CallStack& one) {
        out << "call stack " << one.id;
        for (const std::uint64_t frame : one.frames) {
            out << ' ' << frame;
        }
    }

private:
    template <class Any>
    std::ostream& at(const Any& one) {
        return out << "thread " << one.thread.value << " at " << one.time_ns << ": ";
    }
};

[[nodiscard]] inline std::string line_of(const Instrumentation& one) {
    LineOf line;
    std::visit(line, one);
    return line.out.str();
}

template <class Any>
[[nodiscard]] std::vector<std::string> lines_of(const std::vector<Any>& all) {
    std::vector<std::string> lines(all.size());
    std::transform(all.begin(), all.end(), lines.begin(),
                   [](const Any& one) { return line_of(one); });
    return lines;
}

/// Those of one kind.
template <class Kind>
[[nodiscard]] std::vector<std::string> lines_of(const KeepingSink& kept) {
    std::vector<std::string> lines;
    for (const Instrumentation& one : kept.said) {
        if (std::holds_alternative<Kind>(one)) {
            lines.push_back(line_of(one));
        }
    }
    return lines;
}

[[nodiscard]] inline ZoneEdge edge_of(std::uint32_t thread, EdgeKind kind, std::uint64_t time_ns,
                                      std::uint32_t zone = 0) {
    ZoneEdge edge;
    edge.thread = ThreadId{thread};
    edge.kind = kind;
    edge.time_ns = time_ns;
    edge.zone = ZoneId{zone};
    return edge;
}

/// A process with threads 1 and 2, and another one with thread 3.
inline void define_threads(TestWriter& writer) {
    writer.record(Process{ProcessId{1}, 10, 1, 0, "/bin/a", "a", "sigtrap", ""});
    writer.record(Process{ProcessId{2}, 20, 10, 0, "/bin/b", "b", "sigtrap", ""});
    writer.record(Thread{ThreadId{1}, ProcessId{1}, 10, 0, "main"});
    writer.record(Thread{ThreadId{2}, ProcessId{1}, 11, 0, "worker"});
    writer.record(Thread{ThreadId{3}, ProcessId{2}, 20, 0, "other"});
}

constexpr std::uint8_t code(FieldType type) {
    return static_cast<std::uint8_t>(type);
}

/// One of everything, in an order that a reader gives back: times are from `start` on.
inline std::vector<Instrumentation> one_of_each(std::uint64_t start) {
    const auto args = ArgumentsBuilder{}.integer(7, 4).text("level 1").arguments();
    const ThreadId main{1};
    const ThreadId worker{2};
    return {
        Channel{ChannelId{1}, "cpu", true, false},
        Channel{ChannelId{2}, "memory", false, true},
        HeapSpec{HeapId{1}, "arena"},
        HeapSpec{HeapId{2}, "cells", HeapId{1}},
        MemoryTagSpec{MemoryTagId{1}, "level"},
        MemoryTagSpec{MemoryTagId{2}, "meshes", MemoryTagId{1}},
        CallStack{7, {0x401000, 0x402000}},
        ChannelToggle{ChannelId{2}, true},
        ZoneSpec{ZoneId{1}, "frame"},
        ZoneSpec{ZoneId{2}, "load \xc3\xa9", "disk", 0x12ab34, "/src/load.cpp", 77},
        ZoneNote{ZoneNoteId{1},
                 ZoneId{2},
                 {{"path", std::string{"/a/b"}},
                  {"bytes", std::int64_t{-70'000}},
                  {"large", std::int64_t{1} << 40},
                  {"ratio", 0.25}}},
        ThreadGroup{worker, "pool"},
        FrameKind{2, "physics"},
        CounterSpec{CounterId{1}, ProcessId{1}, "entities", false, false},
        CounterSpec{CounterId{2}, ProcessId{2}, "heap", false, true},
        CounterSpec{CounterId{3}, ProcessId{1}, "load", true, false},
        MessageSpec{MessageId{1}, true, "", Verbosity::log, "Loaded %d of %s", "/src/a.cpp", 9},
        MessageSpec{MessageId{2}, false, "Disk", Verbosity::warning, "slow: %f", "/src/b.cpp", 11},
        CounterValue{main, start + 10, CounterId{1}, std::int64_t{-5}},
        CounterValue{main, start + 11, CounterId{2}, std::int64_t{1} << 50},
        CounterValue{main, start + 12, CounterId{3}, 0.125},
        FrameEdge{main, start + 13, 0, true},
        RegionBegin{main, start + 14, 0, "level", "loading"},
        RegionBegin{main, start + 15, start + 15, "download", "net"},
        Message{main, start + 16, MessageId{1}, args},
        Message{main, start + 17, MessageId{2}, ArgumentsBuilder{}.real(0.5).arguments()},
        Flow{main, start + 18, 99, FlowStep::begin},
        RegionEnd{main, start + 19, start + 15, ""},
        RegionEnd{main, start + 20, 0, "level"},
        FrameEdge{main, start + 21, 0, false},
        InstrumentationLoss{worker, start + 22, 3, 4},
    };
}

}  // namespace sample::trace
