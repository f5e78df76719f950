#include "callgraph/categories.h"
#include "core/units.h"
#include "import/pprof_message.h"
#include "import/readers.h"
#include "import/text_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sample::imports {

namespace {

using callgraph::Inlining;

/// Where `address` is in the file of `mapping`; as it is, where that is not known.
std::uint64_t offset_in(const PprofMapping& mapping, std::uint64_t address) {
    const bool is_inside = mapping.start != 0 && address >= mapping.start &&
                           (mapping.limit == 0 || address < mapping.limit);
    return is_inside ? address - mapping.start + mapping.offset : address;
}

/// One of a sample's values that weigh it.
struct Value {
    std::size_t index = 0;
    std::uint64_t nanoseconds = 1;  ///< Of one; 1 for counts.

    /// False if it overflows.
    bool of(const PprofSample& sample, std::uint64_t& weight) const {
        return !__builtin_mul_overflow(static_cast<std::uint64_t>(sample.values[index]),
                                       nanoseconds, &weight);
    }
};

/// As Metric::unit.
std::string unit_of(std::string_view type, std::string_view unit) {
    return std::string{nanoseconds_in(unit) ? "" : unit.empty() || unit == "count" ? type : unit};
}

class PprofReader {
public:
    PprofReader(const PprofMessage& message, std::string_view bytes, const Options& options)
        : message_{message},
          bytes_{bytes},
          maker_{options},
          functions_of_location_(message.locations.size()),
          wants_metrics_{options.metrics} {}

    Result<callgraph::Profile> read() &&;

private:
    /// What labels say of a sample.
    struct Labels {
        ThreadKey thread;
        std::string_view category;
        bool has_thread = false;
    };

    [[nodiscard]] std::string_view text(std::uint64_t index) const {
        return message_.strings[index];
    }
    void choose_types();
    void set_unit(std::string_view type, std::string_view unit);
    void take_other_types(std::string_view type);
    void read_facts();
    /// Empty, or what is wrong with the sample.
    std::string take(const PprofSample& sample);
    std::string take_further(const PprofSample& sample, ProfileMaker::Place place);
    std::string take_stack(const PprofSample& sample, ProfileMaker::Place& place);
    Result<Labels> labels_of(const PprofSample& sample) const;
    static void set(Labels& labels, std::string_view name, std::string_view value,
                    const PprofLabel& label);
    FunctionId function_of(const PprofLocation& location, const PprofLine& line);
    const std::vector<FunctionId>& functions_of(std::uint32_t location);
    ProfileMaker::Place add_location(ProfileMaker::Place place, std::uint32_t index);

    const PprofMessage& message_;
    std::string_view bytes_;
    ProfileMaker maker_;
    std::vector<std::vector<FunctionId>> functions_of_location_;  ///< Filled at the first use.
    bool wants_metrics_ = false;
    Value weight_;
    std::optional<std::size_t> count_index_;
    std::vector<Value> further_;
    std::uint32_t call_line_ = 0;    ///< Of the frame that was added last.
    std::uint64_t frames_left_ = 0;  ///< See take_stack().
};

void PprofReader::choose_types() {
    const auto& types = message_.types;
    weight_.index = types.size() - 1;
    for (std::size_t i = 0; i < types.size(); ++i) {
        const std::string_view type = text(types[i].type);
        if (message_.default_type != 0 && type == text(message_.default_type)) {
            weight_.index = i;
        }
        if (text(types[i].unit) == "count" && (type == "samples" || type == "sample")) {
            count_index_ = i;
        }
    }
    const std::string_view type = text(types[weight_.index].type);
    set_unit(type, text(types[weight_.index].unit));
    take_other_types(type);
}

void PprofReader::set_unit(std::string_view type, std::string_view unit) {
    callgraph::Profile& profile = maker_.profile();
    const auto nanoseconds = nanoseconds_in(unit);
    weight_.nanoseconds = nanoseconds.value_or(1);
    if (!nanoseconds) {
        profile.event = type.empty() ? "samples" : type;
        profile.metric.unit = unit_of(profile.event, unit);
    } else if (type == "cpu" || type == "wall") {
        profile.stats.clock = type;
    } else if (type != "time") {
        profile.event = type;
    }
}

void PprofReader::take_other_types(std::string_view type) {
    const auto& types = message_.types;
    std::string others;
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (i == weight_.index || i == count_index_) {
            continue;
        }
        const std::string_view other = text(types[i].type);
        if (wants_metrics_) {
            const std::string_view unit = text(types[i].unit);
            further_.push_back({i, nanoseconds_in(unit).value_or(1)});
            maker_.profile().further.push_back(
                {{std::string{other}, unit_of(other, unit), ""}, {}, {}});
        } else {
            others += others.empty() ? "" : ", ";
            others += other;
        }
    }
    if (!others.empty()) {
        maker_.profile().stats.notes.push_back("of several sample types " + std::string{type} +
                                               " was kept; left out: " + others);
    }
}

