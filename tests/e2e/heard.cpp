#include "heard.h"

#include "cli/record/command.h"
#include "sampler/collector/session.h"
#include "tests/built.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <variant>

namespace sample {
namespace {

template <class... Visits>
struct Overloaded : Visits... {
    using Visits::operator()...;
};
template <class... Visits>
Overloaded(Visits...) -> Overloaded<Visits...>;

std::string text_of(const std::variant<std::int64_t, double>& value) {
    return std::visit([](const auto& each) { return fmt::format("{}", each); }, value);
}

class HeardSink final : public trace::RecordSink {
public:
    /// Takes its time with the first zone: until there is a byte in `pause`, unless that is -1.
    HeardSink(Heard& heard, int pause) : heard_{heard}, pause_{pause} {}

    void record(const trace::Record& record) override {
        if (const auto* process = std::get_if<trace::Process>(&record)) {
            heard_.pids[process->id.value] = process->pid;
        } else if (const auto* thread = std::get_if<trace::Thread>(&record)) {
            HeardThread& added = heard_.threads[thread->id.value];
            added.name = thread->name;
            added.pid = heard_.pids[thread->process.value];
        } else if (const auto* name = std::get_if<trace::ThreadName>(&record)) {
            heard_.threads[name->id.value].name = name->name;
        } else if (const auto* end = std::get_if<trace::SessionEnd>(&record)) {
            heard_.note = end->note;
        }
    }
    void node(const trace::StackNode& /*node*/) override {}
    void sample(const trace::Sample& sample) override {
        heard_.samples += sample.is_booking ? 0 : 1;
    }
    void zone(const trace::ZoneEdge& edge) override {
        if (const int pause = std::exchange(pause_, -1); pause >= 0) {
            char byte = 0;
            EXPECT_EQ(read(pause, &byte, 1), 1);
        }
        HeardThread& thread = at(edge.thread, edge.time_ns);
        const auto spec = heard_.zones.find(edge.zone.value);
        if (edge.kind != trace::EdgeKind::end && spec == heard_.zones.end()) {
            heard_.broken.push_back("a zone that is not defined");
            return;
        }
        switch (edge.kind) {
            case trace::EdgeKind::begin:
                ++thread.begun;
                thread.open.push_back(spec->second.name);
                say(thread, "begin " + spec->second.name + heard_.notes[edge.note.value]);
                break;
            case trace::EdgeKind::end:
                if (thread.open.empty()) {
                    heard_.broken.push_back("an end without a beginning");
                    return;
                }
                say(thread, "end " + thread.open.back());
                thread.open.pop_back();
                break;
            case trace::EdgeKind::suspend:
            case trace::EdgeKind::resume:
                if (edge.kind == trace::EdgeKind::suspend) {
                    heard_.broken.resize(heard_.broken.size() +
                                         (edge.depth > thread.open.size() ? 1 : 0));
                    suspended_.assign(thread.open.end() - edge.depth, thread.open.end());
                    thread.open.resize(thread.open.size() - edge.depth);
                } else {
                    thread.open.insert(thread.open.end(), suspended_.begin(), suspended_.end());
                }
                say(thread,
                    fmt::format("{} {} {}",
                                edge.kind == trace::EdgeKind::suspend ? "suspend" : "resume",
                                spec->second.name, edge.depth));
                break;
        }
    }
    void instrumentation(const trace::Instrumentation& said) override {
        std::visit(
            Overloaded{
                [&](const trace::ZoneSpec& spec) { heard_.zones[spec.id.value] = spec; },
                [&](const trace::ZoneNote& note) {
                    std::string& text = heard_.notes[note.id.value];
                    for (const auto& [name, value] : note.values) {
                        text += " " + name + "=" +
                                std::visit([](const auto& each) { return fmt::format("{}", each); },
                                           value);
                    }
                },
                [&](const trace::CounterSpec& spec) { heard_.counters[spec.id.value] = spec; },
                [&](const trace::CounterValue& value) {
                    other(
                        value.thread, value.time_ns,
                        heard_.counters.at(value.counter.value).name + "=" + text_of(value.value));
                },
                [&](const trace::FrameKind& kind) { heard_.frame_kinds[kind.kind] = kind.name; },
                [&](const trace::FrameEdge& edge) {
                    other(edge.thread, edge.time_ns,
                          fmt::format("frame {} {}", edge.kind, edge.is_begin ? "begins" : "ends"));
                },
                [&](const trace::RegionBegin& begin) {
                    regions_[begin.region] = begin.name;
                    other(begin.thread, begin.time_ns,
                          "region " + begin.name + " (" + begin.category + ") begins");
                },
                [&](const trace::RegionEnd& end) {
                    other(end.thread, end.time_ns, "region " + regions_.at(end.region) + " ends");
                },
                [&](const trace::MessageSpec& spec) { heard_.messages[spec.id.value] = spec; },
                [&](const trace::Message& message) {
                    other(message.thread, message.time_ns,
                          heard_.messages.at(message.spec.value).format + arguments(message));
                },
                [&](const trace::Flow& flow) {
                    other(flow.thread, flow.time_ns,
                          fmt::format("flow {} {}", flow.flow, static_cast<int>(flow.step)));
                },
                [&](const trace::ThreadGroup& group) {
                    other(group.thread, 0, "group " + group.name);
                },
                [&](const trace::Channel& channel) {
                    channel_names_[channel.id.value] = channel.name;
                    heard_.channels[channel.name] = channel.is_enabled;
                },
                [&](const trace::ChannelToggle& toggle) {
                    heard_.channels[channel_names_.at(toggle.channel.value)] = toggle.is_enabled;
                },
                [&](const trace::InstrumentationLoss& loss) {
                    heard_.threads.at(loss.thread.value).lost_zones += loss.zones;
                    heard_.threads.at(loss.thread.value).lost_others += loss.others;
                },
                [&](const trace::EventTypeSpec& spec) { heard_.event_types[spec.id.value] = spec; },
                [&](const trace::RaisedEvent& event) { raised(event); },
                [](const trace::HeapSpec&) {},
                [](const trace::MemoryTagSpec&) {},
                [](const trace::CallStack&) {},
                [&](const auto& /*unknown*/) { heard_.broken.emplace_back("something else"); },
            },
            said);
    }

private:
    static constexpr std::size_t kMostLines = 5'000;

