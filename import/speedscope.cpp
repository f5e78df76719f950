// speedscope's own files, which are read twice: what a profile stands on, its unit and the frames
// of the file, may come behind it. So nothing of a sample is kept but its place in the tree.
#include "import/json_reader.h"
#include "import/readers.h"
#include "import/text_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sample::imports {

namespace {

using Place = ProfileMaker::Place;

constexpr double kMaxWeight = 4.6e18;  // Below 2^62.

struct SharedFrame {
    std::string name;
    std::string file;
    std::uint64_t line = 0;
    std::uint64_t column = 0;
};

struct Event {
    double at = 0;
    std::uint64_t frame = 0;
    bool is_open = false;
};

/// What a file says of a profile.
struct Header {
    bool is_evented = false;
    std::string name;
    std::string unit;
    std::string metric;  ///< Ours: another than the session's own; empty: that one.
    double start = 0;
    double end = 0;

    [[nodiscard]] bool is_like(const Header& other) const {
        return unit == other.unit && metric == other.metric;
    }
};

struct File {
    explicit File(const Options& options) : maker{options} {}

    /// In nanoseconds, or counts.
    [[nodiscard]] double scaled(double value) const { return value * factor; }

    ProfileMaker maker;
    std::string name;
    std::uint64_t active = 0;
    std::vector<FunctionId> functions;  ///< By frame.
    std::vector<Header> profiles;
    Header kept;  ///< Profiles like this one are kept.
    bool is_time = false;
    double factor = 1;
    double start = 0;  ///< The earliest begin of a profile that is kept.
    double end = 0;
    std::size_t read = 0;  ///< Profiles of which the samples are read.
    std::uint64_t gap_ns = 0;
    bool is_rounded = false;
};

/// A frame of a stack, such as one of an evented profile that has begun, and not ended.
struct Open {
    std::uint64_t frame = 0;
    Place place = 0;
};

/// What a profile has.
struct Contents {
    File& file;
    const Header& header;
    bool is_kept = false;
    std::uint32_t thread = 0;
    Place category = 0;
    std::vector<Open> path;      ///< Of the last sample; most begin as the one before.
    std::vector<Place> samples;  ///< The category for one without frames.
    std::vector<double> weights;
    std::vector<Event> events;
};

/// "app, worker (pid 1, tid 2)", as we name profiles; anything else is a thread's name as it is.
ThreadKey thread_of(std::string_view name) {
    constexpr std::string_view kNoTimes = " (no times)";
    ThreadKey key;
    name.remove_suffix(name.ends_with(kNoTimes) ? kNoTimes.size() : 0);
    key.name = name;
    const std::size_t pid = name.rfind(" (pid ");
    const std::size_t tid = name.rfind(", tid ");
    if (pid == std::string_view::npos || tid == std::string_view::npos || tid < pid ||
        !name.ends_with(')')) {
        return key;
    }
    constexpr std::size_t kWord = 6;
    const auto pid_number = to_number<std::uint32_t>(name.substr(pid + kWord, tid - pid - kWord));
    const auto tid_number =
        to_number<std::uint32_t>(name.substr(tid + kWord, name.size() - tid - kWord - 1));
    if (!pid_number || !tid_number) {
        return key;
    }
    key.pid = *pid_number;
    key.tid = *tid_number;
    key.name = name.substr(0, pid);
    const std::size_t comma = key.name.find(", ");
    if (comma != std::string_view::npos) {
        key.process = key.name.substr(0, comma);
        key.name = key.name.substr(comma + 2);
    }
    return key;
}

std::string wording(std::string_view key, std::string_view /*expected*/, std::string_view found) {
    const bool is_number = found.find("number") != std::string_view::npos;
    return std::string{key}.append(" cannot be or hold ").append(is_number ? "this number" : found);
}

/// One of two words, the first of which is true.
bool read_type(JsonReader& reader, JsonValue value, std::string_view first, std::string_view second,
               bool& is_first) {
    std::string type;
    if (!reader.read("type", value, type)) {
        return false;
    }
    is_first = type == first;
    return is_first || type == second ||
           reader.fail(std::string{"type must be \""}.append(first) + "\" or \"" +
                       std::string{second} + "\"");
}

/// A line or column. Below 0 or with a fraction: there is no such one.
bool read_place(JsonReader& reader, std::string_view key, JsonValue value, std::uint64_t& number) {
    double other = 0;
    return value.get_uint64().get(number) == simdjson::SUCCESS || reader.read(key, value, other);
}

bool read_line(JsonReader& reader, std::string_view key, JsonValue value, SharedFrame& frame) {
    return read_place(reader, key, value, frame.line);
}

bool read_column(JsonReader& reader, std::string_view key, JsonValue value, SharedFrame& frame) {
    return read_place(reader, key, value, frame.column);
}

bool read_frames(JsonReader& reader, std::string_view key, JsonValue value, File& file) {
    constexpr std::array kFields{
        JsonField<SharedFrame>{"name", &SharedFrame::name, true},
        JsonField<SharedFrame>{"file", &SharedFrame::file},
        JsonField<SharedFrame>{"line", read_line},
        JsonField<SharedFrame>{"col", read_column},
    };
    return reader.objects(key, value, "shared.frames[", [&](JsonObject each) {
        SharedFrame frame;
        const bool is_read = reader.read(each, frame, kFields);
        FunctionKey function;
        function.name = frame.name;
        function.source = frame.file;
        function.line = static_cast<std::uint32_t>(frame.line <= kMax32 ? frame.line : 0);
        function.column = static_cast<std::uint32_t>(frame.column <= kMax32 ? frame.column : 0);
        file.functions.push_back(file.maker.function(function));
        return is_read;
    });
}

bool read_shared(JsonReader& reader, std::string_view key, JsonValue value, File& file) {
    constexpr std::array kFields{JsonField<File>{"frames", read_frames, true}};
    JsonObject shared;
    return reader.read(key, value, shared) && reader.read(shared, file, kFields);
}

bool read_profile_type(JsonReader& reader, std::string_view /*key*/, JsonValue value,
                       Header& header) {
    return read_type(reader, value, "evented", "sampled", header.is_evented);
}

bool read_headers(JsonReader& reader, std::string_view key, JsonValue value, File& file) {
    constexpr std::array kFields{
        JsonField<Header>{"type", read_profile_type, true},
        JsonField<Header>{"name", &Header::name, true},
        JsonField<Header>{"unit", &Header::unit, true},
        JsonField<Header>{"metric", &Header::metric},
        JsonField<Header>{"startValue", &Header::start, true},
        JsonField<Header>{"endValue", &Header::end, true},
    };
    return reader.objects(key, value, "profiles[", [&](JsonObject each) {
        return reader.read(each, file.profiles.emplace_back(), kFields);
    });
}

void choose_unit(File& file) {
    if (file.profiles.empty()) {
        return;
    }
    file.kept = file.profiles[file.active < file.profiles.size() ? file.active : 0];
    const std::string& unit = file.kept.unit;
    // The format has no singular and no short forms.
    const auto nanoseconds = unit.ends_with("seconds") ? nanoseconds_in(unit) : std::nullopt;
    file.is_time = nanoseconds.has_value();
    file.factor = static_cast<double>(nanoseconds.value_or(1));
    callgraph::Profile& profile = file.maker.profile();
    if (!file.is_time) {
        profile.event = unit == "bytes" ? "bytes" : "speedscope";
        profile.metric.unit = unit == "bytes" ? "bytes" : "counts";
    }
    std::optional<double> start;
    std::size_t others = 0;
    for (const Header& each : file.profiles) {
        if (each.is_like(file.kept)) {
            start = std::min(start.value_or(each.start), each.start);
            file.end = std::max(file.end, each.end);
        } else {
            ++others;
        }
    }
    file.start = start.value_or(0);
    file.maker.note_count(others,
                          "profiles of other metrics or units than " + unit + " were left out");
}

bool read_sample(JsonReader& reader, std::string_view key, JsonValue value, Contents& contents) {
    File& file = contents.file;
    Place& place = contents.samples.emplace_back(contents.category);
    std::vector<Open>& path = contents.path;
    std::size_t depth = 0;
    return reader.array(key, value, [&](JsonValue each) {
        std::uint64_t frame = 0;
        if (!reader.read(key, each, frame)) {
            return false;
        }
        if (frame >= file.functions.size()) {
            return reader.fail("there is no frame " + std::to_string(frame));
        }
        if (contents.is_kept) {
            if (depth == path.size() || path[depth].frame != frame) {
                path.resize(depth);
                path.push_back({frame, file.maker.child(place, file.functions[frame])});
            }
            place = path[depth++].place;
        }
        return file.maker.problem().empty() || reader.fail(file.maker.problem());
    });
}

bool read_samples(JsonReader& reader, std::string_view key, JsonValue value, Contents& contents) {
    return reader.array(key, value, [&](JsonValue each) {
        return read_sample(reader, key, each, contents) ||
               reader.at(numbered(".samples[", contents.samples.size() - 1));
    });
}

bool read_weights(JsonReader& reader, std::string_view key, JsonValue value, Contents& contents) {
    return reader.array(key, value, [&](JsonValue each) {
        return reader.read(key, each, contents.weights.emplace_back());
    });
}

bool read_event_type(JsonReader& reader, std::string_view /*key*/, JsonValue value, Event& event) {
    return read_type(reader, value, "O", "C", event.is_open);
}

bool read_events(JsonReader& reader, std::string_view key, JsonValue value, Contents& contents) {
    constexpr std::array kFields{
        JsonField<Event>{"type", read_event_type, true},
        JsonField<Event>{"at", &Event::at, true},
        JsonField<Event>{"frame", &Event::frame, true},
    };
    return reader.objects(key, value, ".events[", [&](JsonObject each) {
        return reader.read(each, contents.events.emplace_back(), kFields);
    });
}

/// Adds what is between two points of a thread's axis.
void add(Contents& contents, Place place, double from, double to, std::uint64_t samples) {
    // Ends are rounded, not lengths: so the lengths of a profile add up to its own.
    File& file = contents.file;
    const double begin = std::round(file.scaled(from - file.start));
    const double end = std::round(file.scaled(to - file.start));
    file.is_rounded = file.is_rounded ||
                      (!file.is_time && (begin != from - file.start || end != to - file.start));
    std::optional<std::int64_t> time_ns;
    if (file.is_time) {
        time_ns = static_cast<std::int64_t>(end);
    }
    file.maker.add(place, static_cast<std::uint64_t>(end - begin), samples, contents.thread,
                   time_ns);
}

bool take_samples(JsonReader& reader, Contents& contents) {
    File& file = contents.file;
    double at = contents.header.start;
    for (std::size_t i = 0; i < contents.samples.size(); ++i) {
        const double weight = contents.weights[i];
        if (!(weight >= 0) || file.scaled(std::abs(at - file.start) + weight) > kMaxWeight) {
            reader.fail("negative, or more than 62 bits");
            return reader.at(numbered(".weights[", i));
        }
        const double end = at + weight;
        if (contents.samples[i] != contents.category) {
            add(contents, contents.samples[i], at, end, 1);
        } else {
            file.gap_ns += static_cast<std::uint64_t>(file.scaled(weight));
        }
        at = end;
        if (!file.maker.problem().empty()) {
            reader.fail(file.maker.problem());
            return reader.at(numbered(".samples[", i));
        }
    }
    return true;
}

/// What is wrong with `event`, behind one at `at`; empty: nothing.
std::string_view problem_of(const Event& event, const std::vector<Open>& open, double at,
                            const File& file) {
    if (!(event.at >= at)) {
        return "is before the one it follows";
    }
    if (event.frame >= file.functions.size()) {
        return "names a frame that is not there";
    }
    if (!event.is_open && open.empty()) {
        return "ends a frame where none has begun";
    }
    if (!event.is_open && open.back().frame != event.frame) {
        return "ends another frame than the innermost";
    }
    return file.scaled(event.at - file.start) > kMaxWeight ? "is later than 62 bits can say" : "";
}

bool take_events(JsonReader& reader, Contents& contents) {
    File& file = contents.file;
    std::vector<Open> open;
    double at = contents.header.start;
    for (std::size_t i = 0; i < contents.events.size(); ++i) {
        const Event& event = contents.events[i];
        std::string_view problem = problem_of(event, open, at, file);
        if (problem.empty()) {
            if (!open.empty() && event.at > at) {
                add(contents, open.back().place, at, event.at, 0);
            }
            if (event.is_open) {
                const Place below = open.empty() ? contents.category : open.back().place;
                open.push_back({event.frame, file.maker.child(below, file.functions[event.frame])});
            } else {
                open.pop_back();
            }
            problem = file.maker.problem();
        }
        if (!problem.empty()) {
            reader.fail(std::string{problem});
            return reader.at(numbered(".events[", i));
        }
        at = event.at;
    }
    return open.empty() || reader.fail("its last event leaves a frame open");
}

bool read_contents(JsonReader& reader, JsonObject object, File& file) {
    constexpr std::array kFields{
        JsonField<Contents>{"samples", read_samples},
        JsonField<Contents>{"weights", read_weights},
        JsonField<Contents>{"events", read_events},
    };
    const Header& header = file.profiles[file.read++];
    Contents contents{file, header, header.is_like(file.kept), 0, 0, {}, {}, {}, {}};
    if (contents.is_kept) {
        if (std::abs(file.scaled(header.start)) > kMaxWeight ||
            std::abs(file.scaled(header.end)) > kMaxWeight) {
            return reader.fail("startValue or endValue has more than 62 bits");
        }
        ThreadKey thread = thread_of(header.name);
        thread.number = thread.tid == 0 ? file.read : 0;  // two may have one name
        contents.thread = file.maker.thread(thread);
        contents.category = file.maker.category_of_thread(contents.thread);
    }
    if (!reader.read(object, contents, kFields)) {
        return false;
    }
    if (!header.is_evented && contents.samples.size() != contents.weights.size()) {
        return reader.fail("has " + std::to_string(contents.samples.size()) + " samples and " +
                           std::to_string(contents.weights.size()) + " weights");
    }
    return !contents.is_kept ||
           (header.is_evented ? take_events(reader, contents) : take_samples(reader, contents));
}

bool read_profiles(JsonReader& reader, std::string_view key, JsonValue value, File& file) {
    return reader.objects(key, value, "profiles[",
                          [&](JsonObject each) { return read_contents(reader, each, file); });
}

}  // namespace