void PprofReader::read_facts() {
    constexpr std::string_view kCommand = "command: ";
    callgraph::Profile& profile = maker_.profile();
    if (message_.time_ns > 0) {
        profile.start_unix_ms = static_cast<std::uint64_t>(message_.time_ns) / kNsPerMs;
        if (message_.duration_ns > 0) {
            profile.end_unix_ms =
                profile.start_unix_ms + static_cast<std::uint64_t>(message_.duration_ns) / kNsPerMs;
        }
    }
    profile.stats.wall_ns =
        static_cast<std::uint64_t>(std::max<std::int64_t>(message_.duration_ns, 0));
    for (const std::uint64_t comment : message_.comments) {
        if (comment < message_.strings.size() && text(comment).starts_with(kCommand)) {
            profile.command_line = text(comment).substr(kCommand.size());
        }
    }
    const bool is_count = !profile.is_time();
    if (is_count && message_.period > 0 &&
        message_.period_type.type == message_.types[weight_.index].type) {
        profile.stats.period = static_cast<std::uint64_t>(message_.period);
    }
}

void PprofReader::set(Labels& labels, std::string_view name, std::string_view value,
                      const PprofLabel& label) {
    std::string key{name};
    std::replace_if(
        key.begin(), key.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
    const bool is_text = label.text != 0;
    const std::uint64_t number = is_text ? to_number(value).value_or(0) : label.number;
    const auto id = static_cast<std::uint32_t>(
        number <= std::numeric_limits<std::uint32_t>::max() ? number : 0);
    if ((key == "thread" || key == "thread_name") && is_text) {
        labels.thread.name = value;
    } else if (key == "tid" || key == "thread_id" || key == "thread") {
        labels.thread.tid = id;
    } else if (key == "pid" || key == "process_id") {
        labels.thread.pid = id;
    } else if (key == "process" || key == "process_name" || key == "comm") {
        labels.thread.process = value;
    } else if (key == "category") {
        labels.category = value;
    } else {
        return;
    }
    labels.has_thread = labels.has_thread || key != "category";
}

Result<PprofReader::Labels> PprofReader::labels_of(const PprofSample& sample) const {
    Labels labels;
    for (const PprofLabel& label : sample.labels) {
        if (label.key >= message_.strings.size() || label.text >= message_.strings.size()) {
            return unexpected(ErrorCode::corrupt, "a label names a string that is not there");
        }
        set(labels, text(label.key), text(label.text), label);
    }
    return labels;
}

FunctionId PprofReader::function_of(const PprofLocation& location, const PprofLine& line) {
    FunctionKey key;
    std::uint64_t address = location.address;
    if (location.mapping != 0) {
        const PprofMapping& mapping = message_.mappings[location.mapping - 1];
        key.module = maker_.module(text(mapping.file), text(mapping.build_id));
        address = offset_in(mapping, address);
    }
    const std::string_view module = maker_.profile().modules[key.module].name;
    if (line.function == 0) {
        std::string name{module.empty() ? kUnknown : module};
        std::array<char, kHexadecimal> digits{};
        const auto end =
            std::to_chars(digits.data(), digits.data() + digits.size(), address, kHexadecimal);
        name.append("+0x").append(digits.data(), end.ptr);
        key.name = name;
        const std::string source{module};
        key.source = source;
        return maker_.function(key);
    }
    const PprofFunction& function = message_.functions[line.function - 1];
    const std::string source{function.file == 0 ? module : text(function.file)};
    key.name = text(function.name == 0 ? function.system_name : function.name);
    key.linkage_name =
        function.system_name == function.name ? std::string_view{} : text(function.system_name);
    key.source = source;
    key.line = static_cast<std::uint32_t>(function.start_line);
    return maker_.function(key);
}

const std::vector<FunctionId>& PprofReader::functions_of(std::uint32_t location) {
    std::vector<FunctionId>& functions = functions_of_location_[location];
    if (functions.empty()) {
        const PprofLocation& entry = message_.locations[location];
        for (const PprofLine& line : entry.lines) {
            functions.push_back(function_of(entry, line));
        }
        if (entry.lines.empty()) {
            functions.push_back(function_of(entry, {}));
        }
    }
    return functions;
}

ProfileMaker::Place PprofReader::add_location(ProfileMaker::Place place, std::uint32_t index) {
    const PprofLocation& location = message_.locations[index];
    const std::vector<FunctionId>& functions = functions_of(index);
    for (std::size_t i = functions.size(); i-- > 0;) {
        const bool is_inlined = i + 1 != functions.size();
        const auto line = location.lines.empty()
                              ? std::uint32_t{0}
                              : static_cast<std::uint32_t>(location.lines[i].line);
        place = maker_.child(
            place, functions[i],
            {line, std::exchange(call_line_, line), is_inlined ? Inlining::all : Inlining::none});
    }
    return place;
}

std::string PprofReader::take_stack(const PprofSample& sample, ProfileMaker::Place& place) {
    call_line_ = 0;
    for (std::size_t i = sample.locations.size(); i-- > 0;) {
        const auto found = message_.location_of_id.find(sample.locations[i]);
        if (found == message_.location_of_id.end()) {
            return "there is no location " + std::to_string(sample.locations[i]);
        }
        const std::size_t frames = message_.locations[found->second].lines.size();
        if (frames > frames_left_) {
            return "the stacks have more frames than a file of this size may stand for";
        }
        frames_left_ -= frames;
        place = add_location(place, found->second);
    }
    return maker_.problem();
}

std::string PprofReader::take(const PprofSample& sample) {
    if (sample.values.size() != message_.types.size()) {
        return "has " + std::to_string(sample.values.size()) + " values for " +
               std::to_string(message_.types.size()) + " sample types";
    }
    if (std::any_of(sample.values.begin(), sample.values.end(),
                    [](std::int64_t value) { return value < 0; })) {
        return "has a negative value: a difference of profiles is none";
    }
    std::uint64_t weight = 0;
    if (!weight_.of(sample, weight)) {
        return "its time overflows 64-bit nanoseconds";
    }
    const std::uint64_t samples =
        count_index_ ? static_cast<std::uint64_t>(sample.values[*count_index_]) : 0;
    const Result<Labels> labels = labels_of(sample);
    if (!labels) {
        return labels.error().context;
    }
    std::optional<std::uint32_t> thread;
    if (labels->has_thread) {
        thread = maker_.thread(labels->thread);
    }
    auto place = !labels->category.empty() ? maker_.category(labels->category)
                 : thread                  ? maker_.category_of_thread(*thread)
                                           : maker_.category(kAll);
    if (std::string wrong = take_stack(sample, place); !wrong.empty()) {
        return wrong;
    }
    if (thread) {
        maker_.add(place, weight, samples, *thread, std::nullopt);
    } else {
        maker_.add(place, weight, samples);
    }
    return take_further(sample, place);
}

std::string PprofReader::take_further(const PprofSample& sample, ProfileMaker::Place place) {
    for (std::size_t i = 0; i < further_.size(); ++i) {
        std::uint64_t weight = 0;
        if (!further_[i].of(sample, weight)) {
            return "its time overflows 64-bit nanoseconds";
        }
        maker_.add_further(i, place, weight);
    }
    return maker_.problem();
}

Result<callgraph::Profile> PprofReader::read() && {
    // A byte names a location of up to 256 lines: without a bound small files take hours.
    constexpr std::uint64_t kFramesPerByte = 16;
    constexpr std::uint64_t kFramesAtLeast = 1U << 20U;
    frames_left_ = kFramesAtLeast + kFramesPerByte * bytes_.size();
    choose_types();
    read_facts();
    const auto read =
        read_pprof_samples(bytes_, [this](const PprofSample& sample) { return take(sample); });
    if (!read) {
        return unexpected(read.error());
    }
    return std::move(maker_).finish();
}

}  // namespace

Result<callgraph::Profile> read_pprof(std::string_view bytes, const Options& options) {
    const Result<PprofMessage> message = read_pprof_message(bytes);
    return message ? PprofReader{*message, bytes, options}.read() : unexpected(message.error());
}

}  // namespace sample::imports