    HeardThread& at(ThreadId id, std::uint64_t time_ns) {
        HeardThread& thread = heard_.threads.at(id.value);
        if (time_ns != 0) {
            if (time_ns < thread.last_ns) {
                heard_.broken.push_back("time went back in " + thread.name);
            }
            thread.last_ns = time_ns;
        }
        return thread;
    }
    static void say(HeardThread& thread, std::string line) {
        if (thread.lines.size() < kMostLines) {
            thread.lines.push_back(std::move(line));
        }
    }
    void other(ThreadId id, std::uint64_t time_ns, std::string line) {
        HeardThread& thread = at(id, time_ns);
        ++thread.others;
        say(thread, std::move(line));
    }
    /// As their bytes say: integers, reals, texts.
    static std::string arguments(const trace::Message& message) {
        std::string text;
        const auto byte = [&](std::size_t index) {
            return std::to_integer<unsigned>(message.arguments.at(index));
        };
        const std::size_t count = byte(0);
        std::size_t place = 1 + count;
        for (std::size_t i = 0; i < count; ++i) {
            const unsigned kind = byte(1 + i);
            text += '|';
            if (kind >> 6U == 3) {
                for (; byte(place) != 0; ++place) {
                    text += static_cast<char>(byte(place));
                }
                ++place;
                continue;
            }
            std::array<std::byte, 8> bytes{};
            std::copy_n(message.arguments.begin() + static_cast<std::ptrdiff_t>(place),
                        kind & 0x3fU, bytes.begin());
            place += kind & 0x3fU;
            if (kind >> 6U == 2) {
                text += fmt::format("{}", std::bit_cast<double>(bytes));
            } else if ((kind & 0x3fU) == 4) {
                text += fmt::format("{}",
                                    static_cast<std::int32_t>(std::bit_cast<std::int64_t>(bytes)));
            } else {
                text += fmt::format("{}", std::bit_cast<std::int64_t>(bytes));
            }
        }
        EXPECT_EQ(place, message.arguments.size());
        return text;
    }