Result<callgraph::Profile> read_speedscope(std::string_view text, const Options& options) {
    constexpr std::array kFirst{
        JsonField<File>{"name", &File::name},
        JsonField<File>{"activeProfileIndex", &File::active},
        JsonField<File>{"shared", read_shared, true},
        JsonField<File>{"profiles", read_headers, true},
    };
    constexpr std::array kThen{JsonField<File>{"profiles", read_profiles, true}};
    constexpr bool kNullIsMissing = true;
    File file{options};
    JsonReader reader{text, wording, kNullIsMissing};
    if (!reader.document([&](JsonObject root) { return reader.read(root, file, kFirst); })) {
        return unexpected(reader.error());
    }
    choose_unit(file);
    if (!reader.document([&](JsonObject root) { return reader.read(root, file, kThen); })) {
        return unexpected(reader.error());
    }
    callgraph::Profile& profile = file.maker.profile();
    profile.command_line = file.name;
    if (file.is_time && file.end > file.start) {
        profile.stats.wall_ns = static_cast<std::uint64_t>(file.scaled(file.end - file.start));
    }
    file.maker.note_count(file.gap_ns, std::string{file.is_time ? "ns" : "counts"} +
                                           " of samples without a frame were taken for gaps");
    if (file.is_rounded) {
        profile.stats.notes.emplace_back("weights with fractions were rounded to whole numbers");
    }
    return std::move(file.maker).finish();
}

}  // namespace sample::imports
