// `sample trace`: the events of any stream of the container, by the stream's own description. What
// a file says is shown printable: it may come from anywhere.
#include "cli/input.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "cli/views/json.h"
#include "core/mapped_file.h"
#include "core/mapped_reading.h"
#include "core/text.h"
#include "trace/event_reader.h"
#include "trace/wire.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <unordered_map>
#include <utility>

namespace sample::cli {
namespace {

using trace::DeclaredField;
using trace::EventReader;
using trace::EventStyle;
using trace::EventView;

/// Longer arrays are cut in text; JSON has all of them.
constexpr std::size_t kShownElements = 16;
constexpr std::size_t kWriteBytes = std::size_t{64} << 10;
constexpr std::uint64_t kNanoseconds = 1'000'000'000;

/// One element as it stands in the stream.
Json element(const std::byte* at, const DeclaredField& field) {
    if (field.is_float()) {
        return field.element_bytes() == sizeof(double)  ? Json(trace::wire::load<double>(at))
               : field.element_bytes() == sizeof(float) ? Json(trace::wire::load<float>(at))
                                                        : Json{};
    }
    std::uint64_t value = 0;
    for (std::size_t i = field.element_bytes(); i-- > 0;) {
        value = value << 8 | std::to_integer<std::uint64_t>(at[i]);
    }
    if (!field.is_signed()) {
        return value;
    }
    const std::size_t unused = 64 - 8 * field.element_bytes();
    return static_cast<std::int64_t>(value << unused) >> unused;
}

Json array(std::span<const std::byte> bytes, const DeclaredField& field, std::size_t most) {
    Json elements = Json::array();
    const std::size_t size = field.element_bytes();
    for (std::size_t at = 0; at + size <= bytes.size() && elements.size() < most; at += size) {
        elements.push_back(element(bytes.data() + at, field));
    }
    return elements;
}

Json field_value(const EventView& event, const DeclaredField& field, std::size_t most) {
    if (field.is_text()) {
        return event.text(field.name);
    }
    if (field.is_array()) {
        return array(event.bytes(field.name), field, most);
    }
    return field.is_float()    ? Json(event.real(field.name))
           : field.is_signed() ? Json(event.number<std::int64_t>(field.name))
                               : Json(event.number<std::uint64_t>(field.name));
}

/// Of an event that has a time of its own.
std::optional<std::uint64_t> time_of(const EventView& event, const EventReader& reader) {
    constexpr const char* kCycle = "Cycle";
    std::optional<std::uint64_t> cycle = event.occurrence().cycle;
    if (!cycle && event.style() != EventStyle::leave && event.type().field(kCycle)) {
        cycle = event.number<std::uint64_t>(kCycle);
    }
    return cycle ? std::optional{reader.facts().clock().nanoseconds(*cycle)} : std::nullopt;
}

std::string_view word_of(EventStyle style) {
    return style == EventStyle::enter ? "enter" : style == EventStyle::leave ? "leave" : "plain";
}

std::string hexadecimal(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    }
    return text;
}

/// Nothing but ASCII, as a terminal may obey what lies behind it. Broken UTF-8 becomes U+FFFD.
std::string as_ascii(const Json& value, int indentation) {
    return value.dump(indentation, ' ', true, Json::error_handler_t::replace) + "\n";
}

/// For printable().
std::string one_line(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_line(const EventView& event, const EventReader& reader) {
    const std::string& name = event.type().name;
    const std::size_t logger = event.type().logger_bytes;
    Json json;
    json["time_ns"] = or_null(time_of(event, reader));
    json["thread"] = {{"id", event.stream()}};
    if (const trace::StreamThread* thread = reader.facts().thread(event.stream())) {
        json["thread"]["system_id"] = thread->system_id;
        json["thread"]["name"] = thread->name;
    }
    json["logger"] = name.substr(0, logger);
    json["event"] = name.substr(logger + 1);
    json["style"] = word_of(event.style());
    json["serial"] = or_null(event.occurrence().serial);
    json["fields"] = Json::object();
    if (event.style() != EventStyle::leave) {
        for (const DeclaredField& field : event.type().fields) {
            json["fields"][field.name] = field_value(event, field, SIZE_MAX);
        }
    }
    if (const auto attachment = event.attachment(); !attachment.empty()) {
        json["attachment"] = hexadecimal(attachment);
    }
    return as_ascii(json, -1);
}

/// "1.234567890 7:worker Logger.Event enter Number=5 Text="a" Array=[1,2]"
std::string text_line(const EventView& event, const EventReader& reader) {
    const auto time = time_of(event, reader);
    std::string line = time ? fmt::format("{}.{:09} ", *time / kNanoseconds, *time % kNanoseconds)
                            : std::string{"- "};
    line += std::to_string(event.stream());
    if (const trace::StreamThread* thread = reader.facts().thread(event.stream())) {
        line.append(":").append(thread->name);
    }
    line.append(" ").append(event.type().name);
    if (event.style() != EventStyle::plain) {
        line.append(" ").append(word_of(event.style()));
    }
    if (event.style() == EventStyle::leave) {
        return printable(line) + "\n";
    }
    for (const DeclaredField& field : event.type().fields) {
        line.append(" ").append(field.name).append("=");
        line += one_line(field_value(event, field, kShownElements));
        if (field.is_array() && !field.is_text()) {
            const std::size_t count = event.bytes(field.name).size() / field.element_bytes();
            if (count > kShownElements) {
                line.pop_back();
                line += fmt::format(",... {} in all]", count);
            }
        }
    }
    if (const auto attachment = event.attachment(); !attachment.empty()) {
        line += fmt::format(" attachment={} bytes", attachment.size());
    }
    return printable(line) + "\n";
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
    return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view logger_of(const trace::EventType& type) {
    return std::string_view{type.name}.substr(0, type.logger_bytes);
}
std::string_view event_of(const trace::EventType& type) {
    return std::string_view{type.name}.substr(type.logger_bytes + 1);
}

bool is_wanted(const trace::EventType& type, const TraceOptions& options) {
    return contains(options.loggers, logger_of(type)) &&
           (contains(options.events, type.name) || contains(options.events, event_of(type)));
}

/// Refuses names that no event of the stream has.
Result<void> check_names(const TraceOptions& options, const EventReader& reader) {
    const std::vector<trace::TypeUse> types = reader.types();
    const auto check = [&types](const char* option, const std::vector<std::string>& names,
                                auto is_called) -> Result<void> {
        for (const std::string& name : names) {
            if (std::none_of(types.begin(), types.end(), [&](const trace::TypeUse& use) {
                    return use.events != 0 && is_called(*use.type, name);
                })) {
                return unexpected(ErrorCode::not_found,
                                  fmt::format("{} {} matches no event of the recording: sample "
                                              "trace info lists what it has",
                                              option, printable(name)));
            }
        }
        return {};
    };
    SAMPLE_CHECK(check("--logger", options.loggers,
                       [](const trace::EventType& type, const std::string& name) {
                           return logger_of(type) == name;
                       }));
    return check("--event", options.events,
                 [](const trace::EventType& type, const std::string& name) {
                     return type.name == name || event_of(type) == name;
                 });
}

/// Prints events as they come.
class Dump {
public:
    Dump(const TraceOptions& options, EventReader& reader) : options_{options}, reader_{reader} {
        reader.subscribe_to_others([this](const EventView& event) {
            take(event);
            return std::optional<std::string>{};
        });
    }
    /// Errors: those of standard output. A reader that has gone is none.
    [[nodiscard]] Result<void> finish() {
        write();
        if (!written_ && written_.error().errno_value == EPIPE) {
            return {};
        }
        return written_;
    }
    /// Whether all events were looked at: neither a limit nor the reader has ended it.
    [[nodiscard]] bool has_seen_all() const {
        return written_ && (options_.limit == 0 || count_ < options_.limit);
    }

private:
    void take(const EventView& event) {
        const auto known = wanted_.try_emplace(&event.type(), false);
        if (known.second) {
            known.first->second = is_wanted(event.type(), options_);
        }
        if (!known.first->second) {
            return;
        }
        text_ += options_.json ? json_line(event, reader_) : text_line(event, reader_);
        if (text_.size() >= kWriteBytes) {
            write();
        }
        if (++count_ == options_.limit || !written_) {
            reader_.stop();
        }
    }
    void write() {
        if (written_) {
            written_ = write_all(STDOUT_FILENO, text_);
        }
        text_.clear();
    }

    const TraceOptions& options_;
    EventReader& reader_;
    std::unordered_map<const trace::EventType*, bool> wanted_;
    std::string text_;
    std::size_t count_ = 0;
    Result<void> written_;
};

Json info_json(const EventReader& reader, const Json& session,
               const trace::StreamOutcome& outcome) {
    Json json;
    json["transport"] = reader.header().transport;
    json["protocol"] = reader.header().protocol;
    json["start_cycle"] = reader.facts().clock().start();
    json["cycles_per_second"] = reader.facts().clock().frequency();
    json["session"] = session;
    json["threads"] = Json::array();
    for (const auto& [id, thread] : reader.facts().threads()) {
        json["threads"].push_back(
            {{"id", id}, {"system_id", thread.system_id}, {"name", thread.name}});
    }
    json["types"] = Json::array();
    for (const trace::TypeUse& use : reader.types()) {
        json["types"].push_back(
            {{"name", use.type->name}, {"events", use.events}, {"bytes", use.bytes}});
    }
    json["not_understood"] = Json::array();
    for (const trace::Skipped& skipped : outcome.skipped) {
        json["not_understood"].push_back({{"what", skipped.what}, {"count", skipped.count}});
    }
    json["problem"] = known(outcome.problem);
    return json;
}

std::string info_text(const Json& info) {
    std::string text =
        fmt::format("container  transport {}, protocol {}, {} cycles a second\n",
                    info["transport"].get<unsigned>(), info["protocol"].get<unsigned>(),
                    info["cycles_per_second"].get<std::uint64_t>());
    for (const auto& [name, value] : info["session"].items()) {
        text += printable(fmt::format("session    {} {}", name, one_line(value))) + "\n";
    }
    const auto table = [&text](const char* heading, const Json& rows, const auto& line) {
        text += rows.empty() ? "" : fmt::format("\n{}\n", heading);
        for (const Json& row : rows) {
            text += printable(line(row)) + "\n";
        }
    };
    const auto number = [](const Json& row, const char* key) {
        return row[key].get<std::uint64_t>();
    };
    const auto word = [](const Json& row, const char* key) { return row[key].get<std::string>(); };
    table("thread  system id  name", info["threads"], [&](const Json& row) {
        return fmt::format("{:>6}  {:>9}  {}", number(row, "id"), number(row, "system_id"),
                           word(row, "name"));
    });
    table("    events         bytes  type", info["types"], [&](const Json& row) {
        return fmt::format("{:>10}  {:>12}  {}", number(row, "events"), number(row, "bytes"),
                           word(row, "name"));
    });
    table("     count  not understood", info["not_understood"], [&](const Json& row) {
        return fmt::format("{:>10}  {}", number(row, "count"), word(row, "what"));
    });
    return text;
}

struct Channel {
    std::string name;
    bool is_enabled = false;
    bool is_read_only = false;
};

std::string channels_text(const std::map<std::uint32_t, Channel>& channels, bool json) {
    Json rows = Json::array();
    std::string text;
    for (const auto& [id, channel] : channels) {
        rows.push_back({{"name", channel.name},
                        {"enabled", channel.is_enabled},
                        {"read_only", channel.is_read_only}});
        text += printable(fmt::format("{}  {}{}", channel.is_enabled ? "on " : "off", channel.name,
                                      channel.is_read_only ? "  (read-only)" : "")) +
                "\n";
    }
    return json ? as_ascii(rows, 2) : !text.empty() ? text : "no channels are announced\n";
}

/// Keeps at most as many channels as there are types of events.
constexpr std::size_t kMaxChannels = std::size_t{1} << 16;

void collect_channels(EventReader& reader, std::map<std::uint32_t, Channel>& channels) {
    reader.subscribe("Trace.ChannelAnnounce", [&channels](const EventView& event) {
        if (channels.size() < kMaxChannels) {
            channels[event.number<std::uint32_t>("Id")] =
                Channel{event.text("Name"), event.number<int>("IsEnabled") != 0,
                        event.number<int>("ReadOnly") != 0};
        }
        return std::optional<std::string>{};
    });
    reader.subscribe("Trace.ChannelToggle", [&channels](const EventView& event) {
        const auto found = channels.find(event.number<std::uint32_t>("Id"));
        if (found != channels.end()) {
            found->second.is_enabled = event.number<int>("IsEnabled") != 0;
        }
        return std::optional<std::string>{};
    });
}

/// Diagnostics.Session2, as it is.
void collect_session(EventReader& reader, Json& session) {
    reader.subscribe("Diagnostics.Session2", [&session](const EventView& event) {
        for (const DeclaredField& field : event.type().fields) {
            session[field.name] = field_value(event, field, kShownElements);
        }
        return std::optional<std::string>{};
    });
    // So that what is left over is what nobody could want.
    reader.subscribe_to_others([](const EventView&) { return std::optional<std::string>{}; });
}

/// Errors: those of EventReader::run(), and a file that was cut off meanwhile.
Result<trace::StreamOutcome> read_events(const std::string& name, EventReader& reader) {
    const MappedReading reading;
    SAMPLE_TRY(file, name == "-" ? MappedFile::read_to_end(STDIN_FILENO, "standard input")
                                 : MappedFile::open(name));
    SAMPLE_TRY(outcome, reader.run(file.bytes()));
    if (reading.is_broken()) {
        return unexpected(MappedReading::broken(name));
    }
    return std::move(outcome);
}

Result<trace::StreamOutcome> show_events(const std::string& name, const TraceOptions& options) {
    EventReader reader;
    Dump events{options, reader};
    SAMPLE_TRY(outcome, read_events(name, reader));
    SAMPLE_CHECK(events.finish());
    if (events.has_seen_all() && outcome.problem.empty()) {
        SAMPLE_CHECK(check_names(options, reader));
    }
    return std::move(outcome);
}

Result<trace::StreamOutcome> show_info(const std::string& name, const TraceOptions& options) {
    EventReader reader;
    Json session = Json::object();
    collect_session(reader, session);
    SAMPLE_TRY(outcome, read_events(name, reader));
    const Json info = info_json(reader, session, outcome);
    SAMPLE_CHECK(write_to_stdout(options.json ? as_ascii(info, 2) : info_text(info)));
    return std::move(outcome);
}

Result<trace::StreamOutcome> show_channels(const std::string& name, const TraceOptions& options) {
    EventReader reader;
    std::map<std::uint32_t, Channel> channels;
    collect_channels(reader, channels);
    SAMPLE_TRY(outcome, read_events(name, reader));
    SAMPLE_CHECK(write_to_stdout(channels_text(channels, options.json)));
    return std::move(outcome);
}

}  // namespace

Result<int> run(const TraceOptions& options) {
    SAMPLE_TRY(name, named_or_newest(options.file));
    SAMPLE_TRY(outcome, options.action == TraceAction::dump   ? show_events(name, options)
                        : options.action == TraceAction::info ? show_info(name, options)
                                                              : show_channels(name, options));
    if (!outcome.problem.empty()) {
        print_error(name + " is shown as far as it goes: " + outcome.problem);
    }
    return kExitOk;
}

}  // namespace sample::cli