    static std::string number(std::span<const std::byte> bytes, unsigned type) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, bytes.data(), bytes.size());
        if ((type & 0x40U) != 0) {
            return bytes.size() == 4
                       ? fmt::format("{}f", std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                       : fmt::format("{}", std::bit_cast<double>(bits));
        }
        const unsigned unused = 64 - 8 * static_cast<unsigned>(bytes.size());
        return (type & 0x10U) != 0
                   ? fmt::format("{}", static_cast<std::int64_t>(bits << unused) >> unused)
                   : fmt::format("{}", bits);
    }
    /// Numbers as such, texts too: what is said of one field.
    static std::string part(std::span<const std::byte> data, unsigned type) {
        const std::size_t each = std::size_t{1} << (type & 3U);
        if (data.size() > 100 * each) {
            return fmt::format("({} bytes)", data.size());
        }
        if (type == 0x88) {
            return {reinterpret_cast<const char*>(data.data()), data.size()};
        }
        Lines numbers;
        for (std::size_t at = 0; at + each <= data.size(); at += each) {
            numbers.push_back(number(data.subspan(at, each), type));
        }
        return fmt::format("[{}]", fmt::join(numbers, " "));
    }
    void raised(const trace::RaisedEvent& event) {
        const auto found = heard_.event_types.find(event.type.value);
        if (found == heard_.event_types.end()) {
            heard_.broken.emplace_back("an event of no type");
            return;
        }
        const trace::EventTypeSpec& type = found->second;
        const bool leaves = event.scope == trace::ScopeKind::leave;
        std::string line = (event.scope == trace::ScopeKind::enter ? "enter " : "") +
                           std::string{leaves ? "leave " : ""} + type.logger + "." + type.name;
        if (event.scope != trace::ScopeKind::none) {
            line += event.time_ns != 0 ? " timed" : "";
        }
        std::size_t at = 0;
        for (std::size_t i = 0; i < type.fields.size() && !leaves; ++i) {
            const trace::EventField& field = type.fields[i];
            const auto set =
                std::find_if(event.variable.begin(), event.variable.end(),
                             [i](const auto& variable) { return variable.field == i; });
            if ((field.type_code & 0x80U) == 0) {
                const std::size_t size = std::size_t{1} << (field.type_code & 3U);
                const auto bytes = std::span{event.fixed}.subspan(at, size);
                at += size;
                line += " " + field.name + "=" + number(bytes, field.type_code);
            } else if (set != event.variable.end()) {
                line += " " + field.name + "=" + part(set->data, field.type_code);
            }
        }
        EXPECT_EQ(at, event.fixed.size());
        if (event.thread.is_none()) {
            heard_.kept.push_back(line);
            return;
        }
        if (event.serial != 0) {
            heard_.by_serial[event.serial] = line;
        }
        other(event.thread, event.time_ns, std::move(line));
    }

    Heard& heard_;
    int pause_;
    Lines suspended_;
    std::map<std::uint64_t, std::string> regions_;
    std::map<std::uint32_t, std::string> channel_names_;
};

}  // namespace

Heard listen(const Lines& command, const std::string& channels, std::uint32_t frequency_hz,
             int pause) {
    Heard heard;
    auto launched = cli::LaunchedCommand::fork(command, cli::environment_now());
    EXPECT_TRUE(launched);
    collector::SessionOptions options;
    options.channels = channels;
    options.samples = frequency_hz != 0;
    options.frequency_hz = frequency_hz != 0 ? frequency_hz : options.frequency_hz;
    auto session =
        collector::Session::create(std::move(options), std::make_unique<HeardSink>(heard, pause));
    EXPECT_TRUE(session);
    EXPECT_TRUE(launched->start(built::kAgent, (*session)->name()));
    const collector::SessionOutcome outcome = (*session)->run(launched->pid());
    EXPECT_FALSE(outcome.is_empty) << outcome.why_empty;
    EXPECT_EQ(launched->wait(), 0);
    EXPECT_EQ(heard.broken, Lines{});
    for (const auto& [id, thread] : heard.threads) {
        EXPECT_EQ(thread.open, Lines{}) << thread.name;
    }
    return heard;
}

std::string target(const std::string& name) {
    return std::string{built::kTargets} + "/" + name;
}

std::ptrdiff_t count(const Lines& lines, const std::string& what) {
    return std::count(lines.begin(), lines.end(), what);
}

std::string all_of(const HeardThread& thread) {
    std::string text;
    for (const std::string& line : thread.lines) {
        text += line + "\n";
    }
    return text;
}

}  // namespace sample
